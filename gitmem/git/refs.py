"""Refs beside the branch: moved under the group's lock, and never blocked by the dead."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pygit2

from gitmem.errors import Busy, Conflict, Damaged
from gitmem.git import publish
from gitmem.git.commits import COMMITTER, EMAIL
from gitmem.git.deadlocks import GRACE
from gitmem.git.objects import sync_folder
from gitmem.git.repository import Repository

PATIENCE = 1.0
"""Seconds to wait for a git that moves the same ref."""
LOG = "gitmem/log.new"
"""The log of a ref that begins, for the moment it takes to put it in place."""
_NOBODY = "0" * 40
_DIGITS = frozenset("0123456789abcdef")


class Move(NamedTuple):
    """How a ref goes on."""

    old: str | None
    """Where it has to be; None: nowhere yet."""
    new: str
    message: str
    when: int
    """In seconds."""
    anew: bool = False
    """Its log forgets where it was before."""


def ref_tip(gitdir: Path, name: str) -> str | None:
    """Where a ref is that has a log; None for one that never was, Damaged where nobody can tell.

    Where its file is lost, git falls back to what it packed some time ago, without a word, or takes
    the ref for one that never was. The log remembers.
    """
    try:
        with open(gitdir / name, "rb") as file:
            found = file.read(64).strip().decode("ascii", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return _remembered(gitdir, name)
    except OSError as error:
        raise _unreadable(name) from error
    if not _is_id(found):
        raise _unreadable(name)
    return found


def _remembered(gitdir: Path, name: str) -> str | None:
    from gitmem.git.checks.reffiles import packed_refs, read_log  # only where there is no file

    packed = packed_refs(gitdir)[0].get(name)
    lines, _, _ = read_log(gitdir, name)
    return lines[-1].new if lines and lines[-1].new != _NOBODY else packed


def _is_id(text: str) -> bool:
    return len(text) == len(_NOBODY) and _DIGITS.issuperset(text)


def _unreadable(name: str) -> Damaged:
    return Damaged(f"{name} cannot be read", hint="run `gitmem check --repair`", ref=name)


def move_ref(gitdir: Path, name: str, move: Move) -> None:
    """Move a ref by git's own protocol: its lock, its log, then the rename.

    Nothing fails behind the rename: what is moved is moved. Needs the group's lock.
    """
    ours, lock, place = _ours(gitdir, name), gitdir / f"{name}.lock", gitdir / name
    clear_dead_lock(gitdir, name)
    _make_folders(gitdir, name)
    try:
        _write(ours, f"{move.new}\n".encode())
        _take(ours, lock)
        if ref_tip(gitdir, name) != move.old:
            raise Conflict(
                f"somebody else has moved {name} at this moment, so nothing was written",
                hint="repeat",
                ref=name,
            )
        publish.reached("held")
        with _logged(gitdir, name, move):
            publish.reached("logged")
            os.rename(lock, place)
    except BaseException:
        clear_dead_lock(gitdir, name)  # ours alone: nobody else may be kept out by it
        raise
    with suppress(OSError):
        os.unlink(ours)
        sync_folder(place.parent)


def clear_dead_lock(gitdir: Path, name: str) -> None:
    """After a crash or a failure: remove the lock of a ref if one of us made it."""
    ours, lock = _ours(gitdir, name), gitdir / f"{name}.lock"
    with suppress(FileNotFoundError):
        mine = os.stat(ours)
        with suppress(FileNotFoundError):
            found = os.stat(lock)
            if (found.st_ino, found.st_dev) == (mine.st_ino, mine.st_dev):
                os.unlink(lock)
        os.unlink(ours)


def _ours(gitdir: Path, name: str) -> Path:
    """The file to which the lock is a hard link: so it can be told from that of a living git."""
    return gitdir / "gitmem" / f"ref-{name.rpartition('/')[2]}.new"


def put_durably(path: Path, data: bytes, temp: Path) -> None:
    """Replace a small file by way of TEMP, always the same: so a crash leaves one at most."""
    temp.unlink(missing_ok=True)
    _write(temp, data)
    os.rename(temp, path)
    sync_folder(path.parent)


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(fd)


def _take(ours: Path, lock: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            os.link(ours, lock)
            return
        except FileExistsError as error:
            if time.monotonic() >= deadline:
                raise _held(lock, "nothing was written") from error
            time.sleep(0.005)


@contextmanager
def _logged(gitdir: Path, name: str, move: Move) -> Iterator[None]:
    """Say where the ref goes, durably, before it does in the block; if it fails to, unsay it."""
    path = gitdir / "logs" / name
    _make_folders(gitdir / "logs", name)
    old = _NOBODY if move.anew or not move.old else move.old
    line = f"{old} {move.new} {COMMITTER} {move.when} +0000\t{move.message}\n".encode()
    size = path.stat().st_size if path.exists() else 0
    try:
        if move.anew or not size:
            put_durably(path, line, gitdir / LOG)
        else:
            _append(path, line)
        yield
    except OSError:
        if not move.anew:
            with suppress(OSError):
                os.truncate(path, size)
        raise


def _append(path: Path, line: bytes) -> None:
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    with open(fd, "r+b", buffering=0) as file:
        end = os.fstat(fd).st_size - 1
        whole = line if os.pread(fd, 1, end) == b"\n" else b"\n" + line
        while whole:  # a disk may be full in the middle of it
            whole = whole[file.write(whole) :]
        os.fsync(fd)


def _held(lock: Path, but: str) -> Busy:
    return Busy(
        f"git holds {lock.name}, so {but}",
        hint="repeat; if no git command is running, `gitmem check --repair` removes it",
        lock=str(lock),
    )


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
            raise _held(lock, f"{what} was not made") from error
        if "No space left" in str(error):
            raise  # that is the disk, and nobody else
        raise Conflict(
            f"{what} could not be made: {error}",
            hint="see `gitmem check`",
            ref=name,
        ) from error


def close(repository: Repository, name: str) -> None:
    """Let nobody else read the file of a ref: libgit2 leaves its mode to the umask."""
    with suppress(OSError):
        os.chmod(f"{repository.gitdir}/{name}", 0o600)


def _make_folders(top: Path, name: str) -> None:
    """The folders of a ref, closed to others."""
    place = top
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
        if not repository.objects.holds(content):
            return False  # its writer died before the object had its name
        kind, data = repository.objects.read(content)
        head = data.partition(b"\n\n")[0]
        return kind == "tag" and f"<{EMAIL}> ".encode() in head
    return False
