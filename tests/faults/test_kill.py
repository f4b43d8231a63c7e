"""kill -9 at every step of a write, and at random times."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple

import pytest

import gitmem.store.fault_points
import gitmem.store.worktree.exchange
from gitmem.memory.read.read import read
from gitmem.memory.write.write import Edit
from tests.support.faults import (
    POINTS,
    UNACKNOWLEDGED,
    Scene,
    assert_sound,
    commits_of,
    copied,
    dying_at,
    files_on_disk,
    line,
    new_scene,
    prepared_write,
    steps,
    tokens_in_history,
    write_once,
)
from tests.support.git import git
from tests.support.processes import (
    Crowd,
    Program,
    Said,
    Voice,
    alone,
    calls_in,
    need_strace,
    traced,
)
from tests.support.samples import LETTERS, body

SETTING_ASIDE = {"noted", "moved"}
"""Points that a write reaches where a version that may not enter git has to make room."""
BEFORE = {"a.md": b"first\n", "b.md": b"b\n", "notes/c.md": b"c\r\nno end"}
SECOND_LIFE = [["again.md", line("again")]]


class Case(NamedTuple):
    """One kind of write: what somebody did to the work tree before it, and what is written."""

    edits: list[list[object]]
    prepare: Callable[[Scene], None] = lambda scene: None
    edit_token: frozenset[str] = frozenset()
    """What that somebody wrote, which must be in some commit at the end."""
    sets_aside: bool = False
    """Whether that cannot enter git, and is set aside."""


def edit_by_hand(scene: Scene) -> None:
    (scene.worktree / "a.md").write_bytes(b"first\n" + line("edit").encode())


def edit_many_by_hand(scene: Scene) -> None:
    for path in ("a.md", "notes/c.md"):
        (scene.worktree / path).write_bytes(line("edit").encode() + path.encode())


def delete_by_hand(scene: Scene) -> None:
    (scene.worktree / "a.md").unlink()


def link_at_path(scene: Scene) -> None:
    victim = scene.root.parent / "victim.md"
    victim.write_text("victim\n")
    (scene.worktree / "a.md").unlink()
    (scene.worktree / "a.md").symlink_to(victim)


def link_as_folder(scene: Scene) -> None:
    victims = scene.root.parent / "victims"
    victims.mkdir(exist_ok=True)
    (victims / "c.md").write_text("victim\n")
    (scene.worktree / "notes" / "c.md").unlink()
    (scene.worktree / "notes").rmdir()
    (scene.worktree / "notes").symlink_to(victims)


def pipe_as_folder(scene: Scene) -> None:
    os.mkfifo(scene.worktree / "new")


def folder_at_path(scene: Scene) -> None:
    (scene.worktree / "a.md").unlink()
    (scene.worktree / "a.md").mkdir()


def huge_at_path(scene: Scene) -> None:
    (scene.worktree / "a.md").write_bytes(b"x" * 1024 * 1024 + b"y")


def hard_link_at_path(scene: Scene) -> None:
    os.link(scene.worktree / "a.md", scene.root / "twin")


NEW = line("killed")
EDIT = frozenset({"token-edit"})
CASES = {
    "replace": Case([["a.md", NEW]]),
    "append": Case([["notes/c.md", NEW, True]]),
    "create": Case([["new/deep/d.md", NEW, False, True]]),
    "batch": Case([["a.md", NEW], ["new/deep/d.md", NEW], ["notes/c.md", NEW, True]]),
    "capture then write": Case([["a.md", NEW, True]], edit_by_hand, EDIT),
    "capture a batch": Case([["a.md", NEW], ["notes/c.md", NEW]], edit_many_by_hand, EDIT),
    "capture a deletion": Case([["a.md", NEW]], delete_by_hand),
    "link at the path": Case([["a.md", NEW]], link_at_path, sets_aside=True),
    "link as folder": Case([["notes/c.md", NEW]], link_as_folder, sets_aside=True),
    "pipe as folder": Case([["new/d.md", NEW]], pipe_as_folder, sets_aside=True),
    "folder at the path": Case([["a.md", NEW]], folder_at_path),
    "huge file at the path": Case([["a.md", NEW]], huge_at_path, sets_aside=True),
    "hard link at the path": Case([["a.md", NEW]], hard_link_at_path, sets_aside=True),
}


def die_at(voice: Voice, root: str, edits: list[list[object]], step: int) -> None:
    """Write, and die at the STEP-th named point that is reached."""
    dying_at(voice, step)
    done = Scene(Path(root)).write(*(Edit(*each) for each in edits))
    voice.say("written", done.commit, done.pending)


def victims_of(scene: Scene) -> dict[str, bytes]:
    beside = scene.root.parent
    return {name: data for name, data in files_on_disk(beside).items() if "victim" in name}


def assert_survived(scene: Scene, case: Case, tip: str) -> None:
    """TIP was HEAD at the death, and a fresh process has written to another file since."""
    assert tip in commits_of(scene.gitdir)
    files = scene.files()
    assert b"token-again" in files["again.md"]
    tokens = tokens_in_history(scene.gitdir)
    for path, *_ in case.edits:
        assert (NEW.encode() in files.get(str(path), b"")) == ("token-killed" in tokens)
    if "token-killed" not in tokens:  # the caller tries again, and what was in its way goes aside
        alone(write_once, str(scene.root), case.edits)
    assert_sound(scene)
    assert case.edit_token <= tokens_in_history(scene.gitdir)


EVERYWHERE = {"replace", "batch", "capture then write", "link at the path"}
"""The cases that are killed at every point in every run; the others at every third."""


@pytest.mark.every_step
@pytest.mark.parametrize("name", CASES)
def test_kill_at_every_named_point(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    origin = new_scene(tmp_path / "origin", BEFORE)
    seen: set[str] = set()
    tried = steps(1 if name in EVERYWHERE else 3)
    for step in tried:
        scene = copied(origin, tmp_path / f"store {step}")
        case.prepare(scene)
        before, victims = scene.head(), victims_of(scene)
        said = alone(die_at, str(scene.root), case.edits, step)
        if said[0][0] == "written":
            break
        seen.add(said[0][1])
        tip = scene.head()
        assert (tip != before) or said[0][1] in UNACKNOWLEDGED
        alone(write_once, str(scene.root), SECOND_LIFE)
        assert_survived(scene, case, tip)
        assert victims_of(scene) == victims
    reached = POINTS | (SETTING_ASIDE if case.sets_aside else set())
    assert seen == reached if tried.step == 1 else len(seen) > 1 and seen < reached


@pytest.mark.every_step
@pytest.mark.parametrize("name", ["batch", "capture then write", "link at the path"])
def test_control_c_at_every_named_point(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    origin = new_scene(tmp_path / "origin", BEFORE)
    for step in steps(1 if name == "batch" else 3):
        scene = copied(origin, tmp_path / f"store {step}")
        case.prepare(scene)
        if not interrupted(scene, case, step):
            assert step > len(POINTS)
            return
        tip = scene.head()
        scene.write(Edit("again.md", line("again")))
        assert_survived(scene, case, tip)
    raise AssertionError("it never survived")


def interrupted(scene: Scene, case: Case, step: int) -> bool:
    """Press Control-C at the STEP-th named point; False when there are not so many."""
    points = count(1)

    def reached(point: str) -> None:
        if next(points) == step:
            raise KeyboardInterrupt(point)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gitmem.store.fault_points, "reached", reached)
        try:
            scene.write(*(Edit(*each) for each in case.edits))
        except KeyboardInterrupt:
            return True
    return False


TWICE = ("create", "batch", "capture then write", "link at the path")


@pytest.mark.parametrize("name", TWICE)
def test_kill_the_one_who_recovers(tmp_path: Path, name: str) -> None:
    kill_twice(tmp_path, CASES[name], every=13)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_kill_the_one_who_recovers_at_every_pair_of_points(tmp_path: Path, name: str) -> None:
    kill_twice(tmp_path, CASES[name], every=1)


def kill_twice(folder: Path, case: Case, every: int) -> None:
    """Let a writer die at each named point, and the next one, who finds the rest, at each too."""
    origin = new_scene(folder / "origin", BEFORE)
    tried = 0
    for first in range(1, 100):
        for second in range(1 + first % every, 100, every):
            scene = copied(origin, folder / "store")
            case.prepare(scene)
            if alone(die_at, str(scene.root), case.edits, first)[0][0] == "written":
                assert tried > 3
                return
            died = alone(die_at, str(scene.root), SECOND_LIFE, second)[0][0] == "dies"
            tip = scene.head()
            alone(write_once, str(scene.root), SECOND_LIFE)
            assert_survived(scene, case, tip)
            shutil.rmtree(scene.root)
            tried += 1
            if not died:
                break


def test_an_edit_made_between_a_death_and_the_next_write_is_kept(tmp_path: Path) -> None:
    case = CASES["batch"]
    origin = new_scene(tmp_path / "origin", BEFORE)
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        if alone(die_at, str(scene.root), case.edits, step)[0][0] == "written":
            return
        tip = scene.head()
        for path in ("a.md", "b.md", "notes/c.md", "new/deep/d.md"):
            (scene.worktree / path).parent.mkdir(parents=True, exist_ok=True)
            with (scene.worktree / path).open("a") as file:
                file.write("\n" + line(f"after.{path.replace('/', '.')}"))
        alone(write_once, str(scene.root), [["b.md", line("again"), True]])
        alone(write_once, str(scene.root), [*SECOND_LIFE, *case.edits])

        assert tip in commits_of(scene.gitdir)
        after = {token for token in tokens_in_history(scene.gitdir) if "after" in token}
        assert len(after) == 4
        assert_sound(scene)
    raise AssertionError("it never survived")


@pytest.mark.parametrize("step", range(1, 8))
def test_a_secret_written_between_a_death_and_the_next_write_stays_out_of_git(
    tmp_path: Path, step: int
) -> None:
    scene = new_scene(tmp_path / "store", BEFORE)
    alone(die_at, str(scene.root), CASES["replace"].edits, step)
    secret = "ghp_" + body(LETTERS, 36)
    (scene.worktree / "a.md").write_text(f"key: {secret}\n")

    alone(write_once, str(scene.root), SECOND_LIFE)

    assert secret in (scene.worktree / "a.md").read_text(), "it is held where it is"
    assert secret not in git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch")
    alone(write_once, str(scene.root), CASES["replace"].edits)
    assert secret not in git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch")
    assert_sound(scene)


CALLS = (
    *("openat", "write", "pwrite64", "rename", "renameat2", "link", "unlink", "unlinkat"),
    *("fsync", "fdatasync", "ftruncate", "mkdir", "mkdirat", "flock"),
)


def write_clumsily(voice: Voice, root: str, edits: list[list[object]], operation: str) -> None:
    """A prepared write where the system cannot swap two names in one call."""
    gitmem.store.worktree.exchange._system_call = lambda: None  # type: ignore[assignment]
    prepared_write(voice, root, edits, operation)


def watched(
    program: Program, scene: Scene, case: Case, calls: Iterable[str], injection: str = ""
) -> list[Said]:
    """What PROGRAM says while it makes the write of CASE, with its calls in a log."""
    with Crowd() as crowd:
        child = crowd.start(program, str(scene.root), case.edits, "operation")
        child.hear()
        with traced(child, scene.root.parent / "log", calls, injection):
            child.say("go")
            return child.finish()


def kill_at_calls(
    folder: Path,
    case: Case,
    every: int,
    calls: tuple[str, ...] = CALLS,
    program: Program = prepared_write,
) -> None:
    """Let a writer die on entering its first, second, third... system call of each kind."""
    need_strace()
    origin = new_scene(folder / "origin", BEFORE)
    scene = copied(origin, folder / "baseline")
    case.prepare(scene)
    watched(program, scene, case, calls)
    made = Counter(call.name for call in calls_in(folder / "log"))
    trials = [(name, number) for name, times in made.items() for number in range(1, times + 1)]
    deaths = 0
    for name, number in trials[::every]:
        scene = copied(origin, folder / "store")
        case.prepare(scene)
        said = watched(program, scene, case, [name], f"signal=KILL:when={number}")
        deaths += not said
        tip = scene.head()
        assert [each[1] for each in said if each[0] == "written"] in ([], [tip])
        alone(write_once, str(scene.root), SECOND_LIFE)
        assert_survived(scene, case, tip)
        shutil.rmtree(scene.root)
    assert deaths > len(trials[::every]) // 2, "nobody was killed"


def test_kill_every_syscall(tmp_path: Path) -> None:
    kill_at_calls(tmp_path, CASES["capture then write"], every=9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["append", "batch", "capture then write", "link as folder"])
def test_kill_every_syscall_without_exception(tmp_path: Path, name: str) -> None:
    kill_at_calls(tmp_path, CASES[name], every=1)


@pytest.mark.parametrize("name", ["replace", "batch", "link at the path"])
def test_kill_between_the_renames_where_there_is_no_atomic_swap(tmp_path: Path, name: str) -> None:
    calls = ("renameat", "unlinkat")
    kill_at_calls(tmp_path, CASES[name], every=1, calls=calls, program=write_clumsily)


SYNCS = ("fsync", "fdatasync")


@pytest.mark.parametrize(
    "step", [pytest.param(n, marks=() if n in (8, 11) else pytest.mark.slow) for n in range(1, 20)]
)
def test_what_is_served_after_a_kill_stays_where_the_branch_is_packed(
    tmp_path: Path, step: int
) -> None:
    """`git pack-refs` takes the branch's file away: the reflog alone is ahead of it then."""
    need_strace()
    scene = new_scene(tmp_path / "store", BEFORE)
    with Crowd() as crowd:
        child = crowd.start(prepared_write, str(scene.root), [["a.md", NEW]], "operation")
        child.hear()
        git(scene.gitdir, "pack-refs", "--all")
        with traced(child, tmp_path / "log", SYNCS, f"signal=KILL:when={step}"):
            child.say("go")
            child.finish()
    served = served_now(scene)
    assert served in (BEFORE["a.md"], NEW.encode())
    scene.write(Edit("b.md", line("since")))
    assert served_now(scene) == scene.files()["a.md"] == served
    assert_sound(scene)


def served_now(scene: Scene) -> bytes:
    with scene.opened() as group:
        return read(group, "a.md").data
