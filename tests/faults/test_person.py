"""A person with all of git beside writers: nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

import gitmem.store.fault_points
from gitmem.errors import Busy, Conflict
from gitmem.memory.admin.check import check
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from gitmem.store.lost_commits.kept import kept_refs
from tests.support.faults import (
    ANYTHING_GOES,
    TOKEN,
    Scene,
    assert_sound,
    commits_of,
    copied,
    files_on_disk,
    line,
    new_scene,
    tokens_in_history,
    write_once,
)
from tests.support.git import GitFailed, git, git_bytes
from tests.support.processes import Crowd, Voice, alone

PERSON = {
    "GIT_AUTHOR_NAME": "Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "sed -i 1d",
}
FILES = ("one.md", "two.md", "deep/three.md")


def by_person(scene: Scene, *arguments: str) -> str:
    return git(scene.worktree, *arguments, env=PERSON)


def all_tokens(scene: Scene) -> set[str]:
    """Every token in any version of any file that the branch or a kept ref leads to."""
    refs = ["refs/heads/main", *kept_refs(scene.gitdir)]
    listed = git(scene.gitdir, "rev-list", "--objects", *refs)
    oids = [row.partition(" ")[0] for row in listed.splitlines()]
    printed = git_bytes(scene.gitdir, "cat-file", "--batch", input="\n".join(oids) + "\n")
    return {token.decode() for token in TOKEN.findall(printed)}


# What a person does between a death and the next write -------------------------------------------


def die_at_point(voice: Voice, root: str, edits: list[list[object]], where: str) -> None:
    def reached(point: str) -> None:
        if point == where and next(left) == 1:
            voice.say("dies", point)
            os.kill(os.getpid(), signal.SIGKILL)

    left = count(0)  # the first time is that of the capture
    gitmem.store.fault_points.reached = reached
    Scene(Path(root)).write(*(Edit(*each) for each in edits))


def stash_in_between(scene: Scene, base: str) -> None:
    """The branch and the files go back to BASE, as where HEAD was read before the write."""
    by_person(scene, "update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", base)
    by_person(scene, "read-tree", "--reset", "-u", base)


def reset_to_name(scene: Scene, base: str) -> None:
    by_person(scene, "reset", "-q", "--hard", base)


def move_branch_alone(scene: Scene, base: str) -> None:
    by_person(scene, "update-ref", "refs/heads/main", base)


DEEDS = {each.__name__: each for each in (stash_in_between, reset_to_name, move_branch_alone)}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_person_moves_the_branch_after_a_death(tmp_path: Path, deed: str) -> None:
    origin = new_scene(tmp_path / "origin", {"a.md": b"first\n", "b.md": b"b\n"})
    for point in ("objects", "branch", "placed", "staged", "dropped"):
        scene = copied(origin, tmp_path / point)
        base = scene.head()
        (scene.worktree / "a.md").write_bytes(line("edit").encode() + b"first\n")
        edits: list[list[object]] = [["a.md", line("killed"), True], ["b.md", line("killed")]]
        assert alone(die_at_point, str(scene.root), edits, point)[0] == ["dies", point]
        landed = point != "objects"
        with suppress(FileNotFoundError):
            (scene.gitdir / "refs/heads/main.lock").unlink()
            (scene.gitdir / "index.lock").unlink()
        DEEDS[deed](scene, base)
        alone(write_once, str(scene.root), [["again.md", line("again")]])
        with scene.opened() as group:
            capture(group)
        assert_sound(scene)
        expected = {"token-edit", "token-again"} | ({"token-killed"} if landed else set())
        assert expected <= all_tokens(scene), point
        if deed == "stash_in_between":
            assert expected <= tokens_in_history(scene.gitdir), point
            assert line("edit").encode() in scene.files()["a.md"]
        if deed == "reset_to_name":
            assert tokens_in_history(scene.gitdir) == {"token-again"}, "it was taken back, and is"


# The soak ----------------------------------------------------------------------------------------


def write_beside(voice: Voice, root: str, name: int) -> None:
    """Append to shared files and replace an own one until told; each write is acknowledged."""
    voice.say("ready")
    with Scene(Path(root)).opened(f"writer {name}") as group:
        stop = time.monotonic() + float(voice.hear()[0])
        for turn in count():
            if time.monotonic() > stop:
                return
            token = f"w{name}.{turn}"
            path = FILES[(name + turn) % 3] if turn % 3 else f"own {name}.md"
            edit = Edit(path, line(token), append=turn % 3 > 0)
            try:
                done = write(group, [edit], allowed=ANYTHING_GOES)
            except (Busy, Conflict) as error:  # a rebase has HEAD; a git has the branch
                voice.say("refused", token, str(error))
                time.sleep(0.02)
                continue
            voice.say("ack", token, done.commit)


class Person:
    """Somebody who knows git and does not know that others are at work."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self._scene = scene
        self._chance = random.Random(seed)
        self._number = 0
        self.done: set[str] = set()

    def act(self) -> None:
        """One deed; git may refuse it, because somebody else is at work."""
        name = self._chance.choice(DAY)
        try:
            getattr(self, f"_{name}")()
            self.done.add(name)
        except GitFailed:
            self._tidy()

    def _git(self, *arguments: str) -> str:
        return by_person(self._scene, *arguments)

    def _tidy(self) -> None:
        """Leave no operation of git half done, and HEAD where it belongs."""
        for begun in ("merge", "rebase", "cherry-pick"):
            with suppress(GitFailed):
                self._git(begun, "--abort")
        with suppress(GitFailed):
            self._git("symbolic-ref", "-m", "back", "HEAD", "refs/heads/main")

    def _edit(self) -> None:
        self._number += 1
        path = self._scene.worktree / "person.md"
        with path.open("a") as file:
            file.write(f"by hand {self._number}\n")

    def _stash(self) -> None:
        self._edit()
        self._git("stash", "-q")
        self._git("stash", "pop", "-q")

    def _reset(self) -> None:
        self._git("reset", "-q", "--hard")

    def _reset_to_name(self) -> None:
        self._git("reset", "-q", "--hard", "HEAD~1")

    def _commit(self) -> None:
        self._edit()
        self._git("add", "person.md")
        self._git("commit", "-qm", f"by hand {self._number}")

    def _amend(self) -> None:
        self._commit()
        self._git("commit", "-q", "--amend", "-m", "by hand, better")

    def _rebase(self) -> None:
        self._commit()
        self._git("rebase", "-q", "-i", "HEAD~2")

    def _checkout(self) -> None:
        self._git("checkout", "-q", "HEAD~1", "--", "person.md")

    def _clean(self) -> None:
        self._git("clean", "-fdq")

    def _gc(self) -> None:
        self._git("gc", "-q")

    def _merge(self) -> None:
        self._git("branch", "-qf", "side", "HEAD~1")
        base = self._git("rev-parse", "side").strip()
        blob = git(self._scene.gitdir, "hash-object", "-w", "--stdin", input="from aside\n").strip()
        tree = self._git("ls-tree", base) + f"100644 blob {blob}\tperson.md\n"
        rows = {row.partition("\t")[2]: row for row in tree.splitlines()}
        made = git(self._scene.gitdir, "mktree", input="\n".join(rows.values()) + "\n").strip()
        commit = self._git("commit-tree", "-p", base, "-m", "aside", made).strip()
        self._git("merge", "-q", "-m", "merge", commit)


