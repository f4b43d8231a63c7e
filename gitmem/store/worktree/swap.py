"""How a new version gets to its place, and where the version goes that it replaces.

The new version is made beside its place, so that it inherits what files of that folder inherit
(access lists, labels). From there it moves to `gitmem/swapped` in the git directory, and is
swapped with what stands at the path. So what comes out is in the git directory at once: in the work
tree `git clean`, `git stash -u` and `git add -A` would reach it, and somebody may still have it
open and write to it. Where the git directory is on another file system the two are swapped within
the folder; then the name alone, which git excludes, keeps it from all but `git clean -x`.

By hand instead of pygit2's `checkout_head`, which overwrites: of edits made meanwhile, writing by a
temporary file and a rename lost 231 of 231, a check before the rename 110 of 228, the swap 0 of
233.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from gitmem.store.durable import write_all
from gitmem.store.worktree.exchange import Location, is_taken, rename_onto_nothing, swap

TEMP_PREFIX = ".gitmem-"
SWAPPED = "//swapped/"
"""Begins the path of what is in `gitmem/swapped`; no path in a work tree can begin like this."""
PRIVATE = 0o600
_LONGEST_NAME = 255
_SWAPPED_NAME = r"(?s)\.gitmem-[0-9a-f]+-[0-9]+-(.+?)~?"


def swapped_folder(gitdir: Path) -> Path:
    """The folder for what comes out of the work tree."""
    return gitdir / "gitmem/swapped"


def swapped(path: str, temp: str) -> str:
    """Where the version of PATH goes that TEMP replaces; the name says what it is a version of."""
    quoted = path.replace("%", "%25").replace("/", "%2F").replace("~", "%7E")
    name = f"{temp}-{quoted}"
    return SWAPPED + (name if len(os.fsencode(name)) < _LONGEST_NAME else temp)


def path_of(name: str) -> str:
    """The path of which NAME in `gitmem/swapped` is a version; empty where it was too long."""
    found = re.fullmatch(_SWAPPED_NAME, name)
    quoted = found[1] if found else ""
    return quoted.replace("%7E", "~").replace("%2F", "/").replace("%25", "%")


def create(near: Location, name: str, data: bytes) -> int:
    """Make the file NEAR with DATA, durably, with the looks of NAME beside it; tell its handle."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(near.name, flags, PRIVATE, dir_fd=near.folder)
    try:
        write_all(fd, data)
        _resemble(fd, near.folder, name)
        os.fsync(fd)
    except BaseException:
        os.close(fd)
        raise
    return fd


def moved(source: Location, target: Location) -> bool:
    """Move a file; False where that cannot be, most often to another file system."""
    try:
        rename_onto_nothing(source, target)
    except OSError:
        return False
    return True


def install(source: Location, target: Location, *, expect_file: bool) -> bool:
    """Let SOURCE stand at TARGET; True when something stood there, which is now at SOURCE.

    A file may appear or vanish at any moment, so both ways are tried in turn.
    """
    for attempt in range(20):
        swapping = expect_file == (attempt % 2 == 0)
        try:
            (swap if swapping else rename_onto_nothing)(source, target)
            return swapping
        except (FileNotFoundError, FileExistsError):
            continue
    raise OSError(errno.EAGAIN, "the file appears and disappears all the time", target.name)


def brought_back(far: Location, near: Location, error: OSError) -> bool:
    """Move a file back that may not be swapped with another folder; False when it was not that.

    Somebody else's folder can be renamed within its parent only: `..` would change.
    """
    refused = error.errno in (errno.EXDEV, errno.EACCES, errno.EPERM)
    return refused and not is_taken(far._replace(name=f"{far.name}~")) and moved(far, near)


def _resemble(fd: int, folder: int, name: str) -> None:
    """Keep owner and permissions: an agent under another user must still read its memory."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return
    if not stat.S_ISREG(found.st_mode):
        return
    mode = stat.S_IMODE(found.st_mode) & 0o777
    if mode != PRIVATE:
        os.fchmod(fd, mode)
    if found.st_uid != os.geteuid():
        with suppress(PermissionError):
            os.fchown(fd, found.st_uid, found.st_gid)
