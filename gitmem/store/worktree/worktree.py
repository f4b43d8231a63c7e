"""The folder that agents and people see and edit.

Every access walks from an open root folder, part by part, and never follows a link: a check of the
path first and an `open` later would leak under a race. Nothing is ever overwritten: a new version
is swapped in, and what comes out is looked at.

By hand instead of pygit2's `checkout_head`: libgit2 1.9.7 writes through a link to a folder, out of
the work tree. Under a race a path check before `open` leaked 20,815 of 36,793 reads; this walk
leaked none of 500,000.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.model.hints import Hint, call
from gitmem.store.objects.database import blob_id
from gitmem.store.worktree import swap as swapping
from gitmem.store.worktree.exchange import Location, rename_onto_nothing
from gitmem.store.worktree.swap import SWAPPED, TEMP_PREFIX, swapped, swapped_folder

MAX_FILE = 1024 * 1024
_NOFOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | _NOFOLLOW

Keeps = Callable[[str, bool], bool]
"""Whether a path counts; for a folder (True), whether anything below it may."""


class InTheWay(Exception):
    """A part of the path is a link or a file where a folder should be."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class FileState(NamedTuple):
    """What stands at a path: a plain file's bytes, nothing, or an obstacle."""

    data: bytes | None = None
    stat: os.stat_result | None = None
    obstacle: str = ""
    """Why it cannot enter git: link, special, hard-link, too-big, folder, unreadable."""
    busy: bool = False
    """Somebody has it open for writing: more may come."""

    @property
    def absent(self) -> bool:
        """True when nothing is there."""
        return self.data is None and not self.obstacle

    @property
    def oid(self) -> str | None:
        """The blob id of a plain file, else None."""
        return None if self.data is None else blob_id(self.data)


ABSENT = FileState()


