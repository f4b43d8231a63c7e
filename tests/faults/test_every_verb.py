"""Every command that changes something, killed or failing at its system calls.

Whatever happened, the next commands work without anybody's help, no acknowledged write and no edit
is lost, git finds nothing wrong, and the work tree is what HEAD says.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gitmem.cli.app import app
from tests.support.deeds import (
    DEEDS,
    EDIT,
    ELSEWHERE,
    KEPT,
    READ_ONLY,
    Answer,
    Deed,
    Place,
    copied,
    made,
)
from tests.support.faults import LEFTOVER, blobs_in_history, commits_of
from tests.support.git import git
from tests.support.processes import Crowd, calls_in, need_strace, traced

CALLS = (
    *("write", "pwrite64", "rename", "renameat2", "link", "unlink", "unlinkat", "mkdir", "rmdir"),
    *("fsync", "fdatasync", "ftruncate"),
)
WRITING = ("write", "pwrite64", "rename", "renameat2", "link", "mkdir")
UNEXPECTED = 1


class Fault(NamedTuple):
    """Which call goes wrong, and how."""

    call: str
    number: int
    how: str

    @property
    def injection(self) -> str:
        more = "+" if self.how.endswith("+") else ""
        return f"{self.how.rstrip('+')}:when={self.number}{more}"


@pytest.fixture(scope="session")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return made(tmp_path_factory.mktemp("every verb") / "origin")


def test_no_command_is_forgotten() -> None:
    """A new command either changes nothing or has a row in the table."""
    told = {deed.args[0] for deed in DEEDS.values()}
    assert set(app.list_commands(None)) == told | READ_ONLY | set(ELSEWHERE)  # type: ignore[arg-type]
    assert not told & READ_ONLY


def history(place: Place) -> set[str]:
    """Every commit that some group has."""
    return {commit for gitdir in place.gitdirs() for commit in commits_of(gitdir)}


def judge(place: Place, before: set[str]) -> None:
    """After everything: nothing lost, nothing damaged, nothing left behind."""
    for name in groups_of(place):
        found = place.run("capture", "-g", name)
        assert found.code == 0, found
    assert before <= history(place)
    for gitdir in place.gitdirs():
        assert git(gitdir, "fsck", "--strict", "--no-dangling") == ""
        left = [str(each) for each in gitdir.rglob("*") if LEFTOVER.search(str(each))]
        # An object that is young and without its name may be of somebody who needs no lock for it.
        assert [each for each in left if not re.search(r"/gitmem/.*lock$|tmp_obj_", each)] == []
    known = b"".join(data for gitdir in place.gitdirs() for data in texts(gitdir))
    assert KEPT.encode() in known
    disk = (each for each in place.store.glob("**/edited.md") if each.is_file())
    assert EDIT.encode() in known or any(EDIT in each.read_text() for each in disk)
    for name in groups_of(place):
        worktree = Path(place.run("status", "-g", name, "--json").document["worktree"])
        status = git(worktree, "status", "--porcelain", "--untracked-files=all")
        assert [each for each in status.splitlines() if "secret.md" not in each] == []


def texts(gitdir: Path) -> Iterator[bytes]:
    yield from blobs_in_history(gitdir).values()


def disturbed(place: Place, deed: Deed, log: Path, calls: tuple[str, ...], how: str) -> Answer:
    """What DEED answers while some of its CALLS go wrong; -1 where it was killed."""
    with Crowd() as crowd:
        child = place.begin(crowd, deed)
        with traced(child, log, calls, how):
            child.say("go")
            said = [each for each in child.finish() if each[0] == "answered"]
    return Answer(*said[0][1:]) if said else Answer(-1, "")


def faults_of(origin: Place, deed: Deed, folder: Path) -> list[Fault]:
    """Each of its calls in turn, killed or failing; in the order in which they are made."""
    place = copied(origin, folder / "baseline")
    first = disturbed(place, deed, folder / "log", CALLS, "")
    assert first.code == 0, first.said
    again = place.do(deed)
    assert again.code in deed.again, again.said
    found, numbers = [], dict.fromkeys(CALLS, 0)
    for call in calls_in(folder / "log"):
        numbers[call.name] += 1
        number = numbers[call.name]
        found.append(Fault(call.name, number, "signal=KILL"))
        if call.name in WRITING:
            found += [Fault(call.name, number, f"error=ENOSPC{each}") for each in ("", "+")]
        elif "sync" in call.name or call.name == "unlink":
            found += [Fault(call.name, number, "error=EIO")]
    return found


def attack(origin: Place, name: str, folder: Path, most: int) -> None:
    """Faults at MOST of its calls, spread evenly; each command begins elsewhere."""
    need_strace()
    deed = DEEDS[name]
    faults = faults_of(origin, deed, folder)
    assert faults, "it changes nothing"
    step = max(1, len(faults) // most)
    start = list(DEEDS).index(name) * 37 % step
    for fault in faults[start::step]:
        place = copied(origin, folder / "home")
        before = history(place)
        answer = disturbed(place, deed, folder / "log", (fault.call,), fault.injection)
        try:
            if "KILL" not in fault.how and deed.args[0] != "hook":
                assert answer.code != UNEXPECTED, answer.said
            survive(place, deed)
            judge(place, before)
        except AssertionError as error:
            raise AssertionError(f"{name} after {fault}: {answer}") from error
        shutil.rmtree(place.home)


def survive(place: Place, deed: Deed) -> None:
    """The next commands, by nobody's help: a write, and the same again."""
    done = place.run("write", "again.md", "- remember token-again\n")
    assert done.code == 0, done
    again = place.do(deed)
    assert again.code in (0, *deed.again), again


def groups_of(place: Place) -> list[str]:
    """The groups that there are."""
    return sorted(each.name[:-4] for each in place.store.glob("repos/[!.]*.git"))


@pytest.mark.parametrize("name", DEEDS)
def test_a_fault_at_some_call_of_every_command(origin: Place, tmp_path: Path, name: str) -> None:
    attack(origin, name, tmp_path, most=1)


@pytest.mark.slow
@pytest.mark.timeout(7200)  # some hundred calls, each with a store and four processes of its own
@pytest.mark.parametrize("name", DEEDS)
def test_a_fault_at_every_call_of_every_command(origin: Place, tmp_path: Path, name: str) -> None:
    attack(origin, name, tmp_path, most=100_000)
