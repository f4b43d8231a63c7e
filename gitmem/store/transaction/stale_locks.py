"""The locks and temporary files of a dead writer.

Called only when an inflight record says that a gitmem writer died. A lock of a living git is told
apart by what it holds and is never touched.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gitmem.errors import Damaged
from gitmem.model.commit_messages import parse
from gitmem.store.lock import Inflight
from gitmem.store.objects.database import TEMP_PREFIX
from gitmem.store.repository import BRANCH, Repository

GRACE = 1.0
"""Seconds an empty lock may be somebody's who is just about to fill it."""


def is_abandoned(gitdir: Path, lock: Path) -> bool:
    """True for a lock that has stood for a while, whatever it holds, with no git at work here.

    For locks that only one of us can have made: `git pack-refs` takes them, too, for a moment.
    """
    try:
        age = time.time() - lock.lstat().st_mtime
    except FileNotFoundError:
        return False
    return age > GRACE and not git_works_in(gitdir)


def git_works_in(gitdir: Path) -> bool:
    """True when a git command runs in the group: it may wait in an editor, its lock closed."""
    from glob import iglob

    from gitmem.store.config import worktree_of  # only where a lock is in doubt

    places = {os.path.realpath(gitdir), os.path.realpath(worktree_of(gitdir) or gitdir)}
    for process in iglob("/proc/[0-9]*"):
        with suppress(OSError):
            if Path(process, "comm").read_text("utf-8", "replace").strip() == "git":
                named = Path(process, "cmdline").read_text("utf-8", "replace")
                where = os.path.realpath(os.path.join(process, "cwd"))
                if any(f"{where}/".startswith(f"{each}/") or each in named for each in places):
                    return True
    return False


def is_open_somewhere(path: Path) -> bool:
    """True when some process that we may look at has PATH open."""
    from glob import iglob

    found = path.lstat()
    for fd in iglob("/proc/[0-9]*/fd/*"):
        with suppress(OSError):
            if os.path.samestat(os.stat(fd), found):
                return True
    return False


def remove_dead_files(repository: Repository, record: Inflight) -> None:
    """Remove what the writer of RECORD left when it died."""
    repository.staging.clear_dead_lock()
    # Only this one: a writer of ours never takes `HEAD.lock` or `packed-refs.lock`.
    _remove_if_dead(repository, repository.gitdir / f"{BRANCH}.lock", record)
    objects = repository.gitdir / "objects"
    for name in os.listdir(objects):
        if name.startswith(TEMP_PREFIX):
            with suppress(OSError):
                os.unlink(objects / name)


def _remove_if_dead(repository: Repository, lock: Path, record: Inflight) -> None:
    deadline = time.monotonic() + GRACE
    while True:
        try:
            content = lock.read_bytes().strip(b"\0\n")  # NULs: all that a power cut left of it
            age = time.time() - lock.stat().st_mtime
        except FileNotFoundError:
            return
        if content:
            if _is_commit_of(repository, content, record):
                lock.unlink(missing_ok=True)
            return
        if age > GRACE or time.monotonic() >= deadline:
            lock.unlink(missing_ok=True)
            return
        time.sleep(0.02)


def _is_commit_of(repository: Repository, content: bytes, record: Inflight) -> bool:
    oid = content.decode("ascii", "replace")
    try:
        if not repository.objects.holds(oid):
            return False  # what a lock holds need not exist: that is no damage
        commit = repository.commit(oid)
    except (Damaged, OSError, ValueError):
        return False
    return parse(commit.message).get("Gitmem-Id") == record.id
