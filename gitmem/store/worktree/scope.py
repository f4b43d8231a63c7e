"""Which files of a work tree are memory, where that is a folder with other work in it.

What HEAD has is memory. Of the rest the patterns of the group decide, and then a `.gitignore` that
stands in the folder itself: rules of a repository around it may exclude all of the folder, which
says nothing about memory.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Damaged
from gitmem.model.layout.layout import FILE
from gitmem.model.scope import Scope, shown_paths
from gitmem.store.repository import Repository, Snapshot, differences
from gitmem.store.worktree.ignored import put_rules, rules_between

if TYPE_CHECKING:
    from gitmem.model.ignore import IgnoreRules

GITIGNORE = ".gitignore"
MOST = 64 * 1024
"""Bytes that a `.gitignore` may have; more are not read."""
BEGIN = "# gitmem memory: begin"
END = "# gitmem memory: end"
LEFT = "# gitmem memory: paths of older commits, so that git does not replace a file there"
WORD = 0xFFFFFFFF
MOST_NAMES = 5000
"""How many names beside memory are looked at for a file that was moved there."""
MOST_LEFT = 1000
MOST_COMMITS = 2000
"""How many paths that left memory are named, and how many commits are searched for them."""


class Scoped:
    """The memory in one folder, beside the files of one commit."""

    def __init__(self, root: Path, scope: Scope, snapshot: Snapshot | None = None) -> None:
        self.scope = scope
        self._root, self._snapshot = str(root), snapshot
        self._rules: dict[str, IgnoreRules | None] = {}

    def keeps(self, path: str, folder: bool) -> bool:
        """Whether the file at PATH is memory; of a FOLDER, whether anything below it can be."""
        node = self._snapshot.node(path) if self._snapshot else None
        if node is not None and (node.is_folder or not folder):
            return True
        if self.names(path, folder):
            return not self.is_gitignored(path, folder)
        return not folder and self.is_linked(path)

    def is_linked(self, path: str) -> bool:
        """Whether a link stands at PATH in the place of a folder that can hold memory.

        No link is followed, so it counts itself: else what lies behind it would be no memory
        without anybody knowing.
        """
        if not self.scope.reaches(path):
            return False
        place = f"{self._root}/{path}"
        if not os.path.islink(place) or os.path.isfile(place):
            return False
        return not (self.is_gitignored(path, True) or self.is_gitignored(path, False))

    def other_work(self, path: str) -> str:
        """What stands at PATH, or in the way to it, and is no memory; empty where nothing does."""
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            place = "/".join(parts[:end])
            try:
                folder = stat.S_ISDIR(os.lstat(f"{self._root}/{place}").st_mode)
            except OSError:
                return ""
            if not folder or end == len(parts):
                return "" if self.keeps(place, folder) else place
        return ""

    def names(self, path: str, folder: bool) -> bool:
        """The same by the patterns alone."""
        return self.scope.reaches(path) if folder else self.scope.holds(path)

    def is_gitignored(self, path: str, folder: bool) -> bool:
        """Whether a `.gitignore` in the folder takes PATH, or a folder above it, out of memory."""
        if self.scope.insists(path, folder=folder):
            return False
        parts = path.split("/")
        for end in range(1, len(parts) + 1):
            last = end == len(parts)
            if self._says("/".join(parts[:end]) + "/" * (folder or not last)):
                return True
        return False

    def with_inodes(self, inodes: Container[int]) -> Iterator[tuple[int, str]]:
        """The files beside memory that have one of the inodes WANTED, as the index cuts them.

        Only names are read, and not more than a bound: there may be very many files.
        """
        count, folders = 0, [""]
        for above in folders:
            with suppress(OSError), os.scandir(f"{self._root}/{above}") as found:
                for each in found:
                    count += 1
                    path = f"{above}{each.name}"
                    if count > MOST_NAMES:
                        return
                    if each.name[0] == "." or each.is_symlink():
                        continue
                    if each.is_dir(follow_symlinks=False):
                        folders.append(f"{path}/")
                    elif each.inode() & WORD in inodes and not self.keeps(path, False):
                        yield each.inode() & WORD, path

    def _says(self, path: str) -> bool:
        """What the nearest `.gitignore` that is about PATH says of it."""
        parts = path.rstrip("/").split("/")
        for depth in range(len(parts) - 1, -1, -1):
            above = "/".join(parts[:depth])
            rules = self._rules_in(above)
            verdict = rules.says(path[len(above) + bool(above) :]) if rules else None
            if verdict is not None:
                return verdict
        return False

    def _rules_in(self, folder: str) -> IgnoreRules | None:
        if folder not in self._rules:
            self._rules[folder] = _read(f"{self._root}/{folder}/{GITIGNORE}")
        return self._rules[folder]


def _read(path: str) -> IgnoreRules | None:
    # Without blocking, and no link: a pipe or a device in its place must not stop us.
    with suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            data = os.read(fd, MOST + 1)
        finally:
            os.close(fd)
        if data and len(data) <= MOST:
            from gitmem.model.ignore import IgnoreRules  # only where somebody has rules

            return IgnoreRules(data.decode("utf-8", "replace"))
    return None


def exclude_rest(gitdir: Path, scope: Scope, left: Sequence[str] = ()) -> None:
    """Let git leave alone what is no memory by SCOPE, so that `git status` does not list it.

    These rules come first in `info/exclude`: those of `held ignore`, and a person's own, count
    after them. Git replaces an ignored file without asking where it checks out a commit that has
    its path, so the paths LEFT, which older commits have, are not ignored.
    """
    rules = scope.exclude_lines()
    if rules and left:
        rules += [LEFT, *scope.shown_lines(left)]
    put_rules(gitdir, BEGIN, END, rules, first=True)


def paths_left(repository: Repository, scope: Scope, since: str) -> list[str]:
    """The paths that older commits have and HEAD does not, of those that SCOPE hides from git.

    The rules name those of before; to them come those of the commits after SINCE, which is all of
    them where the layout changed, up to a bound.
    """
    head = repository.snapshot()
    lines = rules_between(repository.gitdir, LEFT, END)
    known = reversed(list(shown_paths(lines)))
    found = dict.fromkeys(chain(_departed(repository, head.commit, since), known))
    hidden = (path for path in found if not scope.holds(path) and head.node(path) is None)
    return list(islice(hidden, MOST_LEFT))[::-1]


def _departed(repository: Repository, tip: str, since: str) -> Iterator[str]:
    """The paths that commits took away, newest first."""
    line, widened = repository.history(tip), False
    with suppress(Damaged):  # as far back as history can be read
        for after, before in pairwise(islice(line, MOST_COMMITS)):
            if after.oid == since and not widened:
                return
            for path, old, new in differences(repository, "", before.tree, after.tree):
                widened = widened or path == FILE
                if old and not new and not set(path) & {"\n", "\r"}:
                    yield path
