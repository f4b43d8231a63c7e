"""A report on memory, as people read it: what presses first, and what to type for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.style import Style, columns, short
from gitmem.model.text.numbers import counted
from gitmem.model.text.quoting import quoted

if TYPE_CHECKING:
    from gitmem.memory.curate.reported import Considered, Report

Rows = Sequence[Sequence[str]]

SHOWN = 10
"""How many rows of a kind fit a screen."""
WAYS = {"confirm": "gitmem confirm", "archive": "gitmem archive", "review": "gitmem entries"}


def report_lines(style: Style, found: Report) -> Iterator[str]:
    """The report: one line with the totals, then what needs a look."""
    totals = found.totals
    states = ", ".join(f"{getattr(totals, x):,} {x}" for x in found.entries._fields)
    immune = f"; {len(found.immune):,} immune" if found.immune else ""
    yield (
        f"{found.timestamp:%Y-%m-%d} {style.name(short(found.commit))}: "
        f"{counted(totals.files, 'file')}, {counted(totals.size_bytes, 'byte')}; "
        f"{counted(totals.entries, 'entry')}: {states}{immune}"
    )
    for title, rows in _sections(found):
        yield from _section(style, title, rows)
    if not found.recommendations:
        yield style.good("nothing to do")


def decision_lines(style: Style, entries: Sequence[Considered]) -> Iterator[str]:
    """What is left for a mind, where there is anything."""
    if entries:
        yield from _section(style, "To decide", _decisions(entries))


def _section(style: Style, title: str, rows: Rows) -> Iterator[str]:
    yield ""
    yield style.bold(f"{title} ({len(rows):,})")
    yield from (f"  {line}" for line in columns(rows[:SHOWN]))
    if len(rows) > SHOWN:
        yield f"  and {len(rows) - SHOWN:,} more: gitmem consolidate --json"


def _sections(found: Report) -> Iterator[tuple[str, Rows]]:
    """What needs a look, the most pressing first; a section without rows is left out."""
    past = [each for each in found.suggested if each.action == "archive"]
    rest = [each for each in found.suggested if each.action != "archive"]
    logs = found.sessions.archive_candidates_older_than_30_days
    safe = [*((each, "a log of more than 30 days ago") for each in logs), *_reasons(past)]
    sections: tuple[tuple[str, Rows], ...] = (
        ("Over budget", list(_over(found))),
        ("Missing", [(each,) for each in found.budgets.missing]),
        ("For gitmem consolidate --apply", safe),
        ("To decide", _decisions(rest)),
        ("Twice", [(each.address, each.message) for each in found.duplicates]),
        ("Near budget", [(each,) for each in found.budgets.near_budget]),
    )
    yield from (each for each in sections if each[1])


def _decisions(entries: Sequence[Considered]) -> Rows:
    """For each entry its state, why it is worth a look, and what to type."""
    return [(x.state, x.why, f"{_way(x)} {quoted(x.address)}") for x in entries]


def _way(entry: Considered) -> str:
    """The command for it; a note has no entries to list."""
    is_note = entry.action == "review" and "#" not in entry.address
    return "gitmem read" if is_note else WAYS[entry.action]


def _reasons(entries: Sequence[Considered]) -> Iterator[Sequence[str]]:
    return ((each.address, each.why) for each in entries)


def _over(found: Report) -> Iterator[Sequence[str]]:
    for each in found.budgets.checks:
        if each.over_budget:
            size = f"{each.size_bytes:,} of {each.budget_bytes:,} bytes"
            yield each.file, size, f"{each.budget_usage_pct} %"
    for long in found.profiles:
        if long.file not in found.budgets.over_budget:
            yield long.file, f"{long.size_bytes:,} of {long.budget_bytes:,} bytes", "a profile"
