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
from gitmem.git.repository import BRANCH, Repository

REF_LOCKS = (f"{BRANCH}.lock", "HEAD.lock", "packed-refs.lock")
GRACE = 1.0
"""Seconds an empty lock may be somebody's who is just about to fill it."""


def remove_dead_files(repository: Repository, record: Record) -> None:
    """Remove what the writer of RECORD left when it died."""
    repository.staging.clear_dead_lock()
    for name in REF_LOCKS:
        _remove_if_dead(repository, repository.gitdir / name, record)
    objects = repository.gitdir / "objects"
    for name in os.listdir(objects):
        if name.startswith("tmp_object_git2_"):
            with suppress(OSError):
                os.unlink(objects / name)


def _remove_if_dead(repository: Repository, lock: Path, record: Record) -> None:
    deadline = time.monotonic() + GRACE
    while True:
        try:
            content = lock.read_bytes().strip()
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
    try:
        commit = repository.commit(content.decode("ascii", "replace"))
    except (Damaged, OSError, ValueError):
        return False
    return parse(commit.message).get("Gitmem-Id") == record.id
