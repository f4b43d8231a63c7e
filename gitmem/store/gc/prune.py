"""Objects that were dropped on purpose, and are to be gone from the disk.

Everything else that no ref reaches is kept; these are not. A list names the commits that were let
go. An object goes only if they reach it and nothing else does: no ref, no log of one, not the
index. With them goes what was written for the same purpose by somebody who died before any ref led
to it. That is looked up without the lock, and once more, for what came since, with it. Before the
first one goes all of them are on the list, so that whoever dies on the way leaves nothing that
nobody knows of.
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

HEADS = "*_HEAD"
"""Files in which git remembers a commit for a while."""
ROUNDS = 5
"""How often it is begun anew because others were at work."""
FRESH = 60.0
"""Seconds in which a pack without an index may be somebody's who is just about to give it one."""


Stray = Callable[[str, bytes], bool]
"""Whether an object that nothing reaches is to go: asked with its kind and its content."""


class Gone(NamedTuple):
    """What has gone from the disk."""

    objects: int
    packs: int
    """How many packs were written anew without it."""


def forget_dropped(gitdir: Path, *, seconds: float, stray: Stray | None = None) -> Gone:
    """Remove from the disk what only dropped commits reach, and what nothing does and is STRAY."""
    deadline = time.monotonic() + seconds
    with alone(gitdir) as folder:
        for _ in range(ROUNDS):
            work = _Forgetting(gitdir, stray)
            try:
                if work.run(folder, deadline):
                    return work.gone
            finally:
                work.close()
    raise Busy("others were at work all the time; nothing is lost", hint="run it again later")


class _Forgetting:
    """One attempt."""

    def __init__(self, gitdir: Path, stray: Stray | None) -> None:
        self._gitdir, self._stray = gitdir, stray
        self._objects = Objects(gitdir, stand_ins=False)
        self._listed = listed(gitdir)
        self._oids = {oid for oid in self._listed if is_id(oid)}
        self._needed = _Reach(self._objects)
        self.gone = Gone(0, 0)

    def close(self) -> None:
        """Give back file handles."""
        self._objects.close()

    def run(self, folder: Path, deadline: float) -> bool:
        """Remove what can go; False when others have changed too much meanwhile."""
        gitdir, before = self._gitdir, self._lines()
        _remove_headless(gitdir, self._listed.keys() - self._oids)
        self._needed.add(before, whole=True)
        commits = {oid for oid, ref in self._listed.items() if ref}
        in_use = commits & self._needed.seen  # whoever noted them died before letting them go
        self._look()
        doomed = _Reach(self._objects, forgiving=True)
        doomed.add(self._oids)
        packs = packs_of(gitdir)
        names = set(names_in(packs))
        going = doomed.seen - self._needed.seen
        going |= self._strays({*names, *loose_names(gitdir)} - going)
        made = ""
        if going & names and names - going:
            made = new_pack(gitdir, folder, sorted(names - going), deadline)
        fault_points.reached("repacked")
        with Lock(lock_path(gitdir)):
            now = self._lines()
            self._needed.add(now, whole=True)
            self._look()  # what came since; the rest was seen
            moved = in_use and now != before
            repacked = going and {*packs_of(gitdir)} != {*packs, made} - {""}
            if going & self._needed.seen or moved or repacked:
                return False
            self._remove(going, made, packs if going & names else [])
            held, kept = commits - going - in_use, going & _packed(gitdir)
            self._unlist(going, held | kept)
        _tell(held, kept)
        return True

    def _strays(self, names: AbstractSet[str]) -> set[str]:
        """What somebody wrote who died before any ref led to it, where it is to go, too."""
        found: set[str] = set()
        for oid in names - self._needed.seen if self._stray else ():
            with suppress(ObjectDamaged):
                if self._stray and self._stray(*self._objects.read(oid)):
                    found.add(oid)
        return found

    def _lines(self) -> list[str]:
        """Where the refs are now that something was let go from."""
        return [self._line(ref) for ref in sorted({*self._listed.values()} - {""})]

    def _line(self, ref: str) -> str:
        found = ref_tip(self._gitdir, ref)
        if found is None:
            raise Damaged(
                f"{ref} is lost, so what it needs cannot be told; nothing was removed",
                hint="run `gitmem check --repair`",
                ref=ref,
            )
        return found

    def _look(self) -> None:
        """See all from which a reader may start."""
        self._needed.add(_roots(self._gitdir))
        self._needed.seen.update(_files(self._gitdir))

    def _remove(self, going: Collection[str], made: str, packs: list[str]) -> None:
        """Remove GOING in all forms it has; MADE stands in for PACKS."""
        gitdir = self._gitdir
        stems = (os.path.basename(each) for each in packs if each != made)
        keep_listed(gitdir, {**dict.fromkeys((*sorted(going), *stems), ""), **listed(gitdir)})
        fault_points.reached("listed")
        for name in (GRAPH, f"{GRAPH}s/commit-graph-chain"):
            with suppress(FileNotFoundError):  # it names commits that will not be there
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
        self.gone = Gone(len(packed | loose), len(packs))

    def _unlist(self, going: AbstractSet[str], held: AbstractSet[str]) -> None:
        """Forget what is done: what is HELD by somebody waits, and what was noted since."""
        done = (self._oids | going) - held
        now = listed(self._gitdir)
        left = {oid: ref for oid, ref in now.items() if oid not in done and is_id(oid)}
        keep_listed(self._gitdir, left)


