"""Files of other programs: read, backed up, and replaced unless another program changed them."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, GitmemError, Refused, StorageFailed
from gitmem.model.hints import Hint

BACKUPS = "backups"
"""The folder of the store with files as they were before gitmem changed them."""
_SHORT = 16
_TEMPORARY = ".gitmem-tmp"
"""How the name of a file ends that is being written."""


class FileEdit(NamedTuple):
    """A planned change of one file; None stands for a missing file."""

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
    """The digest that identifies a version of a file."""
    return sha256(data).hexdigest()


def explained(error: GitmemError | OSError) -> Hint:
    """The message of ERROR and, where it has one, its hint."""
    if isinstance(error, GitmemError):
        return Hint(error.message, "; ", error.hint)
    return Hint(f"{error.strerror} ({error.filename})" if error.filename else str(error))


def read_file(path: Path) -> bytes | None:
    """The bytes of a regular file, also behind a link; None where it is missing."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise Refused(f"{path} is not a regular file", hint="move it away")
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _failed("reading", path, error) from error


def text_of(path: Path, data: bytes | None) -> str:
    """The text of a file with the bytes DATA; empty for a missing one."""
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            f"{path} is not UTF-8 at byte {error.start}",
            hint="edit it by hand; gitmem changed nothing",
        ) from error


def diff_of(edit: FileEdit) -> str:
    """The unified diff of an edit."""
    from difflib import unified_diff

    old, new = (
        (data or b"").decode("utf-8", "replace").splitlines(keepends=True)
        for data in (edit.before, edit.after)
    )
    origin, target = (
        "/dev/null" if data is None else str(edit.path) for data in (edit.before, edit.after)
    )
    lines = unified_diff(old, new, origin, target)
    return "".join(each if each.endswith("\n") else f"{each}\n" for each in lines)


def back_up(store: Path, edit: FileEdit) -> None:
    """Copy a file as it is before EDIT, unless the same bytes were copied before."""
    if edit.before is None:
        return
    path = backup_of(store, edit.path, digest(edit.before))
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _sync(path.parent.parent)
        _replace(path, edit.before, 0o600)


def backup_of(store: Path, path: Path, version: str) -> Path:
    """The backup of a file with the digest VERSION, which is part of the name."""
    return store / BACKUPS / f"{path.name}.{version[:_SHORT]}"


def make(edit: FileEdit, *, mode: int) -> None:
    """Carry out EDIT; Conflict where the file is no longer as it was.

    A link is followed: the file changes where it really is, and keeps its mode. But the target of
    a link is never deleted.
    """
    if read_file(edit.path) != edit.before:
        raise Conflict(
            f"another program changed {edit.path} just now", hint="run the same command again"
        )
    real = Path(os.path.realpath(edit.path))
    try:
        if edit.after is None:
            edit.path.unlink(missing_ok=True)
            return
        for folder in reversed(_missing(real)):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755 if mode & 0o044 else 0o700)
            _sync(folder.parent)
        _replace(real, edit.after, mode)
    except OSError as error:
        raise _failed("writing", edit.path, error) from error


def is_temporary(path: Path) -> bool:
    """Whether PATH is a half-written file of a gitmem process that died."""
    return re.fullmatch(rf"\..+\.[0-9a-f]{{8}}{re.escape(_TEMPORARY)}", path.name) is not None


def sweep(folders: Iterable[Path]) -> None:
    """Remove half-written files from FOLDERS; the caller holds the lock of the record."""
    for folder in folders:
        with suppress(OSError):
            for each in folder.iterdir():
                if is_temporary(each):
                    each.unlink(missing_ok=True)


def missing_folders(edits: Iterable[FileEdit]) -> list[str]:
    """The folders that EDITS will create."""
    made = (edit.path for edit in edits if edit.after is not None)
    found = (folder for path in made for folder in _missing(Path(os.path.realpath(path))))
    return list(dict.fromkeys(map(str, found)))


def _missing(path: Path) -> list[Path]:
    return [each for each in path.parents if not each.exists()]


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Replace PATH by DATA atomically, also if the power fails.

    A host does not start if a power cut left its settings empty.
    """
    temp = path.with_name(f".{path.name}.{os.urandom(4).hex()}{_TEMPORARY}")
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            _keep_mode(path, fd, mode)
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


def _keep_mode(path: Path, fd: int, mode: int) -> None:
    """Give the new file the mode and the owner of the old one; MODE where there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        os.fchmod(fd, mode)
        return
    with suppress(PermissionError):
        os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, stat.S_IMODE(found.st_mode))


def _failed(verb: str, path: Path, error: OSError) -> StorageFailed:
    return StorageFailed(
        f"{verb} {path} failed: {error.strerror}", hint="check its owner and its mode"
    )
