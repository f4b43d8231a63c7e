"""The report on memory: what it says, what it suggests, and why.

The records below are its JSON document, key by key. Age alone is a reason to look at an entry,
never to archive it: consolidation archives only entries whose status says that they are completed
or superseded, and never one of importance 1 or 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from gitmem.model.record import Record
from gitmem.model.text.format import KILO, counted, human_size

FADED = ("fading", "stale")
"""The states in which an entry is worth a look."""
LOG_DAYS = 30
"""Logs that are older go to the archive; at this age they stay."""
PROFILE = KILO
"""The bytes of a profile whose layer has no budget."""
MOST = 10
"""How many of the oldest and largest files a report names."""
NAMED = 5
"""How many names a sentence has."""


class Totals(Record):
    """How much there is."""

    files: int
    size_bytes: int
    entries: int
    """Those of layers that age; the states below add up to it."""
    active: int
    aging: int
    fading: int
    stale: int


class FileSize(Record):
    """A file, its size and its age."""

    file: str
    size_bytes: int
    modified_at: datetime | None
    """The newest of its lines; None where it has none."""
    age_days: int


class BudgetCheck(Record):
    """A file against what its layer allows."""

    file: str
    layer: str
    exists: bool
    size_bytes: int
    budget_bytes: int
    """0 is no limit."""
    warn_bytes: int
    over_budget: bool
    near_budget: bool
    missing: bool
    budget_usage_pct: int
    modified_at: datetime | None


class Budgets(Record):
    """The budgets of a layout, and how they are kept."""

    rules: Mapping[str, int]
    """Bytes, by the path of the layer."""
    warn_thresholds: Mapping[str, int]
    checks: tuple[BudgetCheck, ...]
    over_budget: tuple[str, ...]
    near_budget: tuple[str, ...]
    missing: tuple[str, ...]


class ReferenceFile(Record):
    """A file of entries."""

    file: str
    exists: bool
    size_bytes: int
    modified_at: datetime | None
    age_days: int
    freshness: str
    """The state of its newest line; empty where there is no file."""
    entries: int
    retired: int


class Considered(Record):
    """An entry, how fresh it is, and what could be done about it."""

    address: str
    title: str
    layer: str
    state: str
    age_days: int
    touched: datetime
    status: str
    importance: int | None
    confirmed: date | None
    size_bytes: int
    action: str
    """archive, confirm, review, or nothing"""
    why: str


class ByFreshness(Record):
    """The entries in each state that are not immune, the oldest first."""

    active: tuple[Considered, ...]
    aging: tuple[Considered, ...]
    fading: tuple[Considered, ...]
    stale: tuple[Considered, ...]


class Sessions(Record):
    """The logs of days that are over."""

    archive_candidates_older_than_30_days: tuple[str, ...]


class LongProfile(Record):
    """A profile that is longer than it should be."""

    file: str
    size_bytes: int
    budget_bytes: int


class Duplicate(Record):
    """An entry that stands elsewhere, too."""

    address: str
    title: str
    message: str
    hint: str


class Report(Record):
    """What a look at all of memory finds."""

    commit: str
    """What it is about: the base of a plan made from it."""
    timestamp: datetime
    """The day to which ages are counted: its first moment, in the zone of the group."""
    memory_dir: str
    totals: Totals
    budgets: Budgets
    reference_files: tuple[ReferenceFile, ...]
    entries: ByFreshness
    immune: tuple[Considered, ...]
    """Entries of importance 1 and 2: their state is honest, and nothing is suggested."""
    retired: tuple[Considered, ...]
    """Outdated entries by their status, in whatever state."""
    sessions: Sessions
    profiles: tuple[LongProfile, ...]
    duplicates: tuple[Duplicate, ...]
    oldest_files: tuple[FileSize, ...]
    largest_files: tuple[FileSize, ...]
    recommendations: tuple[str, ...]

    @property
    def suggested(self) -> tuple[Considered, ...]:
        """The entries about which something could be done, the oldest first."""
        by_state = reversed(self.entries._asdict().values())
        return tuple(each for entries in by_state for each in entries if each.action)


class Suggestion(NamedTuple):
    """What to do about an entry."""

    action: str = ""
    """archive, confirm, review, or nothing"""
    why: str = ""


class Condition(NamedTuple):
    """What of an entry decides what becomes of it."""

    state: str
    days: int
    status: str
    retired: bool
    immune: bool
    confirmed: date | None
    confirmable: bool
    """True when its status is one that its layer knows as living."""


def suggest(entry: Condition) -> Suggestion:
    """What to do about an entry, and why; nothing while it is fresh, and where it is immune."""
    if entry.immune or entry.state not in FADED:
        return Suggestion()
    untouched = f"untouched for {entry.days} days"
    if entry.retired:
        return Suggestion("archive", f"{entry.status}, and {untouched}")
    said = f"confirmed on {entry.confirmed}" if entry.confirmed else "never confirmed"
    if entry.confirmable:
        return Suggestion("confirm", f"said to be {entry.status}, but {untouched}; {said}")
    status = f"its status is {entry.status!r}" if entry.status else "it has no status"
    return Suggestion("review", f"{untouched}; {status}; {said}")


def is_old_log(day: date, today: date) -> bool:
    """Whether the log of DAY goes to the archive: strictly older than the limit."""
    return day < today - timedelta(days=LOG_DAYS)


class Findings(NamedTuple):
    """What recommendations are made of."""

    over: Sequence[tuple[str, int, int]] = ()
    """Path, bytes and budget of each file over it."""
    near: Sequence[str] = ()
    missing: Sequence[str] = ()
    logs: Sequence[str] = ()
    archivable: Sequence[str] = ()
    stale: Sequence[str] = ()
    """Addresses to confirm or review, first those in this state ..."""
    fading: Sequence[str] = ()
    """... then these."""
    profiles: Sequence[str] = ()
    duplicates: Sequence[str] = ()


def findings_of(found: Report) -> Findings:
    """What the recommendations of a report are made of."""
    looks = [each for each in found.suggested if each.action != "archive"]
    profiles = [each.file for each in found.profiles]
    over = [each for each in found.budgets.checks if each.over_budget]
    return Findings(
        [(x.file, x.size_bytes, x.budget_bytes) for x in over if x.file not in profiles],
        found.budgets.near_budget,
        [each.file for each in found.budgets.checks if each.missing and each.budget_bytes],
        found.sessions.archive_candidates_older_than_30_days,
        [each.address for each in found.suggested if each.action == "archive"],
        [each.address for each in looks if each.state == "stale"],
        [each.address for each in looks if each.state == "fading"],
        profiles,
        [each.address for each in found.duplicates],
    )


def recommendations(found: Findings) -> Iterator[str]:
    """What to do, one sentence for each problem, the most pressing first."""
    for path, size, budget in found.over:
        yield (
            f"{path} is over its budget ({human_size(size)} of {human_size(budget)}): "
            "say it in fewer words, and move what is past to reference/ or archive/"
        )
    if found.missing:
        yield f"{names_of(found.missing)} {_are(found.missing)} missing: write what belongs there"
    if found.logs:
        yield (
            f"{counted(len(found.logs), 'log')} of more than {LOG_DAYS} days ago: "
            f"`gitmem consolidate --apply` archives {_them(found.logs)}"
        )
    if found.archivable:
        yield (
            f"{counted(len(found.archivable), 'outdated entry')}: `gitmem consolidate --apply` "
            f"archives {_them(found.archivable)} ({names_of(found.archivable)})"
        )
    yield from _to_look_at(found)


def _to_look_at(found: Findings) -> Iterator[str]:
    """What only a mind can decide."""
    for state, addresses in (("stale", found.stale), ("fading", found.fading)):
        if addresses:
            yield (
                f"{counted(len(addresses), f'{state} entry')} to look at: "
                "still true, `gitmem confirm`; changed, `gitmem write`; over, `gitmem archive` "
                f"({names_of(addresses)})"
            )
    if found.profiles:
        yield (
            f"{counted(len(found.profiles), 'profile')} too long: summarise older notes of "
            + names_of(found.profiles)
        )
    if found.duplicates:
        stand = "stands" if len(found.duplicates) == 1 else "stand"
        yield (
            f"{counted(len(found.duplicates), 'entry')} {stand} in two places: bring what is new "
            f"together in one, and archive the other ({names_of(found.duplicates)})"
        )
    if found.near:
        yield f"{names_of(found.near)} {_are(found.near)} near the budget"


def names_of(names: Sequence[str]) -> str:
    """The first of NAMES, and how many more there are."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
