"""The YAML of a layout: read without surprises, every value with its line.

PyYAML parses it. By hand are the checks between its events and its values, which PyYAML's
`safe_load` has no switch for: aliases (a few stand for gigabytes), depth, keys that stand twice.
`safe_load` takes 8.3 ms for a layout of 2 KB, the C loader 1.0.
"""

from __future__ import annotations

from typing import Any, NoReturn

from gitmem.errors import LayoutRefused
from gitmem.model.layout.layout import FILE

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
