"""Count the edits in a work tree; one that is exactly what its commit holds is quick to tell.

It costs one stat for each file, and reads only those that were written when the index was. Most of
the time the answer is yes, and then there is nothing to count; all else is a question for
`open_edits`.
"""

from __future__ import annotations

import os
import time
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gitmem.memory.group import Group
from gitmem.store.index.file import IndexFile
from gitmem.store.objects.trees import SUBMODULE, Node, Tree
from gitmem.store.repository import Snapshot
from gitmem.store.worktree.worktree import WorkTree

if TYPE_CHECKING:
    from gitmem.store.worktree.ignored import Ignored

NOTHING: Tree = {}
JUDGING = 1.0
"""Seconds for finding out which edits may enter git; those beyond count as ones that may."""


class EditCount(NamedTuple):
    """How many edits there are that no commit holds."""

    edits: int = 0
    held: int = 0
    """Those that may not enter git."""


def count_edits(group: Group, snapshot: Snapshot) -> EditCount:
    """How many edits in the work tree SNAPSHOT, the newest, does not hold."""
    if is_unchanged(group, snapshot):
        return EditCount()
    from gitmem.memory.write.open_edits import (
        pending_edits,  # only where there is something to find
    )

    scan = pending_edits(group, until=time.monotonic() + JUDGING)
    return EditCount(len(scan.edits) + scan.left, len(scan.held))


def is_unchanged(group: Group, snapshot: Snapshot) -> bool:
    """True when every file in the work tree surely is the one in SNAPSHOT, and none is missing."""
    index, written = group.repository.staging.load()
    if index is None:
        return False
    worktree = WorkTree(group.worktree)
    try:
        look = _Comparison(snapshot, index, written, worktree)
        return look.is_same(str(group.worktree), "", snapshot.folder(""))
    finally:
        worktree.close()


class _Comparison:
    """One comparison of a folder and all below it."""

    def __init__(
        self, snapshot: Snapshot, index: IndexFile, written: int, worktree: WorkTree
    ) -> None:
        self._snapshot = snapshot
        self._worktree = worktree
        self._index = index
        self._written = written
        self._scope = snapshot.repository.scope(snapshot)

    @cached_property
    def _ignored(self) -> Ignored:
        from gitmem.store.worktree.ignored import Ignored  # only for a file that git does not know

        return Ignored(self._snapshot.repository.gitdir)

    def is_same(self, folder: str, inside: str, tree: Tree) -> bool:
        """Whether FOLDER holds what TREE holds; names that begin with a dot are no memory."""
        missing = {name for name, node in tree.items() if name[0] != "." and _counts(node)}
        with os.scandir(folder) as found:
            for each in found:
                name = each.name
                if name[0] == ".":
                    continue
                node, is_folder = tree.get(name), each.is_dir(follow_symlinks=False)
                if self._scope and not node and not self._scope.keeps(inside + name, is_folder):
                    continue  # other work, beside memory
                keeps = self._is_folder if is_folder else self._is_file
                if not keeps(each, inside + name, node):
                    return False
                missing.discard(name)
        return not missing

    def _is_folder(self, found: os.DirEntry[str], path: str, node: Node | None) -> bool:
        """Whether a folder is the same; one that git does not know must be empty."""
        if node and not node.is_folder:
            return False
        below = self._snapshot.folder(path) if node else NOTHING
        return self.is_same(found.path, f"{path}/", below)

    def _is_file(self, found: os.DirEntry[str], path: str, node: Node | None) -> bool:
        if node is None:
            return self._ignored.fits(path)
        raw, oid = path.encode("utf-8", "surrogateescape"), bytes.fromhex(node.oid)
        now = found.stat(follow_symlinks=False)
        if now.st_nlink == 1 and self._index.vouches(raw, oid, now, self._written):
            return True
        known = self._index.get(raw)
        if known is None or known.oid != oid or known.stat.size != now.st_size:
            return False
        return self._worktree.look(path).oid == node.oid


def _counts(node: Node) -> bool:
    return node.mode != SUBMODULE
