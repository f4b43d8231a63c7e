"""`gitmem rm`."""

from __future__ import annotations

from gitmem.cli.changes import remark_found
from gitmem.cli.commands.mv import move_document, move_lines
from gitmem.cli.declare import allow_policy, as_somebody, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation


@declare("rm")
@path_argument()
@reason
@as_somebody
@allow_policy
def command(call: Invocation, path: str, reason: str, allow_policy: bool) -> None:
    """Move a file or a folder to the archive

    Nothing is ever deleted: it stands in archive/ afterwards, with its history.

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
