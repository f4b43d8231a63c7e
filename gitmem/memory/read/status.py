"""The state of a group on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import islice
from typing import TypeVar

from gitmem.cache.progress import snapshot_gap
from gitmem.errors import Damaged, StorageFailed
from gitmem.memory.admin.committed_secrets import (
    MOST_COUNTED,
    UNREADABLE,
    scan_beside,
    scan_commits,
    unsearched,
)
from gitmem.memory.admin.secret_findings import Secret, open_secrets
from gitmem.memory.clock import zone_problem
from gitmem.memory.context.pins import has_transcripts
from gitmem.memory.curate.migrate import due_migration, migrate
from gitmem.memory.group import Group
from gitmem.memory.layouts import Loaded, Silenced, layout_at, layout_of, silenced_at
from gitmem.memory.read.concerns import concerns_of
from gitmem.memory.read.inventory import CoreFile, EntryCount, Inventory, inventory
from gitmem.memory.read.log import LogEntry, iter_log
from gitmem.memory.recover.kept import KeptCommit, kept_list, waiting
from gitmem.memory.upkeep.jobs import Job, last_jobs
from gitmem.memory.upkeep.missed_snapshots import MOST, MissedDays, find_missed
from gitmem.memory.upkeep.snapshot import latest
from gitmem.memory.write.open_edits import PendingEdit, pending_edits
from gitmem.model.layout.layout import EMPTY
from gitmem.model.record import Record
from gitmem.model.text.conflict_markers import conflicts
from gitmem.store.fsck.acknowledged import read_acknowledged
from gitmem.store.fsck.leftovers import late_edits
from gitmem.store.lock import Lock, lock_path
from gitmem.store.lost_commits.unreadable import Unreadable, unreadable
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.refs.files import VERIFIED
from gitmem.store.repository import BRANCH, Snapshot
from gitmem.store.transaction.capture import HeldEdit, sound
from gitmem.store.transaction.git_operations import GitOperation
from gitmem.store.worktree.held import HeldFolder, size_of
from gitmem.store.worktree.trash import Trash

Timed = TypeVar("Timed", CoreFile, EntryCount)

RECENT = 50
"""The number of newest commits searched for violations and days without a snapshot."""


class LastSnapshot(Record):
    """The newest snapshot."""

    name: str
    commit: str
    time: datetime | None


class TranscriptCounts(Record):
    """The number of messages in the transcripts, and of those not summarised."""

    messages: int
    pending: int
    too_many: bool
    unreadable: bool = False
    """Whether any message is damaged."""


class ReadBack(Record):
    """What was read to judge the health of the group."""

    files: int
    """Files of HEAD that were read and hashed by this call."""
    unreadable: tuple[str, ...]
    """Files of HEAD that are damaged."""
    verified: str
    """The commit up to which `check` or `maintain` read all of history; empty if never."""
    since: int | None
    """How many of the newest commits came after it; None if it is not among them."""


class InTrash(Record):
    """Held versions that were dropped and can be restored."""

    versions: int = 0
    bytes: int = 0


class Status(Record):
    """The state of a group."""

    group: str
    worktree: str
    commit: str
    health: str
    """ok (every file of HEAD was read), attention (see concerns), edited, held, pending, elsewhere
    (HEAD moved by hand) or damaged: WHY"""
    files: int
    last: LogEntry | None
    edits: tuple[PendingEdit, ...]
    held: tuple[HeldEdit, ...]
    set_aside: int
    violations: tuple[LogEntry, ...]
    """Recent captures that broke a rule and whose files have not changed since."""
    ignored: int
    layout: str = ""
    layout_problem: str = ""
    """The error in `gitmem.yaml`; the last valid version applies meanwhile."""
    concerns: tuple[str, ...] = ()
    """What needs attention, such as `1 over budget`."""
    holdings: Inventory = Inventory()
    """The content of the layers."""
    snapshot: LastSnapshot | None = None
    zone_problem: str = ""
    """The error in TZ of the store's `.env`; the system's zone applies meanwhile."""
    jobs: tuple[Job, ...] = ()
    """The last run of each job: rotations, snapshots, maintenance."""
    said: TranscriptCounts | None = None
    ignored_by_pattern: int = 0
    """Files that a pattern of `held ignore` keeps on disk and out of memory."""
    trash: InTrash = InTrash()
    secrets: tuple[Secret, ...] = ()
    """Possible credentials in commits made by plain git, without the acknowledged ones."""
    read: ReadBack = ReadBack(0, (), "", None)
    """What was read to judge the health."""
    operation: GitOperation | None = None
    """A merge, rebase or the like that was begun with plain git and is not finished ..."""
    claimed: tuple[str, ...] = ()
    """... and its files, which are not captured until it is finished."""
    marked: tuple[str, ...] = ()
    """Files with conflict markers in recent commits of plain git."""
    waiting: str = ""
    """What left the branch, in words; the next write puts it back."""
    kept: tuple[KeptCommit, ...] = ()
    """Commits that were taken off the branch; `kept restore` brings them back."""
    late: int = 0
    """Edits that came too late for the write that replaced their file; `capture` or the next write
    commits them."""
    unreadable: tuple[Unreadable, ...] = ()
    """Versions that recovered commits lack, without the acknowledged ones."""
    unsearched: int = 0
    """Commits that `maintain` has yet to search for secrets; 1,001 stands for more than 1,000, -1
    for an unreadable history."""
    migration: str = ""
    """What `migrate` would do, in words, and why a session does not do it by itself."""
    missed_snapshots: tuple[str, ...] = ()
    """Days with changes and without a snapshot; empty if yesterday is the only one. The start of a
    session makes the newest, `maintain` all. The search is bounded; `concerns` says if there may
    be more."""
    bytes: int = 0
    """The total size of the readable files at HEAD."""
    unmigrated: str = ""
    """What `migrate` leaves unchanged, and why: a host may still read the old file."""
    still_memory: tuple[str, ...] = ()
    """Files that match `ignore` and stay memory, because they are committed."""
    gitignored: tuple[str, ...] = ()
    """Patterns to `include` if a `.gitignore` in the folder hides a layer."""
    silenced: tuple[Silenced, ...] = ()
    """Files such as `memory.md` that are not shown because `MEMORY.md` exists."""


def status(group: Group) -> Status:
    """The state of GROUP: its files, uncommitted and held edits, and what needs attention."""
    tip = group.repository.tip()
    recent: list[LogEntry] = []
    with suppress(Damaged):  # the rest is still worth showing
        recent.extend(islice(iter_log(group), RECENT))
    scan = pending_edits(group)
    snapshot = group.repository.snapshot(tip)
    read, size = _read_back(group, snapshot, recent)
    loaded, holdings = _holdings(group, snapshot)
    secrets, unscanned = _secrets(group)
    missed = _missed(group)
    migration, unmigrated = _migration(group)
    still_memory, gitignored = _ignored(group, snapshot, loaded)
    state = Status(
        group=group.name,
        worktree=str(group.worktree),
        commit=tip,
        health="",
        files=read.files + len(read.unreadable),
        last=next((each for each in recent if each.op != "init"), None),
        edits=scan.edits,
        held=scan.held,
        set_aside=sum(1 for _ in HeldFolder(group.gitdir)),
        violations=tuple(each for each in recent if each.violations and _stands(group, each)),
        ignored=scan.ignored,
        layout=loaded.layout.name,
        layout_problem=loaded.problem,
        holdings=holdings._replace(
            core=tuple(_with_times(holdings.core, recent)),
            entries=tuple(_with_times(holdings.entries, recent)),
        ),
        snapshot=_last_snapshot(group),
        zone_problem="" if loaded.layout.timezone else zone_problem(group.store.root),
        jobs=last_jobs(group),
        said=_transcripts(group),
        ignored_by_pattern=scan.ignored_by_pattern,
        trash=_in_trash(group),
        secrets=secrets,
        read=read,
        operation=scan.operation,
        claimed=scan.claimed,
        marked=tuple(_marked(snapshot, recent)),
        waiting=waiting(group),
        kept=kept_list(group),
        late=len(late_edits(group.gitdir)),
        unreadable=_lost(group),
        unsearched=unscanned,
        migration=migration,
        missed_snapshots=_missed_days(group, missed),
        bytes=size,
        unmigrated=unmigrated,
        still_memory=still_memory,
        gitignored=gitignored,
        silenced=silenced_at(loaded.layout, snapshot),
    )
    elsewhere = group.repository.head_elsewhere()
    has_gap = snapshot_gap(group.gitdir) is not None
    concerns = tuple(concerns_of(state, elsewhere, missed, has_gap=has_gap))
    # Last, because the calls above note the damaged refs that they come across.
    health = _damage(read) or _untrusted(group) or health_of(group)
    if health == "ok" and (scan.held or scan.edits):
        health = "held" if scan.held else "edited"
    elif health == "ok" and concerns:
        health = "attention"
    return state._replace(concerns=concerns, health=health)


def _lost(group: Group) -> tuple[Unreadable, ...]:
    found = unreadable(group.gitdir, group.repository.objects)
    done = read_acknowledged(group.gitdir).ids if found else ()
    return tuple(each for each in found if each.id not in done)


def _marked(snapshot: Snapshot, recent: Sequence[LogEntry]) -> Iterator[str]:
    """Files with conflict markers that a recent commit of plain git brought."""
    paths = (path for each in recent if not each.op for path in each.paths)
    for path in sorted(set(paths)):
        if conflicts(sound(snapshot, path) or b""):
            yield path


def _read_back(
    group: Group, snapshot: Snapshot, recent: Sequence[LogEntry]
) -> tuple[ReadBack, int]:
    """Read every file of HEAD, and look up how far history was verified; also the total size.

    That takes about as long as the rest of `status` (20 microseconds a file: 40 ms for 2,000) and
    does not grow with history. Health `ok` needs at least that much evidence.
    """
    count, size, unreadable = 0, 0, []
    for path, node in snapshot.files():
        try:
            if node.mode != SUBMODULE:
                size += len(group.repository.objects.read_as("blob", node.oid))
            count += 1
        except Damaged:
            unreadable.append(path)
    verified = group.repository.reference(VERIFIED) or ""
    newest = [each.commit for each in recent]
    since = newest.index(verified) if verified in newest else None
    return ReadBack(count, tuple(unreadable), verified, since), size


def _untrusted(group: Group) -> str:
    """The first ref that was found damaged while reading the group."""
    found = next(iter(group.repository.trouble.items()), None)
    return f"damaged: {found[0]} cannot be trusted: {found[1]}" if found else ""


def _damage(read: ReadBack) -> str:
    if not read.unreadable:
        return ""
    more = f" and {len(read.unreadable) - 1:,} more" if len(read.unreadable) > 1 else ""
    return f"damaged: {read.unreadable[0]}{more} cannot be read"


def _holdings(group: Group, snapshot: Snapshot) -> tuple[Loaded, Inventory]:
    with suppress(Damaged):  # `health` reports the damage, and the rest is shown
        loaded = layout_at(group, snapshot)
        return loaded, inventory(snapshot, loaded.layout, group.now().date())
    return Loaded(EMPTY), Inventory()


def _ignored(
    group: Group, snapshot: Snapshot, loaded: Loaded
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Committed files that match `ignore`, and patterns for layers that a `.gitignore` hides."""
    if not group.is_outside:
        return (), ()
    from gitmem.memory.scope import gitignored_layers, ignored_memory

    with suppress(Damaged, OSError):
        known = {path for path, _ in snapshot.files()}
        hidden = gitignored_layers(group.worktree, loaded.layout, known)
        return ignored_memory(group, snapshot), hidden
    return (), ()


