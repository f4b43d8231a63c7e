"""Refs beside the branch: moved under the group's lock, and never blocked by the dead."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pygit2

from gitmem.errors import Busy, Conflict, Damaged
from gitmem.git.commits import COMMITTER, EMAIL
from gitmem.git.deadlocks import GRACE
from gitmem.git.objects import sync_folder
from gitmem.git.repository import Repository


@contextmanager
def moving(repository: Repository, name: str, what: str) -> Iterator[None]:
    """Move the ref NAME in the block; the lock of a writer that died goes first.

    WHAT says in an error which thing could not be moved.
    """
    lock = repository.gitdir / f"{name}.lock"
    _make_folders(repository.gitdir, name)
    if _is_dead(repository, lock):
        lock.unlink(missing_ok=True)
    try:
        yield
    except (pygit2.GitError, ValueError, OSError) as error:
        if lock.exists():
            raise Busy(
                f"git holds {lock.name}, so {what} was not made",
                hint="repeat; if no git command is running, `gitmem check --repair` removes it",
                lock=str(lock),
            ) from error
        raise Conflict(
            f"{what} could not be made: {error}",
            hint="see `gitmem check`",
            ref=name,
        ) from error


def close(repository: Repository, name: str) -> None:
    """Let nobody else read the file of a ref: libgit2 leaves its mode to the umask."""
    with suppress(OSError):
        os.chmod(f"{repository.gitdir}/{name}", 0o600)


def _make_folders(gitdir: Path, name: str) -> None:
    """The folders of a ref, closed to others."""
    place = gitdir
    for part in name.split("/")[:-1]:
        place = place / part
        with suppress(FileExistsError, NotADirectoryError):
            place.mkdir(mode=0o700)
            sync_folder(place.parent)


def _is_dead(repository: Repository, lock: Path) -> bool:
    """True for a lock that one of us left when it died: we hold the group's, so nobody lives."""
    try:
        content = lock.read_bytes().strip(b"\0\n").decode("ascii", "replace")
        age = time.time() - lock.stat().st_mtime
    except OSError:
        return False
    if not content:
        return age > GRACE
    with suppress(Damaged, OSError, ValueError):
        kind, data = repository.objects.read(content)
        head = data.partition(b"\n\n")[0]
        ours = f"<{EMAIL}> " if kind == "tag" else f"\ncommitter {COMMITTER} "
        return kind in ("tag", "commit") and ours.encode() in head
    return False
