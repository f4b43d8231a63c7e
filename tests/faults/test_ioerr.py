"""The disk fails at the N-th call of a write, once or from then on.

An answer "written" must be true, an error must mean that nothing was written, and the next write
must work.
"""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.faults import (
    Scene,
    assert_sound,
    commits_of,
    copied,
    line,
    new_scene,
    operations_of,
    prepared_write,
    write_once,
)
from tests.support.processes import Crowd, Said, alone, calls_in, need_strace, traced

BEFORE = {"a.md": b"first\n", "notes/c.md": b"c\n"}
EDITS: list[list[object]] = [["a.md", line("failed"), True], ["notes/new/d.md", line("failed")]]
CALLS = (
    *("write", "pwrite64", "fsync", "fdatasync", "rename", "renameat2", "link", "mkdir"),
    "openat",  # where it creates
)
ERRORS = ("ENOSPC", "EIO")


class Failure(NamedTuple):
    """Which call fails, how, and whether it goes on failing."""

    call: str
    number: int
    error: str
    persistent: bool

    @property
    def injection(self) -> str:
        return f"error={self.error}:when={self.number}{'+' if self.persistent else ''}"


def edited(origin: Scene, root: Path) -> Scene:
    """A store with an edit by hand that the write will find."""
    scene = copied(origin, root)
    with (scene.worktree / "a.md").open("a") as file:
        file.write(line("edit"))
    return scene


def run(scene: Scene, log: Path, calls: tuple[str, ...], injection: str = "") -> Said:
    """What the writer answers."""
    with Crowd() as crowd:
        child = crowd.start(prepared_write, str(scene.root), EDITS, "operation")
        child.hear()
        with traced(child, log, calls, injection):
            child.say("go")
            return child.finish()[0]


def all_failures(origin: Scene, folder: Path) -> list[Failure]:
    """Every call of one undisturbed write that could fail for want of space or of a disk."""
    run(edited(origin, folder / "baseline"), folder / "log", CALLS)
    found, counts = [], dict.fromkeys(CALLS, 0)
    for call in calls_in(folder / "log"):
        counts[call.name] += 1
        if call.name != "openat" or call.creates:
            for error, persistent in product(ERRORS, (False, True)):
                found.append(Failure(call.name, counts[call.name], error, persistent))
    # A full disk still opens files for reading.
    return [each for each in found if each[2:] != ("ENOSPC", True) or each.call != "openat"]


def judge(scene: Scene, failure: Failure, answer: Said) -> None:
    landed = "operation" in operations_of(scene.gitdir)
    if answer[0] == "written":
        assert landed
        assert answer[1] in commits_of(scene.gitdir)
    else:
        kind, message, hint = answer[1:]
        assert not landed, f"written, but the caller was told: {kind}: {message}"
        # A disk that does not even open files may look like any damage.
        assert kind == "StorageFailed" or (failure.call == "openat" and failure.persistent), message
        if failure.error == "ENOSPC":
            assert "the disk is full" in message
            assert "free some space" in hint
    alone(write_once, str(scene.root), [["again.md", line("again")]])
    if not landed:
        alone(write_once, str(scene.root), EDITS)
    assert b"token-failed" in scene.files()["a.md"]
    assert b"token-edit" in scene.files()["a.md"]
    assert b"token-failed" in scene.files()["notes/new/d.md"]
    assert_sound(scene)


def fail_at(folder: Path, every: int) -> None:
    need_strace()
    origin = new_scene(folder / "origin", BEFORE)
    failures = all_failures(origin, folder)
    assert len(failures) > 100
    assert fail(origin, folder, failures[::every]) == {"written", "error"}


def fail(origin: Scene, folder: Path, failures: list[Failure]) -> set[str]:
    """Judge each of FAILURES; tell which kinds of answers there were."""
    answers = set()
    for failure in failures:
        scene = edited(origin, folder / "store")
        answer = run(scene, folder / "log", (failure.call,), failure.injection)
        answers.add(answer[0])
        try:
            judge(scene, failure, answer)
        except AssertionError as error:
            raise AssertionError(f"after {failure}") from error
        shutil.rmtree(scene.root)
    return answers


def test_ioerr_every_call(tmp_path: Path) -> None:
    fail_at(tmp_path, every=9)


def test_a_disk_that_dies_once_the_branch_has_moved_takes_no_answer_back(tmp_path: Path) -> None:
    need_strace()
    origin = new_scene(tmp_path / "origin", BEFORE)
    failures = all_failures(origin, tmp_path)
    dead = [each for each in failures if each.call == "openat" and each.persistent]
    assert fail(origin, tmp_path, dead[-3:]) == {"written"}


@pytest.mark.slow
def test_ioerr_every_call_without_exception(tmp_path: Path) -> None:
    fail_at(tmp_path, every=1)
