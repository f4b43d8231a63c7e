"""Where a lost object may still be found: an object is its content, so whatever has its hash is it.

Files of the work tree, versions set aside, files in quarantine; folders are put together again from
the index, the work tree and their neighbours in history.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitmem.store.fsck.acknowledged import is_withheld
from gitmem.store.fsck.reachable import Lack, Walk
from gitmem.store.fsck.rebuild_tree import rebuilt_folder
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects, blob_id, inflate, object_id
from gitmem.store.objects.packs import Content
from gitmem.store.objects.trees import FILE, FOLDER, Node, Tree
from gitmem.store.refs.files import is_id
from gitmem.store.repository import BRANCH
from gitmem.store.worktree.worktree import MAX_FILE

PATIENCE = 10.0
"""Seconds in which folders are guessed: where hundreds are lost, guessing all takes for ever."""


class Copy(NamedTuple):
    """A sound copy of a lost object."""

    kind: str
    data: bytes
    whence: str

    @property
    def said(self) -> bytes:
        """What people wrote in it: of a folder its names, since the ids are bytes at random."""
        if self.kind != "tree":
            return self.data
        return "\n".join(trees.parse(self.data)).encode("utf-8", "surrogateescape")


class Sources:
    """Everything outside the object database that may hold what it has lost."""

    def __init__(self, gitdir: Path, worktree: Path) -> None:
        self.gitdir = gitdir
        self._worktree = worktree

    def find(self, oid: str) -> Copy | None:
        """A sound copy of OID, if there is any; what costs least is asked first.

        To hash the whole work tree comes last: the index tells which file most likely has it.
        """
        return (
            self._named_file(oid)
            or self._quarantined(oid)
            or self._folder(oid)
            or self._file(oid)
            or self._standing_folder(oid)
        )

    def supply(self, oid: str) -> Content | None:
        """The same for a damaged pack whose other objects are built on it."""
        found = self.find(oid)
        return (found.kind, found.data) if found else None

    @cached_property
    def _files(self) -> dict[str, str]:
        """Where a file with the content of a blob stands."""
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
        whence = "a version set aside" if name.startswith("..") else f"the work tree ({name})"
        return Copy("blob", data, whence)

    def _quarantined(self, oid: str) -> Copy | None:
        folder = self.gitdir / "gitmem" / "quarantine"
        for path in sorted(folder.glob(f"{oid}.*")) if is_id(oid) else ():
            with suppress(ObjectDamaged, OSError):
                kind, data = inflate(oid, path.read_bytes())
                return Copy(kind, data, "a copy in quarantine")
        return None

    @cached_property
    def _standing_folders(self) -> dict[str, bytes]:
        """Every folder of the work tree as it stands."""
        placed = {path: oid for oid, path in self._files.items()}
        standing = {
            os.path.relpath(path, self._worktree): Node(FILE, oid)
            for path, oid in placed.items()
            if path.startswith(f"{self._worktree}{os.sep}")
        }
        return folders_of(standing)

    @cached_property
    def _indexed_folders(self) -> dict[str, bytes]:
        """Every folder of the index."""
        return folders_of(dict(self._indexed))

    @cached_property
    def _indexed_paths(self) -> dict[str, list[str]]:
        """The paths that the index has for a blob."""
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

    def _folder(self, oid: str) -> Copy | None:
        data = self._indexed_folders.get(oid)
        return None if data is None else Copy("tree", data, "the names in the index")

    def _standing_folder(self, oid: str) -> Copy | None:
        data = self._standing_folders.get(oid)
        return None if data is None else Copy("tree", data, "the names in the work tree")


def _plain_files(top: Path) -> Iterator[str]:
    for folder, _, files in os.walk(top):
        yield from (os.path.join(folder, name) for name in sorted(files) if name != ".git")


def _content(path: str) -> bytes | None:
    """The bytes of a plain file of ordinary size, else None."""
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


def folders_of(files: dict[str, Node]) -> dict[str, bytes]:
    """The tree objects of a set of files, by their ids."""
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
        made = folders_of(inner)
        found.update(made)
        here[name] = Node(FOLDER, next(reversed(made)))
    data = trees.serialise(here)
    return {**found, object_id("tree", data): data}


class Healed(NamedTuple):
    """A lost object that is back."""

    lack: Lack
    whence: str


class Healer:
    """Brings lost objects back. LEFT: for commits that left the branch, and not for its own."""

    def __init__(self, objects: Objects, sources: Sources, *, left: bool = False) -> None:
        self._objects = objects
        self._sources = sources
        self._left = left
        self.healed: list[Healed] = []
        self._deadline = time.monotonic() + PATIENCE

    def heal(self, refs: dict[str, str], sound: Iterable[str] = ()) -> list[Lack]:
        """Heal all that REFS need and that can be; return what still lacks."""
        while True:
            walk = Walk(self._objects, sound)
            walk.run(refs)
            # A folder that is back may need files that nobody has asked for until now.
            if not [lack for lack in walk.lacks if self._heal(lack, refs)]:
                return walk.lacks

    def makes_whole(self, commit: str) -> bool:
        """True when COMMIT and all its files can be read, now that what could be healed is."""
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
            data = rebuilt_folder(self._objects, lack, refs)
            copy = Copy("tree", data, "its neighbours in history") if data is not None else None
        if copy is None or object_id(copy.kind, copy.data) != lack.oid:
            return False
        named = lack.ref == BRANCH and not self._left
        if not named and is_withheld(self._sources.gitdir, copy.said):
            # Who removes a credential from history rewrites the branch. A ref that was forgotten,
            # such as one of a kept commit, must not bring it back from a file that still has it.
            return False
        self._objects.write(copy.kind, copy.data)
        self.healed.append(Healed(lack, copy.whence))
        return True
