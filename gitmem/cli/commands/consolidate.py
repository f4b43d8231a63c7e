"""`gitmem consolidate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.declare import at
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import columns, counted, quoted, short

if TYPE_CHECKING:
    from gitmem.operations.reported import Considered, Report

Rows = Sequence[Sequence[str]]

SHOWN = 10
"""How many rows of a kind fit a screen."""
WAYS = {"confirm": "gitmem confirm", "archive": "gitmem archive", "review": "gitmem entries"}


@declare("consolidate")
@at
def command(call: Invocation, at: str | None) -> None:
    """Report what is too big, what faded and what had its time

    Looks at the last commit, or the one --at a moment, and changes nothing.

    \b
    Examples:
      gitmem consolidate
      gitmem consolidate --json
    """
    from gitmem.operations.report import report

    with call.group() as group:
        found = report(group, at=at)
    call.answer(found, map(call.addressed, _reported(call, found)), data=True)


def _reported(call: Invocation, found: Report) -> Iterator[str]:
    style, totals = call.style, found.totals
    states = ", ".join(f"{getattr(totals, x):,} {x}" for x in found.entries._fields)
    yield (
        f"{found.timestamp:%Y-%m-%d} {style.name(short(found.commit))}: "
        f"{counted(totals.files, 'file')}, {totals.size_bytes:,} bytes; "
        f"{_entries(totals.entries)}: {states}"
    )
    for title, rows in _sections(found):
        yield ""
        yield style.bold(f"{title} ({len(rows):,})")
        yield from (f"  {line}" for line in columns(rows[:SHOWN]))
        if len(rows) > SHOWN:
            yield f"  and {len(rows) - SHOWN:,} more: gitmem consolidate --json"
    if not found.recommendations:
        yield style.good("nothing to do")


def _sections(found: Report) -> Iterator[tuple[str, Rows]]:
    """What needs a look, the most pressing first; a section without rows is left out."""
    archivable = [each for each in found.suggested if each.action == "archive"]
    minded = [each for each in found.suggested if each.action != "archive"]
    logs = found.sessions.archive_candidates_older_than_30_days
    sections: tuple[tuple[str, Rows], ...] = (
        ("Over budget", list(_over(found))),
        ("Missing", [(each,) for each in found.budgets.missing]),
        (
            "For gitmem consolidate --apply",
            [*((each, "old log") for each in logs), *((x.address, x.why) for x in archivable)],
        ),
        ("To decide", [_row(each) for each in minded]),
        ("Twice", [(each.address, each.message) for each in found.duplicates]),
        ("Near budget", [(each,) for each in found.budgets.near_budget]),
    )
    yield from (each for each in sections if each[1])


def _over(found: Report) -> Iterator[Sequence[str]]:
    for each in found.budgets.checks:
        if each.over_budget:
            size = f"{each.size_bytes:,} of {each.budget_bytes:,} bytes"
            yield each.file, size, f"{each.budget_usage_pct} %"
    known = found.budgets.over_budget
    for long in found.profiles:
        if long.file not in known:
            yield long.file, f"{long.size_bytes:,} of {long.budget_bytes:,} bytes", "profile"


def _row(entry: Considered) -> Sequence[str]:
    return entry.state, entry.why, f"{WAYS[entry.action]} {quoted(entry.address)}"


def _entries(number: int) -> str:
    return counted(number, "entry").replace("entrys", "entries")
