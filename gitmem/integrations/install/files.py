"""Files of other programs, changed as carefully as a person would: seen first, kept, whole."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, Refused, StorageFailed

BACKUPS = "backups"
"""The folder of the store in which files stand as they were before us."""
_SHORT = 16
_HALF = ".gitmem-tmp"
"""How the name of a file ends that is being written."""


class Change(NamedTuple):
    """A file that shall be other than it is; None is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def action(self) -> str:
        """What happens to the file: created, changed, removed or nothing."""
        if self.before == self.after:
            return "nothing"
        if self.before is None:
            return "created"
        return "removed" if self.after is None else "changed"


def digest(data: bytes) -> str:
    """What a version of a file is known by."""
    return sha256(data).hexdigest()


def read_file(path: Path) -> bytes | None:
    """The bytes of a regular file, also behind a link; None where there is none."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused(f"{path} is no regular file", hint="see what stands there")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _failed(path, "read", error) from error


def text_of(path: Path, data: bytes | None) -> str:
    """What a file says; a missing one says nothing."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{path} is not UTF-8 at byte {error.start}", hint="mend it by hand; nothing changed"
        ) from error


def diff_of(change: Change) -> str:
    """How a file will differ, as people read it."""
    from difflib import unified_diff

    old, new = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for data in (change.before, change.after)
    )
    origin, target = (
        "/dev/null" if data is None else str(change.path) for data in (change.before, change.after)
    )
    lines = unified_diff(old, new, origin, target)
    return "".join(each if each.endswith("\n") else f"{each}\n" for each in lines)


def back_up(store: Path, change: Change) -> Path | None:
    """Keep a file as it was; one that was kept before in these very bytes is not touched."""
    if change.before is None:
        return None
    place = backup_of(store, change.path, digest(change.before))
    if not place.exists():
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync(place.parent.parent)
        _replace(place, change.before, 0o600)
    return place


def backup_of(store: Path, path: Path, known: str) -> Path:
    """Where a version of a file is kept: its name says which, so no other ever takes its place."""
    return store / BACKUPS / f"{path.name}.{known[:_SHORT]}"


def make(change: Change, *, mode: int) -> None:
    """Do it, unless somebody was quicker.

    A link is followed: the file is changed where it really lies, and keeps its mode. But what a
    link leads to is never deleted.
    """
    if read_file(change.path) != change.before:
        raise Conflict(
            f"{change.path} was changed by somebody else just now", hint="do the same again"
        )
    real = Path(os.path.realpath(change.path))
    try:
        if change.after is None:
            change.path.unlink(missing_ok=True)
            return
        for folder in reversed(_missing(real)):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755 if mode & 0o044 else 0o700)
            _sync(folder.parent)
        _replace(real, change.after, mode)
    except OSError as error:
        raise _failed(change.path, "written", error) from error


def is_half(path: Path) -> bool:
    """Whether this is a file of ours that was being written when its writer died."""
    return re.fullmatch(rf"\..+\.[0-9a-f]{{8}}{re.escape(_HALF)}", path.name) is not None


def sweep(folders: Iterable[Path]) -> None:
    """Remove what writers of ours that died have left in FOLDERS; for who holds the lock."""
    for folder in folders:
        with suppress(OSError):
            for each in folder.iterdir():
                if is_half(each):
                    each.unlink(missing_ok=True)


def missing_folders(changes: Iterable[Change]) -> list[str]:
    """The folders that will have to be made."""
    made = (change.path for change in changes if change.after is not None)
    found = (folder for path in made for folder in _missing(Path(os.path.realpath(path))))
    return list(dict.fromkeys(map(str, found)))


def _missing(path: Path) -> list[Path]:
    return [each for each in path.parents if not each.exists()]


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Put DATA at PATH: there is the old file or the new one, also when the power fails.

    A host does not start with settings of which a power cut left an empty file.
    """
    temp = path.with_name(f".{path.name}.{os.urandom(4).hex()}{_HALF}")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            _look_like(path, fd, mode)
            os.fsync(fd)
        os.replace(temp, path)
    except BaseException:
        temp.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make the names in FOLDER durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _look_like(path: Path, fd: int, mode: int) -> None:
    """Give the new file the mode and the owner of the old one."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        os.fchmod(fd, mode)
        return
    with suppress(PermissionError):
        os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, stat.S_IMODE(found.st_mode))


def _failed(path: Path, what: str, error: OSError) -> StorageFailed:
    return StorageFailed(
        f"{path} cannot be {what}: {error.strerror}", hint="see to its owner and its mode"
    )
