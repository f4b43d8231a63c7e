"""`gitmem consolidate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import as_somebody, at, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.reporting import decision_rows, report_lines
from gitmem.cli.style import columns, short, visible
from gitmem.errors import BadInput

if TYPE_CHECKING:
    from gitmem.operations.consolidate import Consolidated


@declare("consolidate")
@click.option("--apply", is_flag=True, help="Archive old logs, and entries that are past and faded")
@click.option("--dry-run", is_flag=True, help="Only say what would be done")
@at
@reason
@as_somebody
def command(call: Invocation, *, apply: bool, dry_run: bool, at: str | None, reason: str) -> None:
    """Report what is too big, faded or past, and put it in order

    Alone it reports and changes nothing: files over budget, what --apply would archive, entries to
    confirm, rewrite or archive, entries that stand twice.

    --apply does what needs no mind. It archives logs of more than 30 days ago, and entries whose
    status says that they had their time and that nobody touched for 30 days; never one of
    importance 1 or 2, and never one for its age alone. Each kind is one commit.

    \b
    Examples:
      gitmem consolidate
      gitmem consolidate --json --at 2026-02-08
      gitmem consolidate --apply --dry-run
    """
    if apply:
        _apply(call, dry_run, at, reason)
        return
    if dry_run:
        raise BadInput(
            "a report changes nothing anyway", hint="add --apply, or leave out --dry-run"
        )
    from gitmem.operations.report import report

    with call.group() as group:
        found = report(group, at=at)
    call.answer(found, map(call.addressed, report_lines(call.style, found)), data=True)


def _apply(call: Invocation, dry_run: bool, at: str | None, reason: str) -> None:
    from gitmem.operations.consolidate import consolidate

    if at:
        raise BadInput("the past cannot be changed", hint="--at goes with the report alone")
    with call.group() as group:
        done = consolidate(group, reason=reason, dry_run=dry_run)
    remark_found(call, done)
    lines = map(call.addressed, _consolidated(call, done))
    call.answer(done, lines, changed=done.changed)
    for each in done.warnings:
        call.remark(each)


def _consolidated(call: Invocation, done: Consolidated) -> Iterator[str]:
    style = call.style
    verb = "would archive" if done.dry_run else style.good("archived")
    commit = "" if done.dry_run else f" {style.name(short(done.commit))}"
    for each in (*done.logs, *done.entries):
        yield f"{verb} {visible(each.source)} to {style.bold(visible(each.address))}{commit}"
    for left in done.left_alone:
        yield f"{style.warn('left alone')} {visible(left.address)}: {visible(left.why)}"
    if not done.changed:
        yield "nothing to archive"
    elif done.logged:
        yield f"{'would be ' if done.dry_run else ''}logged in {visible(done.logged)}"
    if done.to_decide:
        yield ""
        yield style.bold(f"To decide ({len(done.to_decide):,})")
        yield from (f"  {line}" for line in columns(decision_rows(done.to_decide)))
