"""How a group is, on one screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import islice
from typing import NamedTuple

from gitmem.core.layout import EMPTY, FILE
from gitmem.core.numbers import counted
from gitmem.errors import Damaged, StorageFailed
from gitmem.git.held import HeldFolder, size_of
from gitmem.git.intake import Holding
from gitmem.git.lock import Lock, lock_path
from gitmem.git.repository import BRANCH, Snapshot
from gitmem.git.trash import Trash
from gitmem.operations.clock import zone_problem
from gitmem.operations.departed import Kept, kept_list, waiting
from gitmem.operations.exposed import Secret, open_secrets, scan_commits
from gitmem.operations.group import Group
from gitmem.operations.inventory import CoreFile, Inventory, inventory
from gitmem.operations.jobs import Job, last_jobs
from gitmem.operations.layouts import Loaded, layout_at
from gitmem.operations.log import Entry, iter_log
from gitmem.operations.pending import PendingEdit, pending_edits
from gitmem.operations.snapshot import latest
from gitmem.operations.sources import has_transcripts

RECENT = 50
"""How many commits back violations are looked for."""
CONCERNS = {"over": "over budget", "near": "near budget", "missing": "missing"}


class LastSnapshot(NamedTuple):
    """The newest snapshot."""

    name: str
    commit: str
    time: datetime | None


class Said(NamedTuple):
    """What was said, and how much of it is not summarised."""

    messages: int
    pending: int
    too_many: bool


class InTrash(NamedTuple):
    """Held versions that were dropped and can be brought back."""

    versions: int = 0
    bytes: int = 0


class Status(NamedTuple):
    """The state of a group."""

    group: str
    worktree: str
    commit: str
    health: str
    """ok, attention (see concerns), edited, held, pending, elsewhere (HEAD moved by hand) or
    damaged: WHY"""
    files: int
    last: Entry | None
    edits: tuple[PendingEdit, ...]
    held: tuple[Holding, ...]
    set_aside: int
    violations: tuple[Entry, ...]
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
    said: Said | None = None
    ignored_by_pattern: int = 0
    """What stays on disk and out of memory by decision: see `held ignore`."""
    trash: InTrash = InTrash()
    secrets: tuple[Secret, ...] = ()
    """What looks like a credential in a commit made by plain git, and is not acknowledged."""
    waiting: str = ""
    """What left the branch, in words, until the next command has put it back."""
    kept: tuple[Kept, ...] = ()
    """What somebody took off the branch; it is kept, and `gitmem kept restore` brings it back."""


def status(group: Group) -> Status:
    """What is there, what is not committed, what is held, and whether all is well."""
    tip = group.repository.tip().commit
    recent: list[Entry] = []
    with suppress(Damaged):  # one old commit that cannot be read is no reason to say nothing
        recent.extend(islice(iter_log(group), RECENT))
    violations = tuple(each for each in recent if each.violations and _stands(group, each))
    scan = pending_edits(group)
    last = next((entry for entry in recent if entry.op != "init"), None)
    snapshot = group.repository.snapshot(tip)
    files = sum(1 for _ in snapshot.files())
    aside = sum(1 for _ in HeldFolder(group.gitdir))
    loaded, holdings = _holdings(group, snapshot)
    wrong_zone = "" if loaded.layout.timezone else zone_problem(group.store.root)
    jobs = last_jobs(group)
    said = _said(group)
    secrets = _secrets(group)
    concerns = (
        *_concerns(loaded, holdings.core, wrong_zone),
        *_failed(jobs),
        *_unsaid(said),
        *_leaked(secrets),
    )
    left = waiting(group)
    concerns = (*concerns, *(["commits left the branch"] if left else []))
    health = health_of(group)
    if health == "ok" and (scan.held or scan.edits):
        health = "held" if scan.held else "edited"
    elif health == "ok" and concerns:
        health = "attention"
    return Status(
        group.name,
        str(group.worktree),
        tip,
        health,
        files,
        last,
        scan.edits,
        scan.held,
        aside,
        violations,
        scan.ignored,
        loaded.layout.name,
        loaded.problem,
        concerns,
        holdings._replace(core=tuple(_with_times(holdings.core, recent))),
        _last_snapshot(group),
        wrong_zone,
        jobs,
        said,
        scan.ignored_by_pattern,
        _in_trash(group),
        secrets,
        left,
        kept_list(group),
    )


def _holdings(group: Group, snapshot: Snapshot) -> tuple[Loaded, Inventory]:
    with suppress(Damaged):  # what is damaged is said in a word, and the rest is shown
        loaded = layout_at(group, snapshot)
        return loaded, inventory(snapshot, loaded.layout, group.now().date())
    return Loaded(EMPTY), Inventory()


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


def _said(group: Group) -> Said | None:
    if not has_transcripts(group):
        return None
    from gitmem.operations.transcript_status import transcript_status  # opens a database

    with suppress(Damaged):
        found = transcript_status(group, newest=0)
        return Said(found.messages, found.pending, bool(found.action))
    return None


def _secrets(group: Group) -> tuple[Secret, ...]:
    with suppress(Damaged, StorageFailed):
        return open_secrets(group, scan_commits(group, bounded=True))
    return ()


def _leaked(secrets: Sequence[Secret]) -> Iterator[str]:
    standing = sum(each.standing for each in secrets)
    if standing:
        yield f"{counted(standing, 'secret')} in files"
    if len(secrets) > standing:
        yield f"{counted(len(secrets) - standing, 'secret')} in history"


def _unsaid(said: Said | None) -> Iterator[str]:
    if said and said.too_many:
        yield f"{counted(said.pending, 'message')} not summarised"


def _with_times(core: Sequence[CoreFile], recent: Sequence[Entry]) -> Iterator[CoreFile]:
    for each in core:
        found = next((entry for entry in recent if each.path in entry.paths), None)
        yield each._replace(updated=found.time, agent=found.agent) if found else each


def _in_trash(group: Group) -> InTrash:
    sizes = [size_of(str(each.content)) or 0 for each in Trash(group.gitdir)]
    return InTrash(len(sizes), sum(sizes))


def _last_snapshot(group: Group) -> LastSnapshot | None:
    with suppress(Damaged, StorageFailed):
        found = latest(group.repository, group.now().date())
        return LastSnapshot(found.name, found.commit, found.time) if found else None
    return None


def _stands(group: Group, entry: Entry) -> bool:
    """True while a file that a commit changed still is as it left it."""
    with suppress(Damaged):
        then, now = group.repository.snapshot(entry.commit), group.repository.snapshot()
        return any(then.oid(path) == now.oid(path) for path in entry.paths)
    return True


def health_of(group: Group) -> str:
    """In a word, without looking at every file."""
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
