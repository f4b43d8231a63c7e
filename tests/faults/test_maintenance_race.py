"""git's own housekeeping beside writers."""

from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.errors import Busy
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit, write
from gitmem.store.fsck import check as fsck
from gitmem.store.fsck import packs as packfaults
from gitmem.store.fsck.check import inspect
from gitmem.store.fsck.reachable import scrub
from tests.support.damage import check_now, object_file
from tests.support.faults import Scene, assert_sound, commits_of, line, new_scene, tokens_in_history
from tests.support.git import GitFailed, git
from tests.support.processes import Crowd, Voice

FILES = ("one.md", "two.md", "deep/three.md")
CHORES = {
    "gc": [["gc", "--quiet"]],
    "repack": [["repack", "-adq"]],
    "pack-refs": [["pack-refs", "--all"]],
    "fetch": [["fetch", "--quiet", "{other}", "+refs/heads/*:refs/remotes/other/*"]],
}
CHORES["all of them"] = [chore for chores in CHORES.values() for chore in chores]


def write_until_told(voice: Voice, root: str, name: int) -> None:
    """Append and replace until the parent says stop; acknowledge each write, and read it back."""
    voice.say("ready")
    with Scene(Path(root)).opened(f"writer {name}") as group:
        stop = time.monotonic() + float(voice.hear()[0])
        turn = 0
        while time.monotonic() < stop:
            turn += 1
            token = f"w{name}.{turn}"
            path = FILES[(name + turn) % 3] if turn % 3 else f"own {name}.md"
            try:
                done = write(group, [Edit(path, line(token), append=turn % 3 > 0)])
            except Busy:
                voice.say("busy", token)
                continue
            assert line(token).encode() in read(group, path, at=done.commit).data
            voice.say("ack", token, done.commit)


def run_chores(scene: Scene, chores: list[list[str]], other: Path, seconds: float) -> int:
    """Run git's housekeeping again and again; how often it could do it."""
    stop, done = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        for chore in chores:
            try:
                git(scene.gitdir, *(word.format(other=other) for word in chore))
                done += 1
            except GitFailed as error:  # a writer moved the branch under git's nose: it says so
                if "lock" not in str(error):
                    raise
    return done


def beside_writers(folder: Path, chores: list[list[str]], seconds: float, writers: int) -> None:
    scene = new_scene(folder / "store", {"one.md": b"# One\n"})
    other = folder / "other.git"
    subprocess.run(["git", "clone", "-q", "--bare", str(scene.gitdir), str(other)], check=True)
    with Crowd() as crowd:
        for name in range(writers):
            crowd.start(write_until_told, str(scene.root), name)
        for child in crowd.children:
            child.hear()
            child.say(seconds)
        assert run_chores(scene, chores, other, seconds)
        said = [each for _, each in crowd.hear_out()]

    acks = [each[1:] for each in said if each[0] == "ack"]
    assert len(acks) > writers
    assert not [each for each in said if each[0] == "busy"]
    assert {f"token-{token}" for token, _ in acks} <= tokens_in_history(scene.gitdir)
    assert {commit for _, commit in acks} <= commits_of(scene.gitdir)
    scene.write(Edit("again.md", line("again")))
    assert_sound(scene)


@pytest.mark.parametrize("name", CHORES)
def test_maintenance_race(tmp_path: Path, name: str) -> None:
    beside_writers(tmp_path, CHORES[name], seconds=1.2, writers=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHORES)
def test_maintenance_race_for_a_minute(tmp_path: Path, name: str) -> None:
    beside_writers(tmp_path, CHORES[name], seconds=60, writers=4)


def test_check_does_not_accuse_a_pack_that_git_is_replacing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that changes is not listed at one moment: an index can show without its pack."""
    scene = new_scene(tmp_path / "store", {"a.md": b"one\n"})
    git(scene.gitdir, "repack", "-adq")
    (pack,) = (scene.gitdir / "objects" / "pack").glob("*.pack")
    aside = pack.rename(pack.with_suffix(".moving"))
    monkeypatch.setattr(packfaults, "sleep", lambda _: aside.exists() and aside.rename(pack))
    monkeypatch.setattr(fsck, "sleep", lambda _: None)

    assert check_now(scene, full=True).sound


def test_check_reads_again_what_git_is_moving(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = new_scene(tmp_path / "store", {"a.md": b"one\n"})
    place = object_file(scene, "main:a.md")
    aside = place.rename(place.with_suffix(".moving"))
    monkeypatch.setattr(fsck, "sleep", lambda _: aside.exists() and aside.rename(place))

    assert check_now(scene, full=True).sound


def look_until_told(voice: Voice, root: str, seconds: float) -> None:
    """Read all of history again and again, and tell of every accusation."""
    scene, stop, runs = Scene(Path(root)), time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        runs += 1
        with scene.opened() as group:
            lacks = scrub(group.repository, group.repository.tip(), None).lacks
        found = inspect(scene.gitdir, now=datetime.now(UTC), full=True).findings
        faults = [each.message for each in found if each.severity != "info"]
        if lacks or faults:
            voice.say("accused", lacks, faults)
    voice.say("runs", runs)


@pytest.mark.slow
def test_nobody_is_accused_beside_gc(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"one.md": b"one\n"})
    seconds = 60.0
    with Crowd() as crowd:
        writer = crowd.start(write_until_told, str(scene.root), 1)
        assert writer.hear() == ["ready"]
        crowd.start(look_until_told, str(scene.root), seconds)
        writer.say(seconds)
        run_chores(scene, CHORES["gc"], tmp_path, seconds)
        said = [words for _, words in crowd.hear_out()]
    assert not [words for words in said if words[0] == "accused"]
    assert [words for words in said if words[0] == "runs"]
