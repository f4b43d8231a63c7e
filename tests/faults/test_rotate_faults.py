"""Rotation and snapshots under kill -9 at every step, and two at once."""

from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from gitmem.memory.group import Group, Store
from gitmem.memory.upkeep.rotate import rotate
from gitmem.memory.upkeep.snapshot import snapshot
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit
from tests.support.clocks import Clock
from tests.support.days import CURRENT, LAYOUT, blamed, header, said_lines
from tests.support.editors import STYLES
from tests.support.faults import (
    POINTS,
    Scene,
    assert_sound,
    copied,
    dying_at,
    fixed_clock,
    line,
    new_scene,
    tokens_in_history,
)
from tests.support.git import git
from tests.support.processes import Crowd, Voice, alone

DATED = "sessions/2026-02-07.md"
BEFORE = {
    "gitmem.yaml": LAYOUT.format(zone="timezone: UTC").encode(),
    CURRENT: f"{header('2026-02-07')}- one\n- two\n".encode(),
}


def opened(root: str) -> Group:
    return Group(Store(Path(root)), "main", now=fixed_clock)


def rotate_once(voice: Voice, root: str, step: int = 0) -> None:
    dying_at(voice, step)
    done = rotate(opened(root))
    voice.say("rotated", done.rotated, done.created, done.headed)


def rotate_on_the_word(voice: Voice, root: str) -> None:
    group = opened(root)
    voice.say("ready")
    voice.hear()
    voice.say("rotated", rotate(group).rotated)


def snapshot_once(voice: Voice, root: str, step: int = 0, force: bool = False) -> None:
    dying_at(voice, step)
    done = snapshot(opened(root), force=force)
    voice.say("tagged", done.made, done.name, done.kept)


def edit_the_log(voice: Voice, root: str, seconds: float) -> None:
    """An agent that adds to the log with any editor; says which line is complete."""
    path = Scene(Path(root)).worktree / CURRENT
    stop, number = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        number += 1
        with suppress(FileNotFoundError):
            STYLES[random.choice(list(STYLES))](path, "\n" + line(f"agent.{number}"))
            voice.say("edited", f"token-agent.{number}")
        time.sleep(random.uniform(0, 0.06))


def let_days_pass(voice: Voice, root: str, seconds: float) -> None:
    """One who rotates the log, each time on another day."""
    clock = Clock()
    group = Group(Store(Path(root)), "main", now=clock)
    stop = time.monotonic() + seconds
    while time.monotonic() < stop:
        clock.advance(days=1)
        voice.say("rotated", rotate(group).rotated)
    group.close()


def lines_of(scene: Scene) -> Counter[bytes]:
    with scene.opened() as group:
        return said_lines(group.repository)


def test_kill_a_rotation_at_every_step_then_the_next_one_finishes_it(tmp_path: Path) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    expected = lines_of(origin) + Counter([b"# Session Log: 2026-02-08"])
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(rotate_once, str(scene.root), step)
        if said[0][0] == "rotated":
            break
        seen.add(said[0][1])
        # The two commits land together: never is there a move without its fresh log.
        assert (DATED in scene.files()) == (scene.files()[CURRENT] == header("2026-02-08").encode())

        alone(rotate_once, str(scene.root))

        assert lines_of(scene) == expected
        assert scene.files()[DATED] == BEFORE[CURRENT]
        assert scene.files()[CURRENT] == header("2026-02-08").encode()
        assert len(blamed(scene.worktree, DATED)) == 4
        assert_sound(scene)
    assert seen == POINTS


def test_an_edit_between_a_death_and_the_next_rotation_is_kept(tmp_path: Path) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        if alone(rotate_once, str(scene.root), step)[0][0] == "rotated":
            return
        with (scene.worktree / CURRENT).open("a") as file:
            file.write("- after the death\n")

        alone(rotate_once, str(scene.root))

        files = scene.files()
        assert sum(b"- after the death\n" in data for data in files.values()) == 1
        assert files[CURRENT].startswith(b"# Session Log: 2026-02-08\n")
        assert files[DATED].startswith(BEFORE[CURRENT])
        assert_sound(scene)
    raise AssertionError("it never survived")


