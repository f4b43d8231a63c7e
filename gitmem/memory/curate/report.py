"""Report on all of memory: what is too big, faded, outdated or duplicate.

A report depends on one commit, its layout and a day, and on nothing else: the same three give the
same bytes, also in a clone, because dates come from the history and not from files on disk. It
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, time

from gitmem.errors import Damaged
from gitmem.memory.context.pins import Pinned, pin
from gitmem.memory.curate.lint import PlacedEntry, duplicates
from gitmem.memory.entries.confirm import KINDS as CONFIRMABLE
from gitmem.memory.entries.dates import Dates, Touched, age_of, dates_of
from gitmem.memory.entries.entries import entry_files
from gitmem.memory.entries.freshness import AgedEntry, aged_entries, ageing_files
from gitmem.memory.entries.targets import entries_in
from gitmem.memory.group import Group
from gitmem.memory.layer_files import layer_files
from gitmem.memory.read.inventory import CoreFile, inventory, past_logs
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.model.entries.freshness import STATES, state_of
from gitmem.model.entries.rules import one_of
from gitmem.model.layout.archives import is_archived
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.report import (
    MOST,
    PROFILE,
    BudgetCheck,
    Budgets,
    ByFreshness,
    Condition,
    Considered,
    Duplicate,
    FileSize,
    LongProfile,
    ReferenceFile,
    Report,
    Sessions,
    Totals,
    findings_of,
    is_old_log,
    recommendations,
    suggest,
)
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot

JOB = "report"
SHOWN = 3
"""How many recommendations the job log names."""


def report(group: Group, *, at: str | None = None) -> Report:
    """The report on the group, now or AT a moment."""
    return report_on(group, pin(group, at))


def made_report(group: Group) -> Report:
    """The report of now, with a line in the job log."""
    return run_job(group, JOB, lambda: report(group), job_outcome)


def job_outcome(found: Report) -> JobOutcome:
    """The line of a report in the job log: its first problems."""
    problems = [each.partition(": ")[0] for each in found.recommendations]
    more = [f"{len(problems) - SHOWN} more"] if len(problems) > SHOWN else []
    words = "; ".join([*problems[:SHOWN], *more])
    return JobOutcome("done", words or "nothing to do", len(problems))


def report_on(group: Group, moment: Pinned) -> Report:
    """The report on one commit and one day."""
    return _Survey(group, moment).report()


class _Survey:
    """One commit with its dates."""

    def __init__(self, group: Group, moment: Pinned) -> None:
        self._group, self._moment = group, moment
        self._snapshot, self._layout = moment.snapshot, moment.loaded.layout
        self._dates = dates_of(group, moment)
        self._inventory = inventory(self._snapshot, self._layout, moment.time.date())
        self._files = {each.file: each for each in _sizes(self._snapshot, self._dates, moment.time)}

    def report(self) -> Report:
        """The report."""
        aged = self._considered()
        entries = self._by_state([each for each, immune, _ in aged if not immune])
        today = self._moment.time
        current = [x for x in self._files.values() if not is_archived(self._layout, x.file)]
        found = Report(
            self._snapshot.commit,
            datetime.combine(today.date(), time.min, today.tzinfo),
            str(self._group.worktree),
            self._totals([each for each, _, _ in aged]),
            self._budgets(),
            tuple(self._reference_files()),
            entries,
            tuple(each for each, immune, _ in aged if immune),
            tuple(each for each, _, retired in aged if retired),
            Sessions(tuple(old_logs(self._snapshot, self._layout, today.date()))),
            tuple(self._long_profiles()),
            tuple(self._duplicates()),
            _first(current, lambda each: (-each.age_days, each.file)),
            _first(current, lambda each: (-each.size_bytes, each.file)),
            (),
        )
        return found._replace(recommendations=tuple(recommendations(findings_of(found))))

    def _considered(self) -> list[tuple[Considered, bool, bool]]:
        """Every entry that ages, whether it is immune, and whether it is outdated."""
        files = ageing_files(self._snapshot, self._layout)
        aged = sorted(
            aged_entries(self._moment, self._dates, files),
            key=lambda each: (-each.age_days, each.address),
        )
        layers = {each.name: each for each in self._layout.layers}
        return [(_considered(x, layers[x.layer]), x.immune, x.retired) for x in aged]

    def _by_state(self, entries: Sequence[Considered]) -> ByFreshness:
        return ByFreshness(*(tuple(x for x in entries if x.state == state) for state in STATES))

    def _totals(self, entries: Sequence[Considered]) -> Totals:
        states = [each.state for each in entries]
        size = sum(each.size_bytes for each in self._files.values())
        return Totals(len(self._files), size, len(entries), *map(states.count, STATES))

    def _budgets(self) -> Budgets:
        layers = {each.name: each for each in self._layout.layers}
        checks = tuple(self._check(each, layers[each.layer]) for each in self._inventory.core)
        return Budgets(
            {each.path: each.budget for each in self._layout.layers if each.budget},
            {each.path: each.warn for each in self._layout.layers if each.warn},
            checks,
            tuple(each.file for each in checks if each.over_budget),
            tuple(each.file for each in checks if each.near_budget),
            tuple(each.file for each in checks if each.missing),
        )

    def _check(self, core: CoreFile, layer: Layer) -> BudgetCheck:
        known = self._files.get(core.path)
        return BudgetCheck(
            core.path,
            core.layer,
            core.state != "missing",
            core.bytes,
            core.budget,
            layer.warn,
            core.state == "over",
            core.state == "near",
            core.state == "missing",
            core.percent,
            known.modified_at if known else None,
        )

    def _reference_files(self) -> Iterator[ReferenceFile]:
        for each in self._inventory.entries:
            known = self._files.get(each.path)
            if known is None:
                yield ReferenceFile(each.path, False, 0, None, 0, "", 0, 0)
                continue
            state = state_of(known.age_days) if known.modified_at else ""
            size, at, days = known.size_bytes, known.modified_at, known.age_days
            yield ReferenceFile(each.path, True, size, at, days, state, each.entries, each.retired)

    def _long_profiles(self) -> Iterator[LongProfile]:
        for layer in self._layout.layers:
            if layer.kind != "profile":
                continue
            most = layer.budget or PROFILE
            for path, _ in layer_files(self._snapshot, layer, self._layout.layers_before(layer)):
                size = self._files[path].size_bytes
                if size > most and path != layer.default:
                    yield LongProfile(path, size, most)

    def _duplicates(self) -> Iterator[Duplicate]:
        placed = [
            PlacedEntry(path, layer, each)
            for path, layer in entry_files(self._snapshot, self._layout)
            for each in entries_in(self._snapshot, path, layer)
        ]
        titles = {each.address: each.entry.title for each in placed}
        for found in duplicates(placed, self._layout):
            yield Duplicate(found.address, titles[found.address], found.message, found.hint)


def old_logs(snapshot: Snapshot, layout: Layout, today: date) -> Iterator[str]:
    """The logs of more than a month ago that are not in the archive, by day."""
    for layer in layout.layers:
        if layer.kind == "log":
            for day, _, path in sorted(past_logs(snapshot, layer)):
                if is_old_log(day, today) and not is_archived(layout, path):
                    yield path


def _sizes(snapshot: Snapshot, dates: Dates, now: datetime) -> Iterator[FileSize]:
    for path, node in snapshot.files():
        if node.mode == SUBMODULE:
            continue
        try:
            size = len(snapshot.read(path) or b"")
        except Damaged:
            size = 0  # `check` reports damage
        newest = max(dates.lines(path), key=_seconds, default=None)
        when, days = age_of(newest, now) if newest else (None, 0)
        yield FileSize(path, size, when, days)


def _seconds(touched: Touched) -> int:
    return touched.seconds


def _considered(aged: AgedEntry, layer: Layer) -> Considered:
    living = [each for each in layer.statuses if each not in layer.retired]
    confirmable = layer.kind in CONFIRMABLE and one_of(aged.status, living) != ""
    suggestion = suggest(
        Condition(
            aged.state,
            aged.age_days,
            aged.status,
            aged.retired,
            aged.immune,
            aged.confirmed,
            confirmable,
        )
    )
    return Considered(
        aged.address,
        aged.title,
        aged.layer,
        aged.state,
        aged.age_days,
        aged.touched,
        aged.status,
        aged.importance,
        aged.confirmed,
        aged.bytes,
        *suggestion,
    )


def _first(
    files: Sequence[FileSize], key: Callable[[FileSize], tuple[int, str]]
) -> tuple[FileSize, ...]:
    return tuple(sorted(files, key=key)[:MOST])
