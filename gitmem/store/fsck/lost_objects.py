"""Find and restore lost objects: any bytes with the right hash are the object.

Sources are the work tree, held files and the quarantine; trees are put together from the index,
from the work tree and from the commits next to them.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import NamedTuple

from gitmem.store.fsck.acknowledged import is_withheld
from gitmem.store.fsck.reachable import Lack, Walk
from gitmem.store.history.ancestry import readable_commit
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects, blob_id, inflate, object_id
from gitmem.store.objects.packs import Content
from gitmem.store.objects.trees import FILE, FOLDER, Node, Tree
from gitmem.store.refs.files import is_id
from gitmem.store.repository import BRANCH, Commit
from gitmem.store.worktree.worktree import MAX_FILE

PATIENCE = 10.0
"""Seconds for guessing trees: where hundreds are lost, guessing all of them takes hours."""
MOST_NAMES = 10


class Copy(NamedTuple):
    """A sound copy of a lost object."""

    kind: str
    data: bytes
    whence: str

    @property
    def text(self) -> bytes:
        """The bytes that people wrote: of a tree its names, since ids are random bytes."""
        if self.kind != "tree":
            return self.data
        return "\n".join(trees.parse(self.data)).encode("utf-8", "surrogateescape")


class ObjectSources:
    """Everything outside the object database that may hold a copy of a lost object."""

    def __init__(self, gitdir: Path, worktree: Path) -> None:
        self.gitdir = gitdir
        self._worktree = worktree

    def find(self, oid: str) -> Copy | None:
        """A sound copy of OID, if there is any; cheap sources come first.

        Hashing the whole work tree comes last: the index names the most likely file.
        """
        return (
            self._named_file(oid)
            or self._quarantined(oid)
            or _tree_copy(self._indexed_trees, oid, "the names in the index")
            or self._file(oid)
            or _tree_copy(self._worktree_trees, oid, "the names in the work tree")
        )

    def supply(self, oid: str) -> Content | None:
        """The content of OID, as the delta base of objects in a damaged pack."""
        found = self.find(oid)
        return (found.kind, found.data) if found else None

    @cached_property
    def _files(self) -> dict[str, str]:
        """The path of a file with the content of each blob."""
        found: dict[str, str] = {}
        for top in (self._worktree, self.gitdir / "gitmem" / "held"):
            for path in _plain_files(top):
                data = _content(path)
                if data is not None:
                    found.setdefault(blob_id(data), path)
        return found

    def _named_file(self, oid: str) -> Copy | None:
        """The file that the index names for OID, if it still has that content."""
        for path in self._indexed_paths.get(oid, ()):
            found = self._copy_at(os.path.join(self._worktree, path), oid)
            if found:
                return found
        return None

    def _file(self, oid: str) -> Copy | None:
        path = self._files.get(oid)
        return self._copy_at(path, oid) if path else None

    def _copy_at(self, path: str, oid: str) -> Copy | None:
        data = _content(path)
        if data is None or blob_id(data) != oid:
            return None
        name = os.path.relpath(path, self._worktree)
        whence = "a held file" if name.startswith("..") else f"the work tree ({name})"
        return Copy("blob", data, whence)

    def _quarantined(self, oid: str) -> Copy | None:
        folder = self.gitdir / "gitmem" / "quarantine"
        for path in sorted(folder.glob(f"{oid}.*")) if is_id(oid) else ():
            with suppress(ObjectDamaged, OSError):
                kind, data = inflate(oid, path.read_bytes())
                return Copy(kind, data, "a copy in quarantine")
        return None

    @cached_property
    def _worktree_trees(self) -> dict[str, bytes]:
        """The trees of the work tree as it is."""
        files = {
            os.path.relpath(path, self._worktree): Node(FILE, oid)
            for oid, path in self._files.items()
            if path.startswith(f"{self._worktree}{os.sep}")
        }
        return _trees_of(files)

    @cached_property
    def _indexed_trees(self) -> dict[str, bytes]:
        """The trees of the index."""
        return _trees_of(dict(self._indexed))

    @cached_property
    def _indexed_paths(self) -> dict[str, list[str]]:
        """The paths of each blob in the index."""
        found: dict[str, list[str]] = {}
        for path, node in self._indexed:
            found.setdefault(node.oid, []).append(path)
        return found

    @cached_property
    def _indexed(self) -> list[tuple[str, Node]]:
        with suppress(OSError, IndexUnreadable):
            index = IndexFile.parse((self.gitdir / "index").read_bytes())
            return [
                (entry.path.decode("utf-8", "surrogateescape"), Node(entry.mode, entry.oid.hex()))
                for entry in index.entries()
            ]
        return []


def _tree_copy(known: Mapping[str, bytes], oid: str, whence: str) -> Copy | None:
    return Copy("tree", known[oid], whence) if oid in known else None


def _plain_files(top: Path) -> Iterator[str]:
    for folder, _, files in os.walk(top):
        yield from (os.path.join(folder, name) for name in sorted(files) if name != ".git")


def _content(path: str) -> bytes | None:
    """The bytes of a regular file of at most MAX_FILE bytes, else None."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE:
            return None
        data = b""
        while more := os.read(fd, MAX_FILE):
            data += more
        return data
    except OSError:
        return None
    finally:
        os.close(fd)


