"""A durable write in process, against the least that git itself would have to do."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pygit2

from benchmarks.stores import build
from benchmarks.table import Row, interleaved
from gitmem.memory.group import Group
from gitmem.memory.write.write import Edit, write

ROUNDS = 150


class Bare:
    """Blob, trees, commit and ref by pygit2, synced: no work tree, no index, no lock, no guard."""

    def __init__(self, root: Path, *, files: int, folders: int) -> None:
        self.folders, self.files = folders, files
        self.repository = pygit2.init_repository(str(root), initial_head="main")
        self.signature = pygit2.Signature("agent", "agent@example.invalid")
        root_tree = self.repository.TreeBuilder()
        blob = self.repository.create_blob(b"# Note\n\nsome text\n")
        for folder in range(folders):
            tree = self.repository.TreeBuilder()
            for number in range(folder, files, folders):
                tree.insert(f"note{number}.md", blob, pygit2.enums.FileMode.BLOB)
            root_tree.insert(f"folder{folder}", tree.write(), pygit2.enums.FileMode.TREE)
        commit = self._commit(root_tree.write(), [])
        self.repository.create_reference("refs/heads/main", commit)

    def _commit(self, tree: pygit2.Oid, parents: list[pygit2.Oid]) -> pygit2.Oid:
        who = self.signature
        return self.repository.create_commit(None, who, who, "note", tree, parents)

    def write(self, number: int, data: bytes) -> None:
        """One file changed, as a commit on the branch."""
        repository = self.repository
        folder, name = f"folder{number % self.folders}", f"note{number}.md"
        reference = repository.lookup_reference("refs/heads/main")
        root = repository[reference.target].peel(pygit2.Tree)
        inner = repository.TreeBuilder(repository[root[folder].id].peel(pygit2.Tree))
        inner.insert(name, repository.create_blob(data), pygit2.enums.FileMode.BLOB)
        outer = repository.TreeBuilder(root)
        outer.insert(folder, inner.write(), pygit2.enums.FileMode.TREE)
        reference.set_target(self._commit(outer.write(), [reference.target]), "note")


def _against_bare(root: Path, *, files: int, folders: int, limit: float) -> Row:
    group = build(root / "store", files=files, folders=folders)
    bare = Bare(root / "bare", files=files, folders=folders)
    ours, theirs = count(), count()

    def gitmem() -> None:
        number = next(ours)
        _write(group, number % files, folders, number)

    def pygit() -> None:
        number = next(theirs)
        bare.write(number % files, b"# Note\n\nanother text %d\n" % number)

    times = interleaved(gitmem, pygit, ROUNDS)
    return Row(f"write, {files:,} files in {folders}: gitmem / bare pygit2", *times, limit)


def _write(group: Group, number: int, folders: int, token: int) -> None:
    text = f"# Note\n\nanother text {token}\n"
    write(group, [Edit(f"folder{number % folders}/note{number}.md", text)])


def _against_history(root: Path) -> Row:
    old = build(root / "old", files=10, commits=10_000)
    young = build(root / "young", files=10, commits=10)
    tokens = count()
    times = interleaved(
        lambda: _write(old, 3, 1, next(tokens)), lambda: _write(young, 3, 1, next(tokens)), ROUNDS
    )
    return Row("write, 10,000 commits / 10 commits", *times, 1.2)


def rows() -> Iterator[Row]:
    """The promises on durable writes."""
    for make in (
        lambda root: _against_bare(root, files=10, folders=1, limit=1.5),
        lambda root: _against_bare(root, files=5_000, folders=10, limit=2.0),
        _against_history,
    ):
        root = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
        try:
            yield make(root)
        finally:
            shutil.rmtree(root)
