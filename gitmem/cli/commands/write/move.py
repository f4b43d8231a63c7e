"""The commands `mv` and `rm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import allow_policy, argument, as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible

if TYPE_CHECKING:
    from gitmem.memory.write.move import Moved


@declare("mv")
@path_argument("old")
@argument("new")
@reason
@as_somebody
@allow_policy
def mv_command(call: Invocation, old: str, new: str, reason: str, allow_policy: bool) -> None:
    """Move a file or a folder

    Its history moves along. Moves into NEW if that is a folder or ends with a slash.

    \b
    Examples:
      gitmem mv todo.md plans/todo.md
      gitmem mv drafts/ archive/
    """
    from gitmem.memory.write.move import move

    with call.group() as group:
        moved = move(group, old, new, reason=reason, allow_policy=allow_policy)
    remark_found(call, moved)
    call.answer(move_document(moved), move_lines(call, moved))


def move_document(moved: Moved) -> dict[str, object]:
    """The answer with names for the two ends of each move."""
    pairs = [{"from": old, "to": new} for old, new in moved.moved]
    return {**moved._asdict(), "moved": pairs}


def move_lines(call: Invocation, moved: Moved) -> Iterator[str]:
    """One line for each file."""
    commit = call.style.name(short(moved.commit))
    for old, new in moved.moved:
        verb = call.style.good("moved")
        yield f"{verb} {visible(old)} to {call.style.bold(visible(new))} {commit}"


@declare("rm")
@path_argument()
@reason
@as_somebody
@allow_policy
def rm_command(call: Invocation, path: str, reason: str, allow_policy: bool) -> None:
    """Move a file or a folder to the archive

    Nothing is deleted: it moves to archive/, with its history.

    \b
    Examples:
      gitmem rm scratch.md
      gitmem rm drafts --reason "all of it is in the report now"
    """
    from gitmem.memory.write.move import remove

    with call.group() as group:
        moved = remove(group, path, reason=reason, allow_policy=allow_policy)
    remark_found(call, moved)
    call.answer(move_document(moved), move_lines(call, moved))
