"""The report of `consolidate` as lines for people, and with zylos' JSON keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.cli.style import columns, short
from gitmem.model.text.format import counted, quoted

if TYPE_CHECKING:
    from gitmem.cli.invocation import Invocation
    from gitmem.model.report import (
        BudgetCheck,
        Considered,
        FileSize,
        ReferenceFile,
        Report,
    )


Rows = Sequence[Sequence[str]]

SHOWN = 10
"""How many rows of a kind fit a screen."""
VERBS = {"confirm": "confirm", "archive": "archive", "review": "entries"}


def report_lines(call: Invocation, found: Report) -> Iterator[str]:
    """The report: one line with the totals, then what needs a look."""
    style, totals = call.style, found.totals
    states = ", ".join(f"{getattr(totals, x):,} {x}" for x in found.entries._fields)
    immune = f"; {len(found.immune):,} immune" if found.immune else ""
    yield (
        f"{found.timestamp:%Y-%m-%d} {style.name(short(found.commit))}: "
        f"{counted(totals.files, 'file')}, {counted(totals.size_bytes, 'byte')}; "
        f"{counted(totals.entries, 'entry')}: {states}{immune}"
    )
    for title, rows in _sections(call, found):
        yield from _section(call, title, rows)
    if not found.recommendations:
        yield style.good("nothing to do")


def decision_lines(call: Invocation, entries: Sequence[Considered]) -> Iterator[str]:
    """What is left for a mind, where there is anything."""
    if entries:
        yield from _section(call, "To decide", _decisions(call, entries))


def _section(call: Invocation, title: str, rows: Rows) -> Iterator[str]:
    yield ""
    yield call.style.bold(f"{title} ({len(rows):,})")
    yield from (f"  {line}" for line in columns(rows[:SHOWN]))
    if len(rows) > SHOWN:
        yield f"  and {len(rows) - SHOWN:,} more: {call.command('consolidate --json')}"


def _sections(call: Invocation, found: Report) -> Iterator[tuple[str, Rows]]:
    """What needs a look, the most pressing first; a section without rows is left out."""
    outdated = [each for each in found.suggested if each.action == "archive"]
    rest = [each for each in found.suggested if each.action != "archive"]
    logs = found.sessions.archive_candidates_older_than_30_days
    safe = [*((each, "a log of more than 30 days ago") for each in logs), *_reasons(outdated)]
    sections: tuple[tuple[str, Rows], ...] = (
        ("Over budget", list(_over(found))),
        ("Missing", [(each,) for each in found.budgets.missing]),
        (f"For {call.command('consolidate --apply')}", safe),
        ("To decide", _decisions(call, rest)),
        ("Twice", [(each.address, each.message) for each in found.duplicates]),
        ("Near budget", [(each,) for each in found.budgets.near_budget]),
    )
    yield from (each for each in sections if each[1])


def _decisions(call: Invocation, entries: Sequence[Considered]) -> Rows:
    """For each entry its state, why it is worth a look, and what to type."""
    rows = ((x, call.command(f"{_verb(x)} {quoted(x.address)}")) for x in entries)
    return [(entry.state, entry.why, command) for entry, command in rows]


def _verb(entry: Considered) -> str:
    """The verb for it; a note has no entries to list."""
    is_note = entry.action == "review" and "#" not in entry.address
    return "read" if is_note else VERBS[entry.action]


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


def seed_report(found: Report) -> Mapping[str, object]:
    """FOUND with the keys of zylos' own script, and of each file no more than that says of it."""
    budgets = found.budgets
    # Core files alone: a layer of many files has a pattern for a path.
    rules = {path: size for path, size in budgets.rules.items() if not set(path) & set("{*")}
    logs = found.sessions.archive_candidates_older_than_30_days
    return {
        "timestamp": found.timestamp,
        "memoryDir": found.memory_dir,
        "totals": _seed_keys(found.totals, "files size_bytes"),
        "budgets": {
            "rules": rules,
            "checks": [_seed_check(each) for each in budgets.checks if each.file in rules],
            "overBudget": [each for each in budgets.over_budget if each in rules],
        },
        "referenceFiles": [_seed_reference(each) for each in found.reference_files],
        # By name: the script lists one folder.
        "sessions": {"archiveCandidatesOlderThan30Days": [x.rpartition("/")[2] for x in logs]},
        "oldestFiles": [_seed_file(each) for each in found.oldest_files],
        "largestFiles": [_seed_file(each) for each in found.largest_files],
        "recommendations": found.recommendations,
    }


def _seed_keys(record: object, keys: str) -> dict[str, object]:
    """The values of KEYS, whose names become camelCase."""
    words = ((key, key.split("_")) for key in keys.split())
    return {x + "".join(map(str.title, more)): getattr(record, key) for key, (x, *more) in words}


def _seed_check(found: BudgetCheck) -> Mapping[str, object]:
    known = "size_bytes budget_bytes over_budget budget_usage_pct modified_at"
    keys = known if found.exists else "budget_bytes over_budget"
    return _seed_keys(found, f"file exists {keys}")


def _seed_reference(found: ReferenceFile) -> Mapping[str, object]:
    keys = "size_bytes modified_at age_days freshness" if found.exists else ""
    return _seed_keys(found, f"file exists {keys}")


def _seed_file(found: FileSize) -> Mapping[str, object]:
    return {"path": found.file, **_seed_keys(found, "size_bytes modified_at age_days")}