def _transcripts(group: Group) -> TranscriptCounts | None:
    if not has_transcripts(group):
        return None
    from gitmem.memory.transcripts.status import transcript_status  # opens a database

    try:
        found = transcript_status(group, newest=0)
    except Damaged:
        return TranscriptCounts(0, 0, False, unreadable=True)
    return TranscriptCounts(found.messages, found.pending, bool(found.action), found.unreadable)


def _secrets(group: Group) -> tuple[tuple[Secret, ...], int]:
    with suppress(Damaged, StorageFailed):
        beside, known = scan_beside(group, bounded=True), scan_commits(group, bounded=True)
        left = unsearched(group, known)
        left = left if left == UNREADABLE else min(left + beside.left, MOST_COUNTED + 1)
        return open_secrets(group, known, beside.found), left
    return (), UNREADABLE


def _with_times(files: Sequence[Timed], recent: Sequence[LogEntry]) -> Iterator[Timed]:
    """FILES with the time of their last change, or a lower bound of its age."""
    oldest = recent[-1].time if len(recent) == RECENT else None
    for each in files:
        found = next((entry for entry in recent if each.path in entry.paths), None)
        if found:
            yield each._replace(updated=found.time, agent=found.agent)
        else:
            yield each._replace(older_than=oldest)


def _in_trash(group: Group) -> InTrash:
    sizes = [size_of(str(each.content)) or 0 for each in Trash(group.gitdir)]
    return InTrash(len(sizes), sum(sizes))


