"""How a group is, on one screen."""

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
from gitmem.memory.read.inventory import CoreFile, EntryCount, Inventory, inventory
from gitmem.memory.read.log import LogEntry, iter_log
from gitmem.memory.recover.kept import KeptCommit, kept_list, waiting
from gitmem.memory.upkeep.jobs import Job, last_jobs
from gitmem.memory.upkeep.missed_snapshots import MOST, MissedDays, find_missed
from gitmem.memory.upkeep.snapshot import latest
from gitmem.memory.write.open_edits import PendingEdit, Scan, pending_edits
from gitmem.model.layout.layout import EMPTY, FILE
from gitmem.model.record import Record
from gitmem.model.text.conflict_markers import conflicts
from gitmem.model.text.format import counted
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
"""How many commits back violations and days without a snapshot are looked for."""
CONCERNS = {"over": "over budget", "near": "near budget", "missing": "missing"}


class LastSnapshot(Record):
    """The newest snapshot."""

    name: str
    commit: str
    time: datetime | None


class TranscriptCounts(Record):
    """What was said, and how much of it is not summarised."""

    messages: int
    pending: int
    too_many: bool
    unreadable: bool = False
    """Whether some of it, or all, cannot be read."""


class ReadBack(Record):
    """What a verdict on the group's health rests on."""

    files: int
    """Files of HEAD that were read and hashed just now."""
    unreadable: tuple[str, ...]
    """Those that could not be."""
    verified: str
    """The commit up to which `check` or `maintain` has read all of history; empty if never."""
    since: int | None
    """How many of the newest commits came after it; None where it is not among those."""


class InTrash(Record):
    """Held versions that were dropped and can be brought back."""

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
    """Recent captures that broke a rule, whose files have not changed since."""
    ignored: int
    layout: str = ""
    layout_problem: str = ""
    """What is wrong with `gitmem.yaml`; the last good one counts meanwhile."""
    concerns: tuple[str, ...] = ()
    """In words: 1 over budget, 2 missing."""
    holdings: Inventory = Inventory()
    """What the layers of the layout hold."""
    snapshot: LastSnapshot | None = None
    zone_problem: str = ""
    """What is wrong with the TZ of the store's `.env`; the system's zone counts meanwhile."""
    jobs: tuple[Job, ...] = ()
    """The last run of each job: rotations, snapshots, maintenance."""
    said: TranscriptCounts | None = None
    ignored_by_pattern: int = 0
    """What stays on disk and out of memory by decision: see `held ignore`."""
    trash: InTrash = InTrash()
    secrets: tuple[Secret, ...] = ()
    """What looks like a credential in a commit made by plain git, and is not acknowledged."""
    read: ReadBack = ReadBack(0, (), "", None)
    """What of it was looked at."""
    operation: GitOperation | None = None
    """What a person has begun with plain git and not finished: a merge, a rebase ..."""
    claimed: tuple[str, ...] = ()
    """... and the files that belong to it: they are not captured until it is finished."""
    marked: tuple[str, ...] = ()
    """Files with conflict markers that somebody committed with plain git of late."""
    waiting: str = ""
    """What left the branch, in words, until the next command has put it back."""
    kept: tuple[KeptCommit, ...] = ()
    """What somebody took off the branch; it is kept, and `gitmem kept restore` brings it back."""
    late: int = 0
    """Edits that came too late for the write that replaced their file; `gitmem capture` commits
    them, and so does the next write."""
    unreadable: tuple[Unreadable, ...] = ()
    """What was left out when lost commits were brought back, and is not acknowledged."""
    unsearched: int = 0
    """Commits that are not searched for secrets yet: `gitmem maintain` does that. 1,001 stands for
    more than 1,000, -1 for a history that cannot be read."""
    migration: str = ""
    """What `gitmem migrate` would do, in words, and why a session does not do it by itself."""
    missed_snapshots: tuple[str, ...] = ()
    """Days on which memory changed and that have no snapshot, where one of them is before
    yesterday: the start of a session makes the newest of them, and `gitmem maintain` all. They are
    what a bounded look finds; `concerns` says where there may be more."""
    bytes: int = 0
    """The size of all files at HEAD that can be read."""
    unmigrated: str = ""
    """What `gitmem migrate` leaves as it is, and why: no fault, a host may read the old file."""
    still_memory: tuple[str, ...] = ()
    """Files that fit `ignore` and stay memory, because git has them."""
    gitignored: tuple[str, ...] = ()
    """What to `include` where a `.gitignore` in the folder hides a layer and its files."""
    silenced: tuple[Silenced, ...] = ()
    """Files such as `memory.md` that are not shown, because `MEMORY.md` is there, too."""


