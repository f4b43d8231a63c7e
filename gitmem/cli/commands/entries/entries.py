"""The commands `entries`, `confirm` and `move-entry`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.changes import remark_found
from gitmem.cli.declare import (
    allow_policy,
    argument,
    as_somebody,
    at,
    fields_of,
    named,
    not_empty,
    option,
    path_argument,
    reason,
)
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, short, visible
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from gitmem.memory.entries.confirm import Confirmed
    from gitmem.memory.entries.entries import ListedEntries, ListedEntry
    from gitmem.memory.entries.move_entry import EntryMoved


WRITE = 'write {path} --entry "TITLE" --set Status=active'


@declare("entries")
@argument("path", required=False, default="")
@named("--status", metavar="STATUS", default=None, help="List only entries with this status")
@at
def entries_command(call: Invocation, path: str, status: str | None, at: str | None) -> None:
    """List entries: decisions, projects, preferences, ideas

    PATH is a layer, a file, a folder, a pattern or the address of one entry; without it, all layers
    of entries are listed. Each line has the date, the status, the importance, the address and the
    title.

    \b
    Examples:
      gitmem entries
      gitmem entries decisions --status active
      gitmem entries reference/ideas.md --at 2026-02-08
    """
    from gitmem.memory.entries.entries import entries

    with call.group() as group:
        found = entries(group, path, status=status or "", at=at)
    call.answer(found, _lines(call, found), data=True)
    if not found.entries:
        call.remark(_nothing(call, found, path, status))
    elif any(each.warnings for each in found.entries):
        warned = sum(bool(each.warnings) for each in found.entries)
        call.remark(f"{counted(warned, 'entry')} with warnings: {call.command('lint')}")


def _lines(call: Invocation, found: ListedEntries) -> Iterator[str]:
    table = columns(_row(each) for each in found.entries)
    for each, line in zip(found.entries, table, strict=True):
        yield call.style.dim(line) if each.retired else line


def _row(entry: ListedEntry) -> tuple[str, ...]:
    importance = "-" if entry.importance is None else str(entry.importance)
    return (str(entry.date or "-"), entry.status or "-", importance, entry.address, entry.title)


def _nothing(call: Invocation, found: ListedEntries, path: str, status: str | None) -> str:
    if status:
        return f"no entry has the status {status!r}"
    if found.files:
        first = call.command(WRITE.format(path=quoted(found.files[0])))
        return f"no entries yet; add one: {first}"
    where = f"in {path}" if path else "in this group: its layout names no file for them yet"
    first = call.command(WRITE.format(path=quoted(path or "reference/decisions.md")))
    return f"no entries {where}; add one: {first}"


@declare("confirm")
@path_argument("things", metavar="ADDRESS...", nargs=-1, required=True)
@reason
@as_somebody
def confirm_command(call: Invocation, things: tuple[str, ...], reason: str) -> None:
    """Mark entries as still accurate

    ADDRESS is an address from `gitmem entries`, or the path of a note that ages. Writes today's
    date into each, `- **Confirmed:**` in an entry and `confirmed:` in the frontmatter of a note, as
    one commit, so that they are fresh again, also to plain `git blame`. Refuses targets that do not
    age.

    \b
    Examples:
      gitmem confirm decisions#use-esm-only
      gitmem confirm reference/projects.md#billing facts/tea.md --reason "asked Ada"
    """
    from gitmem.memory.entries.confirm import confirm

    with call.group() as group:
        done = confirm(group, things, reason=reason)
    remark_found(call, done)
    call.answer(done, _confirmed_lines(call, done))


def _confirmed_lines(call: Invocation, done: Confirmed) -> Iterator[str]:
    style = call.style
    for each in done.confirmed:
        commit = style.name(short(done.commit))
        yield f"{style.good('confirmed')} {style.bold(visible(each))} {commit}"
    for each in done.already:
        yield f"unchanged {visible(each)}: confirmed today already"


@declare("move-entry")
@argument("address", callback=not_empty)
@argument("target", callback=not_empty)
@option(
    "--set",
    "fields",
    metavar="FIELD=VALUE",
    multiple=True,
    help="Set a field of the entry; repeatable",
)
@reason
@as_somebody
@allow_policy
def move_entry_command(
    call: Invocation,
    *,
    address: str,
    target: str,
    fields: tuple[str, ...],
    reason: str,
    allow_policy: bool,
) -> None:
    """Move an entry to another file

    ADDRESS is an address from `gitmem entries`, TARGET a file or a layer. The entry moves line for
    line; --set changes a field or adds one.

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
    call.answer(moved, _moved_lines(call, moved))
    for each in moved.warnings:
        call.remark(each)


def _moved_lines(call: Invocation, moved: EntryMoved) -> Iterator[str]:
    style = call.style
    there, commit = style.bold(visible(moved.address)), style.name(short(moved.commit))
    yield f"{style.good('moved')} {visible(moved.source)} to {there} {commit}"
