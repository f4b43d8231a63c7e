"""An agent edits files with ordinary tools while gitmem works on the same ones.

Each edit adds a line with a token of its own to what the agent has just read, and is reported when
it is complete. In the end every token must stand in some commit.
"""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations, product
from pathlib import Path

import pytest

import gitmem.store.fault_points
import gitmem.store.transaction.publish
from gitmem.errors import Conflict, NotFound, Refused
from gitmem.memory.group import Group
from gitmem.memory.recover.restore import ChooseVersion, restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Edit, write
from tests.support.editors import STYLES, by_rename, pause
from tests.support.faults import (
    ANYTHING_GOES,
    Scene,
    assert_sound,
    blobs_in_history,
    commits_of,
    copied,
    files_on_disk,
    leftovers,
    line,
    new_scene,
    tokens_in_history,
    write_once,
)
from tests.support.processes import Crowd, Voice, alone

FILES = ("one.md", "two.md", "deep/three.md")
BEFORE = dict.fromkeys(FILES, b"# Title\n\nfirst\n")


def edit_files(voice: Voice, root: str, styles: list[str], seconds: float) -> None:
    """An agent with an editor; says which edit is complete."""
    worktree = Scene(Path(root)).worktree
    stop, count = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        count += 1
        token = f"agent.{count}"
        path = worktree / random.choice(FILES)
        with suppress(FileNotFoundError):  # a restore or capture may have it elsewhere just now
            STYLES[random.choice(styles)](path, "\n" + line(token))
            voice.say("edited", token)
        pause()


def replace(group: Group, token: str) -> str:
    path = random.choice(FILES)
    return write(group, [Edit(path, line(token))], allowed=ANYTHING_GOES).commit


def append(group: Group, token: str) -> str:
    return write(group, [Edit(random.choice(FILES), line(token), append=True)]).commit


def batch(group: Group, token: str) -> str:
    edits = [Edit(path, line(token)) for path in FILES]
    return write(group, edits, allowed=ANYTHING_GOES).commit


def capture_all(group: Group, token: str) -> str:
    del token
    capture(group)
    return ""


def restore_all(group: Group, token: str) -> str:
    del token
    with suppress(ChooseVersion):
        restore(group, random.choice(["", "deep", *FILES]))
    return ""


def undo_last(group: Group, token: str) -> str:
    commit = append(group, token)
    with suppress(Conflict):
        undo(group, last=2)
    return commit


def move_and_back(group: Group, token: str) -> str:
    path, aside = random.choice(FILES), f"moved/{token}.md"
    for source, target in ((path, aside), (aside, path)):
        with suppress(Conflict, NotFound, Refused):
            move(group, source, target)
    return ""


OPERATIONS: dict[str, Callable[[Group, str], str]] = {
    "write": replace,
    "append": append,
    "batch": batch,
    "capture": capture_all,
    "restore": restore_all,
    "undo": undo_last,
    "move": move_and_back,
}


def operate(voice: Voice, root: str, names: list[str], seconds: float) -> None:
    """Do one operation after the other; acknowledge those that write a token."""
    with Scene(Path(root)).opened() as group:
        stop, count = time.monotonic() + seconds, 0
        while time.monotonic() < stop:
            count += 1
            name = random.choice(names)
            token = f"{os.getpid()}.{count}"
            commit = OPERATIONS[name](group, token)
            if commit:
                voice.say("ack", token, commit)


def settle(scene: Scene) -> None:
    """A write to each file takes in what was edited last, a capture what lies elsewhere."""
    with scene.opened() as group:
        capture(group)
    alone(write_once, str(scene.root), [[path, line("end"), True] for path in FILES])


def race(scene: Scene, styles: list[str], names: list[str], seconds: float, writers: int) -> None:
    with Crowd() as crowd:
        crowd.start(edit_files, str(scene.root), styles, seconds)
        for _ in range(writers):
            crowd.start(operate, str(scene.root), names, seconds)
        heard = [said for _, said in crowd.hear_out()]
    settle(scene)

    edited = {f"token-{said[1]}" for said in heard if said[0] == "edited"}
    acks = [said for said in heard if said[0] == "ack"]
    tokens = tokens_in_history(scene.gitdir)
    assert len(edited) > 10
    assert edited - tokens == set()
    assert {f"token-{said[1]}" for said in acks} - tokens == set()
    assert {said[2] for said in acks} <= commits_of(scene.gitdir)
    assert_sound(scene)


@pytest.mark.parametrize("name", OPERATIONS)
def test_direct_edit_never_lost(tmp_path: Path, name: str) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    race(scene, list(STYLES), [name], seconds=1.0, writers=1)


@pytest.mark.parametrize("style", STYLES)
def test_no_style_of_editing_is_lost(tmp_path: Path, style: str) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    race(scene, [style], list(OPERATIONS), seconds=1.0, writers=2)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_direct_edit_never_lost_in_half_a_minute(tmp_path: Path, name: str, style: str) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    race(scene, [style], [name], seconds=30.0, writers=2)


def replace_one(group: Group) -> None:
    write(group, [Edit("one.md", line("ours"))], allowed=ANYTHING_GOES)


def restore_one(group: Group) -> None:
    restore(group, "one.md")