def status(group: Group) -> Status:
    """What is there, what is not committed, what is held, and whether all is well."""
    tip = group.repository.tip()
    recent: list[LogEntry] = []
    with suppress(Damaged):  # one old commit that cannot be read is no reason to say nothing
        recent.extend(islice(iter_log(group), RECENT))
    violations = tuple(each for each in recent if each.violations and _stands(group, each))
    scan = pending_edits(group)
    last = next((entry for entry in recent if entry.op != "init"), None)
    snapshot = group.repository.snapshot(tip)
    read, size = _read_back(group, snapshot, recent)
    aside = sum(1 for _ in HeldFolder(group.gitdir))
    loaded, holdings = _holdings(group, snapshot)
    wrong_zone = "" if loaded.layout.timezone else zone_problem(group.store.root)
    jobs = last_jobs(group)
    said = _said(group)
    secrets, left_out = _secrets(group)
    marked = tuple(_marked(snapshot, recent))
    concerns = (
        *_underway(scan),
        *_elsewhere(group, scan),
        *_concerns(loaded, holdings.core, wrong_zone),
        *([f"{counted(len(marked), 'file')} with conflict markers"] if marked else ()),
        *_failed(jobs),
        *_unsaid(said),
        *_leaked(secrets),
        *_unsearched(left_out),
    )
    left = waiting(group)
    lost = _lost(group)
    late = len(late_edits(group.gitdir))
    concerns = (*concerns, *([f"{counted(late, 'late edit')} not captured"] if late else []))
    concerns = (*concerns, *(["commits left the branch"] if left else []))
    concerns = (*concerns, *([f"{counted(len(lost), 'version')} lost"] if lost else []))
    last_snapshot, looked = _last_snapshot(group), _looked(group)
    missed = _missed(group, looked)
    migration, unmigrated = _migration(group)
    concerns = (*concerns, *(["migration due"] if migration else []), *_unsnapped(group, looked))
    still, hidden = _beside(group, snapshot, loaded)
    concerns = (*concerns, *([f"{', '.join(hidden)} hidden by .gitignore"] if hidden else []))
    silenced = silenced_at(loaded.layout, snapshot)
    concerns = (*concerns, *([f"{counted(len(silenced), 'file')} not shown"] if silenced else []))
    health = _damage(read) or _untrusted(group) or health_of(group)
    if health == "ok" and (scan.held or scan.edits):
        health = "held" if scan.held else "edited"
    elif health == "ok" and concerns:
        health = "attention"
    return Status(
        group.name,
        str(group.worktree),
        tip,
        health,
        read.files + len(read.unreadable),
        last,
        scan.edits,
        scan.held,
        aside,
        violations,
        scan.ignored,
        loaded.layout.name,
        loaded.problem,
        concerns,
        holdings._replace(
            core=tuple(_with_times(holdings.core, recent)),
            entries=tuple(_with_times(holdings.entries, recent)),
        ),
        last_snapshot,
        wrong_zone,
        jobs,
        said,
        scan.ignored_by_pattern,
        _in_trash(group),
        secrets,
        read,
        scan.operation,
        scan.claimed,
        marked,
        left,
        kept_list(group),
        late,
        lost,
        left_out,
        migration,
        missed,
        size,
        unmigrated,
        still,
        hidden,
        silenced,
    )


def _lost(group: Group) -> tuple[Unreadable, ...]:
    found = unreadable(group.gitdir, group.repository.objects)
    done = read_acknowledged(group.gitdir).ids if found else ()
    return tuple(each for each in found if each.id not in done)


def _underway(scan: Scan) -> Iterator[str]:
    if scan.operation:
        files = f" of {counted(len(scan.claimed), 'file')}" if scan.claimed else ""
        yield f"{scan.operation.name}{files} begun with git is not finished"


def _elsewhere(group: Group, scan: Scan) -> Iterator[str]:
    where = group.repository.head_elsewhere()
    if where and not scan.operation:
        yield f"HEAD is {where}"


def _marked(snapshot: Snapshot, recent: Sequence[LogEntry]) -> Iterator[str]:
    """Files that a commit of plain git brought conflict markers into, and that still have them."""
    paths = (path for each in recent if not each.op for path in each.paths)
    for path in sorted(set(paths)):
        if conflicts(sound(snapshot, path) or b""):
            yield path


