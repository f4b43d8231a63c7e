"""Versions that may not enter git, set aside so that a write can go ahead.

Each is a folder `gitmem/held/<id>/` in the git directory with `content` (the version itself, moved
there) and `meta.json` (path, rule, time, mode). A folder without `content` was left by a process
that died before the move: the version still stands where it stood.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from gitmem.model.record import Record
from gitmem.store import fault_points
from gitmem.store.durable import sync_folder
from gitmem.store.worktree.worktree import WorkTree

CONTENT = "content"
META = "meta.json"


class SetAside(Record):
    """One version set aside."""

    id: str
    path: str
    rule: str
    at: str
    content: Path


class HeldFolder:
    """The set-aside versions of one group. To add or remove one needs the group's lock."""

    NAME = "held"

    def __init__(self, gitdir: Path) -> None:
        self._gitdir = gitdir

    @cached_property
    def folder(self) -> Path:
        """Where they are."""
        return self._gitdir / "gitmem" / self.NAME

    def keep(
        self, worktree: WorkTree, source: str, path: str, rule: str, now: datetime
    ) -> SetAside:
        """Move what is at SOURCE out of the work tree, to be remembered as a version of PATH.

        At any moment it stands at SOURCE, or whole in its folder here.
        """
        with worktree.parent(source) as (fd, name):
            mode = stat.S_IMODE(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
        kept = self._begun(path, rule, now, mode)
        worktree.move_out(source, kept.content)
        fault_points.reached("moved")
        self._close(kept.content)
        worktree.sync(source)
        return kept

    def keep_copy(self, data: bytes, path: str, rule: str, now: datetime) -> SetAside:
        """Set DATA aside as a version of PATH; the file it comes from is not ours to move."""
        from gitmem.store.refs.move import put_durably  # only where something is set aside

        kept = self._begun(path, rule, now, 0o600)
        put_durably(kept.content, data, kept.content.with_suffix(".part"))
        return kept

    def _begun(self, path: str, rule: str, now: datetime, mode: int) -> SetAside:
        """A folder that waits for its content: what it says is on the disk before that moves."""
        self._sweep()
        name = f"{now:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        meta = {"path": path, "rule": rule, "at": now.isoformat(), "mode": mode}
        write_meta(folder, meta)
        sync_folder(self.folder)
        fault_points.reached("noted")
        return SetAside(name, path, rule, now.isoformat(), folder / CONTENT)

    def _sweep(self) -> None:
        """Make the folder; remove what somebody began who died: we hold the lock."""
        if not self.folder.is_dir():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            sync_folder(self.folder.parent)
        for each in self.folder.iterdir():
            if each.is_dir() and not os.path.lexists(each / CONTENT):
                remove_folder(each)

    @staticmethod
    def _close(content: Path) -> None:
        """Let nobody else read it, and make it durable."""
        close_to_others(content)
        with suppress(OSError):  # a pipe, a link, a file that not even its owner may read
            if stat.S_ISREG(os.lstat(content).st_mode):
                sync_folder(content)
        sync_folder(content.parent)

    def __iter__(self) -> Iterator[SetAside]:
        """All of them, oldest first."""
        found = [self._read(name) for name in names_in(self.folder)]
        yield from sorted(found, key=lambda each: (each.at, each.id))

    def _read(self, name: str) -> SetAside:
        meta = read_meta(self.folder / name)
        content = self.folder / name / CONTENT
        return SetAside(name, meta["path"], meta["rule"], meta["at"], content)

    def find(self, what: str) -> SetAside | None:
        """By id, or the newest of a path."""
        return next((each for each in reversed(list(self)) if what in (each.id, each.path)), None)

    def drop(self, each: SetAside) -> None:
        """Delete a set-aside version for good. Only for what is kept in git."""
        remove_folder(each.content.parent)


def names_in(folder: Path) -> list[str]:
    """The versions in FOLDER, whole ones only."""
    try:
        found = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in found if os.path.lexists(folder / name / CONTENT)]


def read_meta(folder: Path) -> dict[str, Any]:
    """What is known of a version; it is there also where that cannot be read."""
    import json  # only where something was set aside

    known: dict[str, Any] = {"path": "?", "rule": "unknown", "at": ""}
    with suppress(OSError, ValueError):
        found = json.loads((folder / META).read_text("utf-8"))
        known |= found if isinstance(found, dict) else {}
    return known | {key: str(known[key]) for key in ("path", "rule", "at")}


def write_meta(folder: Path, meta: Mapping[str, object]) -> None:
    """Say what is known of a version, durably."""
    import json  # only where something is set aside

    from gitmem.store.refs.move import put_durably

    put_durably(folder / META, json.dumps(meta).encode(), folder / f"{META}.new")


def remove_folder(folder: Path) -> None:
    """Delete a version; its content first, so that half of it is never taken for one."""
    import shutil  # only where something is deleted

    content = folder / CONTENT
    if content.is_dir() and not content.is_symlink():
        shutil.rmtree(content)
    else:
        content.unlink(missing_ok=True)
    shutil.rmtree(folder)


def close_to_others(path: Path) -> None:
    """Let nobody else read it; a file with a second name elsewhere is not ours to change."""
    found = os.lstat(path)
    if stat.S_ISDIR(found.st_mode):
        os.chmod(path, 0o700)
    elif not stat.S_ISLNK(found.st_mode) and found.st_nlink == 1:
        os.chmod(path, 0o600)


def size_of(location: str) -> int | None:
    """The size of a file itself, not of what a link leads to."""
    with suppress(OSError):
        found = os.lstat(location)
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None
