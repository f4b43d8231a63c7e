"""The changes of files, as `show` and `diff` print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.style import Style, delta, short, visible

if TYPE_CHECKING:
    from gitmem.memory.read.show import FileChange, Unreadable


def file_lines(
    style: Style, files: Sequence[FileChange], unreadable: Sequence[Unreadable] = ()
) -> Iterator[str]:
    """For each file what became of it, and its changed lines below; first what is UNREADABLE."""
    if unreadable:
        yield ""
    for lost in unreadable:
        what = "" if lost.kind == "commit" else f" ({lost.kind} {short(lost.object)})"
        yield style.warn(f"left out because it could not be read: {lost.words}{what}")
    for each in files:
        yield ""
        moved = f" (from {visible(each.moved_from)})" if each.moved_from else ""
        lines = delta(each.added, each.removed)
        size = f"{_bytes(each.before_bytes)} -> {_bytes(each.after_bytes)} bytes"
        facts = ", ".join(filter(None, (lines, size)))
        yield f"{each.change} {style.bold(visible(each.path))}{moved} ({facts})"
        yield from (_painted(style, visible(line)) for line in _body(each.diff))


def _bytes(size: int | None) -> str:
    return f"{size or 0:,}"


def _body(diff: str) -> list[str]:
    """The diff without the lines that name the two files again."""
    start = diff.find("\n@@ ")
    return diff[start + 1 :].removesuffix("\n").split("\n") if start >= 0 else []


def _painted(style: Style, line: str) -> str:
    paint = {"+": style.good, "-": style.bad, "@": style.name}.get(line[:1])
    return paint(line) if paint else line
