"""Maintain a group: run every task that is due. Safe at any time, from cron, a hook or by hand.

A task that fails is reported and stops no other. If nothing has changed since nothing was due, a
run costs little more than opening the group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from hashlib import sha1
from pathlib import Path
from time import perf_counter
from time import time as clock_time

from gitmem.cache.progress import Quiet, quiet, remember_unchanged
from gitmem.errors import GitmemError, StorageFailed
from gitmem.memory.clock import ENV, Clock
from gitmem.memory.group import Group, Who, time_now
from gitmem.memory.searched import is_where_left
from gitmem.memory.store import Store, not_found
from gitmem.memory.upkeep.jobs import JobOutcome, last_jobs, log_job, why
from gitmem.memory.upkeep.tasks import TASKS, PackLimits, UpkeepTask
from gitmem.memory.write.last_scan import prune
from gitmem.model.access import MAIN, check_access
from gitmem.model.hints import Hint, call
from gitmem.model.paths import check_group
from gitmem.model.record import Record
from gitmem.model.transcripts.batches import REF
from gitmem.store.gc.prune_list import list_path
from gitmem.store.job_log import Job, append_job
from gitmem.store.lock import Lock, lock_path
from gitmem.store.refs.move import ref_tip
from gitmem.store.repository import BRANCH
from gitmem.store.worktree.fingerprint import Fingerprint, fingerprint

__all__ = ["Maintained", "PackLimits", "Stepped", "maintain", "maintain_all"]

Progress = Callable[[int, int], None]
JOB = "maintain"
OUTCOMES = ("failed", "done", "due", "skipped", "nothing")
"""The first of these that a task has is the outcome of the run."""


class Stepped(Record):
    """What became of one task."""

    step: str
    outcome: str
    """done, nothing (was due), skipped (though due), failed, or due (in a dry run)"""
    detail: str
    """What was done, or why not."""
    code: str = ""
    """The slug of the error, if the task failed."""
    hint: str = ""
    """The next step, after a failure or where commits are kept."""


class Maintained(Record):
    """What became of one group."""

    group: str
    outcome: str
    steps: tuple[Stepped, ...]
    seconds: float = 0.0

    @property
    def failed(self) -> tuple[Stepped, ...]:
        """The tasks that failed."""
        return tuple(each for each in self.steps if each.outcome == "failed")


def maintain(
    group: Group,
    *,
    dry_run: bool = False,
    limits: PackLimits | None = None,
    progress: Progress | None = None,
) -> Maintained:
    """Run what is due; with DRY_RUN, only list it."""
    done = _maintained(group, dry_run, limits, progress)
    if not dry_run:
        prune(str(group.store.root))
    return done


def _maintained(
    group: Group, dry_run: bool, limits: PackLimits | None, progress: Progress | None = None
) -> Maintained:
    check_access(group.acting, group.name, write=True)
    began = perf_counter()
    known = None if limits else _quiet_now(group)
    steps = _all_quiet(known) if known else _walked(group, dry_run, limits, progress)
    done = Maintained(group.name, _worst(steps), steps, perf_counter() - began)
    if not dry_run:
        _log(group, done)
    return done


def maintain_all(
    store: Store,
    *,
    who: Who | None = None,
    acting: str | None = None,
    now: Clock | None = None,
    dry_run: bool = False,
    limits: PackLimits | None = None,
    progress: Progress | None = None,
) -> tuple[Maintained, ...]:
    """Maintain every group on which ACTING may act; a damaged one stops no other."""
    names = [name for name in store.names() if acting in (None, MAIN, name)]
    if acting is not None and not names:
        raise not_found(store, check_group(acting), acting)
    done = []
    for name in names:
        try:
            group = Group(store, name, who=who, acting=acting, now=now)
            try:
                group.repository.tip()  # report a lost branch once, not in each task
                done.append(_maintained(group, dry_run, limits))
            finally:
                group.close()
        except (GitmemError, OSError) as error:
            done.append(Maintained(name, "failed", (_failure("open", error),)))
            if not dry_run:
                job = Job(time_now(now, UTC), JOB, "failed", detail=why(error))
                append_job(store.gitdir(name), job)
        if progress:
            progress(len(done), len(names))
    if not dry_run:
        prune(str(store.root))
    return tuple(done)


def _walked(
    group: Group, dry_run: bool, limits: PackLimits | None, progress: Progress | None
) -> tuple[Stepped, ...]:
    """Run each task that is due, and remember if none was."""
    before = _state(group)  # first: a change during the run is not covered by it
    done = []
    for task in TASKS:
        done.append(_stepped(group, task, dry_run, limits or PackLimits()))
        if progress:
            progress(len(done), len(TASKS))
    if not dry_run:
        _clear_failures(group, done)
    if before and not dry_run and not limits and all(each.outcome == "nothing" for each in done):
        remember_unchanged(group.gitdir, before)
    return tuple(done)


def _clear_failures(group: Group, done: Sequence[Stepped]) -> None:
    """Log that a task which failed is no longer due, or `status` would warn of it for ever.

    It may have been repaired by hand or by `check`, or a new day has begun.
    """
    failed = {each.job for each in last_jobs(group) if each.outcome in ("failed", "skipped")}
    for each in done:
        if each.outcome == "nothing" and each.step in failed:
            log_job(group, each.step, "nothing", detail=each.detail)


def _stepped(group: Group, task: UpkeepTask, dry_run: bool, limits: PackLimits) -> Stepped:
    began = perf_counter()
    try:
        due = task.due(group, limits)
        if dry_run or not due.is_due:
            return Stepped(task.name, "due" if due.is_due else "nothing", due.why)
        done = task.do(group, limits)
        found = Stepped(task.name, done.outcome, done.detail, hint=done.hint)
    except (GitmemError, OSError) as error:
        found, done = _failure(task.name, error), JobOutcome("failed", why(error))
    if found.outcome != "nothing" and not (dry_run or task.is_job):
        took, detail = perf_counter() - began, done.detail
        log_job(group, task.name, done.outcome, found=done.found, detail=detail, seconds=took)
    return found


def _failure(step: str, error: GitmemError | OSError) -> Stepped:
    if isinstance(error, GitmemError):
        return Stepped(step, "failed", error.message, error.code, error.hint)
    return Stepped(step, "failed", why(error), StorageFailed.code, Hint("run ", call("check")))


def _worst(steps: tuple[Stepped, ...]) -> str:
    found = {each.outcome for each in steps}
    return next((each for each in OUTCOMES if each in found), "nothing")


def _log(group: Group, done: Maintained) -> None:
    """Log one line for the whole run, also if it did nothing."""
    lines = [f"{each.step}: {each.detail}" for each in done.steps if each.outcome != "nothing"]
    detail = "; ".join(lines) or "nothing was due"
    log_job(group, JOB, done.outcome, found=len(lines), detail=detail, seconds=done.seconds)


def _quiet_now(group: Group) -> Quiet | None:
    """The remembered state, if nothing can have become due since."""
    known = quiet(group.gitdir)
    if known is None or not known.since <= group.moment().timestamp() < known.until:
        return None
    try:
        same = (
            known.commit == group.repository.tip()
            and known.beside == _beside(group)
            and group.repository.head_branch() == BRANCH
            and known.settings == _settings(group.store)
            and known.worktree == _looks_of(group).digest
            and not Lock(lock_path(group.gitdir)).peek()
            and is_where_left(group)
        )
    except (GitmemError, OSError):
        return None
    return known if same else None


def _all_quiet(known: Quiet) -> tuple[Stepped, ...]:
    then = datetime.fromtimestamp(known.since, UTC).isoformat(" ", "minutes")
    return tuple(Stepped(each.name, "nothing", f"nothing since {then}") for each in TASKS)


def _state(group: Group) -> Quiet | None:
    """The state to remember if nothing is due; None if an edit could be missed."""
    try:
        now, tip, beside = group.now(), group.repository.tip(), _beside(group)
        tomorrow = datetime.combine(now.date() + timedelta(days=1), time.min, now.tzinfo)
        looks = _looks_of(group)
    except (GitmemError, OSError, OverflowError):
        return None
    if not looks.is_settled(clock_time()):
        return None
    settings = _settings(group.store)
    return Quiet(tip, beside, looks.digest, settings, now.timestamp(), tomorrow.timestamp())


def _looks_of(group: Group) -> Fingerprint:
    """The fingerprint of the memory in the work tree."""
    scope = group.repository.scope(group.repository.snapshot())
    return fingerprint(str(group.worktree), scope.keeps if scope else None)


def _settings(store: Store) -> str:
    """The stat of the store's `.env`: it may name the time zone in which days begin."""
    return _looks(store.root / ENV)


def _beside(group: Group) -> str:
    """The state of transcripts, of dropped objects and of refs, also if one moved and back."""
    transcripts = f"{ref_tip(group.gitdir, REF) or 'none'} {_looks(list_path(group.gitdir))}"
    # Git makes, moves and removes a ref by a rename in its folder.
    folders = (Path(folder) for folder, _, _ in os.walk(group.gitdir / "refs"))
    refs = sorted(map(_looks, (*folders, group.gitdir / "packed-refs")))
    digest = sha1(" ".join(refs).encode(), usedforsecurity=False).hexdigest()
    return f"{transcripts} {_looks(group.gitdir / 'logs' / BRANCH)} {digest}"


def _looks(path: Path) -> str:
    try:
        found = os.stat(path)
    except OSError:
        return "none"
    return f"{found.st_ino} {found.st_mtime_ns} {found.st_size}"