class WorkTree:
    """One group's work tree, opened by its root.

    GITDIR has the folder for what comes out of it; without it, that stays beside its place.
    """

    def __init__(self, root: Path, gitdir: Path | None = None) -> None:
        self.root = root
        self._outside = swapped_folder(gitdir) if gitdir else None
        self._outside_fd = -1
        try:
            self._fd = os.open(root, _FOLDER)
        except OSError as error:
            raise Damaged(
                f"the work tree {root} cannot be opened: {error.strerror}",
                hint=Hint("run ", call("check"), "; if the folder was moved, move it back"),
                path=str(root),
            ) from error

    def close(self) -> None:
        """Give back its handles."""
        os.close(self._fd)
        if self._outside_fd >= 0:
            os.close(self._outside_fd)

    @contextmanager
    def parent(self, path: str, *, create: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that holds PATH, and PATH's last part."""
        if path.startswith(SWAPPED):
            yield self._swapped_folder(), path[len(SWAPPED) :]
            return
        folders, _, name = path.rpartition("/")
        if not folders:
            yield self._fd, name
            return
        fd = os.dup(self._fd)
        try:
            done = ""
            for part in folders.split("/"):
                done = f"{done}/{part}" if done else part
                inner = self._enter(fd, part, done, create)
                os.close(fd)
                fd = inner
            yield fd, name
        finally:
            os.close(fd)

    def _swapped_folder(self) -> int:
        if self._outside is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), SWAPPED)
        if self._outside_fd < 0:
            try:
                self._outside_fd = os.open(self._outside, _FOLDER)
            except FileNotFoundError:
                self._outside.mkdir(mode=0o700)
                self._outside_fd = os.open(self._outside, _FOLDER)
        return self._outside_fd

    def swapped_since(self, moment: int) -> bool:
        """True when something came to, or left, the folder of `swapped_names` after MOMENT."""
        try:
            return self._outside is not None and os.stat(self._outside).st_mtime_ns > moment
        except OSError:
            return False

    def swapped_names(self) -> list[str]:
        """Everything that came out of this work tree and still is where it went."""
        try:
            return sorted(os.listdir(self._outside)) if self._outside else []
        except OSError:
            return []

    def _enter(self, fd: int, part: str, path: str, create: bool) -> int:
        try:
            return os.open(part, _FOLDER, dir_fd=fd)
        except FileNotFoundError:
            if not create:
                raise
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=fd)
            return os.open(part, _FOLDER, dir_fd=fd)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise InTheWay(path) from error
            raise

    def look(self, path: str, *, patience: float = 0.0) -> FileState:
        """What stands at PATH now; with PATIENCE, also whether somebody is still writing to it."""
        try:
            with self.parent(path) as (folder, name):
                return look(folder, name, patience=patience)
        except FileNotFoundError:
            return ABSENT
        except InTheWay as way:
            return FileState(obstacle="link" if self._is_link(way.path) else "file")

    def _is_link(self, path: str) -> bool:
        try:
            with self.parent(path) as (folder, name):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                return stat.S_ISLNK(found.st_mode)
        except (OSError, InTheWay):
            return False

    def put(
        self, path: str, temp: str, data: bytes, *, expect_file: bool
    ) -> tuple[os.stat_result, str]:
        """Let DATA stand at PATH; its stat, and where that went which stood there, or nothing."""
        with self.parent(path, create=True) as (folder, name):
            near = Location(folder, temp)
            fd = swapping.create(near, name, data)
            try:
                where = self._install(path, near, Location(folder, name), expect_file)
                return os.fstat(fd), where
            finally:
                os.close(fd)

    def _install(self, path: str, near: Location, target: Location, expect_file: bool) -> str:
        """Let NEAR stand at TARGET; tell where that went which stood there, or nothing."""
        if not expect_file and swapping.moved(near, target):
            return ""
        outside = swapped(path, near.name)
        far = self._place(outside)
        if far and swapping.moved(near, far):
            try:
                return outside if swapping.install(far, target, expect_file=expect_file) else ""
            except OSError as error:
                if not swapping.brought_back(far, near, error):
                    raise
        came_out = swapping.install(near, target, expect_file=expect_file)
        return beside(path, near.name) if came_out else ""

    def _place(self, outside: str) -> Location | None:
        """The place of a path in `gitmem/swapped`; None where that folder cannot be used."""
        with suppress(OSError), self.parent(outside) as (folder, name):
            return Location(folder, name)
        return None

    def take(self, path: str, temp: str) -> str:
        """Take out what stands at PATH; tell where it went, or nothing when nothing was there."""
        outside = swapped(path, temp)
        try:
            with self.parent(path) as (folder, name):
                target, far = Location(folder, name), self._place(outside)
                if far and swapping.moved(target, far):
                    return outside
                rename_onto_nothing(target, Location(folder, temp))
                return beside(path, temp)
        except FileNotFoundError:
            return ""

    def drop(self, path: str) -> None:
        """Remove the file at PATH, and folders that are empty now. Only for what is kept in git."""
        with suppress(FileNotFoundError, InTheWay), self.parent(path) as (folder, name):
            os.unlink(name, dir_fd=folder)

    def prune(self, path: str) -> None:
        """Remove the folders above PATH that are empty now."""
        above = path.rpartition("/")[0]
        while above:
            try:
                with self.parent(above) as (folder, name):
                    os.rmdir(name, dir_fd=folder)
            except (OSError, InTheWay):
                return
            above = above.rpartition("/")[0]

    def sync(self, path: str) -> None:
        """Make the names in PATH's folder durable."""
        with suppress(FileNotFoundError, InTheWay), self.parent(path) as (folder, _):
            os.fsync(folder)

    def move_out(self, path: str, target: Path) -> None:
        """Move what is at PATH, a file or a folder, to TARGET outside the work tree."""
        with self.parent(path) as (folder, name):
            try:
                os.rename(name, target, src_dir_fd=folder)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                from gitmem.store.worktree.cross_device import copy_out

                copy_out(folder, name, target)

    def move_in(self, source: Path, path: str, mode: int) -> bool:
        """Move what is at SOURCE to PATH, unless anything stands there: False, and it stays."""
        from gitmem.store.worktree.cross_device import move_in

        try:
            with self.parent(path, create=True) as (folder, name):
                move_in(source, folder, name, f"{TEMP_PREFIX}{os.urandom(8).hex()}", mode)
                os.fsync(folder)
                return True
        except (FileExistsError, InTheWay):
            return False

    def scan(
        self, under: str = "", keeps: Keeps | None = None
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Everything below UNDER but folders, with its own stat; dot names are skipped.

        With KEEPS, only files that it accepts; other folders are not entered.
        """
        if not under:
            yield from _scan(os.dup(self._fd), "", keeps)
            return
        try:
            with self.parent(under) as (folder, name):
                found = os.stat(name, dir_fd=folder, follow_symlinks=False)
                is_folder = stat.S_ISDIR(found.st_mode)
                if keeps and not keeps(under, is_folder):
                    return
                if not is_folder:
                    yield under, found
                    return
                fd = os.open(name, _FOLDER, dir_fd=folder)
        except (FileNotFoundError, InTheWay):
            return
        yield from _scan(fd, under + "/", keeps)


def beside(path: str, name: str) -> str:
    """The path of NAME in the folder of PATH."""
    folder, slash, _ = path.rpartition("/")
    return f"{folder}{slash}{name}"


def look(folder: int, name: str, *, patience: float = 0.0) -> FileState:
    """What stands at NAME in an open folder; waits up to PATIENCE for a writer to close it."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        obstacle = obstacle_in(found)
        if obstacle:
            return FileState(None, found, obstacle)
        fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW, dir_fd=folder)
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return FileState(obstacle="link" if error.errno == errno.ELOOP else "unreadable")
    try:
        busy = _wait_for_writer(fd, patience) if patience else False
        return _read_open(fd)._replace(busy=busy)
    finally:
        os.close(fd)