def _read_back(
    group: Group, snapshot: Snapshot, recent: Sequence[LogEntry]
) -> tuple[ReadBack, int]:
    """Read every file of HEAD, and look up how far history was read; also the size of all files.

    That takes about as long as the rest of `status` (20 microseconds a file: 40 ms for 2,000), does
    not grow with history, and is the least that a verdict can rest on.
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
    """A ref that a look at the group stumbled over."""
    found = next(iter(group.repository.trouble.items()), None)
    return f"damaged: {found[0]} cannot be trusted: {found[1]}" if found else ""


def _damage(read: ReadBack) -> str:
    if not read.unreadable:
        return ""
    more = f" and {len(read.unreadable) - 1:,} more" if len(read.unreadable) > 1 else ""
    return f"damaged: {read.unreadable[0]}{more} cannot be read"


def _holdings(group: Group, snapshot: Snapshot) -> tuple[Loaded, Inventory]:
    with suppress(Damaged):  # what is damaged is said in a word, and the rest is shown
        loaded = layout_at(group, snapshot)
        return loaded, inventory(snapshot, loaded.layout, group.now().date())
    return Loaded(EMPTY), Inventory()


def _beside(
    group: Group, snapshot: Snapshot, loaded: Loaded
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What `ignore` names and git has, and what a `.gitignore` hides from memory."""
    if not group.is_outside:
        return (), ()
    from gitmem.memory.scope import gitignored_layers, ignored_memory

    with suppress(Damaged, OSError):
        known = {path for path, _ in snapshot.files()}
        hidden = gitignored_layers(group.worktree, loaded.layout, known)
        return ignored_memory(group, snapshot), hidden
    return (), ()


def _concerns(loaded: Loaded, core: Sequence[CoreFile], wrong_zone: str) -> Iterator[str]:
    """What somebody should look at; a file without a budget may be missing."""
    states = [each.state for each in core if each.budget]
    for state, words in CONCERNS.items():
        if state in states:
            yield f"{states.count(state)} {words}"
    if loaded.problem:
        yield f"{FILE} is not in order"
    if wrong_zone:
        yield "the time zone in .env is not known"


def _failed(jobs: Sequence[Job]) -> Iterator[str]:
    yield from (f"{each.job} failed" for each in jobs if each.outcome == "failed")


def _said(group: Group) -> TranscriptCounts | None:
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


def _unsearched(commits: int) -> Iterator[str]:
    if commits == UNREADABLE:
        yield "history not searched for secrets: it cannot be read"
    elif commits > MOST_COUNTED:
        yield f"more than {counted(MOST_COUNTED, 'commit')} not searched for secrets yet"
    elif commits:
        yield f"{counted(commits, 'commit')} not searched for secrets yet"


def _leaked(secrets: Sequence[Secret]) -> Iterator[str]:
    standing = sum(each.standing for each in secrets)
    if standing:
        yield f"{counted(standing, 'secret')} in files"
    if len(secrets) > standing:
        yield f"{counted(len(secrets) - standing, 'secret')} in history"


def _unsaid(said: TranscriptCounts | None) -> Iterator[str]:
    if said and said.unreadable:
        from gitmem.model.hints import Hint, call

        yield Hint("messages cannot be read: see ", call("check"))
    if said and said.too_many:
        yield f"{counted(said.pending, 'message')} not summarised"


def _with_times(files: Sequence[Timed], recent: Sequence[LogEntry]) -> Iterator[Timed]:
    """FILES with their last change, or how long ago that was at least."""
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
    """What is due, and what `gitmem migrate` would leave."""
    with suppress(Damaged, StorageFailed):
        if any(layout_of(group).migrate):
            due, safe = migrate(group, dry_run=True), due_migration(group)
            why = f"; left, because {safe.left}" if due.changed and not safe.changed else ""
            return due.summary + why, due.left
    return "", ""


def _looked(group: Group) -> MissedDays | None:
    """A look for days without a snapshot; a longer one where some were left behind a newer one."""
    with suppress(Damaged, StorageFailed):
        return find_missed(group, most=RECENT if snapshot_gap(group.gitdir) is None else MOST)
    return None


def _missed(group: Group, looked: MissedDays | None) -> tuple[str, ...]:
    """Yesterday alone is no fault: the next session, or the evening, makes up for it."""
    yesterday = group.now().date() - timedelta(days=1)
    if looked and looked.days and looked.days[0].date < yesterday:
        return tuple(f"{each.date}" for each in looked.days)
    return ()


def _unsnapped(group: Group, looked: MissedDays | None) -> Iterator[str]:
    days = _missed(group, looked)
    if looked and days and not looked.is_whole:
        yield f"no snapshot of at least {counted(len(days), 'day')}"
    elif days:
        many = f"{counted(len(days), 'day')} since " if len(days) > 1 else ""
        yield f"no snapshot of {many}{days[0]}"
    elif looked and not looked.is_whole and snapshot_gap(group.gitdir) is not None:
        yield f"days before {looked.reached} not looked at for snapshots"


def _stands(group: Group, entry: LogEntry) -> bool:
    """True while a file that a commit changed still is as it left it."""
    with suppress(Damaged):
        then, now = group.repository.snapshot(entry.commit), group.repository.snapshot()
        return any(then.oid(path) == now.oid(path) for path in entry.paths)
    return True


def health_of(group: Group) -> str:
    """In a word, without looking at every file: who calls it has read them."""
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