def _remove_headless(gitdir: Path, ours: Collection[str]) -> None:
    """Remove the packs that one of us had begun to remove: without its index none is seen."""
    folder = gitdir / "objects" / "pack"
    for path in sorted(folder.glob(f"{PACK}*.pack")):
        if path.with_suffix(".idx").exists():
            continue
        if path.stem in ours:
            for each in folder.glob(f"{path.stem}.*"):
                each.unlink(missing_ok=True)
        elif time.time() - path.stat().st_mtime < FRESH:
            raise Busy("somebody else is packing", hint="run it again later")
        else:
            raise Damaged(
                f"{path.name} has no index, so what is in it cannot be told; nothing was removed",
                hint="run `gitmem check --repair`",
            )


def _packed(gitdir: Path) -> set[str]:
    """What is in any pack, also in one that somebody wants to keep."""
    return {*names_in([str(each)[:-4] for each in (gitdir / "objects" / "pack").glob("*.idx")])}


def _tell(held: Collection[str], kept: Collection[str]) -> None:
    """Say where something is left that should have gone."""
    if held:
        raise Busy(
            f"another ref, or the log of one, leads to {min(held)[:10]}, which was dropped",
            hint="see `git for-each-ref --contains` and `git reflog --all` in the group's folder",
        )
    if kept:
        raise Busy(
            f"{len(kept):,} objects that were dropped are in a pack that is marked to be kept",
            hint="remove its .keep file in objects/pack",
        )


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
            for line in read_log(gitdir, log).lines:
                yield from (oid for oid in (line.old, line.new) if oid != ZERO)
    for path in gitdir.glob(HEADS):
        found = path.read_text("ascii", "replace")[:40]
        yield from (found,) if is_id(found) else ()


def _files(gitdir: Path) -> Iterator[str]:
    """The files that the index and the record of a writer name: nothing is below them."""
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

    def add(self, roots: Iterable[str], *, whole: bool = False) -> None:
        """See all that ROOTS reach; WHOLE: nothing of it may be missing."""
        waiting = list(roots)
        while waiting:
            oid = waiting.pop()
            if oid not in self.seen:
                self.seen.add(oid)
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
            # An old line of a log may name what git has removed, and history may have a hole.
            if self._forgiving or (isinstance(error, ObjectMissing) and not whole):
                return []
            raise Damaged(
                f"what object {oid[:10]} needs cannot be told, so nothing was removed",
                hint="run `gitmem check --repair`",
            ) from error

    def _entries(self, tree: trees.Tree) -> list[str]:
        """The folders of a tree; its files are seen at once, since nothing is below them."""
        self.seen.update(node.oid for node in tree.values() if not node.is_folder)
        return [node.oid for node in tree.values() if node.is_folder]
