"""The command `init`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cli.declare import as_somebody, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.admin.init import Initialised


STANDARD = "standard"


@declare("init")
@option(
    "--worktree",
    metavar="DIR",
    help="Folder for the group's files, such as an agent's memory folder",
)
@option(
    "--layout",
    metavar="NAME",
    help="Layout: standard (default), zylos, arizuko, soul, nano, claude-code, ./folder, or none",
)
@as_somebody
def init_command(call: Invocation, worktree: str | None, layout: str | None) -> None:
    """Create a store and a group

    Does nothing if both exist: you can run it at every start, and from several processes. A layout
    defines the layers of a group and is stored in the group's gitmem.yaml. --layout gives one to a
    group that has none. If you moved a group's folder, pass its new path as --worktree; if you lost
    it, pass the old path to get the files back.

    \b
    Examples:
      gitmem init
      gitmem init --layout zylos
      gitmem init -g research
      gitmem init -g coder --worktree ~/project/.memory
    """
    from gitmem.memory.admin.init import init

    place = Path(worktree).expanduser() if worktree else None
    made = init(
        call.store,
        call.group_name(),
        worktree=place,
        layout=layout or STANDARD,
        relayout=layout is not None,
        who=call.who,
        acting=call.settings.acting,
        now=call.clock,
    )
    call.answer(made, _lines(call, made))


def _lines(call: Invocation, made: Initialised) -> Iterator[str]:
    state = call.style.good("created") if made.created else "already there:"
    yield f"{state} the group {call.style.bold(made.group)} in {visible(made.store)}"
    yield f"  files    {visible(made.worktree)}"
    if made.layout:
        yield f"  layout   {visible(made.layout)}" + _started(made)
    if made.excluded_in:
        yield f"  ignored  by the repository around it, in {visible(made.excluded_in)}"
    if made.captured:
        yield f"  took in  {counted(made.captured, 'file')} that stood there already"
    for each in made.held:
        where = f"see `{call.command('held')}`"
        yield f"  held     {visible(each.path)} ({each.rule}): {where}"
    if made.created:
        words = "status" if made.layout else 'write notes.md "What I learned today"'
        yield f"  next     {call.command(words)}"


def _started(made: Initialised) -> str:
    if not made.started:
        return ""
    return f", with {counted(len(made.started), 'file')} to begin with"
