"""`gitmem move-entry`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import allow_policy, as_somebody, fields_of, not_empty, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import short, visible

if TYPE_CHECKING:
    from gitmem.memory.entries.move_entry import EntryMoved


@declare("move-entry")
@click.argument("address", callback=not_empty)
@click.argument("target", callback=not_empty)
@click.option("--set", "fields", metavar="FIELD=VALUE", multiple=True, help="Set it on the way")
@reason
@as_somebody
@allow_policy
def command(
    call: Invocation,
    *,
    address: str,
    target: str,
    fields: tuple[str, ...],
    reason: str,
    allow_policy: bool,
) -> None:
    """Move an entry to another file

    ADDRESS is as `gitmem entries` lists it, TARGET a file or a layer. Every line of the entry goes
    along as it is; --set changes a field or adds one.

    \b
    Examples:
      gitmem move-entry reference/ideas.md#use-esm-only decisions --set Status=active
      gitmem move-entry decisions#old-plan archive/decisions.md --reason "superseded in May"
    """
    from gitmem.memory.entries.move_entry import move_entry

    with call.group() as group:
        moved = move_entry(
            group,
            address,
            target,
            fields=fields_of(fields),
            reason=reason,
            allow_policy=allow_policy,
        )
    remark_found(call, moved)
    call.answer(moved, _lines(call, moved))
    for each in moved.warnings:
        call.remark(each)


def _lines(call: Invocation, moved: EntryMoved) -> Iterator[str]:
    style = call.style
    there, commit = style.bold(visible(moved.address)), style.name(short(moved.commit))
    yield f"{style.good('moved')} {visible(moved.source)} to {there} {commit}"
