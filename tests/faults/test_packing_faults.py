"""Packing beside writers, and under the death of everybody who takes part."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest

import gitmem.store.gc.packing
import gitmem.store.transaction.publish
from gitmem.errors import Damaged, StorageFailed
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit
from gitmem.store.gc.packing import pack, packs_of
from gitmem.store.program import find_git
from tests.faults.test_maintenance_race import write_until_told
from tests.support.faults import (
    Scene,
    assert_sound,
    blobs_in_history,
    commits_of,
    copied,
    dying_at,
    line,
    new_scene,
    tokens_in_history,
)
from tests.support.git import git
from tests.support.processes import Crowd, Voice, alone, calls_in, need_strace, traced

POINTS = {"drafted", "packed", "dropped", "repacked"}


def scene_of(root: Path, versions: int = 12) -> Scene:
    scene = new_scene(root, {"a.md": b"one\n"})
    for number in range(versions):
        scene.write(Edit("a.md", line(f"v{number}")))
    return scene


def all_objects(scene: Scene) -> list[str]:
    listed = git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
    return listed.split()


def pack_once(voice: Voice, root: str, step: int, most_packs: int) -> None:
    """Pack, and die at the STEP-th named point; few files go at once, so that there are many."""
    dying_at(voice, step)
    gitmem.store.gc.packing.SLICE = 8
    done = pack(Scene(Path(root)).gitdir, seconds=60, most_packs=most_packs)
    voice.say("packed", done.objects, done.packs)


def test_kill_at_every_step_loses_nothing_and_the_next_run_goes_on(tmp_path: Path) -> None:
    origin = scene_of(tmp_path / "origin")
    pack(origin.gitdir, seconds=60, most_packs=99)
    origin.write(Edit("a.md", line("more")))
    objects, blobs = all_objects(origin), blobs_in_history(origin.gitdir)
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(pack_once, str(scene.root), step, 2)
        if said[0][0] == "packed":
            break
        seen.add(said[0][1])
        assert all_objects(scene) == objects
        assert git(scene.gitdir, "fsck", "--full", "--strict") == ""
        scene.write(Edit("b.md", line("after the death")))

        assert alone(pack_once, str(scene.root), 0, 2)[0][0] == "packed"

        assert set(all_objects(scene)) >= set(objects)
        assert blobs_in_history(scene.gitdir).items() >= blobs.items()
        assert os.listdir(scene.gitdir / "gitmem" / "packing") == ["lock"]
        assert len(packs_of(scene.gitdir)) == 1
        assert_sound(scene)
    assert seen == POINTS


def with_git(monkeypatch: pytest.MonkeyPatch, folder: Path, on_packing: str) -> None:
    """Let `git pack-objects` be the shell script ON_PACKING, where $REAL is the real git."""
    folder.mkdir()
    script = (
        f'#!/bin/sh\nREAL="{find_git()}"\ncase "$*" in *pack-objects*)\n{on_packing}\n;; esac\n'
    )
    (folder / "git").write_text(script + 'exec "$REAL" "$@"\n')
    (folder / "git").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("kill -9 $$", "pack-objects failed"),
        ('"$REAL" "$@" | head -c 200; kill -9 $$', "pack-objects failed"),
        ('"$REAL" "$@" | head -c 200; exit 0', "index-pack failed"),
        ("exit 0", "index-pack failed"),
        ('head -n 5 | "$REAL" "$@"; exit 0', "it lacks"),
    ],
)
def test_a_git_that_dies_or_lies_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, said: str
) -> None:
    scene = scene_of(tmp_path / "store")
    objects = all_objects(scene)
    loose = git(scene.gitdir, "count-objects")
    with monkeypatch.context() as patched:
        with_git(patched, tmp_path / "bin", script)
        with pytest.raises((StorageFailed, Damaged), match=said):
            pack(scene.gitdir, seconds=60, most_packs=1)

    assert git(scene.gitdir, "count-objects") == loose
    assert all_objects(scene) == objects
    assert packs_of(scene.gitdir) == []
    assert pack(scene.gitdir, seconds=60, most_packs=99).objects == len(objects)
    assert all_objects(scene) == objects
    assert_sound(scene)


def test_a_git_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = scene_of(tmp_path / "store", versions=2)
    with_git(monkeypatch, tmp_path / "bin", "exec sleep 60")
    began = time.monotonic()

    with pytest.raises(StorageFailed, match="was stopped"):
        pack(scene.gitdir, seconds=0.5, most_packs=99)

    assert time.monotonic() - began < 20
    assert_sound(scene)


def read_until_told(voice: Voice, root: str, commit: str) -> None:
    """Read an old version again and again, with one group and with fresh ones."""
    scene = Scene(Path(root))
    voice.say("ready")
    with scene.opened() as old:
        stop, turns = time.monotonic() + float(voice.hear()[0]), 0
        while time.monotonic() < stop:
            turns += 1
            assert read(old, "a.md", at=commit).data == line("v0").encode()
            with scene.opened() as fresh:
                assert read(fresh, "a.md", at=commit).data == line("v0").encode()
            # Who takes every core for itself keeps a virtual disk from answering for seconds.
            time.sleep(0.005)
    voice.say("read", turns)


def beside_everybody(folder: Path, seconds: float, writers: int, readers: int) -> None:
    scene = scene_of(folder / "store")
    first = git(scene.gitdir, "log", "--format=%H", "--reverse", "main", "--", "a.md").split()[1]
    rounds = 0
    with Crowd() as crowd:
        for name in range(writers):
            crowd.start(write_until_told, str(scene.root), name)
        for _ in range(readers):
            crowd.start(read_until_told, str(scene.root), first)
        for child in crowd.children:
            child.hear()
            child.say(seconds)
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            pack(scene.gitdir, seconds=60, most_packs=3)
            rounds += 1
        said = [each for _, each in crowd.hear_out()]

    acks = [each[1:] for each in said if each[0] == "ack"]
    assert rounds > 1
    assert len(acks) > writers
    assert not [each for each in said if each[0] == "busy"]
    assert all(each[1] > 0 for each in said if each[0] == "read")
    assert {f"token-{token}" for token, _ in acks} <= tokens_in_history(scene.gitdir)
    assert {commit for _, commit in acks} <= commits_of(scene.gitdir)
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    scene.write(Edit("again.md", line("again")))
    assert_sound(scene)


def test_packing_beside_writers_and_readers(tmp_path: Path) -> None:
    beside_everybody(tmp_path, seconds=2.0, writers=2, readers=1)


@pytest.mark.slow
def test_packing_beside_eight_writers_for_a_minute(tmp_path: Path) -> None:
    beside_everybody(tmp_path, seconds=60, writers=8, readers=2)


def pack_on_the_word(voice: Voice, root: str) -> None:
    gitdir = Scene(Path(root)).gitdir
    voice.say("ready")
    voice.hear()
    pack(gitdir, seconds=60, most_packs=99)


def test_a_pack_is_on_the_disk_before_any_copy_goes(tmp_path: Path) -> None:
    need_strace()
    scene = scene_of(tmp_path / "store", versions=3)
    log = tmp_path / "trace"
    with Crowd() as crowd:
        child = crowd.start(pack_on_the_word, str(scene.root))
        child.hear()
        with traced(child, log, ("fsync", "rename", "unlink")):
            child.say("go")
            child.finish()
    lines = [call.text.replace(f"{scene.gitdir}/", "") for call in calls_in(log)]

    def first(*words: str) -> int:
        found = [at for at, each in enumerate(lines) if all(word in each for word in words)]
        assert found, f"{words} is not in\n" + "\n".join(lines)
        return found[0]

    named = [first("rename", f'.{ending}") = 0') for ending in ("pack", "idx")]
    order = [
        max(first("fsync", "packing/new.pack"), first("fsync", "packing/new.idx")),
        *named,
        first("fsync", "<objects/pack>"),
        first("unlink", '"objects/'),
    ]
    assert order == sorted(order)
