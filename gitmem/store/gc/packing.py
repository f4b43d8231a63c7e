"""Pack loose objects; every object has a readable copy at any time.

git writes a pack in a folder of its own, without the group's lock: objects never change, and only
gitmem removes them. git indexes it, our own reader reads every object in it, it is synced, and only
then moved to objects/pack. After that the copies that it replaces are removed, under the lock and
a few at a time. Nothing is pruned: unreachable objects are packed like the rest.

A process that dies on the way leaves objects twice, and files in `gitmem/packing` that the next one
removes.

Packs are made by the git program instead of pygit2's PackBuilder: that one is as fast and as small
(6,025 objects: 2.7 s and 1.17 MB, git 6.1 s and 1.18 MB), but libgit2 reads every object for it
and never returns from a truncated one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Busy, Damaged, StorageFailed
from gitmem.model.hints import Hint, call
from gitmem.store import fault_points
from gitmem.store.durable import sync_folder
from gitmem.store.fsck.reachable import loose_names
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects.pack_entries import PackDamaged
from gitmem.store.objects.packs import CHECKSUM, Pack
from gitmem.store.program import GitTooSlow, run_git

SAMPLES = ("17", "4d", "a2", "e8")
"""Folders of objects that are counted, of 256; ids are evenly spread."""
SLICE = 500
"""Files that are removed under one lock: some milliseconds, for which writers wait."""
BESIDE = (".idx", ".pack", ".rev", ".bitmap", ".mtimes")
"""Suffixes of a pack, in order of removal: git ignores a pack without its index."""
GRAPH = "objects/info/commit-graph"
STALE = 60.0
"""Seconds after which the lock of a git that gitmem started is stale."""


class Packed(NamedTuple):
    """The result of packing."""

    objects: int
    """The number of loose objects that were packed."""
    packs: int
    """The number of packs that were combined."""
    remark: str = ""
    """What failed without loss."""


def loose_estimate(gitdir: Path) -> int:
    """The approximate number of loose objects, from a sample of the folders."""
    found = 0
    for name in SAMPLES:
        with suppress(OSError):
            found += len(os.listdir(f"{gitdir}/objects/{name}"))
    return found * 256 // len(SAMPLES)


def packs_of(gitdir: Path) -> list[str]:
    """The packs that may be combined, by their paths without a suffix."""
    folder = f"{gitdir}/objects/pack"
    try:
        names = set(os.listdir(folder))
    except OSError:
        return []
    stems = sorted(name[:-4] for name in names if name.endswith(".idx"))
    kept = (".keep", ".promisor")
    return [f"{folder}/{each}" for each in stems if not any(each + end in names for end in kept)]


def pack(gitdir: Path, *, seconds: float, most_packs: int) -> Packed:
    """Pack loose objects, and combine all packs where there are MOST_PACKS."""
    deadline = time.monotonic() + seconds
    with alone(gitdir) as folder:
        loose = list(loose_names(gitdir))
        if loose:
            made = new_pack(gitdir, folder, loose, deadline, unpacked=True)
            fault_points.reached("packed")
            _drop_loose(gitdir, made, loose)
        packs = packs_of(gitdir)
        many = len(packs) >= most_packs
        if many:
            made = new_pack(gitdir, folder, names_in(packs), deadline)
            fault_points.reached("repacked")
            drop_packs(gitdir, made, packs)
        remark = _write_graph(gitdir, folder, deadline)
    return Packed(len(loose), len(packs) if many else 0, remark)


@contextmanager
def alone(gitdir: Path) -> Iterator[Path]:
    """Lock and clear the folder in which packs are made."""
    folder = gitdir / "gitmem" / "packing"
    folder.mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(Lock(folder / "lock", 0.0))
        except Busy as error:
            raise Busy("another gitmem process is packing", hint="no action needed") from error
        try:
            _clear(folder)
            yield folder
        finally:
            with suppress(OSError):
                _clear(folder)  # at once: it may fill the disk


def _clear(folder: Path) -> None:
    for name in os.listdir(folder):
        if name.startswith("new."):
            os.unlink(folder / name)


def new_pack(
    gitdir: Path, folder: Path, oids: Collection[str], deadline: float, *, unpacked: bool = False
) -> str:
    """Write a pack with all of OIDS, durably, and read it back; its path without a suffix."""
    draft = folder / "new"
    rows = _hinted(gitdir, oids, deadline, unpacked)
    command = ("pack-objects", "--stdout", "--delta-base-offset", "-q")
    with open(os.open(f"{draft}.pack", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as file:
        run_git(gitdir, *command, seconds=_left(deadline), input=rows, output=file)
        os.fsync(file.fileno())
    fault_points.reached("drafted")
    run_git(gitdir, "index-pack", "-o", f"{draft}.idx", f"{draft}.pack", seconds=_left(deadline))
    _read_all(str(draft), oids)
    return _put_in_place(gitdir, str(draft))


def _left(deadline: float) -> float:
    return deadline - time.monotonic()


def _hinted(gitdir: Path, oids: Collection[str], deadline: float, unpacked: bool) -> bytes:
    """OIDS for git with their paths in history: versions of one file pack well."""
    rest, lines = set(oids), []
    only = ("--unpacked",) if unpacked else ()
    walk = ("rev-list", "--objects", "--all", "--reflog", *only)
    with suppress(StorageFailed):  # a damaged history costs compression only
        for line in run_git(gitdir, *walk, seconds=_left(deadline)).split(b"\n"):
            oid = line[:40].decode("ascii", "replace")
            if oid in rest:
                rest.discard(oid)
                lines.append(line)
    return b"\n".join([*lines, *(oid.encode() for oid in sorted(rest)), b""])


def _read_all(stem: str, oids: Collection[str]) -> None:
    """Read all of OIDS from a new pack with our own reader; raises Damaged."""
    try:
        found = Pack(stem)
        lacking = next((oid for oid in oids if found.read(oid) is None), "")
        found.close()
    except PackDamaged as error:
        raise _unsound(f"{error}") from error
    if lacking:
        raise _unsound(f"it lacks {lacking[:10]}")


def _unsound(why: str) -> Damaged:
    text = f"a new pack cannot be read ({why}), and was not used; nothing was changed"
    return Damaged(text, hint=Hint("run ", call("check")))


def _put_in_place(gitdir: Path, draft: str) -> str:
    """Move a pack to objects/pack, its index last, so that no reader finds half of it."""
    with open(f"{draft}.pack", "rb") as file:
        file.seek(-CHECKSUM, os.SEEK_END)
        stem = f"{gitdir}/objects/pack/pack-{file.read().hex()}"
    for ending in (".pack", ".idx"):
        fd = os.open(draft + ending, os.O_RDONLY)
        try:
            os.fchmod(fd, 0o400)
            os.fsync(fd)
        finally:
            os.close(fd)
    for ending in (".pack", ".idx"):
        os.rename(draft + ending, stem + ending)
    sync_folder(os.path.dirname(stem))
    return stem


def _drop_loose(gitdir: Path, made: str, oids: Sequence[str]) -> None:
    """Remove loose objects that are in the pack MADE; the lock is free between two slices."""
    for start in range(0, len(oids), SLICE):
        with Lock(lock_path(gitdir)):
            if not _stands(made):
                return  # a person's `git repack` removed it: its contents are unknown
            for oid in oids[start : start + SLICE]:
                with suppress(FileNotFoundError):
                    os.unlink(f"{gitdir}/objects/{oid[:2]}/{oid[2:]}")
        fault_points.reached("dropped")
    for name in {oid[:2] for oid in oids}:
        with suppress(OSError):  # another process has added an object since
            os.rmdir(f"{gitdir}/objects/{name}")


def _stands(stem: str) -> bool:
    return os.path.exists(f"{stem}.pack") and os.path.exists(f"{stem}.idx")


def names_in(packs: Sequence[str]) -> list[str]:
    """The ids of all objects in PACKS."""
    names: set[str] = set()
    for stem in packs:
        try:
            found = Pack(stem)
            names.update(found.names())
            found.close()
        except (PackDamaged, FileNotFoundError) as error:
            raise Damaged(
                f"{os.path.basename(stem)} cannot be read: {error}; nothing was changed",
                hint=Hint("run ", call("check", repair=True)),
            ) from error
    return sorted(names)


def drop_packs(gitdir: Path, made: str, packs: Sequence[str]) -> None:
    """Remove PACKS, which MADE replaces, and the multi-pack-index."""
    with Lock(lock_path(gitdir)):
        remove_packs(gitdir, made, packs)


def remove_packs(gitdir: Path, made: str, packs: Sequence[str]) -> None:
    """The same, for a caller that holds the group's lock."""
    if made and not _stands(made):
        return
    for path in (gitdir / "objects" / "pack").glob("multi-pack-index*"):
        path.unlink(missing_ok=True)
    for stem in packs:
        for ending in BESIDE if stem != made else ():
            with suppress(FileNotFoundError):
                os.unlink(stem + ending)