def _trees_of(files: dict[str, Node]) -> dict[str, bytes]:
    """The tree objects of a set of files, by id; the root comes last."""
    here: Tree = {}
    below: dict[str, dict[str, Node]] = {}
    for path, node in files.items():
        name, slash, rest = path.partition("/")
        if slash:
            below.setdefault(name, {})[rest] = node
        else:
            here[name] = node
    found: dict[str, bytes] = {}
    for name, inner in below.items():
        made = _trees_of(inner)
        found.update(made)
        here[name] = Node(FOLDER, next(reversed(made)))
    data = trees.serialise(here)
    return {**found, object_id("tree", data): data}


def rebuilt_tree(objects: Objects, lack: Lack, tip: str) -> bytes | None:
    """The bytes of the lost tree LACK, put together from the commits next to it; None otherwise.

    A commit changes few names. So a lost tree has each name as it was in the commit before or in
    the one after, and the hash proves a guess: at most 2 ** MOST_NAMES are tried.
    """
    later: Tree | None = None
    met = False
    for commit in _first_parents(objects, tip):
        oid = _tree_at(objects, commit, lack.path)
        if oid == lack.oid or commit.oid == lack.commit:
            met = True
            continue
        tree = (_tree(objects, oid) if oid else None) or {}
        if met:
            return _mixed(later, tree, lack.oid) if later is not None else None
        later = tree
    return None


def _first_parents(objects: Objects, oid: str) -> Iterator[Commit]:
    """First parents from OID on, as far as they can be read."""
    while oid and (commit := readable_commit(objects, oid)):
        yield commit
        oid = commit.parents[0] if commit.parents else ""


def _tree_at(objects: Objects, commit: Commit, path: str) -> str | None:
    oid = commit.tree
    for part in path.split("/") if path else ():
        tree = _tree(objects, oid)
        node = tree.get(part) if tree else None
        if node is None or not node.is_folder:
            return None
        oid = node.oid
    return oid


def _tree(objects: Objects, oid: str) -> Tree | None:
    try:
        return trees.parse(objects.read_as("tree", oid))
    except (ObjectDamaged, ValueError):
        return None


def _mixed(later: Tree, earlier: Tree, oid: str) -> bytes | None:
    """The tree OID with each name as it is in LATER or in EARLIER."""
    names = [name for name in sorted({*later, *earlier}) if later.get(name) != earlier.get(name)]
    if len(names) > MOST_NAMES:
        names = []
    for choice in product((later, earlier), repeat=len(names)):
        sides = zip(names, choice, strict=True)
        merged = {**later, **{name: side.get(name) for name, side in sides}}
        data = trees.serialise({name: node for name, node in merged.items() if node is not None})
        if object_id("tree", data) == oid:
            return data
    return None


class Healed(NamedTuple):
    """A lost object that was restored."""

    lack: Lack
    whence: str


class Healer:
    """Restores lost objects. LEFT: those of commits that left the branch."""

    def __init__(self, objects: Objects, sources: ObjectSources, *, left: bool = False) -> None:
        self._objects = objects
        self._sources = sources
        self._left = left
        self.healed: list[Healed] = []
        self._deadline = time.monotonic() + PATIENCE

    def heal(self, refs: dict[str, str], sound: Iterable[str] = ()) -> list[Lack]:
        """Restore what REFS need as far as possible; the objects that are still lost."""
        while True:
            walk = Walk(self._objects, sound)
            walk.run(refs)
            # A restored tree may name blobs that are lost, too.
            if not [lack for lack in walk.lacks if self._heal(lack, refs)]:
                return walk.lacks

    def makes_whole(self, commit: str) -> bool:
        """Restore what COMMIT needs; True when it and all its files can be read."""
        while True:
            walk = Walk(self._objects)
            walk.look_at(commit)
            if not walk.lacks:
                return True
            if not [lack for lack in walk.lacks if self._heal(lack, {BRANCH: commit})]:
                return False

    def _heal(self, lack: Lack, refs: dict[str, str]) -> bool:
        copy = self._sources.find(lack.oid)
        if copy is None and lack.kind == "tree" and time.monotonic() < self._deadline:
            data = rebuilt_tree(self._objects, lack, refs.get(BRANCH, ""))
            copy = Copy("tree", data, "the commits next to it") if data is not None else None
        if copy is None or object_id(copy.kind, copy.data) != lack.oid:
            return False
        named = lack.ref == BRANCH and not self._left
        if not named and is_withheld(self._sources.gitdir, copy.text):
            # Removing a credential from history means rewriting the branch. A forgotten ref, such
            # as one of a kept commit, must not bring it back from a file that still has it.
            return False
        self._objects.write(copy.kind, copy.data)
        self.healed.append(Healed(lack, copy.whence))
        return True
