"""How a work tree looks from outside: what changes when anybody changes a file in it.

It costs one stat for each file and reads none, so it cannot say what changed, only that something
did. It looks at names and stats and follows no link.
"""

from __future__ import annotations

import os
from hashlib import sha1
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gitmem.store.worktree.worktree import Keeps

Row = tuple[str, int, int, int, int, int, int]

SETTLED = 2.0
"""Seconds: the coarsest tick of a file system's clock. Two edits within one can look the same."""


class Fingerprint(NamedTuple):
    """The looks of a work tree."""

    digest: str
    youngest: float
    """When anything in it was changed last, by the clock of the file system."""

    def is_settled(self, now: float) -> bool:
        """True when an edit from NOW on must look different."""
        return self.youngest < now - SETTLED


def fingerprint(root: str, keeps: Keeps | None = None) -> Fingerprint:
    """The looks of the folder ROOT: names that begin with a dot are no memory, but for `.git`.

    With KEEPS, only of files that it accepts; other folders are not entered.
    """
    rows: list[Row] = [_row(".git", os.lstat(f"{root}/.git"))]
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as found:
            for each in found:
                if each.name[0] == ".":
                    continue
                is_folder = each.is_dir(follow_symlinks=False)
                if keeps and not keeps(each.path[len(root) + 1 :], is_folder):
                    continue
                if is_folder:
                    folders.append(each.path)
                else:
                    rows.append(_row(each.path, each.stat(follow_symlinks=False)))
    rows.sort()
    youngest = max(row[-1] for row in rows) / 1e9
    return Fingerprint(sha1(repr(rows).encode("utf-8", "replace")).hexdigest(), youngest)


def _row(path: str, found: os.stat_result) -> Row:
    """The time of the last change of the inode comes last: it cannot be set back."""
    return (
        path,
        found.st_mode,
        found.st_nlink,
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )
