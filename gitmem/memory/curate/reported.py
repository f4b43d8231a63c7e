"""What a report says: its keys, as the JSON document has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import NamedTuple


class Totals(NamedTuple):
    """How much there is."""

    files: int
    size_bytes: int
    entries: int
    """Those of layers that age; the states below add up to it."""
    active: int
    aging: int
    fading: int
    stale: int


class FileSize(NamedTuple):
    """A file, its size and its age."""

    file: str
    size_bytes: int
    modified_at: datetime | None
    """The newest of its lines; None where it has none."""
    age_days: int


class BudgetCheck(NamedTuple):
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


class Budgets(NamedTuple):
    """The budgets of a layout, and how they are kept."""

    rules: Mapping[str, int]
    """Bytes, by the path of the layer."""
    warn_thresholds: Mapping[str, int]
    checks: tuple[BudgetCheck, ...]
    over_budget: tuple[str, ...]
    near_budget: tuple[str, ...]
    missing: tuple[str, ...]


class ReferenceFile(NamedTuple):
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


class Considered(NamedTuple):
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


class ByFreshness(NamedTuple):
    """The entries in each state that are not immune, the oldest first."""

    active: tuple[Considered, ...]
    aging: tuple[Considered, ...]
    fading: tuple[Considered, ...]
    stale: tuple[Considered, ...]


class Sessions(NamedTuple):
    """The logs of days that are over."""

    archive_candidates_older_than_30_days: tuple[str, ...]


class LongProfile(NamedTuple):
    """A profile that is longer than it should be."""

    file: str
    size_bytes: int
    budget_bytes: int


class Duplicate(NamedTuple):
    """An entry that stands elsewhere, too."""

    address: str
    title: str
    message: str
    hint: str


class Report(NamedTuple):
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
    """Entries whose status says that they had their time, in whatever state."""
    sessions: Sessions
    profiles: tuple[LongProfile, ...]
    duplicates: tuple[Duplicate, ...]
    oldest_files: tuple[FileSize, ...]
    largest_files: tuple[FileSize, ...]
    recommendations: tuple[str, ...]

    @property
    def suggested(self) -> tuple[Considered, ...]:
        """The entries about which something could be done, the oldest first."""
        return tuple(each for state in reversed(self.entries) for each in state if each.action)
