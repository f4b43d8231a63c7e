"""Objects that were dropped on purpose, and are to be gone from the disk.

Everything else that no ref reaches is kept; these are not. A list names the commits that were let
go. An object goes only if they reach it and nothing else does: no ref, no log of one, not the
index. That is looked up without the lock, and once more, for what came since, with it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.git import publish, trees
from gitmem.git.checks.reffiles import ZERO, all_refs, is_id, read_log
from gitmem.git.indexbytes import IndexUnreadable
from gitmem.git.indexfile import IndexFile
from gitmem.git.lock import Lock, lock_path
from gitmem.git.objects import ObjectDamaged, Objects
from gitmem.git.packing import GRAPH, alone, drop_packs, names_in, new_pack, packs_of
from gitmem.git.repository import parse_commit
from gitmem.git.setup import write_durably

NAME = "dropped"
HEADS = "*_HEAD"
"""Files in which git remembers a commit for a while."""


class Gone(NamedTuple):
    """What has gone from the disk."""

    objects: int
    packs: int
    """How many packs were written anew without it."""


def note_dropped(gitdir: Path, commit: str) -> None:
    """Remember that what only COMMIT reaches shall go: before it is let go."""
    known = dropped(gitdir)
    if commit not in known:
        write_durably(gitdir / "gitmem" / NAME, "\n".join([*known, commit, ""]).encode())


def dropped(gitdir: Path) -> list[str]:
    """The commits that were let go, and may still be on the disk."""
    try:
        text = (gitdir / "gitmem" / NAME).read_text("ascii", "replace")
    except OSError:
        return []
    return [line for line in text.split("\n") if is_id(line)]


def forget_dropped(gitdir: Path, *, seconds: float) -> Gone:
    """Remove from the disk what only dropped commits reach."""
    commits = dropped(gitdir)
    objects = Objects(gitdir, stand_ins=False)
    try:
        with alone(gitdir) as folder:
            return _forget(gitdir, objects, commits, folder, time.monotonic() + seconds)
    finally:
        objects.close()


def _forget(
    gitdir: Path, objects: Objects, commits: list[str], folder: Path, deadline: float
) -> Gone:
    doomed = _Reach(objects, forgiving=True)
    doomed.add(commits)
    needed = _Reach(objects)
    needed.add(_roots(gitdir))
    going = doomed.seen - needed.seen
    packs = packs_of(gitdir)
    names = set(names_in(packs))
    made = ""
    if going & names and names - going:
        made = new_pack(gitdir, folder, sorted(names - going), deadline)
    publish.reached("repacked")
    with Lock(lock_path(gitdir)):
        needed.add(_roots(gitdir))  # what came since; the rest was seen
        if going & needed.seen:
            raise Damaged(
                "what was dropped is needed again; nothing was removed",
                hint="run `gitmem maintain` again",
            )
        for name in (GRAPH, f"{GRAPH}s/commit-graph-chain"):
            with suppress(FileNotFoundError):  # it names commits that will not be there
                os.unlink(gitdir / name)
        removed = sum(_unlinked(objects.loose_path(oid)) for oid in going)
    if going & names:
        drop_packs(gitdir, made, packs)
    with suppress(FileNotFoundError):
        os.unlink(gitdir / "gitmem" / NAME)
    return Gone(len(going & names) + removed, len(packs) if going & names else 0)


def _unlinked(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _roots(gitdir: Path) -> Iterator[str]:
    """Everything from which a reader may start."""
    yield from all_refs(gitdir).values()
    for folder, _, files in os.walk(gitdir / "logs"):
        for name in files:
            log = os.path.relpath(os.path.join(folder, name), gitdir / "logs")
            for line in read_log(gitdir, log)[0]:
                yield from (oid for oid in line if oid != ZERO)
    for path in gitdir.glob(HEADS):
        found = path.read_text("ascii", "replace")[:40]
        yield from (found,) if is_id(found) else ()
    with suppress(FileNotFoundError, IndexUnreadable):
        index = IndexFile.parse((gitdir / "index").read_bytes())
        yield from (entry.oid.hex() for entry in index.entries())
    record = Lock(lock_path(gitdir)).peek()
    for item in record.items if record else ():
        yield from filter(None, (item.old, item.new))


class _Reach:
    """What can be reached; asked again, it goes on from what it has seen."""

    def __init__(self, objects: Objects, *, forgiving: bool = False) -> None:
        self._objects, self._forgiving = objects, forgiving
        self.seen: set[str] = set()

    def add(self, roots: Iterable[str]) -> None:
        """See all that ROOTS reach."""
        waiting = list(roots)
        while waiting:
            oid = waiting.pop()
            if oid not in self.seen:
                self.seen.add(oid)
                waiting += self._below(oid)

    def _below(self, oid: str) -> list[str]:
        try:
            kind, data = self._objects.read(oid)
            if kind == "commit":
                commit = parse_commit(oid, data)
                return [commit.tree, *commit.parents]
            if kind == "tag":
                return [data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii")]
            return self._entries(trees.parse(data)) if kind == "tree" else []
        except (ObjectDamaged, ValueError) as error:
            if self._forgiving or self._is_no_loss(oid):
                return []
            raise Damaged(
                f"what object {oid[:10]} needs cannot be told, so nothing was removed",
                hint="run `gitmem check --repair`",
            ) from error

    def _is_no_loss(self, oid: str) -> bool:
        """An old line of a log may name what git itself has removed."""
        return not os.path.exists(self._objects.loose_path(oid)) and not any(
            pack.offset(oid) is not None for pack in self._objects.packs
        )

    def _entries(self, tree: trees.Tree) -> list[str]:
        """The folders of a tree; its files are seen at once, since nothing is below them."""
        self.seen.update(node.oid for node in tree.values() if not node.is_folder)
        return [node.oid for node in tree.values() if node.is_folder]
