"""What several commands say about files that changed and edits that were found on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gitmem.cli.style import Style, delta, short, visible
from gitmem.model.text.numbers import counted

if TYPE_CHECKING:
    from gitmem.cli.invocation import Invocation
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
            f"({each.rule}): gitmem held show {each.id}"
        )
    if result.pending:
        call.remark("it is committed; the work tree follows with the next command")
