"""`gitmem undo`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli import boundary
from gitmem.cli.changes import change_lines, remark_found
from gitmem.cli.declare import command as declare
from gitmem.cli.declare import named, reason
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible
from gitmem.model.text.numbers import counted

if TYPE_CHECKING:
    from gitmem.memory.recover.undo import Undone


@declare("undo")
@click.argument("commits", nargs=-1, metavar="[COMMIT]...")
@click.option("--last", metavar="N", type=click.IntRange(min=1), default=None, help="The newest N")
@named("--session", metavar="ID", help="All that this session did")
@named("--agent", metavar="NAME", help="All that this agent did")
@reason
def command(
    call: Invocation,
    *,
    commits: tuple[str, ...],
    last: int | None,
    session: str | None,
    agent: str | None,
    reason: str,
) -> int:
    """Take back commits, and keep what came after

    As one new commit. Without arguments the newest one is taken back. What cannot be taken back
    cleanly, because the same lines were changed since, is named and left as it is (exit 4).

    \b
    Examples:
      gitmem undo
      gitmem undo 51cc3e5
      gitmem undo --session 4f2a --reason "it misread the brief"
    """
    from gitmem.memory.recover.undo import undo

    with call.group() as group:
        undone = undo(
            group,
            commits,
            last=last or 0,
            session=session or "",
            agent=agent or "",
            reason=reason,
        )
    remark_found(call, undone)
    call.answer(undone, _lines(call, undone), changed=undone.changed)
    return boundary.CONFLICT if undone.left else boundary.DONE


def _lines(call: Invocation, undone: Undone) -> Iterator[str]:
    if undone.undone:
        names = ", ".join(map(short, undone.undone[:5]))
        yield f"took back {counted(len(undone.undone), 'commit')}: {names}"
    yield from change_lines("undone", undone.changes, undone.commit, call.style)
    for each in undone.left:
        where = " of ".join(filter(None, (visible(each.path), short(each.commit))))
        yield f"{call.style.warn('left')} {where}: {visible(each.why)}"
    if undone.reopened:
        ranges = counted(len(undone.reopened), "summarised range")
        yield call.addressed(f"opened {ranges} of what was said; see: gitmem transcript pending")
    if not undone.undone and not undone.left:
        yield "nothing to take back: it is as it was before already"
