"""The fields of a memory command, as a model filled them in."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.integrations.memory_tool.paths import NotDone

Command = Mapping[str, object]
WHOLE = (1, -1)
"""From the first line to the last."""


def text(command: Command, name: str, default: str | None = None) -> str:
    """A field that is a text; DEFAULT where it may be left out."""
    found = command.get(name)
    found = default if found is None else found
    if not isinstance(found, str):
        raise _wrong(command, name, "a text")
    return found


def integer(command: Command, name: str) -> int:
    """A field that is a whole number."""
    found = _number(command.get(name))
    if found is None:
        raise _wrong(command, name, "a whole number")
    return found


def line_range(command: Command) -> tuple[int, int]:
    """The two lines of `view_range`; what is no pair stands for the whole file, as in the SDK."""
    found = command.get("view_range")
    if found is None:
        return WHOLE
    lines = [_number(each) for each in found] if isinstance(found, list) else [None]
    known = [each for each in lines if each is not None]
    if len(known) < len(lines):
        raise _wrong(command, "view_range", "two line numbers")
    return (known[0], known[1]) if len(known) == len(WHOLE) else WHOLE


def _number(found: object) -> int | None:
    """A whole number, also where it comes as `"1"` or `1.0`, as the SDK takes it."""
    if isinstance(found, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", found.strip()):
        return int(found)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _wrong(command: Command, name: str, wanted: str) -> NotDone:
    return NotDone(f"Error: The command {command['command']} needs `{name}`, {wanted}")
