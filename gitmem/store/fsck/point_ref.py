"""Letting a ref point somewhere without asking where it was.

For `check` alone: every other change of a ref compares with the value it was based on.
"""

from __future__ import annotations

import time
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.store.lock import Lock, lock_path
from gitmem.store.refs.files import all_refs
from gitmem.store.refs.move import Move, move_ref, ref_tip
from gitmem.store.repository import BRANCH, Repository

GLANCE = 0.05
"""Seconds to wait for the lock where nothing hangs on getting it."""


def point(repository: Repository, name: str, target: str, why: str) -> bool:
    """Let the ref NAME point at TARGET; False when that cannot be. Needs the group's lock."""
    try:
        logged = name == BRANCH or (repository.gitdir / "logs" / name).exists()
        message = f"check: {why}" if logged else ""
        old = ref_tip(repository.gitdir, name)
        move_ref(repository.gitdir, name, Move(old, target, message, int(time.time())))
    except (GitmemError, OSError):
        return False
    return True


def point_if_free(gitdir: Path, name: str, target: str, why: str) -> bool:
    """The same, taking the lock; False when somebody is at work."""
    if all_refs(gitdir).get(name) == target:
        return True
    lock = Lock(lock_path(gitdir))
    try:
        lock.acquire(GLANCE)
        repository = Repository(gitdir)
    except GitmemError:
        lock.release()
        return False
    try:
        return point(repository, name, target, why)
    finally:
        repository.close()
        lock.release()
