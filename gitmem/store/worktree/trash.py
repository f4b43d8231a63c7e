"""Where dropped versions go instead of being deleted.

`gitmem/trash/<id>/` in the git directory has the form of `gitmem/held/<id>/`, and so stays with the
group when that is renamed or removed. Nothing here is ever deleted unless somebody asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.store import fault_points
from gitmem.store.durable import sync_folder
from gitmem.store.worktree.held import (
    CONTENT,
    HeldFolder,
    SetAside,
    names_in,
    read_meta,
    remove_folder,
    write_meta,
)
from gitmem.store.worktree.worktree import WorkTree

PRIVATE = 0o600


class Dropping(NamedTuple):
    """Who dropped a version, when and why."""

    agent: str
    at: datetime
    reason: str = ""
    stood: bool = True
    """Whether it came from the work tree, to which it then goes back."""


class Trashed(NamedTuple):
    """One version in the trash."""

    id: str
    path: str
    rule: str
    """Why it was held."""
    dropped: str
    agent: str
    reason: str
    stood: bool
    mode: int
    content: Path


class Trash:
    """The dropped versions of one group. To change it needs the group's lock."""

    def __init__(self, gitdir: Path) -> None:
        self._folder = gitdir / "gitmem" / "trash"
        self._held = HeldFolder(gitdir)

    def take(self, each: SetAside, why: Dropping) -> Trashed:
        """Move a set-aside version here. Until it has moved, it is held."""
        source, target = each.content.parent, self._folder / each.id
        facts = {"dropped": why.at.isoformat(), "agent": why.agent, "reason": why.reason}
        write_meta(source, read_meta(source) | facts | {"stood": why.stood})
        fault_points.reached("marked")
        self._rename(source, target)
        return self._read(each.id)

    def __iter__(self) -> Iterator[Trashed]:
        """All of them, oldest first."""
        found = [self._read(name) for name in names_in(self._folder)]
        yield from sorted(found, key=lambda each: (each.dropped, each.id))

    def _read(self, name: str) -> Trashed:
        meta = read_meta(self._folder / name)
        dropped, agent, reason = (str(meta.get(k, "")) for k in ("dropped", "agent", "reason"))
        mode = meta.get("mode")
        return Trashed(
            name,
            meta["path"],
            meta["rule"],
            dropped,
            agent,
            reason,
            bool(meta.get("stood")),
            mode if isinstance(mode, int) else PRIVATE,
            self._folder / name / CONTENT,
        )

    def find(self, what: str) -> Trashed | None:
        """By id, or the one of a path that was dropped last."""
        return next((each for each in reversed(list(self)) if what in (each.id, each.path)), None)

    def put_back(self, each: Trashed, worktree: WorkTree) -> bool:
        """Move it back to where it stood; False when it stays: something else stands there."""
        if not each.stood or not worktree.move_in(each.content, each.path, each.mode):
            return False
        fault_points.reached("returned")
        self.remove(each)
        return True

    def hold(self, each: Trashed) -> SetAside:
        """Move it back to the versions that are held."""
        self._held.folder.mkdir(mode=0o700, exist_ok=True)
        self._rename(each.content.parent, self._held.folder / each.id)
        content = self._held.folder / each.id / CONTENT
        return SetAside(each.id, each.path, each.rule, "", content)

    def remove(self, each: Trashed) -> None:
        """Delete it for good."""
        remove_folder(each.content.parent)
        sync_folder(self._folder)

    def _rename(self, source: Path, target: Path) -> None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.rename(source, target)
        for folder in (target.parent, source.parent, target.parent.parent):
            sync_folder(folder)
        fault_points.reached("trashed")
