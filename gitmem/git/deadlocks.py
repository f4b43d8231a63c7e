"""The locks and temporary files of a dead writer.

Called only when an inflight record says that a gitmem writer died. A lock of a living git is told
apart by what it holds and is never touched.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gitmem.core.messages import parse
from gitmem.errors import Damaged
from gitmem.git.lock import Record
from gitmem.git.objects import TEMP_PREFIX
from gitmem.git.repository import BRANCH, Repository

GRACE = 1.0
"""Seconds an empty lock may be somebody's who is just about to fill it."""


def remove_dead_files(repository: Repository, record: Record) -> None:
    """Remove what the writer of RECORD left when it died."""
    repository.staging.clear_dead_lock()
    # Only this one: a writer of ours never takes `HEAD.lock` or `packed-refs.lock`.
    _remove_if_dead(repository, repository.gitdir / f"{BRANCH}.lock", record)
    objects = repository.gitdir / "objects"
    for name in os.listdir(objects):
        if name.startswith(TEMP_PREFIX):
            with suppress(OSError):
                os.unlink(objects / name)


def _remove_if_dead(repository: Repository, lock: Path, record: Record) -> None:
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


def _is_commit_of(repository: Repository, content: bytes, record: Record) -> bool:
    oid = content.decode("ascii", "replace")
    try:
        if not repository.objects.holds(oid):
            return False  # what a lock holds need not exist: that is no damage
        commit = repository.commit(oid)
    except (Damaged, OSError, ValueError):
        return False
    return parse(commit.message).get("Gitmem-Id") == record.id