DAY = (
    *("stash", "reset", "commit") * 3,
    *("reset_to_name", "amend", "rebase", "checkout", "clean", "gc", "merge"),
)


def beside_a_person(folder: Path, seconds: float, writers: int, seed: int) -> Person:
    scene = new_scene(folder / "store", dict.fromkeys((*FILES, "person.md"), b"# Begin\n"))
    person = Person(scene, seed)
    with Crowd() as crowd:
        for name in range(writers):
            crowd.start(write_beside, str(scene.root), name)
        for child in crowd.children:
            child.hear()
            child.say(seconds)
        stop = time.monotonic() + seconds
        while time.monotonic() < stop:
            person.act()
        said = [each for _, each in crowd.hear_out()]
    person._tidy()
    acks = [each[1:] for each in said if each[0] == "ack"]
    assert len(acks) > writers
    with suppress(GitFailed):
        by_person(scene, "reset", "-q")  # conflicts that a merge left in the index
    alone(write_once, str(scene.root), [["again.md", line("again")]])
    with scene.opened() as group:
        capture(group)
        assert check(group, repair=True).sound
    check_acks(scene, acks)
    assert_sound(scene)
    return person


def check_acks(scene: Scene, acks: list[list[str]]) -> None:
    """Each acknowledged commit is on the branch, or kept because somebody meant to remove it."""
    kept = kept_refs(scene.gitdir)
    reached = set(git(scene.gitdir, "rev-list", "refs/heads/main", *kept).split())
    assert {commit for _, commit in acks} <= reached
    assert {f"token-{token}" for token, _ in acks} <= all_tokens(scene)
    if not kept:
        assert {commit for _, commit in acks} <= commits_of(scene.gitdir)
    assert files_on_disk(scene.worktree).keys() >= {"again.md"}


def test_a_day_of_a_person_beside_a_writer(tmp_path: Path) -> None:
    beside_a_person(tmp_path, seconds=6, writers=1, seed=int.from_bytes(os.urandom(4), "big"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_weeks_of_a_person_beside_writers(tmp_path: Path, seed: int) -> None:
    person = beside_a_person(tmp_path, seconds=60, writers=2, seed=seed)
    assert person.done >= {"stash", "reset", "commit", "amend"}


def test_forty_stashes_beside_one_writer(tmp_path: Path) -> None:
    """Nobody means to drop anything, so everything that was acknowledged stays on the branch."""
    scene = new_scene(tmp_path / "store", dict.fromkeys((*FILES, "person.md"), b"# Begin\n"))
    with Crowd() as crowd:
        child = crowd.start(write_beside, str(scene.root), 0)
        child.hear()
        child.say(4)
        stop = time.monotonic() + 4
        for number in count():
            with suppress(GitFailed):
                with (scene.worktree / "person.md").open("a") as file:
                    file.write(f"by hand {number}\n")
                by_person(scene, "stash", "-q")
                by_person(scene, "stash", "drop", "-q")
            if number >= 40 or time.monotonic() > stop:
                break
        acks = [each[1:] for _, each in crowd.hear_out() if each[0] == "ack"]
    alone(write_once, str(scene.root), [["again.md", line("again")]])
    assert {commit for _, commit in acks} <= commits_of(scene.gitdir)
    assert {f"token-{token}" for token, _ in acks} <= tokens_in_history(scene.gitdir)
    assert not kept_refs(scene.gitdir)
    with scene.opened() as group:
        capture(group)
    assert_sound(scene)