def test_of_two_rotations_at_once_one_has_nothing_to_do(tmp_path: Path) -> None:
    for number in range(5):
        scene = new_scene(tmp_path / str(number), BEFORE)
        with Crowd() as crowd:
            children = [crowd.start(rotate_on_the_word, str(scene.root)) for _ in range(2)]
            for child in children:
                assert child.hear() == ["ready"]
            for child in children:
                child.say("go")
            said = [child.hear()[1] for child in children]

        assert sorted(said) == [[], [[CURRENT, DATED]]]
        assert sorted(scene.files()) == ["gitmem.yaml", DATED, CURRENT]
        assert_sound(scene)


def test_of_two_snapshots_at_once_one_finds_the_other(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    with Crowd() as crowd:
        children = [crowd.start(snapshot_once, str(scene.root)) for _ in range(4)]
        made = [child.hear()[1] for child in children]

    assert sorted(made) == [False, False, False, True]
    assert git(scene.gitdir, "tag").split() == ["snapshot/2026-02-08"]
    assert_sound(scene)


def pass_days(folder: Path, seconds: float) -> None:
    scene = new_scene(folder / "store", BEFORE)
    tokens, days = set(), 0
    with Crowd() as crowd:
        crowd.start(edit_the_log, str(scene.root), seconds)
        crowd.start(let_days_pass, str(scene.root), seconds)
        for _, said in crowd.hear_out():
            tokens |= {said[1]} if said[0] == "edited" else set()
            days += said[0] == "rotated"
    alone(rotate_once, str(scene.root))
    with scene.opened() as group:
        capture(group)

    assert len(tokens) > 10
    assert days > 1
    assert tokens <= tokens_in_history(scene.gitdir)
    assert_sound(scene)


def test_no_line_is_lost_while_an_agent_writes_and_days_pass(tmp_path: Path) -> None:
    pass_days(tmp_path, 2.5)


@pytest.mark.slow
def test_no_line_is_lost_while_an_agent_writes_and_many_days_pass(tmp_path: Path) -> None:
    pass_days(tmp_path, 30)


def test_kill_a_snapshot_at_every_step_then_the_next_one_makes_it(tmp_path: Path) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    (origin.worktree / "new.md").write_text("by hand\n")
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(snapshot_once, str(scene.root), step)
        if said[0][0] == "tagged":
            break
        seen.add(said[0][1])

        alone(snapshot_once, str(scene.root))

        assert git(scene.gitdir, "tag").split() == ["snapshot/2026-02-08"]
        tagged = git(scene.gitdir, "rev-parse", "snapshot/2026-02-08^{commit}").strip()
        assert tagged == scene.head()
        assert scene.files()["new.md"] == b"by hand\n"
        assert_sound(scene)
    assert seen == POINTS - {"placed"} | {"tagged", "named"}


def test_kill_a_forced_snapshot_at_every_step_and_the_old_one_is_never_lost(tmp_path: Path) -> None:
    origin = new_scene(tmp_path / "origin", BEFORE)
    alone(snapshot_once, str(origin.root))
    first = origin.head()
    origin.write(Edit("more.md", "more\n"))
    seen: set[str] = set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(snapshot_once, str(scene.root), step, True)
        if said[0][0] == "tagged":
            break
        seen.add(said[0][1])
        alone(snapshot_once, str(scene.root), 0, True)

        shown = git(scene.gitdir, "tag", "--format=%(refname:short) %(*objectname)").splitlines()
        assert shown == [f"snapshot/2026-02-08 {scene.head()}", f"snapshot/2026-02-08-1 {first}"]
        assert_sound(scene)
    assert seen >= {"tagged", "kept", "named"}


def test_a_lock_that_a_dead_snapshot_left_is_taken_away(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    alone(snapshot_once, str(scene.root))
    tag = git(scene.gitdir, "rev-parse", "snapshot/2026-02-08").strip()
    git(scene.gitdir, "tag", "-d", "snapshot/2026-02-08")
    folder = scene.gitdir / "refs" / "tags" / "snapshot"
    folder.mkdir(exist_ok=True)
    (folder / "2026-02-08.lock").write_text(f"{tag}\n")

    assert alone(snapshot_once, str(scene.root))[0] == ["tagged", True, "snapshot/2026-02-08", ""]
    assert_sound(scene)


def test_edits_are_captured_while_a_rotation_waits(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    (scene.worktree / "notes.md").write_text("by hand\n")

    alone(rotate_once, str(scene.root))

    with scene.opened() as group:
        assert [each.path for each in capture(group).captured] == ["notes.md"]
    assert_sound(scene)
