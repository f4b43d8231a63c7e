"""Versions that may not enter git, set aside so that a write can go ahead.

Each is a folder `gitmem/held/<id>/` in the git directory with `content` (the thing itself, moved
there) and `meta.json` (path, rule, time).
"""

from __future__ import annotations

import json
import os
import shutil
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
        self._folder = gitdir / "gitmem" / "held"

    def keep(self, worktree: WorkTree, source: str, path: str, rule: str, now: datetime) -> SetAside:
        """Move the thing at SOURCE out of the work tree, to be remembered as a version of PATH."""
        name = f"{now:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"
        folder = self._folder / name
        folder.mkdir(mode=0o700, parents=True)
        meta = {"path": path, "rule": rule, "at": now.isoformat()}
        (folder / "meta.json").write_text(json.dumps(meta), "utf-8")
        worktree.move_out(source, folder / "content")
        if not (folder / "content").is_symlink() and (folder / "content").is_file():
            os.chmod(folder / "content", 0o600)
        return SetAside(name, path, rule, meta["at"], folder / "content")

    def __iter__(self) -> Iterator[SetAside]:
        """All of them, oldest first."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return
        for name in names:
            content = self._folder / name / "content"
            if not os.path.lexists(content):
                continue
            try:
                meta = json.loads((self._folder / name / "meta.json").read_text("utf-8"))
                yield SetAside(name, meta["path"], meta["rule"], meta["at"], content)
            except (OSError, ValueError, KeyError):
                yield SetAside(name, "?", "unknown", "", content)

    def find(self, what: str) -> SetAside | None:
        """By id, or the newest of a path."""
        return next((each for each in reversed(list(self)) if what in (each.id, each.path)), None)

    def drop(self, each: SetAside) -> None:
        """Delete a set-aside version for good."""
        shutil.rmtree(each.content.parent)
