"""The command `log`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.declare import Whole, named, option, path_argument
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation, ago, at_time
from gitmem.cli.style import columns, plain, short, text_lines, visible

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.read.log import LogEntry


INDENT = " " * 9
WHY = "why: "
SCREENFUL = 30
"""How many entries a terminal gets unless asked for another number."""


@declare("log")
@path_argument(required=False)
@named("--session", metavar="ID", help="Show only commits of this session")
@named("--agent", metavar="NAME", help="Show only commits of this agent")
@named("--since", metavar="MOMENT", help="Show only commits since MOMENT")
@named("--op", metavar="NAME", help="Show only this operation: write, capture, restore ...")
@option("-n", "--limit", metavar="N", type=Whole(0), help="Show only the newest N; 0 shows all")
@option("-v", "--verbose", is_flag=True, help="Show session, source, turn and exact time")
def log_command(
    call: Invocation,
    *,
    path: str | None,
    session: str | None,
    agent: str | None,
    since: str | None,
    op: str | None,
    limit: int | None,
    verbose: bool,
) -> None:
    """Show who did what, when and why

    Newest first. PATH is a file or a folder; a file is followed through its moves. A terminal gets
    the newest 30 unless -n says otherwise.

    \b
    Examples:
      gitmem log
      gitmem log reference/decisions.md
      gitmem log --agent ada --since yesterday
    """
    from gitmem.memory.read.log import log

    cut = limit is None and sys.stdout.isatty() and not call.settings.json
    wanted = SCREENFUL + 1 if cut else limit or 0
    with call.group() as group:
        entries = log(
            group,
            path or "",
            session=session or "",
            agent=agent or "",
            since=since or "",
            op=op or "",
            limit=wanted,
        )
        now = group.now()
    more = cut and len(entries) > SCREENFUL
    shown = entries[:SCREENFUL] if more else entries
    lines = entry_lines(call, shown, now, session=bool(session), verbose=verbose)
    call.answer({"entries": shown}, lines, data=True)
    if more:
        call.remark(f"to see all: {call.command('log -n 0')}")
    if not entries:
        call.remark("nothing was done that fits")


def entry_lines(
    call: Invocation,
    entries: Sequence[LogEntry],
    now: datetime,
    *,
    session: bool = False,
    verbose: bool = False,
) -> Iterator[str]:
    """One line for each entry, and below it what there is to add."""
    if not entries:
        return
    style = call.style
    rows = [_row(each, now) for each in entries]
    paints = (style.name, style.dim, plain, plain, style.bold)
    for each, line in zip(entries, columns(rows, paints), strict=True):
        yield line
        if each.reason and not each.title.endswith(each.reason):
            for number, part in enumerate(text_lines(each.reason)):
                yield style.dim(f"{INDENT}{' ' * len(WHY) if number else WHY}{part}")
        for label, name in _details(each, now, session=session, verbose=verbose):
            yield style.dim(f"{INDENT}{label}{visible(name)}")


def _row(entry: LogEntry, now: datetime) -> tuple[str, ...]:
    return (
        short(entry.commit),
        ago(entry.time, now),
        entry.op or "git",
        entry.agent,
        paths_of(entry),
        entry.title or entry.subject,
    )


def paths_of(entry: LogEntry) -> str:
    """The file an entry is about, and how many more; the title has the old name of a moved one."""
    paths = [each for each in entry.paths if each != entry.moved_from] or entry.paths
    if not paths:
        return "-"
    more = len(paths) - 1
    return f"{paths[0]} and {more:,} more" if more else paths[0]


def _details(
    entry: LogEntry, now: datetime, *, session: bool, verbose: bool
) -> Iterator[tuple[str, str]]:
    for each in entry.violations:
        yield "broke: ", each
    if entry.session and (session or verbose):
        yield "session: ", entry.session
    if verbose:
        yield "at: ", at_time(entry.time, now)
        if entry.source:
            yield "source: ", entry.source
        if entry.turn:
            yield "turn: ", entry.turn
        if entry.subagent:
            yield "subagent: ", entry.subagent