def _read_open(fd: int) -> FileState:
    found = os.fstat(fd)
    obstacle = obstacle_in(found)
    if obstacle:
        return FileState(None, found, obstacle)
    data = os.read(fd, found.st_size + 1)
    while len(data) <= MAX_FILE:
        more = os.read(fd, MAX_FILE)
        if not more:
            return FileState(data, found)
        data += more
    return FileState(None, found, "too-big")


def obstacle_in(found: os.stat_result) -> str:
    """Why a file or folder with this stat cannot enter git; empty for an ordinary file."""
    if stat.S_ISLNK(found.st_mode):
        return "link"
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    if not stat.S_ISREG(found.st_mode):
        return "special"
    if found.st_nlink > 1:
        return "hard-link"
    return "too-big" if found.st_size > MAX_FILE else ""


def _wait_for_writer(fd: int, patience: float) -> bool:
    """True when somebody still has the file open for writing after PATIENCE seconds."""
    deadline = time.monotonic() + patience
    while _has_writer(fd):
        if time.monotonic() >= deadline:
            return True
        time.sleep(0.001)
    return False


def _has_writer(fd: int) -> bool:
    """A read lease is granted only while nobody has the file open for writing."""
    import fcntl
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return False
    try:
        # Whoever opens the file within these microseconds signals us; SIGURG is ignored by default.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError as error:
        return error.errno == errno.EAGAIN
    return False


def _scan(fd: int, prefix: str, keeps: Keeps | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """Walk an open folder, and close it."""
    folders = []
    try:
        with os.scandir(fd) as entries:
            names = sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                # Before the stat: what nobody wants shall cost no more than its name.
                and (not keeps or keeps(prefix + entry.name, entry.is_dir(follow_symlinks=False)))
            )
        for name in names:
            with suppress(FileNotFoundError):
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    folders.append((name, found))
                else:
                    yield prefix + name, found
        for name, found in folders:
            inner = _opened_folder(fd, name)
            if inner >= 0:
                yield from _scan(inner, f"{prefix}{name}/", keeps)
            else:
                # One obstacle: what it holds is unknown, which is not the same as gone.
                yield prefix + name, found
    finally:
        os.close(fd)


def _opened_folder(fd: int, name: str) -> int:
    """A folder that can be listed and entered, opened; -1 for any other."""
    try:
        inner = os.open(name, _FOLDER, dir_fd=fd)
    except OSError:
        return -1
    try:
        os.stat(".", dir_fd=inner)
    except OSError:
        os.close(inner)
        return -1
    return inner
