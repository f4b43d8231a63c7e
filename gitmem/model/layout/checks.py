"""Checks on a layout before its values count: the YAML itself, and the patterns of paths.

PyYAML parses the file. By hand are the checks between its events and its values, which PyYAML's
`safe_load` has no switch for: aliases (a few stand for gigabytes), depth, doubled keys.
`safe_load` takes 8.3 ms for a layout of 2 KB, the C loader 1.0.

A `fault_of` function returns what is wrong with a pattern, or an empty text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from gitmem.errors import GitmemError, LayoutRefused
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE, TIMES, filled, is_glob, variables_in
from gitmem.model.paths import check_path, fold

MAX_NESTING = 8

Keys = tuple[str | int, ...]
"""The path to a value: keys of mappings, numbers in lists."""


def refuse(line: int, key: str, why: str, hint: str) -> NoReturn:
    """Raise LayoutRefused with the line and the key."""
    where = f" line {line}" if line else ""
    named = f", {key}" if key else ""
    raise LayoutRefused(
        f"{FILE}{where}{named}: {why}",
        hint=hint
        or Hint(call("read", FILE), " shows the layout in use; docs/layouts.md lists every key"),
        line=line,
        key=key,
    )


def loaded(text: str) -> tuple[Any, object]:
    """Return TEXT as YAML nodes, which know their lines, and as values; raise LayoutRefused."""
    import yaml  # only where a layout is read for the first time

    try:
        _check_events(yaml, text)
        loader = _loader(yaml)(text)
        root = loader.get_single_node()
        _check_keys(root)
        return root, loader.construct_document(root) if root else None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        refuse(mark.line + 1 if mark else 0, "", f"not valid YAML: {problem}", "")
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        refuse(0, "", f"unreadable value: {error}", "")


def _check_events(yaml: Any, text: str) -> None:
    """Refuse aliases and deep nesting, which could cost gigabytes, before any value is built."""
    depth = 0
    for event in yaml.parse(text, Loader=_loader(yaml)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            refuse(_line(event), "", "nested too deep", "")
        if isinstance(event, yaml.AliasEvent):
            refuse(_line(event), "", "aliases (*name) are not supported", "write the value out")


def _check_keys(node: Any, at: Keys = ()) -> None:
    """Refuse a doubled key, of which YAML would drop the first value."""
    pairs = [each for each in node.value if isinstance(each, tuple)] if _has_parts(node) else []
    names = set()
    for name, value in pairs:
        key = name.value if isinstance(name.value, str) else ""
        if key in names:
            named = ".".join(map(str, (*at, key)))
            refuse(_line(name), named, "duplicate key", "keep one of them")
        names.add(key)
        _check_keys(value, (*at, key))


def _has_parts(node: Any) -> bool:
    return node is not None and isinstance(node.value, list)


def _loader(yaml: Any) -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def line_of(root: Any, keys: Keys) -> int:
    """Return the line of KEYS in the file, or of the nearest key that exists."""
    node, line = root, _line(root) if root else 1
    for key in keys:
        found = _child(node, key)
        if found is None:
            return line
        line, node = found
    return line


def _child(node: Any, key: str | int) -> tuple[int, Any] | None:
    if isinstance(node.value, list) and isinstance(key, int):
        return (_line(node.value[key]), node.value[key]) if key < len(node.value) else None
    if isinstance(node.value, list):
        for name, value in (each for each in node.value if isinstance(each, tuple)):
            if name.value == key:
                return _line(name), value
    return None


_SAMPLES = {
    "date": "2026-01-31",
    "datetime": "2026-01-31T23-59-59",
    "week": "2026-W05",
    "month": "2026-01",
    "user": "somebody",
}
_STRAY = {
    "?[]": "globs are * and **; ? and brackets are not supported",
    "{}": "braces are for variables only: {date}",
}
_FINER = ("month", "week", "date", "datetime")
_OF_KIND = {"journal": (*TIMES, "user"), "profile": ("user",)}


def fault_of(pattern: str, variables: Sequence[str] = (), *, globs: bool = False) -> str:
    """Return what is wrong with PATTERN, which may use VARIABLES, and globs if GLOBS."""
    for each in variables_in(pattern):
        if each not in variables:
            known = ", ".join(f"{{{name}}}" for name in variables)
            return f"{{{each}}} is not allowed here, only {known or 'a plain path'}"
    if is_glob(pattern) and not globs:
        return "* is not allowed here: this names one file"
    plain = filled(pattern, _SAMPLES).replace("*", "x")
    for marks, why in _STRAY.items():
        if set(plain) & set(marks):
            return why
    if fold(pattern.partition("/")[0]) == fold(FILE):
        return f"{FILE} is the layout itself, not memory"
    try:
        check_path(plain)
    except GitmemError as error:
        return error.message
    return ""


def fault_of_rotated(pattern: str) -> str:
    """Return what is wrong with PATTERN as the path of rotated logs, one for each day."""
    if variables_in(pattern).count("date") != 1:
        return "`rotated` needs {date}, once"
    return fault_of(pattern, ("date",))


def fault_of_kind(kind: str, pattern: str) -> str:
    """Return what is wrong with PATTERN as the path of a layer of KIND."""
    used, allowed = variables_in(pattern), _OF_KIND.get(kind, ())
    if kind in ("document", "entries", "log") and (used or is_glob(pattern)):
        return f"a layer of kind {kind} is one file"
    if kind == "notes":
        return "the path of notes may have *, but no variable" if used else ""
    if is_glob(pattern):
        return f"* is not allowed in the path of a {kind}: its variables find its files"
    odd = next((each for each in used if each not in allowed), "")
    if odd:
        return f"{{{odd}}} is not allowed in the path of a {kind}"
    if kind == "profile" and used != ("user",):
        return "a profile's path needs {user}, once"
    return _fault_of_journal(pattern, used) if kind == "journal" else ""


def fault_of_rollup(kind: str, pattern: str) -> str:
    """Return what is wrong with `rollup` for a layer of KIND with the path PATTERN."""
    if kind != "journal":
        return "only the pages of a journal are rolled up"
    if len(variables_in(pattern)) > 1:
        return "`rollup` needs one variable in the path, and no {user}"
    return "months are not rolled up" if "{month}" in pattern else ""


def _fault_of_journal(pattern: str, used: Sequence[str]) -> str:
    times = [_FINER.index(each) for each in used if each in TIMES]
    if not times:
        return "a journal's path needs {date}, {datetime}, {week} or {month}"
    if used.count("user") > 1:
        return "{user} is allowed once"
    if any(len(variables_in(part)) > 1 for part in pattern.split("/")):
        return "one variable for each part of the path: {month}/{date}.md"
    if sorted(set(times)) != times:
        # The last variable dates the file, so it has to be the finest.
        return "put the finest variable of time last, and none twice: {month}/{date}.md"
    return ""