def has_graph(gitdir: Path) -> bool:
    """True when a commit-graph exists, in either form."""
    return any(os.path.exists(f"{gitdir}/{each}") for each in (GRAPH, f"{GRAPH}s"))


def write_graph(gitdir: Path, *, seconds: float) -> str:
    """Write the commit-graph; what stopped it, or an empty string."""
    with alone(gitdir) as folder:
        return _write_graph(gitdir, folder, time.monotonic() + seconds)


def _write_graph(gitdir: Path, folder: Path, deadline: float) -> str:
    """Write the commit-graph, which makes `git log -- FILE` fast; what stopped it, or empty."""
    lock, ours = gitdir / f"{GRAPH}.lock", folder / "graph"
    _clear_dead(lock, ours)
    if lock.exists():
        return "no commit-graph: another git is writing it"
    ours.touch(0o600)
    command = ("commit-graph", "write", "--reachable", "--changed-paths", "--no-progress")
    try:
        run_git(gitdir, *command, seconds=_left(deadline))
    except StorageFailed as error:
        if isinstance(error, GitTooSlow):
            lock.unlink(missing_ok=True)  # of the git that was just stopped
        return f"no commit-graph: {error.message}"
    finally:
        ours.unlink(missing_ok=True)
    return ""


def _clear_dead(lock: Path, ours: Path) -> None:
    """Remove the lock of the commit-graph if gitmem died while its git was writing it."""
    with suppress(FileNotFoundError):
        if ours.exists() and time.time() - lock.stat().st_mtime > STALE:
            lock.unlink()
