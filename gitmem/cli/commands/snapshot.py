"""`gitmem snapshot`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import as_somebody, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short
from gitmem.model.text.numbers import counted

if TYPE_CHECKING:
    from gitmem.memory.upkeep.snapshot import Snapshotted


@declare("snapshot")
@click.option("--force", is_flag=True, help="Also if there is one of today, which is kept as -1")
@reason
@as_somebody
def command(call: Invocation, force: bool, reason: str) -> None:
    """Tag what memory holds today

    Edits that are not captured yet are captured first. There is one snapshot for each local day on
    which something changed; any command that takes a moment takes its name.

    \b
    Examples:
      gitmem snapshot
      gitmem diff snapshot/2026-02-07
      gitmem restore state.md --at snapshot/2026-02-07
    """
    from gitmem.memory.upkeep.snapshot import snapshot

    with call.group() as group:
        done = snapshot(group, force=force, reason=reason)
    for each in done.captured:
        call.remark(f"an edit of {each.path} was captured first ({short(each.commit)})")
    for held in done.held:
        call.remark(f"{held.path} is not in it: held ({held.rule}); see gitmem held")
    call.answer(done, _lines(call, done), made=done.made)


def _lines(call: Invocation, done: Snapshotted) -> Iterator[str]:
    style = call.style
    if done.outcome == "unchanged":
        yield "No memory changes to snapshot."
    elif done.outcome == "exists":
        yield f"{done.name} was made before {style.name(short(done.commit))}"
        yield call.addressed("another one today: gitmem snapshot --force")
    else:
        changed = counted(done.changes, "file")
        changed += f" changed since {done.since}" if done.since else ""
        tagged = f"{style.good('tagged')} {style.bold(done.name)}"
        yield f"{tagged} ({changed}) {style.name(short(done.commit))}"
        if done.kept:
            yield f"the one before it is {done.kept} now"
