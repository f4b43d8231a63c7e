"""The commands `snapshot`, `snapshots` and `rotate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import Whole, as_somebody, option, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, plain, short, visible
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.upkeep.rotate import Rotated
    from gitmem.memory.upkeep.snapshot import SnapshotRow, Snapshotted


@declare("snapshot")
@option(
    "--force", is_flag=True, help="Take another snapshot today; the earlier one is renamed to -1"
)
@reason
@as_somebody
def snapshot_command(call: Invocation, force: bool, reason: str) -> None:
    """Tag the current state of memory

    Captures edits first. Takes one snapshot for each local day with changes. Any command that takes
    a moment accepts the name of a snapshot.

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
        call.remark(f"{held.path} is not in it: held ({held.rule}); see {call.command('held')}")
    call.answer(done, _snapshot_lines(call, done), made=done.made)


def _snapshot_lines(call: Invocation, done: Snapshotted) -> Iterator[str]:
    style = call.style
    if done.outcome == "unchanged":
        yield "No memory changes to snapshot."
    elif done.outcome == "exists":
        yield f"{done.name} was made before {style.name(short(done.commit))}"
        yield f"another one today: {call.command('snapshot --force')}"
    else:
        changed = counted(done.changes, "file")
        changed += f" changed since {done.since}" if done.since else ""
        tagged = f"{style.good('tagged')} {style.bold(done.name)}"
        yield f"{tagged} ({changed}) {style.name(short(done.commit))}"
        if done.kept:
            yield f"the one before it is {done.kept} now"


@declare("snapshots")
@option("-n", "--limit", metavar="N", type=Whole(0), default=0, help="Show only the newest N")
def snapshots_command(call: Invocation, limit: int) -> None:
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
    call.answer({"snapshots": rows}, _snapshot_table(call, rows, now), data=True)
    if not rows:
        call.remark(f"no snapshots yet; take one: {call.command('snapshot')}")


def _snapshot_table(
    call: Invocation, rows: tuple[SnapshotRow, ...], now: datetime
) -> Iterator[str]:
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


@declare("rotate")
@reason
@as_somebody
def rotate_command(call: Invocation, reason: str) -> None:
    """Start the log of a new day

    Moves the log of a past day to the file of its date, with its history, and starts a new one.
    Leaves a log of today alone.

    \b
    Examples:
      gitmem rotate
      gitmem rotate -g research --json
    """
    from gitmem.memory.upkeep.rotate import rotate

    with call.group() as group:
        done = rotate(group, reason=reason)
    remark_found(call, done)
    pairs = [{"from": old, "to": new} for old, new in done.rotated]
    document = {**done._asdict(), "rotated": pairs}
    call.answer(document, _rotated_lines(call, done), changed=done.changed)


def _rotated_lines(call: Invocation, done: Rotated) -> Iterator[str]:
    style = call.style
    if not done.logs:
        yield "No rotation needed: the layout of this group has no log"
    elif not done.changed:
        yield f"No rotation needed: {visible(', '.join(done.logs))} is of today, {done.today}"
    # Of several, each has commits of its own: `gitmem log` has them.
    commit = style.name(short(done.commit)) if len(done.rotated) == 1 else ""
    for old, new in done.rotated:
        verb = style.good("rotated")
        yield f"{verb} {visible(old)} to {style.bold(visible(new))} {commit}".rstrip()
    for path in done.created:
        yield f"{style.good('created')} {style.bold(visible(path))} for {done.today}"
    for path in done.headed:
        yield f"{style.good('headed')} {style.bold(visible(path))}: it is of {done.today}"
