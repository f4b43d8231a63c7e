"""What maintenance costs where nothing is due, and what packing takes and gives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

import pygit2

from benchmarks.commands import ENVIRONMENT
from benchmarks.stores import build
from benchmarks.table import Row, interleaved
from gitmem.memory.group import Group, Store
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.upkeep.maintain import maintain_all
from gitmem.store.gc.packing import pack

GROUPS = 1000
COMMITS = 5000
ROUNDS = 5

# In a process of its own, so that nothing is synced: see `stores`.
MANY = """
import os, sys, time
os.fsync = os.fdatasync = lambda fd: None
import pygit2
from pathlib import Path
from gitmem.memory.group import Store
from gitmem.memory.admin.init import init
from gitmem.memory.upkeep.maintain import maintain_all
pygit2.settings.enable_fsync_gitdir(False)
store = Store(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    init(store, f"group{number:04}", layout="standard")
for _ in range(3):
    done = maintain_all(store)
    time.sleep(2.1)  # until then an edit could hide in a tick of the clock
done = maintain_all(store)
assert all(each.outcome == "nothing" for each in done), done[0]
"""


def rows() -> Iterator[Row]:
    """The promises on maintenance."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        yield from _idle(Path(folder) / "many")
        yield from _packing(Path(folder) / "loose")


def _idle(root: Path) -> Iterator[Row]:
    subprocess.run([sys.executable, "-c", MANY, str(root), str(GROUPS)], check=True)
    os.sync()
    store = Store(root)

    def ours() -> None:
        assert all(each.outcome == "nothing" for each in maintain_all(store))

    def opening() -> None:
        for name in store.names():
            group = Group(store, name)
            assert group.repository.tip()
            group.close()

    def raw() -> None:
        for name in store.names():
            repository = pygit2.Repository(str(store.gitdir(name)))
            assert repository.lookup_reference("refs/heads/main").target
            repository.free()

    what = f"maintain --all, {GROUPS:,} groups with nothing due"
    mine, theirs = interleaved(ours, opening, ROUNDS)
    yield Row(f"{what} / opening them", mine, theirs, 3, note="10 files each")
    mine, theirs = interleaved(ours, raw, ROUNDS)
    yield Row(f"{what} / pygit2 opening them", mine, theirs, note="and reading HEAD")


def _packing(root: Path) -> Iterator[Row]:
    group = build(root / "ours", files=40, folders=8, commits=COMMITS)
    shutil.copytree(root / "ours", root / "theirs", symlinks=True)
    before, size = _reads(group), _weight(group.gitdir)
    began = perf_counter()
    done = pack(group.gitdir, seconds=600, most_packs=20)
    ours = (perf_counter() - began) * 1000
    began = perf_counter()
    repack = ["git", "-C", str(root / "theirs" / "groups" / "main"), "repack", "-dlq"]
    subprocess.run(repack, check=True, env=ENVIRONMENT)
    theirs = (perf_counter() - began) * 1000
    note = f"{done.objects / ours * 1000:,.0f} objects a second, read back twice"
    yield Row(f"packing {done.objects:,} loose objects / git repack -d", ours, theirs, 5, note=note)
    yield Row("40 files and 50 commits read, packed / loose", _reads(group), before, 3)
    packed = _weight(group.gitdir)
    yield Row("disk of all objects in MB, packed / loose", packed, size, 0.2)
    group.close()


def _weight(gitdir: Path) -> float:
    """What the objects take on the disk, in MB."""
    files = (each.stat() for each in (gitdir / "objects").rglob("*") if each.is_file())
    return sum(each.st_blocks for each in files) * 512 / 1e6


def _reads(group: Group) -> float:
    """The median time in ms to read every file and a page of the log, in a group just opened."""
    times = []
    for _ in range(ROUNDS):
        fresh = Group(group.store, group.name)
        began = perf_counter()
        for path, _node in fresh.repository.snapshot().files():
            assert read(fresh, path).data
        assert len(log(fresh, limit=50)) == 50
        times.append((perf_counter() - began) * 1000)
        fresh.close()
    return median(times)
