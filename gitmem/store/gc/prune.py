"""Remove objects from the disk that were dropped on purpose.

All other unreachable objects are kept. A list names the dropped commits. An object is removed only
if they reach it and nothing else does: no ref, no reflog, not the index. Stray objects, which a
process wrote for the same purpose before it died, are removed with them. Reachability is computed
without the lock, and completed under it. All objects are on the list before the first is removed,
so that a process that dies on the way leaves none unlisted.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Busy, Damaged
from gitmem.model.hints import Hint, call
from gitmem.store import fault_points
from gitmem.store.durable import sync_folder
from gitmem.store.fsck.reachable import loose_names
from gitmem.store.gc.packing import GRAPH, alone, names_in, new_pack, packs_of, remove_packs
from gitmem.store.gc.prune_list import PACK, keep_listed, listed
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, ObjectMissing, Objects
from gitmem.store.refs.files import ZERO, all_refs, is_id, read_log
from gitmem.store.refs.move import ref_tip
from gitmem.store.repository import parse_commit

_REPAIR = Hint("run ", call("check", repair=True))
HEADS = "*_HEAD"
"""Files in which git keeps a commit for a while."""
ROUNDS = 5
"""How often it starts over because other processes changed refs or packs."""
FRESH = 60.0
"""Seconds in which a running process may still write the index of a pack."""


Stray = Callable[[str, bytes], bool]
"""Decides by kind and content whether an unreachable object is removed."""


class Pruned(NamedTuple):
    """The result of pruning."""

    objects: int
    packs: int
    """The number of packs that were rewritten."""


def forget_dropped(gitdir: Path, *, seconds: float, stray: Stray | None = None) -> Pruned:
    """Remove objects that only dropped commits reach, and unreachable ones that are STRAY."""
    deadline = time.monotonic() + seconds
    with alone(gitdir) as folder:
        for _ in range(ROUNDS):
            work = _Pruning(gitdir, stray)
            try:
                if work.run(folder, deadline):
                    return work.pruned
            finally:
                work.close()
    raise Busy("other processes kept changing the repository; nothing is lost", hint="try later")


class _Pruning:
    """One attempt."""

    def __init__(self, gitdir: Path, stray: Stray | None) -> None:
        self._gitdir, self._stray = gitdir, stray
        self._objects = Objects(gitdir, stand_ins=False)
        self._listed = listed(gitdir)
        self._oids = {oid for oid in self._listed if is_id(oid)}
        self._needed = _Reach(self._objects)
        self.pruned = Pruned(0, 0)

    def close(self) -> None:
        """Close file handles."""
        self._objects.close()

    def run(self, folder: Path, deadline: float) -> bool:
        """Remove what can be removed; False when others changed refs or packs meanwhile."""
        gitdir, before = self._gitdir, self._lines()
        _remove_headless(gitdir, self._listed.keys() - self._oids)
        self._needed.add(before, whole=True)
        commits = {oid for oid, ref in self._listed.items() if ref}
        in_use = commits & self._needed.found
        self._look()
        doomed = _Reach(self._objects, forgiving=True)
        doomed.add(self._oids)
        packs = packs_of(gitdir)
        names = set(names_in(packs))
        going = doomed.found - self._needed.found
        going |= self._strays({*names, *loose_names(gitdir)} - going)
        made = ""
        if going & names and names - going:
            made = new_pack(gitdir, folder, sorted(names - going), deadline)
        fault_points.reached("repacked")
        with Lock(lock_path(gitdir)):
            now = self._lines()
            self._needed.add(now, whole=True)
            self._look()  # only what came since
            moved = in_use and now != before
            repacked = going and {*packs_of(gitdir)} != {*packs, made} - {""}
            if going & self._needed.found or moved or repacked:
                return False
            self._remove(going, made, packs if going & names else [])
            held, kept = commits - going - in_use, going & _packed(gitdir)
            self._unlist(going, held | kept)
        _report(held, kept)
        return True

    def _strays(self, names: AbstractSet[str]) -> set[str]:
        """Objects that a process wrote before it died, and that are to be removed, too."""
        found: set[str] = set()
        for oid in names - self._needed.found if self._stray else ():
            with suppress(ObjectDamaged):
                if self._stray and self._stray(*self._objects.read(oid)):
                    found.add(oid)
        return found

    def _lines(self) -> list[str]:
        """The current commits of the refs from which commits were dropped."""
        return [self._line(ref) for ref in sorted({*self._listed.values()} - {""})]

    def _line(self, ref: str) -> str:
        found = ref_tip(self._gitdir, ref)
        if found is None:
            raise Damaged(
                f"{ref} is lost, so the objects it needs are unknown; nothing was removed",
                hint=_REPAIR,
                ref=ref,
            )
        return found

    def _look(self) -> None:
        """Add everything from which a reader may start."""
        self._needed.add(_roots(self._gitdir))
        self._needed.found.update(_files(self._gitdir))

    def _remove(self, going: Collection[str], made: str, packs: list[str]) -> None:
        """Remove GOING, loose, packed and in quarantine; MADE replaces PACKS."""
        gitdir = self._gitdir
        stems = (os.path.basename(each) for each in packs if each != made)
        keep_listed(gitdir, {**dict.fromkeys((*sorted(going), *stems), ""), **listed(gitdir)})
        fault_points.reached("listed")
        for name in (GRAPH, f"{GRAPH}s/commit-graph-chain"):
            with suppress(FileNotFoundError):  # it names commits that will be gone
                os.unlink(gitdir / name)
        packed = {*names_in(packs)}.intersection(going)
        remove_packs(gitdir, made, packs)
        fault_points.reached("unpacked")
        places = {oid: self._objects.loose_path(oid) for oid in sorted(going)}
        loose = {oid for oid, path in places.items() if _unlinked(path)}
        aside = gitdir / "gitmem" / "quarantine"
        for path in aside.iterdir() if aside.is_dir() else ():
            if path.name.partition(".")[0] in going:
                path.unlink(missing_ok=True)
        for folder in {os.path.dirname(places[oid]) for oid in loose}:
            sync_folder(folder)
        sync_folder(gitdir / "objects" / "pack")
        fault_points.reached("removed")
        self.pruned = Pruned(len(packed | loose), len(packs))

    def _unlist(self, going: AbstractSet[str], held: AbstractSet[str]) -> None:
        """Take removed objects off the list; those that are HELD, and new ones, stay."""
        done = (self._oids | going) - held
        now = listed(self._gitdir)
        left = {oid: ref for oid, ref in now.items() if oid not in done and is_id(oid)}
        keep_listed(self._gitdir, left)


def _remove_headless(gitdir: Path, ours: Collection[str]) -> None:
    """Remove packs without an index that gitmem had begun to remove."""
    folder = gitdir / "objects" / "pack"
    for path in sorted(folder.glob(f"{PACK}*.pack")):
        if path.with_suffix(".idx").exists():
            continue
        if path.stem in ours:
            for each in folder.glob(f"{path.stem}.*"):
                each.unlink(missing_ok=True)
        elif time.time() - path.stat().st_mtime < FRESH:
            raise Busy("another process is packing", hint="try again later")
        else:
            raise Damaged(
                f"{path.name} has no index, so its objects are unknown; nothing was removed",
                hint=_REPAIR,
            )


def _packed(gitdir: Path) -> set[str]:
    """The objects in all packs, also in those with a .keep file."""
    return {*names_in([str(each)[:-4] for each in (gitdir / "objects" / "pack").glob("*.idx")])}


def _report(held: Collection[str], kept: Collection[str]) -> None:
    """Report dropped objects that could not be removed."""
    if held:
        raise Busy(
            f"another ref or reflog leads to {min(held)[:10]}, which was dropped",
            hint="see `git for-each-ref --contains` and `git reflog --all` in the group's folder",
        )
    if kept:
        raise Busy(
            f"{len(kept):,} dropped objects are in a pack with a .keep file",
            hint="remove its .keep file in objects/pack",
        )


def _unlinked(path: str) -> bool:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True


def _roots(gitdir: Path) -> Iterator[str]:
    """The objects from which a reader may start."""
    yield from all_refs(gitdir).values()
    for folder, _, files in os.walk(gitdir / "logs"):
        for name in files:
            log = os.path.relpath(os.path.join(folder, name), gitdir / "logs")
            for line in read_log(gitdir, log).lines:
                yield from (oid for oid in (line.old, line.new) if oid != ZERO)
    for path in gitdir.glob(HEADS):
        found = path.read_text("ascii", "replace")[:40]
        yield from (found,) if is_id(found) else ()


def _files(gitdir: Path) -> Iterator[str]:
    """The blobs in the index and in the record of a writer."""
    with suppress(FileNotFoundError, IndexUnreadable):
        index = IndexFile.parse((gitdir / "index").read_bytes())
        yield from (entry.oid.hex() for entry in index.entries())
    record = Lock(lock_path(gitdir)).peek()
    for item in record.items if record else ():
        yield from filter(None, (item.old, item.new))


class _Reach:
    """A growing set of reachable objects."""

    def __init__(self, objects: Objects, *, forgiving: bool = False) -> None:
        self._objects, self._forgiving = objects, forgiving
        self.found: set[str] = set()

    def add(self, roots: Iterable[str], *, whole: bool = False) -> None:
        """Add everything that ROOTS reach; WHOLE: no object may be missing."""
        waiting = list(roots)
        while waiting:
            oid = waiting.pop()
            if oid not in self.found:
                self.found.add(oid)
                waiting += self._below(oid, whole)

    def _below(self, oid: str, whole: bool) -> list[str]:
        try:
            kind, data = self._objects.read(oid)
            if kind == "commit":
                commit = parse_commit(oid, data)
                return [commit.tree, *commit.parents]
            if kind == "tag":
                return [data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii")]
            return self._entries(trees.parse(data)) if kind == "tree" else []
        except (ObjectDamaged, ValueError) as error:
            # An old line of a reflog may name what git removed, and history may have a hole.
            if self._forgiving or (isinstance(error, ObjectMissing) and not whole):
                return []
            raise Damaged(
                f"the objects that {oid[:10]} needs are unknown; nothing was removed",
                hint=_REPAIR,
            ) from error

    def _entries(self, tree: trees.Tree) -> list[str]:
        """The folders of a tree; its files are added at once."""
        self.found.update(node.oid for node in tree.values() if not node.is_folder)
        return [node.oid for node in tree.values() if node.is_folder]
