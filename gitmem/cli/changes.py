"""Lines about changed files, shared by several commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.style import Style, delta, short, visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.cli.invocation import Invocation
    from gitmem.memory.read.show import FileChange, Unreadable
    from gitmem.memory.write.write import Change


def change_lines(
    verb: str, changes: tuple[Change, ...], commit: str, style: Style
) -> Iterator[str]:
    """One line for each file: `written state.md (+3 -1, 1,204 bytes) 51cc3e5`."""
    for each in changes:
        path = visible(each.path)
        if each.change == "unchanged":
            yield f"unchanged {path}"
        else:
            what = f"{style.good(verb)} {style.bold(path)} ({_amount(each)})"
            yield f"{what} {style.name(short(commit))}"


def _amount(change: Change) -> str:
    lines = delta(change.added, change.removed)
    if change.change == "removed":
        return f"{lines}, gone" if lines else "gone"
    new = "new" if change.change == "created" else ""
    return ", ".join(filter(None, (new, lines, counted(change.bytes, "byte"))))


def remark_found(call: Invocation, result: Any) -> None:
    """Say which edits by others were found on the way, and what still waits.

    RESULT has `captured` and `pending`, and may have `set_aside`.
    """
    for each in result.captured:
        merged = ", merged with what was written since" if each.merged else ""
        call.remark(
            f"an edit of {each.path} was found and committed first{merged} ({short(each.commit)})"
        )
    for each in getattr(result, "set_aside", ()):
        call.remark(
            f"a version of {each.path} that may not enter git was set aside "
            f"({each.rule}): {call.command(f'held show {each.id}')}"
        )
    if result.pending:
        call.remark("it is committed; the work tree follows with the next command")


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
