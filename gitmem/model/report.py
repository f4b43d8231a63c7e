"""The report on memory: its records, what it suggests for each entry, and its recommendations.

The records below are its JSON document, key by key. Age alone is a reason to look at an entry,
never to archive it: consolidation archives only entries whose status says that they are completed
or superseded, and never one of importance 1 or 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import NamedTuple

from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.text.format import KILO, counted, human_size

FADED = ("fading", "stale")
"""The states in which an entry should be reviewed."""
LOG_DAYS = 30
"""Logs that are older than this go to the archive."""
PROFILE = KILO
"""The budget in bytes of a profile whose layer names none."""
MOST = 10
"""How many of the oldest and largest files a report names."""
NAMED = 5
"""How many names a sentence lists."""
APPLY = Hint(call("consolidate", apply=True))


class Totals(Record):
    """The size of memory."""

    files: int
    size_bytes: int
    entries: int
    """Entries of layers that age; the states below add up to it."""
    active: int
    aging: int
    fading: int
    stale: int


class FileSize(Record):
    """A file, its size and its age."""

    file: str
    size_bytes: int
    modified_at: datetime | None
    """The date of its newest line; None if it is empty."""
    age_days: int


class BudgetCheck(Record):
    """A file against the budget of its layer."""

    file: str
    layer: str
    exists: bool
    size_bytes: int
    budget_bytes: int
    """0 for no limit."""
    warn_bytes: int
    over_budget: bool
    near_budget: bool
    missing: bool
    budget_usage_pct: int
    modified_at: datetime | None


class Budgets(Record):
    """The budgets of a layout, and the files that exceed them."""

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
    """The state of its newest line; empty if the file does not exist."""
    entries: int
    retired: int


class Considered(Record):
    """An entry, its freshness, and the suggested action."""

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
    """The logs of past days."""

    archive_candidates_older_than_30_days: tuple[str, ...]


class LongProfile(Record):
    """A profile over its budget."""

    file: str
    size_bytes: int
    budget_bytes: int


class Duplicate(Record):
    """An entry that another file has, too."""

    address: str
    title: str
    message: str
    hint: str


class Report(Record):
    """The state of all memory at one commit."""

    commit: str
    """The commit it is about: the base of a plan made from it."""
    timestamp: datetime
    """The start of the day on which ages are counted, in the zone of the group."""
    memory_dir: str
    totals: Totals
    budgets: Budgets
    reference_files: tuple[ReferenceFile, ...]
    entries: ByFreshness
    immune: tuple[Considered, ...]
    """Entries of importance 1 and 2: they have a state, but no suggestion."""
    retired: tuple[Considered, ...]
    """Entries that are outdated by their status, in whatever state."""
    sessions: Sessions
    profiles: tuple[LongProfile, ...]
    duplicates: tuple[Duplicate, ...]
    oldest_files: tuple[FileSize, ...]
    largest_files: tuple[FileSize, ...]
    recommendations: tuple[str, ...]

    @property
    def suggested(self) -> tuple[Considered, ...]:
        """The entries with a suggested action, the oldest first."""
        by_state = reversed(self.entries._asdict().values())
        return tuple(each for entries in by_state for each in entries if each.action)


class Suggestion(NamedTuple):
    """The suggested action for an entry, and why."""

    action: str = ""
    """archive, confirm, review, or nothing"""
    why: str = ""


class Condition(NamedTuple):
    """The properties of an entry that decide the suggestion."""

    state: str
    days: int
    status: str
    retired: bool
    immune: bool
    confirmed: date | None
    confirmable: bool
    """Whether its status is one of its layer that is not outdated."""


def suggest(entry: Condition) -> Suggestion:
    """The suggestion for an entry; none while it is fresh, or if it is immune."""
    if entry.immune or entry.state not in FADED:
        return Suggestion()
    unchanged = f"unchanged for {entry.days} days"
    if entry.retired:
        return Suggestion("archive", f"{entry.status}, and {unchanged}")
    confirmed = f"confirmed on {entry.confirmed}" if entry.confirmed else "never confirmed"
    if entry.confirmable:
        return Suggestion(
            "confirm", f"its status is {entry.status}, but it is {unchanged}; {confirmed}"
        )
    status = f"its status is {entry.status!r}" if entry.status else "it has no status"
    return Suggestion("review", f"{unchanged}; {status}; {confirmed}")


def is_old_log(day: date, today: date) -> bool:
    """Whether the log of DAY is older than LOG_DAYS."""
    return day < today - timedelta(days=LOG_DAYS)


class Findings(NamedTuple):
    """The problems that recommendations are about."""

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
    """The problems of a report."""
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
    """One sentence for each problem, "problem: what to do", the most pressing first."""
    for path, size, budget in found.over:
        yield (
            f"{path} is over its budget ({human_size(size)} of {human_size(budget)}): "
            "shorten it, and move outdated text to reference/ or archive/"
        )
    if found.missing:
        yield f"{names_of(found.missing)} {_are(found.missing)} missing: write what belongs there"
    if found.logs:
        text = f"{counted(len(found.logs), 'log')} of more than {LOG_DAYS} days ago: "
        yield Hint(text, APPLY, f" archives {_them(found.logs)}")
    if found.archivable:
        text = f"{counted(len(found.archivable), 'outdated entry')}: "
        names = f"{_them(found.archivable)} ({names_of(found.archivable)})"
        yield Hint(text, APPLY, f" archives {names}")
    yield from _to_review(found)


def _to_review(found: Findings) -> Iterator[str]:
    """The problems that you or a model have to decide about."""
    for state, addresses in (("stale", found.stale), ("fading", found.fading)):
        if addresses:
            yield Hint(
                f"{counted(len(addresses), f'{state} entry')} to review: if still accurate, ",
                call("confirm"),
                "; if changed, ",
                call("write"),
                "; if outdated, ",
                call("archive"),
                f" ({names_of(addresses)})",
            )
    if found.profiles:
        yield (
            f"{counted(len(found.profiles), 'profile')} too long: summarise older notes of "
            + names_of(found.profiles)
        )
    if found.duplicates:
        text = f"{counted(len(found.duplicates), 'duplicate entry')}: merge each into one entry, "
        yield f"{text}and archive the other ({names_of(found.duplicates)})"
    if found.near:
        yield f"{names_of(found.near)} {_are(found.near)} near the budget"


def names_of(names: Sequence[str]) -> str:
    """The first of NAMES, and the number of the others."""
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _them(names: Sequence[str]) -> str:
    return "it" if len(names) == 1 else "them"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
