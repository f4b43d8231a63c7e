"""Consolidate: do the safe part of what a report suggests, and say what is left to decide.

Safe is what needs no mind: logs of more than a month ago move to the archive, and so do entries
that are outdated by their own status and have faded since. Each kind is one commit, and the log of
the day tells of both.

A report takes its time, so it is made without the lock. When it lands, every entry is looked at
again: one that somebody has changed in between stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from gitmem.errors import GitmemError, SecretFound
from gitmem.memory.context.pins import moment_at
from gitmem.memory.curate.archive import (
    OP,
    ArchiveMove,
    Filed,
    Provenance,
    archive_files,
    archive_places,
)
from gitmem.memory.curate.day_log import day_log, noted
from gitmem.memory.curate.report import old_logs, report_on
from gitmem.memory.entries.dates import does_age
from gitmem.memory.entries.targets import Target, TargetVersion, find_unchanged, version_in
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.upkeep.jobs import JobOutcome, traced
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note
from gitmem.model.entries.blocks import Entry, split_address
from gitmem.model.entries.freshness import is_immune
from gitmem.model.entries.rules import is_retired
from gitmem.model.guards import check_message_text
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.record import Record
from gitmem.model.report import Considered, Report, findings_of, names_of, recommendations
from gitmem.model.text.format import counted
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

JOB = "consolidate"
CONSOLIDATED = "Gitmem-Consolidated"


class LeftAlone(Record):
    """Something that stays as it is although it was meant, and why."""

    address: str
    why: str


class Consolidated(Record):
    """What was consolidated, or would be."""

    commit: str
    base: str
    """The commit that was looked at."""
    commits: tuple[str, ...] = ()
    """Those that archived something, the newest first."""
    logs: tuple[ArchiveMove, ...] = ()
    entries: tuple[ArchiveMove, ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    logged: str = ""
    """The log that tells of it; empty where the commits do."""
    said: tuple[str, ...] = ()
    """What stands there."""
    to_decide: tuple[Considered, ...] = ()
    """Entries about which only a mind can decide."""
    recommendations: tuple[str, ...] = ()
    """What is left to do, in words."""
    dry_run: bool = False
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()

    @property
    def changed(self) -> bool:
        """False when there was nothing to do."""
        return bool(self.logs or self.entries)


def consolidate(group: Group, *, reason: str = "", dry_run: bool = False) -> Consolidated:
    """Archive old logs, and outdated entries that faded; DRY_RUN only tells."""
    note = group.note(OP, reason=reason)

    def run() -> Consolidated:
        moment = moment_at(group, None)
        found = report_on(group, moment)
        work = _ConsolidationRun(group, moment.snapshot, found, note)
        return _answer(_landed(group, work, dry_run), found)

    return run() if dry_run else traced(group, JOB, run, _job_outcome)


def _job_outcome(done: Consolidated) -> JobOutcome:
    if not done.changed:
        left = len(done.left_alone)
        return JobOutcome(
            "nothing", f"{left:,} left alone" if left else "nothing is old and past", left
        )
    return JobOutcome("done", "; ".join(done.said), len(done.logs) + len(done.entries))


def _landed(group: Group, work: _ConsolidationRun, dry_run: bool) -> Consolidated:
    if dry_run:
        work.plan(work.base)
        return work.done._replace(commit=work.base.commit, dry_run=True)
    with group.writing() as writer:  # also where there is nothing to do: one that died is finished
        paths = work.paths(writer.repository.snapshot())
        if paths:
            # What somebody did to the files comes along, and what they changed is left alone.
            capture_edits(writer, scan_edits(writer.repository, writer.worktree, paths))
        published = writer.publish(work.plan)
        done = work.done._replace(**published.completion)
        made = islice(writer.repository.history(done.commit), len(done.said))
        return done._replace(commits=tuple(each.oid for each in made))


def _answer(done: Consolidated, found: Report) -> Consolidated:
    rest = findings_of(found)._replace(logs=(), archivable=())
    return done._replace(
        to_decide=tuple(each for each in found.suggested if each.action != "archive"),
        recommendations=tuple(recommendations(rest)),
    )


class _Kind(NamedTuple):
    """What goes to the archive as one commit."""

    filed: Filed
    what: str

    @property
    def line(self) -> str:
        """What is said of it."""
        return f"archived {self.what}: {names_of([each.source for each in self.filed.moves])}"


class _ConsolidationRun:
    """What is safe to do, in one snapshot; planned again when the branch moves in between."""

    def __init__(self, group: Group, base: Snapshot, found: Report, note: Note) -> None:
        self._group, self._note = group, note
        self._now = group.now()
        self._provenance = Provenance(group)
        self._today = found.timestamp.date()
        self._logs = frozenset(found.sessions.archive_candidates_older_than_30_days)
        outdated = [x.address for x in found.suggested if x.action == "archive"]
        looked_at = (version_in(base, Target(*split_address(each))) for each in outdated)
        self._entries = [each for each in looked_at if each]
        self.base = base
        self.done = Consolidated("", base.commit)

    def paths(self, snapshot: Snapshot) -> list[str]:
        """The files that may change: what moves, where it may go, and the log."""
        if not (self._logs or self._entries):
            return []
        layout = layout_at(self._group, snapshot).layout
        sources = [*sorted(self._logs), *dict.fromkeys(each.path for each in self._entries)]
        targets = [path for x in sources for path in archive_places(snapshot, layout, x)]
        log = day_log(layout)
        return list(dict.fromkeys([*sources, *targets, *([log.path] if log else [])]))

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The log of what is done, then each kind as a commit of its own."""
        layout = layout_at(self._group, snapshot).layout
        self.done = Consolidated("", self.base.commit)
        logs = self._logs_filed(snapshot, layout)
        entries = self._entries_filed(snapshot, layout, logs.changes)
        kinds = [each for each in _kinds(logs, entries) if each.filed.moves]
        said = tuple(each.line for each in kinds)
        self.done = self.done._replace(logs=logs.moves, entries=entries.moves, said=said)
        if not kinds:
            return Plan((), None)
        Changeset(snapshot, {**logs.changes, **entries.changes}).check_policies(layout)
        logged = self._logged(snapshot, layout, said)
        steps = (self._step(snapshot, each, bool(logged)) for each in kinds)
        return Plan((*logged, *steps), None)

    def _logs_filed(self, snapshot: Snapshot, layout: Layout) -> Filed:
        """The logs that are still there, and old by the layout of now."""
        old = [x for x in old_logs(snapshot, layout, self._today) if x in self._logs]
        for path in [each for each in old if layout.policy_of(each) != "free"]:
            self._leave(path, f"it is {layout.policy_of(path)} by the layout")
            old.remove(path)
        try:
            return archive_files(layout, snapshot, [Target(path) for path in old])
        except GitmemError:
            filed = Filed({}, ())
            for path in old:
                filed = self._one_more(snapshot, layout, filed, path, [Target(path)])
            return filed

    def _entries_filed(self, snapshot: Snapshot, layout: Layout, changed: Changes) -> Filed:
        """The entries that may go, without what CHANGED before."""
        draft, left = Changeset(snapshot, changed), self.done.left_alone
        targets = [
            target for each in self._entries for target in self._movable(draft, layout, each)
        ]
        try:
            filed = archive_files(layout, snapshot, targets, changed)
        except GitmemError:  # one of them cannot go: that one stays
            self.done = self.done._replace(left_alone=left)
            filed = Filed(dict(changed), ())
            for each in self._entries:
                found = self._movable(Changeset(snapshot, filed.changes), layout, each)
                filed = self._one_more(snapshot, layout, filed, each.address, found)
        known = dict(changed)
        new = {x: data for x, data in filed.changes.items() if x not in known or known[x] != data}
        return Filed(new, filed.moves)

    def _one_more(
        self, snapshot: Snapshot, layout: Layout, filed: Filed, name: str, targets: Iterable[Target]
    ) -> Filed:
        """What was filed so far with TARGETS, called NAME, if they can go."""
        for target in targets:
            try:
                more = archive_files(layout, snapshot, [target], filed.changes)
            except GitmemError as error:
                self._leave(name, error.message)
            else:
                filed = Filed(more.changes, (*filed.moves, *more.moves))
        return filed

    def _movable(self, draft: Changeset, layout: Layout, each: TargetVersion) -> Iterator[Target]:
        """The entry as it stands there, if nothing speaks against its going."""
        layer = layout.layer_of(each.path)
        entry = find_unchanged(draft, each, layer)
        why = _obstacle(entry, layer, each.address)
        if why or entry is None:
            self._leave(each.address, why)
        else:
            yield Target(each.path, entry.slug)

    def _leave(self, address: str, why: str) -> None:
        left = LeftAlone(address, why)
        self.done = self.done._replace(left_alone=(*self.done.left_alone, left))

    def _logged(self, snapshot: Snapshot, layout: Layout, said: Sequence[str]) -> tuple[Step, ...]:
        """The log with lines about it; nothing where there is no log for that."""
        text = "".join(f"- {self._now:%H:%M} consolidate: {each}\n" for each in said)
        log = noted(snapshot, layout, text, self._now)
        if log is None:
            return ()
        self.done = self.done._replace(logged=log.path, warnings=log.warnings)
        title = f"consolidated: {'; '.join(said)}"
        note = self._note._replace(op="append", title=title, paths=(log.path,))
        return (Step({log.path: log.data}, note),)

    def _step(self, snapshot: Snapshot, kind: _Kind, logged: bool) -> Step:
        moves = kind.filed.moves
        sources = [each.source for each in moves]
        note = self._note._replace(
            title=f"{kind.what} -> archive",
            paths=tuple(sorted({each.path for each in moves})),
            extra=(
                *(("Gitmem-From", each) for each in sources),
                *self._provenance.trailers(snapshot, sources),
                *(((CONSOLIDATED, kind.line),) if not logged else ()),
            ),
        )
        return Step(kind.filed.changes, note)


def _kinds(logs: Filed, entries: Filed) -> tuple[_Kind, _Kind]:
    return (
        _Kind(logs, counted(len(logs.moves), "old log")),
        _Kind(entries, counted(len(entries.moves), "past entry")),
    )


def _obstacle(entry: Entry | None, layer: Layer | None, address: str) -> str:
    """Why an entry stays where it is; empty when it may go."""
    if entry is None or layer is None:
        return "it was changed meanwhile"
    if not is_retired(entry, layer) or not does_age(layer) or is_immune(entry.importance):
        return "by the layout of now it has its time"
    if layer.policy != "free":
        return f"{layer.name} is {layer.policy}; see `gitmem archive --allow-policy`"
    try:
        check_message_text("name", f"{address}\n{entry.title}")
    except SecretFound:
        return "its name looks like a credential"
    return ""
