"""Consolidate: archive what the report finds safe to archive, and list what is left to decide.

Safe are logs of more than a month ago, and entries that are outdated by their own status and have
faded since. Each kind is one commit, and the log of the day tells of both.

The report is made without the lock, because it takes its time. When the plan is published, every
entry is read again: one that changed in between stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from itertools import islice
from typing import NamedTuple

from gitmem.errors import GitmemError, SecretFound, TooBig
from gitmem.memory.context.pins import pin
from gitmem.memory.curate.archive import (
    OP,
    ArchivedFiles,
    ArchiveMove,
    Provenance,
    archive_files,
    archive_paths,
    source_paths,
)
from gitmem.memory.curate.report import old_logs, report_on
from gitmem.memory.entries.dates import does_age
from gitmem.memory.entries.targets import Target, TargetVersion, find_unchanged, version_in
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.memory.write.apply import Edit, applied
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.memory.write.target import HERE, resolve_edits
from gitmem.model.commit_messages import Note
from gitmem.model.entries.blocks import Entry, split_address
from gitmem.model.entries.freshness import is_immune
from gitmem.model.entries.rules import is_retired
from gitmem.model.guards import check_message_text, check_size, write_warnings
from gitmem.model.hints import Hint, call
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
    """A log or an entry that was suggested for the archive and stays, and why."""

    address: str
    why: str


class Consolidated(Record):
    """What was consolidated, or would be."""

    commit: str
    base: str
    """The commit that the report is about."""
    commits: tuple[str, ...] = ()
    """Those that archived something, the newest first."""
    logs: tuple[ArchiveMove, ...] = ()
    entries: tuple[ArchiveMove, ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    logged: str = ""
    """The log that tells of it; empty where only the commits do."""
    said: tuple[str, ...] = ()
    """The lines in that log."""
    to_decide: tuple[Considered, ...] = ()
    """Entries that you or a model have to decide about."""
    recommendations: tuple[str, ...] = ()
    """What is left to do, in sentences."""
    dry_run: bool = False
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()

    @property
    def changed(self) -> bool:
        """False if there was nothing to do."""
        return bool(self.logs or self.entries)


class _Candidates(NamedTuple):
    """What the report suggests for the archive: the same for every snapshot it is planned on."""

    group: Group
    base: Snapshot
    note: Note
    provenance: Provenance
    now: datetime
    today: date
    logs: frozenset[str]
    entries: tuple[TargetVersion, ...]


def consolidate(group: Group, *, reason: str = "", dry_run: bool = False) -> Consolidated:
    """Archive old logs and faded outdated entries; with DRY_RUN, only tell which."""
    note = group.note(OP, reason=reason)

    def run() -> Consolidated:
        moment = pin(group, None)
        found = report_on(group, moment)
        chosen = _candidates(group, moment.snapshot, found, note)
        done = _rehearsed(chosen) if dry_run else _published(chosen)
        rest = findings_of(found)._replace(logs=(), archivable=())
        return done._replace(
            to_decide=tuple(each for each in found.suggested if each.action != "archive"),
            recommendations=tuple(recommendations(rest)),
        )

    return run() if dry_run else run_job(group, JOB, run, _job_outcome)


def _job_outcome(done: Consolidated) -> JobOutcome:
    if done.changed:
        return JobOutcome("done", "; ".join(done.said), len(done.logs) + len(done.entries))
    left = len(done.left_alone)
    detail = f"{left:,} left alone" if left else "no old logs and no outdated entries"
    return JobOutcome("nothing", detail, left)


def _candidates(group: Group, base: Snapshot, found: Report, note: Note) -> _Candidates:
    outdated = [x.address for x in found.suggested if x.action == "archive"]
    versions = (version_in(base, Target(*split_address(each))) for each in outdated)
    return _Candidates(
        group,
        base,
        note,
        Provenance(group),
        group.now(),
        found.timestamp.date(),
        frozenset(found.sessions.archive_candidates_older_than_30_days),
        tuple(each for each in versions if each),
    )


def _rehearsed(chosen: _Candidates) -> Consolidated:
    done = _plan(chosen, chosen.base).result
    return done._replace(commit=chosen.base.commit, dry_run=True)


def _published(chosen: _Candidates) -> Consolidated:
    # The lock is taken even if there is nothing to do: that recovers a dead writer's transaction.
    with chosen.group.writing() as writer:
        capture_paths(writer, _paths(chosen, writer.repository.snapshot()))
        published = writer.publish(lambda snapshot: _plan(chosen, snapshot))
        done = published.result._replace(**published.completion)
        made = islice(writer.repository.history(done.commit), len(done.said))
        return done._replace(commits=tuple(each.oid for each in made))


def _paths(chosen: _Candidates, snapshot: Snapshot) -> list[str]:
    """The files that may change: the sources, where they may go, and the log."""
    if not (chosen.logs or chosen.entries):
        return []
    layout = layout_at(chosen.group, snapshot).layout
    sources = [*sorted(chosen.logs), *dict.fromkeys(each.path for each in chosen.entries)]
    targets = [path for x in sources for path in archive_paths(snapshot, layout, x)]
    log = day_log(layout)
    return list(dict.fromkeys([*sources, *targets, *([log.path] if log else [])]))


def _plan(chosen: _Candidates, snapshot: Snapshot) -> Plan[Consolidated]:
    """The log of what is done, then each kind as a commit of its own."""
    layout = layout_at(chosen.group, snapshot).layout
    logs, kept_logs = _archive_logs(chosen, snapshot, layout)
    entries, kept_entries = _archive_entries(chosen, snapshot, layout, logs.changes)
    kinds = [
        _Kind(files, counted(len(files.moves), unit))
        for files, unit in ((logs, "old log"), (entries, "outdated entry"))
        if files.moves
    ]
    lines = tuple(each.line for each in kinds)
    done = Consolidated(
        "",
        chosen.base.commit,
        logs=logs.moves,
        entries=entries.moves,
        left_alone=(*kept_logs, *kept_entries),
        said=lines,
    )
    if not kinds:
        return Plan((), done)
    Changeset(snapshot, {**logs.changes, **entries.changes}).check_policies(layout)
    text = "".join(f"- {chosen.now:%H:%M} consolidate: {each}\n" for each in lines)
    log = with_log_lines(snapshot, layout, text, chosen.now)
    steps = [_step(chosen, snapshot, each, is_logged=log is not None) for each in kinds]
    if log is None:
        return Plan(tuple(steps), done)
    title = f"consolidated: {'; '.join(lines)}"
    note = chosen.note._replace(op="append", title=title, paths=(log.path,))
    done = done._replace(logged=log.path, warnings=log.warnings)
    return Plan((Step({log.path: log.data}, note), *steps), done)


class _Kind(NamedTuple):
    """What goes to the archive as one commit."""

    files: ArchivedFiles
    what: str

    @property
    def line(self) -> str:
        """The line about it in the log."""
        return f"archived {self.what}: {names_of([each.source for each in self.files.moves])}"


def _step(chosen: _Candidates, snapshot: Snapshot, kind: _Kind, *, is_logged: bool) -> Step:
    moves = kind.files.moves
    note = chosen.note._replace(
        title=f"{kind.what} -> archive",
        paths=source_paths(moves),
        extra=(
            *chosen.provenance.of_moves(snapshot, moves),
            *(((CONSOLIDATED, kind.line),) if not is_logged else ()),
        ),
    )
    return Step(kind.files.changes, note)


_Find = Callable[[Changeset], Target | str]
"""Finds a target in a draft, or says why it stays."""


def _archive_logs(
    chosen: _Candidates, snapshot: Snapshot, layout: Layout
) -> tuple[ArchivedFiles, list[LeftAlone]]:
    """Archive the logs that still exist, and are old by the layout of SNAPSHOT."""

    def find(path: str) -> _Find:
        policy = layout.policy_of(path)
        found = Target(path) if policy == "free" else f"the layout makes it {policy}"
        return lambda draft: found

    old = [x for x in old_logs(snapshot, layout, chosen.today) if x in chosen.logs]
    return _archive_each(snapshot, layout, [(path, find(path)) for path in old], {})


def _archive_entries(
    chosen: _Candidates, snapshot: Snapshot, layout: Layout, changed: Changes
) -> tuple[ArchivedFiles, list[LeftAlone]]:
    """Archive the entries that may go; the files CHANGED before are left out of the result."""

    def find(version: TargetVersion) -> _Find:
        return lambda draft: _movable(draft, layout, version)

    found = [(each.address, find(each)) for each in chosen.entries]
    files, left = _archive_each(snapshot, layout, found, changed)
    known = dict(changed)
    new = {x: data for x, data in files.changes.items() if x not in known or known[x] != data}
    return ArchivedFiles(new, files.moves), left


def _archive_each(
    snapshot: Snapshot, layout: Layout, candidates: Sequence[tuple[str, _Find]], changed: Changes
) -> tuple[ArchivedFiles, list[LeftAlone]]:
    """Archive CANDIDATES together; if that fails, one by one, and leave alone those that fail."""
    try:
        return _archive_batch(snapshot, layout, candidates, changed)
    except GitmemError:
        files, left = ArchivedFiles(dict(changed), ()), list[LeftAlone]()
    for each in candidates:
        try:
            more, kept = _archive_batch(snapshot, layout, [each], files.changes)
        except GitmemError as error:
            left.append(LeftAlone(each[0], error.message))
        else:
            files = ArchivedFiles(more.changes, (*files.moves, *more.moves))
            left += kept
    return files, left


def _archive_batch(
    snapshot: Snapshot, layout: Layout, candidates: Sequence[tuple[str, _Find]], changed: Changes
) -> tuple[ArchivedFiles, list[LeftAlone]]:
    draft = Changeset(snapshot, changed)
    found = [(name, find(draft)) for name, find in candidates]
    left = [LeftAlone(name, each) for name, each in found if isinstance(each, str)]
    targets = [each for _, each in found if isinstance(each, Target)]
    return archive_files(layout, snapshot, targets, changed), left


def _movable(draft: Changeset, layout: Layout, version: TargetVersion) -> Target | str:
    """The entry of VERSION in DRAFT, or why it stays where it is."""
    layer = layout.layer_of(version.path)
    entry = find_unchanged(draft, version, layer)
    if entry is None or layer is None:
        return "it was changed meanwhile"
    return _obstacle(entry, layer, version.address) or Target(version.path, entry.slug)


def _obstacle(entry: Entry, layer: Layer, address: str) -> str:
    """Why an entry stays where it is; empty if it may go."""
    if not is_retired(entry, layer) or not does_age(layer) or is_immune(entry.importance):
        return "by the current layout it is not outdated"
    if layer.policy != "free":
        anyway = call("archive", address, allow_policy=True)
        return Hint(f"the layer {layer.name} is {layer.policy}; to archive it anyway: ", anyway)
    try:
        check_message_text("name", f"{address}\n{entry.title}")
    except SecretFound:
        return "its name looks like a credential"
    return ""


WRITABLE = ("free", "append-only")
"""Policies of logs that can be appended to."""


class LoggedLines(NamedTuple):
    """The log of the day with lines added."""

    path: str
    data: bytes
    warnings: tuple[str, ...]


def day_log(layout: Layout) -> Layer | None:
    """The first log of the layout that can be appended to."""
    return next((x for x in layout.layers if x.kind == "log" and x.policy in WRITABLE), None)


def with_log_lines(
    snapshot: Snapshot, layout: Layout, text: str, now: datetime
) -> LoggedLines | None:
    """The log with TEXT at its end; None without a log, or if it is full."""
    layer = day_log(layout)
    if layer is None:
        return None
    edit = Edit(f"{HERE}{layer.path}", text, append=True)
    (resolved,) = resolve_edits([edit], layout, snapshot, now)
    data = applied(resolved, snapshot.read(layer.path))
    try:
        check_size(layer.path, len(data))
    except TooBig:
        return None
    return LoggedLines(
        layer.path, data, tuple(write_warnings(layer, layer.path, data, today=resolved.day))
    )
