"""`gitmem snapshots`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, plain, short
from gitmem.model.text.numbers import counted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.upkeep.snapshot import SnapshotRow


@declare("snapshots")
@click.option(
    "-n", "--limit", metavar="N", type=click.IntRange(min=0), default=0, help="The newest N"
)
def command(call: Invocation, limit: int) -> None:
    """List the snapshots

    Newest first, each with the number of files that changed since the one before.

    \b
    Examples:
      gitmem snapshots
      gitmem snapshots -n 7 --json
    """
    from gitmem.memory.upkeep.snapshot import snapshots

    with call.group() as group:
        rows = snapshots(group, limit=limit)
        now = group.now()
    call.answer({"snapshots": rows}, _lines(call, rows, now), data=True)
    if not rows:
        call.remark("there are no snapshots; make one with `gitmem snapshot`")


def _lines(call: Invocation, rows: tuple[SnapshotRow, ...], now: datetime) -> Iterator[str]:
    style = call.style
    cells = [
        (
            each.name,
            short(each.commit),
            ago(each.time, now) if each.time else "",
            each.agent,
            f"{counted(each.changes, 'file')} changed",
            each.message.partition("\n")[0],
        )
        for each in rows
    ]
    if cells:
        yield from columns(cells, (style.bold, style.name, style.dim, plain, plain, style.dim))
