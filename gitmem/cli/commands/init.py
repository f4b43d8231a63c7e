"""`gitmem init`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import as_somebody
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible

if TYPE_CHECKING:
    from gitmem.operations.init import Initialised


@declare("init")
@click.option(
    "--worktree", metavar="DIR", help="Keep the files here, where an agent already has its memory"
)
@as_somebody
def command(call: Invocation, worktree: str | None) -> None:
    """Create a store and a group

    Does nothing where both exist: it is safe to call at every start, and from several processes.

    \b
    Examples:
      gitmem init
      gitmem init -g research
      gitmem init -g coder --worktree ~/project/.memory
    """
    from gitmem.operations.init import init

    place = Path(worktree).expanduser() if worktree else None
    made = init(
        call.store,
        call.group_name(),
        worktree=place,
        who=call.who,
        acting=call.settings.acting,
        now=call.clock,
    )
    call.answer(made, _lines(call, made))


def _lines(call: Invocation, made: Initialised) -> Iterator[str]:
    state = call.style.good("created") if made.created else "already there:"
    yield f"{state} the group {call.style.bold(made.group)} in {visible(made.store)}"
    yield f"  files    {visible(made.worktree)}"
    if made.excluded_in:
        yield f"  ignored  by the repository around it, in {visible(made.excluded_in)}"
    if made.captured:
        yield f"  took in  {made.captured:,} files that were there already"
    for each in made.held:
        where = call.addressed("see `gitmem held`")
        yield f"  held     {visible(each.path)} ({each.rule}): {where}"
    if made.created:
        yield "  next     " + call.addressed('gitmem write notes.md "What I learned today"')
