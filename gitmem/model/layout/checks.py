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
from gitmem.model.layout.layout import FILE, TIMES, filled, is_glob, variables_in
from gitmem.model.paths import check_path, fold

MAX_NESTING = 8

Keys = tuple[str | int, ...]
"""The way to a value: keys of mappings, numbers of lists."""


def refuse(line: int, key: str, why: str, hint: str) -> NoReturn:
    """Say what is wrong, and where."""
    where = f" line {line}" if line else ""
    named = f", {key}" if key else ""
    raise LayoutRefused(
        f"{FILE}{where}{named}: {why}",
        hint=hint or f"`gitmem read {FILE}` shows what counts; docs/layouts.md has every key",
        line=line,
        key=key,
    )


def loaded(text: str) -> tuple[Any, object]:
    """The file as nodes, which know their lines, and as values."""
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
        refuse(mark.line + 1 if mark else 0, "", f"this is no YAML: {problem}", "")
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        refuse(0, "", f"this cannot be read: {error}", "")


def _check_events(yaml: Any, text: str) -> None:
    """Before anything is built: a few aliases stand for gigabytes, deep nesting for a crash."""
    depth = 0
    for event in yaml.parse(text, Loader=_loader(yaml)):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_NESTING:
            refuse(_line(event), "", "this nests too deep", "")
        if isinstance(event, yaml.AliasEvent):
            refuse(_line(event), "", "aliases (*name) are not read", "write the value out")


def _check_keys(node: Any, at: Keys = ()) -> None:
    """Of a key that stands twice YAML would forget the first."""
    pairs = [each for each in node.value if isinstance(each, tuple)] if _has_parts(node) else []
    seen = set()
    for name, value in pairs:
        key = name.value if isinstance(name.value, str) else ""
        if key in seen:
            named = ".".join(map(str, (*at, key)))
            refuse(_line(name), named, "this key stands twice", "keep one of them")
        seen.add(key)
        _check_keys(value, (*at, key))


def _has_parts(node: Any) -> bool:
    return node is not None and isinstance(node.value, list)


def _loader(yaml: Any) -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def line_of(root: Any, keys: Keys) -> int:
    """The line on which KEYS stand; the nearest that exists, where they do not."""
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
    "?[]": "globs are * and **; ? and brackets are not read",
    "{}": "a brace stands only around a variable: {date}",
}
_FINER = ("month", "week", "date", "datetime")
_OF_KIND = {"journal": (*TIMES, "user"), "profile": ("user",)}


def fault_of(pattern: str, variables: Sequence[str] = (), *, globs: bool = False) -> str:
    """What is wrong with a path in which VARIABLES, and GLOBS if so, may stand."""
    for each in variables_in(pattern):
        if each not in variables:
            known = ", ".join(f"{{{name}}}" for name in variables)
            return f"there is no {{{each}}} here, only {known or 'a plain path'}"
    if is_glob(pattern) and not globs:
        return "there is no * here: this names one file"
    plain = filled(pattern, _SAMPLES).replace("*", "x")
    for marks, why in _STRAY.items():
        if set(plain) & set(marks):
            return why
    if fold(pattern.partition("/")[0]) == fold(FILE):
        return f"{FILE} is the layout itself, and no memory"
    try:
        check_path(plain)
    except GitmemError as error:
        return error.message
    return ""


def fault_of_rotated(pattern: str) -> str:
    """What is wrong with the path to which a log goes: its day makes it another one each time."""
    if variables_in(pattern).count("date") != 1:
        return "a log goes to a path with {date}, once"
    return fault_of(pattern, ("date",))


def fault_of_kind(kind: str, pattern: str) -> str:
    """What is wrong with PATTERN as the path of a layer of that KIND."""
    used, allowed = variables_in(pattern), _OF_KIND.get(kind, ())
    if kind in ("document", "entries", "log") and (used or is_glob(pattern)):
        return f"a layer of the kind {kind} is one file"
    if kind == "notes":
        return "notes are named one by one: * may stand here, a variable not" if used else ""
    if is_glob(pattern):
        return f"a {kind} is found by its variables: there is no * here"
    odd = next((each for each in used if each not in allowed), "")
    if odd:
        return f"there is no {{{odd}}} in the path of a {kind}"
    if kind == "profile" and used != ("user",):
        return "a profile's path needs {user}, once"
    return _fault_of_journal(pattern, used) if kind == "journal" else ""


def fault_of_rollup(kind: str, pattern: str) -> str:
    """What is wrong with rolling up a layer of that KIND whose files are at PATTERN."""
    if kind != "journal":
        return "only the pages of a journal are rolled up"
    if len(variables_in(pattern)) > 1:
        return "what is rolled up has one variable in its path, and no {user}"
    return "there is nothing above a month" if "{month}" in pattern else ""


def _fault_of_journal(pattern: str, used: Sequence[str]) -> str:
    times = [_FINER.index(each) for each in used if each in TIMES]
    if not times:
        return "a journal's path needs {date}, {datetime}, {week} or {month}"
    if used.count("user") > 1:
        return "{user} stands once"
    if any(len(variables_in(part)) > 1 for part in pattern.split("/")):
        return "each variable needs a part of the path for itself: {month}/{date}.md"
    if sorted(set(times)) != times:
        # The last one dates the file, so it has to say the most.
        return "of the variables of time the finest stands last, and none twice: {month}/{date}.md"
    return ""
