"""A line of commits beside the branch: files that stand in no work tree and in no index.

It is written as the branch is: the lock, a record, the objects, then the ref. Whoever dies on the
way leaves what nobody reaches, and the next one goes on from the same commit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

import pygit2

from gitmem.core.messages import Note, subject
from gitmem.errors import Damaged
from gitmem.git import publish
from gitmem.git.commits import commit_bytes, write_tree
from gitmem.git.deadlocks import remove_dead_files
from gitmem.git.lock import WAIT, Lock, Record, lock_path
from gitmem.git.objects import sync_folder
from gitmem.git.publish import translated
from gitmem.git.refs import close, moving
from gitmem.git.repository import Repository

Files = Mapping[str, bytes | None]


class Sideline:
    """One such line, under the lock of its group."""

    def __init__(self, repository: Repository, ref: str) -> None:
        self._repository, self._ref = repository, ref

    def tip(self) -> str | None:
        """The newest commit; None where there is none yet."""
        return line_tip(self._repository, self._ref)

    def append(self, files: Files, note: Note, when: datetime) -> str:
        """Add FILES as one commit on top of the newest."""
        reference = self._reference()
        parent = str(reference.target) if reference else None
        root = self._repository.commit(parent).tree if parent else None
        return self._landed(reference, self._written(root, parent, files, note, when), note)

    def restart(self, root: str, files: Files, note: Note, when: datetime) -> str:
        """Begin anew with the tree ROOT and FILES: what came before is reached by nobody."""
        reference = self._reference()
        commit = self._landed(reference, self._written(root, None, files, note, when), note)
        log = self._repository.gitdir / "logs" / self._ref
        with translated("expiring the log of a ref"), suppress(FileNotFoundError):
            os.truncate(log, 0)
        return commit

    def _reference(self) -> pygit2.Reference | None:
        """The ref as it is now: moving it compares with this very value."""
        return self._repository.raw.lookup_reference(self._ref) if self.tip() else None

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
        publish.reached("objects")
        return commit

    def _landed(self, reference: pygit2.Reference | None, commit: str, note: Note) -> str:
        raw, name = self._repository.raw, self._ref
        _ensure_log(self._repository.gitdir, name)
        with moving(self._repository, name, name):
            try:
                if reference:
                    reference.set_target(commit, subject(note))
                else:
                    raw.create_reference(name, commit, force=False, message=subject(note))
            except (pygit2.GitError, OSError, ValueError):
                if self.tip() != commit:  # an exception is not "not written"
                    raise
        publish.reached("branch")
        close(self._repository, name)
        return commit


def line_tip(repository: Repository, ref: str) -> str | None:
    """The newest commit of a line; None where there is none, Damaged where it cannot be read."""
    found = repository.reference(ref)
    if found is None and os.path.exists(repository.gitdir / ref):
        raise Damaged(f"{ref} cannot be read", hint="run `gitmem check --repair`", ref=ref)
    return found


@contextmanager
def sideline(repository: Repository, ref: str, name: str, wait: float = WAIT) -> Iterator[Sideline]:
    """Hold the group's lock to write to a line; NAME is the operation.

    The record of a writer who died is left for who finishes it: that one's work and ours have
    nothing in common but the objects.
    """
    lock = Lock(lock_path(repository.gitdir))
    with translated("working on this group"):
        lock.acquire(wait)
        try:
            pending, remark = lock.record(), lock.remark()
            if pending and not pending.items:
                remove_dead_files(repository, pending)
            ours = not (pending and pending.items)
            if ours:
                lock.note(Record(name, "", os.getpid(), False, ()))
            publish.reached("recorded")
            try:
                yield Sideline(repository, ref)
            finally:
                repository.objects.discard()
                if ours:
                    lock.clear(remark)
        finally:
            lock.release()


def _ensure_log(gitdir: Path, ref: str) -> None:
    """A ref of this kind has a log only where there is one: it tells where a lost ref was."""
    log = gitdir / "logs" / ref
    with suppress(FileExistsError):
        for parent in reversed(log.relative_to(gitdir).parents[:-1]):
            if not (gitdir / parent).is_dir():
                (gitdir / parent).mkdir(mode=0o700)
                sync_folder((gitdir / parent).parent)
        os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
