"""A line of commits beside the branch: files that stand in no work tree and in no index.

It is written as the branch is: the lock, the objects, then the ref. Whoever dies on the way leaves
what nobody reaches, and the next one goes on from the same commit. No record is needed for that:
the one in the lock, and the note of the index, belong to those who write to the branch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from gitmem.model.commit_messages import Note, subject
from gitmem.store import fault_points
from gitmem.store.lock import WAIT, Lock, lock_path
from gitmem.store.objects.commits import commit_bytes, write_tree
from gitmem.store.objects.database import TEMP_PREFIX
from gitmem.store.refs.move import Move, move_ref, ref_tip
from gitmem.store.repository import Repository
from gitmem.store.transaction.publish import translated

Files = Mapping[str, bytes | None]
STALE = 60.0
"""Seconds after which an object that is still without its name was left by somebody dead."""


class SideBranch:
    """One such line, under the lock of its group."""

    def __init__(self, repository: Repository, ref: str) -> None:
        self._repository, self._ref = repository, ref

    def tip(self) -> str | None:
        """The newest commit; None where there is none yet."""
        return side_branch_tip(self._repository, self._ref)

    def append(self, base: str | None, files: Files, note: Note, when: datetime) -> str:
        """Add FILES as one commit on top of BASE, which has to be the newest."""
        root = self._repository.commit(base).tree if base else None
        commit = self._written(root, base, files, note, when)
        return self._landed(base, commit, note, when)

    def restart(self, base: str, files: Files, note: Note, when: datetime) -> str:
        """Begin anew with all that BASE has, and FILES: what came before is reached by nobody."""
        root = self._repository.commit(base).tree
        commit = self._written(root, None, files, note, when)
        return self._landed(base, commit, note, when, anew=True)

    def _written(
        self, root: str | None, parent: str | None, files: Files, note: Note, when: datetime
    ) -> str:
        with translated("writing the commit"):
            tree = write_tree(self._repository, root, files)
            committed = int(when.timestamp())
            if parent:
                committed = max(committed, self._repository.commit(parent).committed)
            raw = commit_bytes(tree, parent, note, when, committed)
            commit = self._repository.objects.write("commit", raw)
        fault_points.reached("objects")
        return commit

    def _landed(
        self, base: str | None, commit: str, note: Note, when: datetime, *, anew: bool = False
    ) -> str:
        move = Move(base, commit, subject(note), int(when.timestamp()), anew)
        with translated(f"moving {self._ref}"):
            move_ref(self._repository.gitdir, self._ref, move)
        fault_points.reached("branch")
        return commit


def side_branch_tip(repository: Repository, ref: str) -> str | None:
    """The newest commit of a line; None where there is none, Damaged where it cannot be read."""
    return ref_tip(repository.gitdir, ref)


@contextmanager
def side_branch(repository: Repository, ref: str, wait: float = WAIT) -> Iterator[SideBranch]:
    """Hold the group's lock to write to a line.

    The record of a writer who died is left for who finishes it: that one's work and ours have
    nothing in common but the objects.
    """
    with translated("working on this group"), Lock(lock_path(repository.gitdir), wait):
        try:
            _remove_dead_objects(repository.gitdir)
            fault_points.reached("locked")
            yield SideBranch(repository, ref)
        finally:
            with suppress(OSError):  # what is published stays published
                repository.objects.discard()


def _remove_dead_objects(gitdir: Path) -> None:
    """Remove what somebody was writing who died; young ones may be of who needs no lock for it."""
    with suppress(OSError):
        for name in os.listdir(gitdir / "objects"):
            path = gitdir / "objects" / name
            if name.startswith(TEMP_PREFIX) and time.time() - path.lstat().st_mtime > STALE:
                path.unlink()
