"""Move a file or folder between a work tree and a folder that may be on another file system.

There a rename is refused (EXDEV), so it is copied. The copy is durable before the original
goes, and gets its name only when it is whole: whoever dies on the way leaves the original.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from gitmem.store.durable import sync_folder
from gitmem.store.worktree.exchange import Location, rename_onto_nothing

CHUNK = 1024 * 1024
PRIVATE = 0o600
_NOFOLLOW = os.O_NOFOLLOW | os.O_CLOEXEC


def copy_out(folder: int, name: str, target: Path) -> None:
    """Move across file systems: only files and links can, a pipe or device cannot."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(name, dir_fd=folder), target)
    elif stat.S_ISREG(found.st_mode):
        fd = os.open(name, os.O_RDONLY | _NOFOLLOW, dir_fd=folder)
        with open(fd, "rb") as source:
            _copy_file(source, target)
    else:
        raise OSError(errno.EXDEV, "neither a file nor a link", name)
    sync_folder(target.parent)  # before the original goes
    os.unlink(name, dir_fd=folder)


def _copy_file(source: BinaryIO, target: Path) -> None:
    """Let a copy stand at TARGET, whole or not at all; refuse one that changes meanwhile."""
    part = target.with_name(f"{target.name}.part")
    before = os.fstat(source.fileno())
    with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "wb") as copy:
        while chunk := source.read(CHUNK):
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())
    after = os.fstat(source.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise OSError(errno.EBUSY, "somebody is writing to it")
    os.rename(part, target)


def move_in(source: Path, folder: int, name: str, temp: str, mode: int) -> None:
    """Move SOURCE to NAME in an open folder, with MODE; FileExistsError when NAME is taken."""
    try:
        rename_onto_nothing(Location(folder, str(source)), Location(folder, name))
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy_in(source, folder, temp)
        _settle_copy(folder, temp, name)
    _reopen(folder, name, mode)


def _copy_in(source: Path, folder: int, temp: str) -> None:
    """Copy a file or a link from another file system to TEMP."""
    if source.is_symlink():
        os.symlink(os.readlink(source), temp, dir_fd=folder)
        return
    if not source.is_file():
        raise OSError(errno.EXDEV, "neither a file nor a link", str(source))
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
    fd = os.open(temp, flags, PRIVATE, dir_fd=folder)
    with source.open("rb") as data, open(fd, "wb") as copy:
        while chunk := data.read(CHUNK):
            copy.write(chunk)
        copy.flush()
        os.fsync(copy.fileno())


def _settle_copy(folder: int, temp: str, name: str) -> None:
    """Let the copy at TEMP stand at NAME, or nowhere."""
    try:
        rename_onto_nothing(Location(folder, temp), Location(folder, name))
    except OSError:
        os.unlink(temp, dir_fd=folder)
        raise


def _reopen(folder: int, name: str, mode: int) -> None:
    """Give what came back its permissions; those of a link or a hard link are not ours."""
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    alone = stat.S_ISDIR(found.st_mode) or found.st_nlink == 1
    if alone and not stat.S_ISLNK(found.st_mode):
        os.chmod(name, mode & 0o777, dir_fd=folder)
