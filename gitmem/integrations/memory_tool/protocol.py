"""The fields of a memory command, and the texts that answer it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from gitmem.integrations.memory_tool.files import NotDone

Command = Mapping[str, object]
WHOLE = (1, -1)
"""All lines."""
MOST_LINES = 999_999
DEPTH = 2
AROUND = 2
"""Lines shown before and after a change."""
EXCLUDED = "node_modules"
STEP = 1024
HEADER = "Here're the files and directories up to 2 levels deep in"


def text(command: Command, name: str, default: str | None = None) -> str:
    """A text field; DEFAULT where it may be missing."""
    found = command.get(name)
    found = default if found is None else found
    if not isinstance(found, str):
        raise _wrong(command, name, "a text")
    return found


def integer(command: Command, name: str) -> int:
    """An integer field."""
    found = _number(command.get(name))
    if found is None:
        raise _wrong(command, name, "a whole number")
    return found


def line_range(command: Command) -> tuple[int, int]:
    """The two lines of `view_range`; all lines where it is not a pair, as in the SDK."""
    found = command.get("view_range")
    if found is None:
        return WHOLE
    lines = [_number(each) for each in found] if isinstance(found, list) else [None]
    known = [each for each in lines if each is not None]
    if len(known) < len(lines):
        raise _wrong(command, "view_range", "two line numbers")
    return (known[0], known[1]) if len(known) == len(WHOLE) else WHOLE


def _number(found: object) -> int | None:
    """An integer, also as `"1"` or `1.0`, as the SDK accepts."""
    if isinstance(found, str) and re.fullmatch(r"[+-]?[0-9]{1,18}", found.strip()):
        return int(found)
    if isinstance(found, float) and found.is_integer():
        return int(found)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _wrong(command: Command, name: str, needed: str) -> NotDone:
    return NotDone(f"Error: The command {command['command']} needs `{name}`, {needed}")


def file_view(path: str, text: str, view_range: tuple[int, int]) -> str:
    """A file, or the lines from the first to the last of VIEW_RANGE, where -1 is the end."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise NotDone(f"File {path} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = view_range
    start = max(1, first) - 1
    shown = lines[start : None if last == -1 else last]
    return f"Here's the content of {path} with line numbers:\n{_numbered(shown, start)}"


def change_view(text: str, at: int) -> str:
    """The lines of TEXT around the character AT, where it was changed."""
    lines = text.split("\n")
    changed = text.count("\n", 0, at)
    start = max(0, changed - AROUND)
    done = "The memory file has been edited. Here is the snippet showing the change"
    return f"{done} (with line numbers):\n{_numbered(lines[start : changed + AROUND + 1], start)}"


def folder_view(path: str, files: Iterable[tuple[str, int]]) -> str:
    """A folder: FILES are the paths in it, with their bytes."""
    sizes: dict[tuple[str, ...], int] = {(): 0}
    folders: set[tuple[str, ...]] = set()
    for parts, size in _visible(files):
        for end in range(min(len(parts), DEPTH) + 1):
            sizes[parts[:end]] = sizes.get(parts[:end], 0) + size
            if end < len(parts):
                folders.add(parts[:end])
    top = path.rstrip("/")
    rows = [f"{human(sizes.pop(()))}\t{path}"]
    for parts in sorted(sizes):
        slash = "/" if parts in folders else ""
        rows.append(f"{human(sizes[parts])}\t{'/'.join((top, *parts))}{slash}")
    return "\n".join([f"{HEADER} {path}, excluding hidden items and {EXCLUDED}:", *rows])


def _visible(files: Iterable[tuple[str, int]]) -> Iterator[tuple[tuple[str, ...], int]]:
    for path, size in files:
        parts = tuple(path.split("/"))
        if not any(part == EXCLUDED or part.startswith(".") for part in parts):
            yield parts, size


def human(size: int) -> str:
    """SIZE for people: 17B, 1.5K, 4.0K."""
    if size < STEP:
        return f"{size}B"
    return f"{size / STEP:.1f}K" if size < STEP * STEP else f"{size / STEP / STEP:.1f}M"


def _numbered(lines: Iterable[str], behind: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines, behind + 1))
