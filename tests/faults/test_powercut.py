"""Power cuts: every acknowledged change is there, and the next command works.

The calls of one command are recorded by strace and replayed on a disk that forgets what was never
synced. No root and no device are needed for that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.faults.test_every_verb import groups_of, history, judge
from tests.support.deeds import DEEDS, Place, copied, made
from tests.support.faults import files_on_disk
from tests.support.git import git
from tests.support.powercut import CALLS, Disk, Op, recorded, replayed, written
from tests.support.processes import Crowd, need_strace, traced

IN_SHORT = (
    *("init", "init elsewhere", "adopt", "adopt in place", "groups rename", "groups remove"),
    *("write", "snapshot", "link", "transcript add"),
)


class Facts(NamedTuple):
    """What nobody may forget once it was acknowledged."""

    commits: set[str]
    refs: set[str]
    groups: list[str]
    links: str
    hosts: dict[str, bytes]
    held: list[str]


def facts_of(place: Place) -> Facts:
    refs = {
        f"{gitdir.name} {row}"
        for gitdir in place.gitdirs()
        for row in git(gitdir, "for-each-ref", "--format=%(refname)").splitlines()
        if "verified" not in row  # which is only a saving
    }
    config = place.store / "config.yaml"
    hosts = place.home / ".claude"
    held = sorted(str(each.name) for each in place.store.glob("repos/*/gitmem/held/*"))
    return Facts(
        history(place),
        refs,
        groups_of(place),
        config.read_text() if config.exists() else "",
        files_on_disk(hosts) if hosts.exists() else {},
        held,
    )


def assert_kept(place: Place, before: Facts) -> None:
    now = facts_of(place)
    assert before.commits <= now.commits
    assert before.refs <= now.refs
    assert (before.groups, before.links, before.hosts) == (now.groups, now.links, now.hosts)
    assert set(before.held) <= set(now.held)


def record(place: Place, name: str, log: Path) -> tuple[Disk, list[Op]]:
    """The calls of one command, and the disk as it was before them."""
    with Crowd() as crowd:
        child = place.begin(crowd, DEEDS[name])
        disk = Disk(place.home)
        with traced(child, log, CALLS, plain=False):
            child.say("go")
            said: list[Any] = child.finish()
    assert said[0][:2] == ["answered", 0], said
    return disk, list(recorded(log))


def cut(origin: Place, name: str, folder: Path, points: int) -> None:
    """Cut the power after the answer, and at so many POINTS before it."""
    need_strace()
    place = copied(origin, folder / "home")
    before = history(place)
    disk, ops = record(place, name, folder / "log")
    answered = facts_of(place)
    step = max(1, len(ops) // points) if points else len(ops)
    chosen = {len(ops), *range(step, len(ops), step)}
    checked = 0
    for number, variant, state in replayed(disk, ops, chosen):
        shutil.rmtree(place.home)
        written(place.home, state)
        try:
            survive(place, before if number < len(ops) else answered.commits)
            if number == len(ops):
                assert_kept(place, answered)
        except AssertionError as error:
            raise AssertionError(f"{name}, call {number} of {len(ops)}, {variant}") from error
        checked += 1
    assert checked


def survive(place: Place, acknowledged: set[str]) -> None:
    """The next commands work, and no commit that was ACKNOWLEDGED is lost."""
    for name in groups_of(place):
        done = place.run("write", "again.md", "- remember token-again\n", "-g", name)
        assert done.code == 0, done
    judge(place, acknowledged)


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return made(tmp_path_factory.mktemp("power") / "origin")


def test_the_disk_in_memory_is_a_disk(origin: Place, tmp_path: Path) -> None:
    """After all calls it holds what the real one does, byte for byte."""
    need_strace()
    place = copied(origin, tmp_path / "home")
    disk, ops = record(place, "adopt in place", tmp_path / "log")
    for op in ops:
        disk.apply(op)

    real = Disk(place.home).now()
    found = {path: data for path, data in disk.now().items() if not path.endswith("-shm")}
    assert found == {path: data for path, data in real.items() if not path.endswith("-shm")}


def test_what_was_never_synced_is_forgotten(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    disk, new = Disk(top), str(top / "new")
    disk.apply(Op("openat", (new,), b"", (), "O_CREAT", 3))
    disk.apply(Op("write", (new,), b"data", (), "", 4))

    assert [disk.cut(each) for each in ("nothing unsynced", "names with zeros")] == [
        {},
        {"new": bytes(4)},
    ]
    disk.apply(Op("fsync", (str(top),), b"", (), "", 0))
    assert disk.cut("nothing unsynced") == {"new": b""}
    disk.apply(Op("fsync", (new,), b"", (), "", 0))
    assert disk.cut("nothing unsynced") == {"new": b"data"}


@pytest.mark.parametrize("name", IN_SHORT)
def test_a_power_cut_after_the_answer_loses_nothing(
    origin: Place, tmp_path: Path, name: str
) -> None:
    cut(origin, name, tmp_path, points=2 if name in ("init", "groups rename") else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEEDS)
def test_power_cuts_all_along_every_command(origin: Place, tmp_path: Path, name: str) -> None:
    cut(origin, name, tmp_path, points=60)


SHUTDOWN, WITHOUT_FLUSH = 0x8004587D, 2
"""EXT4_IOC_SHUTDOWN and EXT4_GOING_FLAGS_NOLOGFLUSH: the disk is gone at once."""


@pytest.fixture
def ext4(tmp_path: Path) -> Iterator[Path]:
    """A small ext4 of its own, in a file."""
    image, place = tmp_path / "image", tmp_path / "disk"
    place.mkdir()
    image.write_bytes(b"")
    os.truncate(image, 64 * 1024 * 1024)
    for command in (
        ["mkfs.ext4", "-q", str(image)],
        ["mount", "-o", "loop", str(image), str(place)],
    ):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            pytest.skip(f"{command[0]} IS MISSING: a real disk is NOT TESTED")
        if done.returncode != 0:
            pytest.skip(f"NO DISK CAN BE MOUNTED, a real one is NOT TESTED: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def lose_power(disk: Path, image: Path) -> None:
    fd = os.open(disk, os.O_RDONLY)
    try:
        fcntl.ioctl(fd, SHUTDOWN, WITHOUT_FLUSH.to_bytes(4, sys.byteorder))
    finally:
        os.close(fd)
    subprocess.run(["umount", str(disk)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_SHORT)
def test_a_real_disk_agrees(origin: Place, ext4: Path, tmp_path: Path, name: str) -> None:
    place = copied(origin, ext4 / "home")
    os.sync()
    assert place.do(DEEDS[name]).code == 0
    answered = facts_of(place)

    lose_power(ext4, tmp_path / "image")

    survive(place, answered.commits)
    assert_kept(place, answered)
