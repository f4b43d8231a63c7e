"""Versions that may not enter git, set aside so that a write can go ahead.

Each is a folder `gitmem/held/<id>/` in the git directory with `content` (the thing itself, moved
there) and `meta.json` (path, rule, time).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.git.worktree import WorkTree


class SetAside(NamedTuple):
    """One version set aside."""

    id: str
    path: str
    rule: str
    at: str
    content: Path


class HeldFolder:
    """The set-aside versions of one group."""

    def __init__(self, gitdir: Path) -> None:
        self._gitdir = gitdir

    @property
    def _folder(self) -> Path:
        return self._gitdir / "gitmem" / "held"

    def keep(
        self, worktree: WorkTree, source: str, path: str, rule: str, now: datetime
    ) -> SetAside:
        """Move the thing at SOURCE out of the work tree, to be remembered as a version of PATH."""
        import json  # only where something is set aside

        name = f"{now:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"
        folder = self._folder / name
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        meta = {"path": path, "rule": rule, "at": now.isoformat()}
        with open(os.open(folder / "meta.json", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(json.dumps(meta).encode())
        worktree.move_out(source, folder / "content")
        _close_to_others(folder / "content")
        return SetAside(name, path, rule, meta["at"], folder / "content")

    def __iter__(self) -> Iterator[SetAside]:
        """All of them, oldest first."""
        try:
            found = [self._read(name) for name in os.listdir(self._folder)]
        except FileNotFoundError:
            return
        kept = (each for each in found if os.path.lexists(each.content))
        yield from sorted(kept, key=lambda each: (each.at, each.id))

    def _read(self, name: str) -> SetAside:
        import json  # only where something was set aside

        folder = self._folder / name
        try:
            meta = json.loads((folder / "meta.json").read_text("utf-8"))
            return SetAside(name, meta["path"], meta["rule"], meta["at"], folder / "content")
        except (OSError, ValueError, KeyError):
            return SetAside(name, "?", "unknown", "", folder / "content")

    def find(self, what: str) -> SetAside | None:
        """By id, or the newest of a path."""
        return next((each for each in reversed(list(self)) if what in (each.id, each.path)), None)

    def drop(self, each: SetAside) -> None:
        """Delete a set-aside version for good."""
        import shutil  # only where something is dropped

        shutil.rmtree(each.content.parent)


def _close_to_others(path: Path) -> None:
    """Let nobody else read it; a file with a second name elsewhere is not ours to change."""
    found = os.lstat(path)
    if stat.S_ISDIR(found.st_mode):
        os.chmod(path, 0o700)
    elif not stat.S_ISLNK(found.st_mode) and found.st_nlink == 1:
        os.chmod(path, 0o600)
