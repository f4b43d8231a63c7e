"""The fields of a memory command, as a model filled them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeGuard

from gitmem.hosts.memory_tool.paths import NotDone

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
    found = command.get(name)
    if not _is_integer(found):
        raise _wrong(command, name, "a whole number")
    return found


def line_range(command: Command) -> tuple[int, int]:
    """The two lines of `view_range`; what is no pair stands for the whole file, as in the SDK."""
    found = command.get("view_range")
    if found is None:
        return WHOLE
    if not isinstance(found, list) or not all(map(_is_integer, found)):
        raise _wrong(command, "view_range", "two line numbers")
    return (found[0], found[1]) if len(found) == len(WHOLE) else WHOLE


def _is_integer(found: object) -> TypeGuard[int]:
    return isinstance(found, int) and not isinstance(found, bool)


def _wrong(command: Command, name: str, wanted: str) -> NotDone:
    return NotDone(f"Error: The command {command['command']} needs `{name}`, {wanted}")