def _last_snapshot(group: Group) -> LastSnapshot | None:
    with suppress(Damaged, StorageFailed):
        found = latest(group.repository, group.now().date())
        return LastSnapshot(found.name, found.commit, found.time) if found else None
    return None


def _migration(group: Group) -> tuple[str, str]:
    """What `migrate` would do, and what it would leave unchanged."""
    with suppress(Damaged, StorageFailed):
        if any(layout_of(group).migrate):
            due, safe = migrate(group, dry_run=True), due_migration(group)
            why = f"; left, because {safe.left}" if due.changed and not safe.changed else ""
            return due.summary + why, due.left
    return "", ""


def _missed(group: Group) -> MissedDays | None:
    """Search for days without a snapshot; further back if some are behind a newer snapshot."""
    with suppress(Damaged, StorageFailed):
        return find_missed(group, most=RECENT if snapshot_gap(group.gitdir) is None else MOST)
    return None


def _missed_days(group: Group, missed: MissedDays | None) -> tuple[str, ...]:
    """The days of MISSED; none if it is only yesterday, which the next session makes up for."""
    yesterday = group.now().date() - timedelta(days=1)
    if missed and missed.days and missed.days[0].date < yesterday:
        return tuple(f"{each.date}" for each in missed.days)
    return ()


def _stands(group: Group, entry: LogEntry) -> bool:
    """Whether a file that the commit changed is still as the commit left it."""
    with suppress(Damaged):
        then, now = group.repository.snapshot(entry.commit), group.repository.snapshot()
        return any(then.oid(path) == now.oid(path) for path in entry.paths)
    return True


def health_of(group: Group) -> str:
    """Health in a word, without reading the files."""
    try:
        group.repository.snapshot().folder("")
    except Damaged as error:
        return f"damaged: {error.message}"
    branch = group.repository.head_branch()
    if branch is None and not group.repository.is_detached():
        return "damaged: HEAD cannot be read"
    if branch != BRANCH:
        return "elsewhere"
    if not group.worktree.is_dir():
        return "damaged: no work tree"
    return "pending" if Lock(lock_path(group.gitdir)).peek() else "ok"
