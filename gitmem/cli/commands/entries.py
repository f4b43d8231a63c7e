"""`gitmem entries`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from gitmem.cli.declare import at, named
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns
from gitmem.model.text.quoting import quoted

if TYPE_CHECKING:
    from gitmem.memory.entries.entries import ListedEntries, ListedEntry

WRITE = 'gitmem write {path} --entry "TITLE" --set Status=active'


@declare("entries")
@click.argument("path", required=False, default="")
@named("--status", metavar="STATUS", default=None, help="Only those with this status")
@at
def command(call: Invocation, path: str, status: str | None, at: str | None) -> None:
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
        call.remark(_nothing(found, path, status))
    elif any(each.warnings for each in found.entries):
        warned = sum(bool(each.warnings) for each in found.entries)
        call.remark(f"{warned:,} of them could be better: gitmem lint")


def _lines(call: Invocation, found: ListedEntries) -> Iterator[str]:
    table = columns(_row(each) for each in found.entries)
    for each, line in zip(found.entries, table, strict=True):
        yield call.style.dim(line) if each.retired else line


def _row(entry: ListedEntry) -> tuple[str, ...]:
    importance = "-" if entry.importance is None else str(entry.importance)
    return (str(entry.date or "-"), entry.status or "-", importance, entry.address, entry.title)


def _nothing(found: ListedEntries, path: str, status: str | None) -> str:
    if status:
        return f"no entry has the status {status!r}"
    if found.files:
        return f"no entries yet; the first: {WRITE.format(path=quoted(found.files[0]))}"
    where = f"in {path}" if path else "in this group: its layout names no file for them yet"
    begin = WRITE.format(path=quoted(path or "reference/decisions.md"))
    return f"no entries {where}; begin with: {begin}"
