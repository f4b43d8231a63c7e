"""The command `archive`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import allow_policy, as_somebody, option, path_argument, reason
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago
from gitmem.cli.style import columns, short, visible
from gitmem.errors import BadInput
from gitmem.model.hints import Call, Hint
from gitmem.model.text.format import quoted

if TYPE_CHECKING:
    from gitmem.memory.curate.archive import Archived
    from gitmem.memory.recover.archived import ArchivedItem, ArchivedList


@declare("archive")
@path_argument("things", metavar="[ADDRESS|PATH]...", nargs=-1)
@option("--list", "listing", is_flag=True, help="List the archive")
@option("--dry-run", is_flag=True, help="List what would move, and move nothing")
@reason
@as_somebody
@allow_policy
def archive_command(
    call: Invocation,
    *,
    things: tuple[str, ...],
    listing: bool,
    dry_run: bool,
    reason: str,
    allow_policy: bool,
) -> None:
    """Move entries and files to the archive, or list it

    `gitmem entries` lists addresses. Everything moves in one commit, line for line: an entry to the
    end of its archive file, a file or folder to the same path below archive/. Nothing is deleted;
    `gitmem restore` brings it back.

    With --list, each line has the time, the agent, the address, the origin and the reason.

    \b
    Examples:
      gitmem archive decisions#old-plan --reason "superseded in May"
      gitmem archive reference/ideas.md#try-gleam facts/tea.md --dry-run
      gitmem archive --list
    """
    if listing:
        _list(call, things, dry_run)
        return
    from gitmem.memory.curate.archive import archive

    with call.group() as group:
        done = archive(group, things, reason=reason, allow_policy=allow_policy, dry_run=dry_run)
    remark_found(call, done)
    call.answer(done, _lines(call, done))
    if not dry_run:
        call.remark(
            f"to have it back: {call.command(f'restore {quoted(done.archived[0].source)}')}"
        )


def _lines(call: Invocation, done: Archived) -> Iterator[str]:
    style = call.style
    verb = "would archive" if done.dry_run else style.good("archived")
    commit = "" if done.dry_run else f" {style.name(short(done.commit))}"
    for each in done.archived:
        yield f"{verb} {visible(each.source)} to {style.bold(visible(each.address))}{commit}"


def _list(call: Invocation, things: tuple[str, ...], dry_run: bool) -> None:
    if things or dry_run:
        raise BadInput(
            "--list shows the whole archive, and moves nothing",
            hint=Hint("run ", Call("archive", options=(("list", True),)), " alone"),
        )
    from gitmem.memory.recover.archived import archived

    with call.group() as group:
        found = archived(group)
    call.answer(found, _table(call, found), data=True)
    if not found.archived:
        call.remark("the archive is empty")


def _table(call: Invocation, found: ArchivedList) -> Iterator[str]:
    now = call.clock() if call.clock else datetime.now(UTC)
    return columns(_row(each, now) for each in found.archived)


def _row(thing: ArchivedItem, now: datetime) -> tuple[str, ...]:
    since = ago(thing.time, now) if thing.time else "-"
    why = " ".join(thing.reason.split())
    return (since, thing.agent or "-", thing.address, thing.source or "-", why)
