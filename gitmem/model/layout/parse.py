"""Parser of `gitmem.yaml`; an error names the line and the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from gitmem.model.layout.checks import (
    Keys,
    fault_of,
    fault_of_kind,
    fault_of_rollup,
    fault_of_rotated,
    line_of,
    loaded,
    refuse,
)
from gitmem.model.layout.layout import (
    FORMATS,
    KINDS,
    LOADS,
    NAMES,
    POLICIES,
    RENDERINGS,
    ROLLUPS,
    TIMES,
    VARIABLES,
    VERSION,
    Compaction,
    Layer,
    Layout,
    Migration,
    Retrieval,
    TranscriptSettings,
    variables_in,
)

MAX_BYTES = 64 * 1024
MAX_LAYERS = 64
LINT_RULES = ("no-secrets", "no-config-values")
_SIZE = r"(\d{1,7}(?:\.\d)?)\s*(?:(KB|KiB|kB)|B|bytes)?"
_NAME = r"[a-z][a-z0-9-]{0,39}"


class _Invalid(Exception):
    """An invalid value: its keys, and why."""

    def __init__(self, keys: Keys, why: str, hint: str = "") -> None:
        super().__init__(why)
        self.keys, self.why, self.hint = keys, why, hint


class _UnknownKey(_Invalid):
    """An unknown key: a mistake, or from a newer gitmem."""


class KeyReader(NamedTuple):
    """How the value of one key is read, and into which field."""

    field: str
    read: Callable[[object, Keys], object]


def parse(text: str, *, lenient: bool = False) -> Layout:
    """Return the layout that TEXT describes, or raise LayoutRefused with the line and the key.

    LENIENT skips unknown keys and lists them in `Layout.unknown`.
    """
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        refuse(0, "", f"larger than {MAX_BYTES:,} bytes", "keep notes elsewhere")
    root, data = loaded(text)
    unknown: list[str] = []
    while True:
        try:
            return _layout(data)._replace(unknown=tuple(unknown))
        except _Invalid as wrong:
            key = ".".join(str(each) for each in wrong.keys)
            if not lenient or not isinstance(wrong, _UnknownKey):
                refuse(line_of(root, wrong.keys), key, wrong.why, wrong.hint)
            unknown.append(key)
            _drop(data, wrong.keys)


def _drop(data: object, keys: Keys) -> None:
    """Remove the key at the end of KEYS from the mappings in DATA."""
    for each in keys[:-1]:
        data = data[each] if isinstance(data, dict) else None
    if isinstance(data, dict):
        del data[keys[-1]]


def _layout(data: object) -> Layout:
    given = _mapping(data, ())
    if "gitmem" not in given:
        raise _Invalid((), "the key `gitmem: 1` is missing")
    if given["gitmem"] != VERSION or type(given["gitmem"]) is not int:
        raise _Invalid(
            ("gitmem",),
            f"unsupported format {given['gitmem']!r}: this gitmem reads {VERSION}",
            "upgrade gitmem, or write `gitmem: 1`",
        )
    rest = {key: value for key, value in given.items() if key != "gitmem"}
    return Layout(**_fields(rest, _LAYOUT, ()))  # type: ignore[arg-type]


def _fields(
    given: Mapping[str, object], readings: Mapping[str, KeyReader], at: Keys
) -> dict[str, object]:
    found = {}
    for key, value in given.items():
        reading = readings.get(key)
        if reading is None:
            raise _UnknownKey((*at, key), f"unknown key{_nearest(key, readings)}")
        found[reading.field] = reading.read(value, (*at, key))
    return found


def _nearest(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only for an error

    near = get_close_matches(word, list(known), 1)
    return f"; did you mean `{near[0]}`?" if near else f"; known keys: {', '.join(known)}"


def _layers(value: object, at: Keys) -> tuple[Layer, ...]:
    given = _mapping(value, at)
    if len(given) > MAX_LAYERS:
        raise _Invalid(at, f"{len(given)} layers; at most {MAX_LAYERS} are allowed")
    found: dict[str, Layer] = {}
    for name, each in given.items():
        layer = _layer(name, each, (*at, name))
        known = found.setdefault(layer.path, layer)
        if known is not layer:
            raise _Invalid((*at, name, "path"), f"`{known.name}` has the same path")
    return tuple(found.values())


def _layer(name: str, value: object, at: Keys) -> Layer:
    if not re.fullmatch(_NAME, name):
        raise _Invalid(at, "a layer name has lower-case letters, digits and dashes")
    given = _mapping(value, at)
    found = _fields(given, _LAYER, at)
    for key in ("kind", "path"):
        if key not in given:
            raise _Invalid(at, f"the key `{key}` is missing")
    load = found.pop("load", ("never", 0))
    if isinstance(load, tuple):
        found["load"], found["recent"] = load
    layer = Layer(name, **found)  # type: ignore[arg-type]
    _check_sense(layer, at)
    return layer


def _check_sense(layer: Layer, at: Keys) -> None:
    """Refuse keys that contradict each other."""
    if layer.load == "user" and "user" not in variables_in(layer.path):
        raise _Invalid((*at, "load"), "`load: user` needs {user} in the path")
    rolled = fault_of_rollup(layer.kind, layer.path) if layer.rollup else ""
    for key, fault in (("path", fault_of_kind(layer.kind, layer.path)), ("rollup", rolled)):
        if fault:
            raise _Invalid((*at, key), fault)
    if layer.names != NAMES[0] and layer.kind != "profile":
        raise _Invalid((*at, "names"), "`names` is for profiles only")
    if layer.kind == "log" and not layer.rotated:
        raise _Invalid(at, "a log needs `rotated:`, a path with {date}")
    if layer.budget and layer.warn > layer.budget:
        raise _Invalid((*at, "warn"), "`warn` is above the budget")
    unknown = [each for each in layer.retired if layer.statuses and each not in layer.statuses]
    if unknown:
        raise _Invalid((*at, "retired"), f"{unknown[0]!r} is not in `status`")


def _mapping(value: object, at: Keys) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _Invalid(at, "this must be a mapping of keys to values")
    for key in value:
        if not isinstance(key, str):
            raise _Invalid(at, f"the key {key!r} must be a text")
    return value


def _text(value: object, at: Keys) -> str:
    if not isinstance(value, str) or not value.isprintable():
        raise _Invalid(at, "this must be a text on one line", "put it in quotes")
    return value


def _texts(value: object, at: Keys) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Invalid(at, "this must be a list: [one, two]")
    return tuple(_text(each, (*at, number)) for number, each in enumerate(value))


def _flag(value: object, at: Keys) -> bool:
    if not isinstance(value, bool):
        raise _Invalid(at, "this must be true or false")
    return value


def _one_of(words: tuple[str, ...]) -> Callable[[object, Keys], str]:
    def read(value: object, at: Keys) -> str:
        if value not in words:
            raise _Invalid(at, f"{value!r} must be one of {', '.join(words)}")
        return str(value)

    return read


def _some_of(words: tuple[str, ...]) -> Callable[[object, Keys], tuple[str, ...]]:
    def read(value: object, at: Keys) -> tuple[str, ...]:
        found = _texts(value, at)
        for number, each in enumerate(found):
            _one_of(words)(each, (*at, number))
        return found

    return read


def _load(value: object, at: Keys) -> tuple[str, int]:
    words = str(value).split()
    if len(words) == 2 and words[0] == "recent" and words[1].isdecimal():  # noqa: PLR2004
        count = int(words[1])
        if 1 <= count <= 1000:  # noqa: PLR2004
            return "recent", count
    if value in LOADS and value != "recent":
        return str(value), 0
    raise _Invalid(at, f"{value!r} must be one of always, recent N, user, query, never")


def _size(value: object, at: Keys) -> int:
    found = re.fullmatch(_SIZE, str(value)) if not isinstance(value, bool) else None
    if found is None:
        raise _Invalid(at, f"{value!r} must be a size", "write bytes, or for example 4 KB")
    return int(float(found[1]) * (1024 if found[2] else 1))


def _number(value: object, at: Keys) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= 10_000_000:  # noqa: PLR2004
        raise _Invalid(at, f"{value!r} must be a number of characters")
    return value


def _importance(value: object, at: Keys) -> int:
    if type(value) is not int or not 1 <= value <= 5:  # noqa: PLR2004
        raise _Invalid(at, f"{value!r} must be 1 (critical) to 5 (minor)")
    return value


def _header(value: object, at: Keys) -> str:
    header = _text(value, at)
    for each in variables_in(header):
        if each not in TIMES:
            raise _Invalid(at, f"{{{each}}} is not allowed here, only {', '.join(TIMES)}")
    return header


def _pattern(judge: Callable[[str], str]) -> Callable[[object, Keys], str]:
    def read(value: object, at: Keys) -> str:
        pattern = _text(value, at)
        fault = judge(pattern)
        if fault:
            raise _Invalid(at, fault)
        return pattern

    return read


_path = _pattern(fault_of)
_dated_path = _pattern(lambda pattern: fault_of(pattern, TIMES))
_any_pattern = _pattern(lambda pattern: fault_of(pattern, VARIABLES, globs=True))


def _zone(value: object, at: Keys) -> str:
    name = _text(value, at)
    if not re.fullmatch(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+)*", name):
        raise _Invalid(at, f"{name!r} must be the name of a time zone", "for example Europe/Berlin")
    return name


def _compaction(value: object, at: Keys) -> Compaction:
    readings = {"into": KeyReader("into", _dated_path), "daily": KeyReader("daily", _dated_path)}
    return Compaction(**_fields(_mapping(value, at), readings, at))  # type: ignore[arg-type]


def _migration(value: object, at: Keys) -> Migration:
    readings = {
        "from": KeyReader("old", _path),
        "to": KeyReader("new", _path),
        "sections": KeyReader("sections", _text),
        "into": KeyReader("into", _path),
    }
    return Migration(**_fields(_mapping(value, at), readings, at))  # type: ignore[arg-type]


def _within(least: float, most: float) -> Callable[[object, Keys], float]:
    """Reader of a number from LEAST to MOST, whole if they are."""

    def read(value: object, at: Keys) -> float:
        kinds = int if isinstance(least, int) else int | float
        if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value <= most:
            raise _Invalid(at, f"{value!r} must be a number from {least} to {most}")
        return value

    return read


_RETRIEVAL = {
    "top": KeyReader("top", _within(1, 32)),
    "chars": KeyReader("chars", _within(1000, 50_000)),
    "gate": KeyReader("gate", _within(0.0, 1.0)),
}
_TRANSCRIPTS = {
    "threshold": KeyReader("threshold", _within(1, 1_000_000)),
    "record": KeyReader("record", _flag),
}


def _retrieval(value: object, at: Keys) -> Retrieval:
    return Retrieval(**_fields(_mapping(value, at), _RETRIEVAL, at))  # type: ignore[arg-type]


def _transcripts(value: object, at: Keys) -> TranscriptSettings:
    return TranscriptSettings(**_fields(_mapping(value, at), _TRANSCRIPTS, at))  # type: ignore[arg-type]


def _patterns(value: object, at: Keys) -> tuple[str, ...]:
    found = _texts(value, at)
    return tuple(_any_pattern(each, (*at, number)) for number, each in enumerate(found))


def _scope(value: object, at: Keys) -> tuple[str, ...]:
    """Patterns of files; a slash at the end means everything in a folder."""
    found = _texts(value, at)
    whole = [f"{each}**" if each.endswith("/") else each for each in found]
    return tuple(_any_pattern(each, (*at, number)) for number, each in enumerate(whole))


_LAYOUT = {
    "layout": KeyReader("name", _text),
    "timezone": KeyReader("timezone", _zone),
    "format": KeyReader("format", _one_of(FORMATS)),
    "annotate": KeyReader("annotate", _flag),
    "budget": KeyReader("budget", _number),
    "layers": KeyReader("layers", _layers),
    "compact": KeyReader("compact", _compaction),
    "migrate": KeyReader("migrate", _migration),
    "retrieve": KeyReader("retrieve", _retrieval),
    "transcripts": KeyReader("transcripts", _transcripts),
    "allow": KeyReader("allow", _patterns),
    "include": KeyReader("include", _scope),
    "ignore": KeyReader("ignore", _scope),
    "recognise": KeyReader("recognise", _texts),
}
_LAYER = {
    "kind": KeyReader("kind", _one_of(KINDS)),
    "path": KeyReader("path", _any_pattern),
    "load": KeyReader("load", _load),
    "label": KeyReader("label", _text),
    "render": KeyReader("render", _one_of(RENDERINGS)),
    "budget": KeyReader("budget", _size),
    "warn": KeyReader("warn", _size),
    "policy": KeyReader("policy", _one_of(POLICIES)),
    "ages": KeyReader("ages", _flag),
    "archive": KeyReader("archive", _path),
    "importance": KeyReader("importance", _importance),
    "global": KeyReader("shared", _flag),
    "rotated": KeyReader("rotated", _pattern(fault_of_rotated)),
    "header": KeyReader("header", _header),
    "default": KeyReader("default", _path),
    "fields": KeyReader("fields", _texts),
    "status": KeyReader("statuses", _texts),
    "retired": KeyReader("retired", _texts),
    "types": KeyReader("types", _texts),
    "strict": KeyReader("strict", _flag),
    "exclusive": KeyReader("exclusive", _text),
    "lint": KeyReader("lint", _some_of(LINT_RULES)),
    "names": KeyReader("names", _one_of(NAMES)),
    "rollup": KeyReader("rollup", _one_of(ROLLUPS)),
}
