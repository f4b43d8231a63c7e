"""The files that the memory tool sees: `/memories` is the root of the group.

It sees memory, and nothing of gitmem's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.errors import Busy, Conflict, GroupRefused, PathRefused, Refused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.listing import Listing, list_files
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.layout.archives import archive_of, is_archived
from gitmem.model.layout.layout import FILE
from gitmem.model.paths import check_path, fold

ROOT = "/memories"
ESCAPES = ("absolute", "backslash", "encoded-traversal")
"""Rules of the path grammar against leaving the group."""
BRIEF = 0.5
"""Seconds to wait for the lock before a view; a write waits longer anyway."""


class NotDone(Refused):
    """A refusal; its message is the whole answer."""

    code = "memory-tool"


def inside(path: str) -> str:
    """PATH relative to the group, empty for the root; NotDone if it leads elsewhere."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise NotDone(f"Path must start with {ROOT}, got: {path}")
    relative = path.removeprefix(ROOT).strip("/")
    try:
        return check_path(relative) if relative else ""
    except PathRefused as error:
        if error.facts["rule"] in ESCAPES or "/.." in f"/{relative}":
            raise NotDone(f"Path {path} would escape {ROOT} directory") from error
        raise


def check_links(worktree: Path, path: str, given: str) -> None:
    """Refuse a path at or below a link: a write would set the link aside."""
    parts = path.split("/") if path else []
    for end in range(1, len(parts) + 1):
        if os.path.islink(worktree.joinpath(*parts[:end])):
            raise NotDone(f"Path {given} would escape {ROOT} directory via symlink")


def capture_edits(group: Group, paths: Sequence[str]) -> None:
    """Capture edits of PATHS that were made with other tools, so that this tool sees them."""
    if not pending_edits(group, paths).edits:
        return  # the usual case needs no lock
    from gitmem.memory.write.capture import capture_paths

    # If that fails, the tool shows the last commit; a write reports the reason.
    with suppress(Busy, Conflict, GroupRefused), group.writing(BRIEF) as writer:
        capture_paths(writer, paths)


class VisibleFiles:
    """The files of one commit that the tool may see."""

    def __init__(self, group: Group) -> None:
        self._group = group
        self._snapshot = group.repository.snapshot()
        self._layout = layout_at(group, self._snapshot).layout

    def is_taken(self, path: str) -> bool:
        """Whether PATH exists, visible or not."""
        return self._snapshot.node(path) is not None

    def is_file(self, path: str) -> bool:
        """Whether PATH is a file that the tool may see."""
        node = self._snapshot.node(path)
        return node is not None and not node.is_folder and self._shows(path)

    def is_folder(self, path: str) -> bool:
        """Whether PATH is the root, or a folder with files that the tool may see."""
        node = self._snapshot.node(path)
        if not path or node is None or not node.is_folder:
            return not path
        return any(self._shows(each) for each, _ in self._snapshot.files(path))

    def is_archived(self, path: str) -> bool:
        """Whether PATH is in the archive, from which the tool may view and rename files."""
        return is_archived(self._layout, path)

    def files(self, folder: str) -> Iterator[Listing]:
        """The files in FOLDER; those in the archive only if FOLDER is in it."""
        for each in list_files(self._group, _pattern(folder)).files:
            if self._shows(each.path) and self.is_archived(each.path) <= self.is_archived(folder):
                yield each

    def is_whole(self, folder: str) -> bool:
        """Whether all of a folder can be moved: no hidden files, no archive inside."""
        within = self.is_archived(folder)
        found = (each for each, _ in self._snapshot.files(folder))
        return all(self._shows(each) and self.is_archived(each) == within for each in found)

    def check_writable(self, path: str, given: str) -> None:
        """Refuse a path that the tool may not write."""
        if not path:
            return
        if fold(path.partition("/")[0]) == FILE:
            raise NotDone(f"Error: {given} is the layout of this memory, not memory")
        if self.is_archived(path):
            raise NotDone(f"Error: {given} is in the archive, which is read-only")
        if not self._layout.allows(path):
            known = ", ".join(self._layout.allow)
            raise NotDone(f"Error: {given} is not allowed by the layout, which has: {known}")

    def _shows(self, path: str) -> bool:
        if path == FILE:
            return False
        return self._layout.allows(path.removeprefix(f"{archive_of(self._layout, path)}/"))


def _pattern(folder: str) -> str:
    """A glob for the files in FOLDER, with its special characters escaped."""
    return re.sub(r"([*?[])", r"[\1]", folder) + "/" if folder else ""
