"""The findings in history that a person acknowledged: a decision, so no cache."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.model.secrets.exposure import located_id, secret_id
from gitmem.store.durable import sync_folder

if TYPE_CHECKING:
    from gitmem.store.repository import Repository

NAME = "acknowledged"


class Acknowledged(NamedTuple):
    """The acknowledged ids, and the salt of the ids."""

    salt: str
    ids: frozenset[str] = frozenset()

    def covers(self, id: str, path: str) -> bool:
        """True when the value of ID was acknowledged, everywhere or at PATH."""
        return id in self.ids or located_id(self.salt, id, path) in self.ids

    def spares(self, rule: str, value: str, path: str = "") -> bool:
        """The same for a value that a rule has found."""
        return bool(self.salt) and self.covers(secret_id(self.salt, rule, value), path)


def read_acknowledged(gitdir: Path) -> Acknowledged:
    """The acknowledged ids; without a salt where nothing was ever found."""
    try:
        salt, *ids = _path(gitdir).read_text("ascii").split()
    except (OSError, ValueError):
        return Acknowledged("")
    return Acknowledged(salt, frozenset(ids))


def salted(gitdir: Path) -> Acknowledged:
    """The same, with a salt, which the first finding creates."""
    known = read_acknowledged(gitdir)
    if not known.salt:
        _make(gitdir, os.urandom(16).hex())
        known = read_acknowledged(gitdir)
    return known


def acknowledge(gitdir: Path, ids: Iterable[str]) -> None:
    """Add IDS by appending, so that concurrent processes lose none."""
    new = sorted(set(ids) - salted(gitdir).ids)
    if new:
        # A line break first: a crash may have torn the last line.
        _append(_path(gitdir), os.O_APPEND, "\n".join(("", *new, "")))


def is_withheld(gitdir: Path, data: bytes) -> bool:
    """True when DATA has a credential that nobody acknowledged: it must not return to git."""
    from gitmem.model.secrets.find import find_in_bytes  # only where an object was lost

    found = find_in_bytes(data)
    known = read_acknowledged(gitdir) if found else None
    return known is not None and not all(known.spares(each.rule, each.value) for each in found)


def is_removed(repository: Repository, path: str, data: bytes) -> bool:
    """True when DATA is withheld and the branch never had it at PATH: removed from history."""
    from gitmem.store.objects.database import blob_id

    withheld = is_withheld(repository.gitdir, data)
    return withheld and not repository.has_stood(path, blob_id(data))


def _make(gitdir: Path, salt: str) -> None:
    """Create the file with its salt; of concurrent processes the first wins."""
    path = _path(gitdir)
    temp = path.with_name(f".{NAME}.{os.urandom(4).hex()}")
    _append(temp, os.O_CREAT | os.O_EXCL, f"{salt}\n")
    try:
        with suppress(FileExistsError):
            os.link(temp, path)
    finally:
        os.unlink(temp)
    sync_folder(path.parent)


def _append(path: Path, how: int, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC | how, 0o600)
    try:
        os.write(fd, text.encode("ascii"))
        os.fsync(fd)
    finally:
        os.close(fd)


def _path(gitdir: Path) -> Path:
    return gitdir / "gitmem" / NAME