def edited_at(
    scene: Scene, work: Callable[[Group], None], steps: tuple[int, ...], styles: tuple[str, str]
) -> int:
    """Edit a file at the named points STEPS of an operation; how many points there were."""
    reached = 0

    def edit(point: str) -> None:
        nonlocal reached
        reached += 1
        if reached in steps:
            at = steps.index(reached)
            STYLES[styles[at]](scene.worktree / "one.md", "\n" + line(f"edit.{at}"))

    by_rename(scene.worktree / "one.md", "\n" + line("before"))
    with pytest.MonkeyPatch.context() as patch, scene.opened() as group:
        patch.setattr(gitmem.store.fault_points, "reached", edit)
        work(group)
    return reached


def edit_at_all_pairs(
    folder: Path, work: Callable[[Group], None], styles: tuple[str, str], every: int
) -> None:
    origin = new_scene(folder / "origin", {"one.md": b"first\n"})
    points = edited_at(copied(origin, folder / "untouched"), work, (), styles)
    assert points > 8
    for steps in list(combinations(range(1, points + 1), 2))[::every]:
        scene = copied(origin, folder / "store")
        edited_at(scene, work, steps, styles)
        scene.write(Edit("one.md", line("end"), append=True))

        tokens = tokens_in_history(scene.gitdir)
        assert {"token-before", "token-edit.0", "token-edit.1"} <= tokens, steps
        assert_sound(scene)
        shutil.rmtree(scene.root)


@pytest.mark.parametrize("work", [replace_one, restore_one])
def test_two_edits_at_any_two_points_are_both_kept(
    tmp_path: Path, work: Callable[[Group], None]
) -> None:
    edit_at_all_pairs(tmp_path, work, ("rename", "rename"), every=3)


@pytest.mark.slow
@pytest.mark.parametrize("work", [replace_one, restore_one])
@pytest.mark.parametrize("styles", list(product(STYLES, STYLES)))
def test_two_edits_of_any_style_at_any_two_points_are_both_kept(
    tmp_path: Path, work: Callable[[Group], None], styles: tuple[str, str]
) -> None:
    edit_at_all_pairs(tmp_path, work, styles, every=1)


@pytest.mark.parametrize("mode", ["a", "r+"])
def test_what_is_written_to_a_file_that_was_swapped_out_is_taken_in(
    tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.transaction.publish, "PATIENCE", 0.01)
    scene = new_scene(tmp_path / "store", BEFORE)
    with (scene.worktree / "one.md").open(mode) as file:
        file.seek(0, os.SEEK_END)
        for number in range(3):
            done = scene.write(Edit("one.md", line(f"ours.{number}"), append=True))
            assert done.pending, "somebody may still write to what came out"
            assert files_on_disk(scene.worktree)["one.md"] == scene.files()["one.md"]
        file.write(line("late"))
    assert "token-late" not in tokens_in_history(scene.gitdir)

    done = scene.write(Edit("two.md", line("other")))

    assert not done.pending
    assert [each.path for each in done.captured] == ["one.md"]
    text = scene.files()["one.md"].decode()
    assert all(line(token) in text for token in ("late", "ours.0", "ours.1", "ours.2"))
    assert_sound(scene)


def test_two_handles_on_two_old_versions_are_both_taken_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.transaction.publish, "PATIENCE", 0.01)
    scene = new_scene(tmp_path / "store", BEFORE)
    with (scene.worktree / "one.md").open("a") as first:
        scene.write(Edit("one.md", line("ours.0"), append=True))
        with (scene.worktree / "one.md").open("a") as second:
            scene.write(Edit("one.md", line("ours.1"), append=True))
            first.write(line("late.0"))
            second.write(line("late.1"))

    scene.write(Edit("two.md", line("other")))

    text = scene.files()["one.md"].decode()
    assert all(line(token) in text for token in ("late.0", "late.1", "ours.0", "ours.1"))
    assert_sound(scene)


def test_a_handle_that_is_closed_without_a_word_leaves_nothing(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    with (scene.worktree / "one.md").open("a"):
        assert scene.write(Edit("one.md", line("ours"), append=True)).pending
        assert leftovers(scene)

    assert not scene.write(Edit("two.md", line("other"))).pending
    assert scene.files()["one.md"] == BEFORE["one.md"] + line("ours").encode()
    assert_sound(scene)


def test_an_edit_of_the_same_size_in_the_same_moment_is_captured(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    missed = []
    with scene.opened() as group:
        for number in range(100):
            write(group, [Edit("one.md", line(f"ours.{number:04}"))])
            text = line(f"edit.{number:04}")
            with (scene.worktree / "one.md").open("r+") as file:
                file.write(text)
            capture(group)
            if scene.files()["one.md"] != text.encode():
                missed.append(number)
    assert missed == []


def test_an_edit_too_big_to_be_merged_is_in_history_whole(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"one.md": b"first\n"})
    ours, theirs = (f"{who} says so\n" * 40_000 for who in ("gitmem", "the agent"))

    def edit(point: str) -> None:
        if point == "branch" and theirs.encode() not in blobs_in_history(scene.gitdir).values():
            (scene.worktree / "one.md").write_text(theirs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gitmem.store.fault_points, "reached", edit)
        scene.write(Edit("one.md", ours))

    assert scene.files()["one.md"] == ours.encode()
    assert theirs.encode() in blobs_in_history(scene.gitdir).values()
    assert_sound(scene)


def test_half_an_edit_is_waited_for(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"one.md": b"first\n"})
    with (scene.worktree / "one.md").open("w") as file:
        file.write("half ")
        file.flush()
        rest = threading.Timer(0.05, lambda: (file.write("and whole\n"), file.close()))
        rest.start()
        done = scene.write(Edit("one.md", line("ours"), append=True))
        rest.join()

    assert len(done.captured) == 1
    assert scene.files()["one.md"] == b"half and whole\n" + line("ours").encode()
