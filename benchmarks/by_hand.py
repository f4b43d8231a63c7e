"""What gitmem does by hand, against the library that could do it (see docs/decisions.md)."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import frontmatter as library
import pygit2

from benchmarks.stores import build
from benchmarks.table import Row, interleaved
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.text import plain_frontmatter as plainfields
from gitmem.store.config import read_config
from gitmem.store.history import ancestry
from gitmem.store.index.file import IndexFile
from gitmem.store.objects import trees
from gitmem.store.objects.database import Objects
from gitmem.store.repository import Repository, differences

FILES, COMMITS, NAMES = 5_000, 2_000, 500
PAGE = "---\nsummary: The import is done\ndate: 2026-02-08\n---\n\n" + "- a line of the page\n" * 40


def _writes(root: Path) -> Row:
    """Four objects, as a commit has them; every file and folder synced, as libgit2 does."""
    bare = pygit2.init_repository(str(root / "bare"), bare=True)
    other = pygit2.init_repository(str(root / "other"), bare=True)
    objects, numbers = Objects(Path(other.path)), count()

    def ours() -> None:
        for _ in range(4):
            objects.stage("blob", b"text %d" % next(numbers))
        objects.flush()

    def theirs() -> None:
        for _ in range(4):
            bare.create_blob(b"text %d" % next(numbers))

    return Row("write 4 objects, synced: objects / pygit2", *interleaved(ours, theirs, 60))


def _reads(root: Path) -> Row:
    """220 loose blobs, each checked against its name by either."""
    bare = pygit2.init_repository(str(root), bare=True)
    names = [str(bare.create_blob(b"# Fact %d\n\nsome text\n" % n)) for n in range(220)]

    def ours() -> None:
        objects = Objects(Path(bare.path))
        for name in names:
            objects.read(name)

    def theirs() -> None:
        fresh = pygit2.Repository(bare.path)
        for name in names:
            fresh[name].read_raw()

    return Row("read 220 loose objects: objects / pygit2", *interleaved(ours, theirs, 30))


def _index(root: Path) -> Row:
    """One entry of an index of 5,000 gets another blob."""
    group = build(root, files=FILES, folders=10)
    gitdir = next(root.glob("repos/*"))
    data = (gitdir / "index").read_bytes()
    path = list(IndexFile.parse(data).entries())[FILES // 2].path
    target = root / "patched"

    def ours() -> None:
        index = IndexFile.parse((gitdir / "index").read_bytes())
        entry = index.get(path)
        assert entry is not None
        target.write_bytes(index.patched({path: entry._replace(oid=b"1" * 20)}).data)

    spare = root / "spare"
    spare.write_bytes(data)
    blobs = count()

    def theirs() -> None:
        index = pygit2.Index(str(spare))
        entry = index[path.decode()]
        blob = pygit2.Oid(hex=f"{next(blobs):040x}")
        index.add(pygit2.IndexEntry(path.decode(), blob, entry.mode))
        index.write()

    del group
    return Row(f"index of {FILES:,}, one entry: indexfile / pygit2", *interleaved(ours, theirs, 30))


def _trees(root: Path) -> Row:
    """One name of a tree of 500 gets another blob; no object is written to disk by ours."""
    bare = pygit2.init_repository(str(root), bare=True)
    blobs = [bare.create_blob(b"%d" % number) for number in range(31)]
    builder = bare.TreeBuilder()
    for number in range(NAMES):
        builder.insert(f"note{number}.md", blobs[0], pygit2.enums.FileMode.BLOB)
    tree = bare[builder.write()].peel(pygit2.Tree)
    data, turns, others = tree.read_raw(), count(), count()

    def ours() -> None:
        found = trees.parse(data)
        found["note7.md"] = trees.Node(trees.FILE, str(blobs[next(turns) % 31]))
        trees.serialise(found)

    def theirs() -> None:
        patched = bare.TreeBuilder(tree)
        patched.insert("note7.md", blobs[next(others) % 31], pygit2.enums.FileMode.BLOB)
        patched.clear()

    return Row(
        f"tree of {NAMES} names, one changed: trees / pygit2", *interleaved(ours, theirs, 60)
    )


def _history(root: Path) -> Iterator[Row]:
    group = build(root, files=20, commits=COMMITS)
    gitdir = next(root.glob("repos/*"))
    del group
    raw = pygit2.Repository(str(gitdir), pygit2.enums.RepositoryOpenFlag.BARE)
    repository = Repository(gitdir)
    tip = str(raw.lookup_reference("refs/heads/main").target)
    walk = [str(each.id) for each in raw.walk(tip)][:60]
    old = walk[-1]

    def base_by_hand() -> None:
        ancestry.split(Objects(gitdir), tip, old)

    def base_by_library() -> None:
        fresh = pygit2.Repository(str(gitdir), pygit2.enums.RepositoryOpenFlag.BARE)
        fresh.merge_base(tip, old)

    yield Row(
        "merge base, 60 commits apart: ancestry / pygit2",
        *interleaved(base_by_hand, base_by_library, 20),
    )
    before, after = (str(raw[each].tree.id) for each in (old, tip))

    def differ_by_hand() -> None:
        list(differences(Repository(gitdir), "", before, after))

    def differ_by_library() -> None:
        fresh = pygit2.Repository(str(gitdir), pygit2.enums.RepositoryOpenFlag.BARE)
        old, new = (fresh[each].peel(pygit2.Tree) for each in (before, after))
        list(old.diff_to_tree(new).deltas)

    yield Row(
        "tree difference: repository / pygit2", *interleaved(differ_by_hand, differ_by_library, 20)
    )
    repository.close()


def _config(root: Path) -> Row:
    """The configuration of a group, read whole."""
    build(root, files=1)
    gitdir = next(root.glob("repos/*"))

    def theirs() -> None:
        for each in pygit2.Config(str(gitdir / "config")):
            assert each.name

    return Row(
        "configuration: setup / pygit2", *interleaved(lambda: read_config(gitdir), theirs, 200)
    )


def _edits(root: Path) -> Row:
    """A look at 5,000 files that nobody has edited."""
    group = build(root, files=FILES, folders=10)

    def theirs() -> None:
        assert not pygit2.Repository(str(group.worktree)).status()

    row = Row(
        f"edits among {FILES:,} files: pending / pygit2",
        *interleaved(lambda: pending_edits(group), theirs, 10),
    )
    group.close()
    return row


def _fields(_: Path) -> Row:
    def ours() -> None:
        for _ in range(200):
            plainfields.read_fields(PAGE)

    def theirs() -> None:
        for _ in range(200):
            library.loads(PAGE)

    return Row(
        "200 pages of a diary: plainfields / python-frontmatter", *interleaved(ours, theirs, 20)
    )


def _started(code: str) -> Callable[[], object]:
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def _start_up(_: Path) -> Row:
    ours = _started("import gitmem.model.text.plain_frontmatter")
    theirs = _started("import gitmem.model.text.plain_frontmatter, frontmatter")
    return Row("start-up: without / with python-frontmatter", *interleaved(ours, theirs, 15))


def rows() -> Iterator[Row]:
    """What each part costs by hand and by its library; none of them is a promise."""
    for make in (_writes, _reads, _index, _trees, _config, _edits, _fields, _start_up, _history):
        root = Path(tempfile.mkdtemp(prefix="gitmem-bench-"))
        try:
            made = make(root)
            yield from [made] if isinstance(made, Row) else made
        finally:
            shutil.rmtree(root)
