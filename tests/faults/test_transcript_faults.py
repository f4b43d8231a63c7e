"""Messages under kill -9, a full disk, a failing disk and eight hands at once: none is lost, none
is there twice, and each range is summarised once."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count, product
from pathlib import Path

import pytest

import gitmem as package
import gitmem.memory.transcripts.add
import gitmem.store.fault_points
from gitmem.errors import Damaged, StorageFailed
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded, transcript_add
from gitmem.memory.transcripts.checkpoint import StaleToken, transcript_checkpoint
from gitmem.memory.transcripts.pending import (
    SyncInFlight,
    read_lease,
    transcript_pending,
)
from gitmem.memory.transcripts.status import transcript_list, transcript_show, transcript_status
from gitmem.memory.write.write import Edit, write
from gitmem.model.commit_messages import parse
from gitmem.model.hints import in_shell
from gitmem.model.transcripts.batches import NUMBERS, REF, Message, decode, is_batch, span
from gitmem.store.refs.side_branch import SideBranch, side_branch
from tests.faults.test_enospc import fill, random_text, small_disk
from tests.faults.test_ioerr import Failure
from tests.support.clocks import START, Clock
from tests.support.faults import (
    ANYTHING_GOES,
    Scene,
    assert_sound,
    commits_of,
    copied,
    dying_at,
    files_at,
    fixed_clock,
    line,
    new_scene,
    tokens_in_history,
)
from tests.support.git import git
from tests.support.processes import (
    Child,
    Crowd,
    Program,
    Said,
    Voice,
    alone,
    calls_in,
    need_strace,
    traced,
)

__all__ = ["small_disk"]

STEPS = ("locked", "objects", "held", "logged", "branch")
ROOT = Path(package.__file__).parents[1]
CHATS = ("alpha", "beta", "gamma")


def is_sound(scene: Scene) -> None:
    """Git finds nothing wrong, and nobody left anything behind but caches."""
    for cache in (scene.gitdir / "gitmem").glob("*.db*"):
        cache.unlink()
    assert_sound(scene)


def word(id: str) -> str:
    """A word that only the message with this id has."""
    return "walnut" + id.replace(".", "q")


def spoken(id: str) -> NewMessage:
    chat = CHATS[sum(id.encode()) % len(CHATS)]
    return NewMessage(chat, "ada", f"remember the {word(id)} on the table", None, id)


def add(scene: Scene, *ids: str) -> TranscriptAdded:
    with scene.opened() as group:
        return transcript_add(group, [spoken(id) for id in ids])


def messages(scene: Scene) -> list[Message]:
    """Everything that was said, by git's own account."""
    files = files_at(scene.gitdir, REF)
    found = [each for path, data in files.items() if is_batch(path) for each in decode(data)]
    return sorted(found, key=lambda each: each.number)


def judge(scene: Scene, acked: Iterator[str] | list[str]) -> None:
    """Every message that was acknowledged is there, each once, and everybody sees the same."""
    kept = messages(scene)
    ids = [each.id for each in kept]
    assert Counter(acked).keys() - {*ids} == set(), "acknowledged, and lost"
    assert [id for id, times in Counter(ids).items() if times > 1] == [], "there twice"
    assert [each.number for each in kept] == list(range(1, len(kept) + 1))
    at = 0
    log = git(scene.gitdir, "log", "--reverse", "-z", "--format=%B", REF)
    for message in filter(None, log.split("\0")):
        first, last = span(parse(message).get(NUMBERS))
        assert first == at + 1, "numbers only grow"
        at = last
    assert at == len(kept)
    assert git(scene.gitdir, "fsck", "--strict", "--no-dangling") == ""
    with scene.opened() as group:
        shown = [transcript_show(group, each.chat) for each in transcript_list(group).chats]
        seen = sorted((row.number, row.id) for chat in shown for row in chat.messages)
        assert seen == [each[0:2] for each in kept]
        for each in [*kept[:3], *kept[-3:]]:
            hits = search(group, word(each.id), source="transcripts").hits
            assert hits[0].id == each.id, "the index is right"  # neighbours come behind it


def die_adding_at(voice: Voice, root: str, step: str, ids: list[str]) -> None:
    """Somebody who adds messages and dies at a named step."""
    dying_at(voice, step)
    voice.say("added", add(Scene(Path(root)), *ids).added)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_kill_at_every_named_step(tmp_path: Path, step: str, warm: bool) -> None:
    scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})
    before = ["0.0", "0.1"] if warm else []
    if warm:
        add(scene, *before)
    killed = ["1.0", "1.1", "1.2"]

    assert alone(die_adding_at, str(scene.root), step, killed) == [["dies", step]]

    landed = [each.id for each in messages(scene)] if warm or step == "branch" else []
    assert landed in (before, before + killed), "all of a batch or nothing"
    assert (landed == before + killed) is (step == "branch")
    add(scene, "2.0")
    again = add(scene, *killed)
    assert again.added + again.known == len(killed)
    assert again.added in (0, len(killed))
    judge(scene, [*before, *killed, "2.0"])
    scene.write(Edit("a.md", line("alive")))
    is_sound(scene)


def prepared_add(voice: Voice, root: str, ids: list[str]) -> None:
    """A child that is warm (everything imported, one message added) and adds on the word `go`."""
    group = Group(Store(Path(root)), "main", now=fixed_clock)
    transcript_add(group, [spoken("warm")])
    voice.say("ready")
    voice.hear()
    try:
        done = transcript_add(group, [spoken(id) for id in ids])
    except Exception as error:  # noqa: BLE001 - any error is an answer to be judged
        voice.say("error", type(error).__name__, str(error), getattr(error, "hint", ""))
    else:
        voice.say("added", done.added, done.commit)


def prepared_first_add(voice: Voice, root: str, ids: list[str]) -> None:
    """The same for the first message of all."""
    group = Group(Store(Path(root)), "main", now=fixed_clock)
    write(group, [Edit("warm.md", "warm\n")])
    transcript_add(group, [spoken("warm")], dry_run=True)
    voice.say("ready")
    voice.hear()
    try:
        done = transcript_add(group, [spoken(id) for id in ids])
    except Exception as error:  # noqa: BLE001 - any error is an answer to be judged
        voice.say("error", type(error).__name__, str(error), getattr(error, "hint", ""))
    else:
        voice.say("added", done.added, done.commit)


PROGRAMS: dict[str, Program] = {"first": prepared_first_add, "next": prepared_add}
KILLED = ["1.0", "1.1"]


def run(
    scene: Scene, log: Path, program: Program, calls: tuple[str, ...], injection: str = ""
) -> list[Said]:
    """What somebody who adds messages says, with the system calls in a log."""
    with Crowd() as crowd:
        child = crowd.start(program, str(scene.root), KILLED)
        child.hear()
        with traced(child, log, calls, injection):
            child.say("go")
            return child.finish()


CALLS = (
    *("openat", "write", "pwrite64", "rename", "link", "unlink", "fsync", "fdatasync"),
    *("ftruncate", "truncate", "mkdir", "flock"),
)


def kill_at_calls(folder: Path, program: Program, every: int, start: int = 0) -> None:
    """Let somebody die on entering the first, second, third... system call of each kind."""
    need_strace()
    origin = new_scene(folder / "origin", {"a.md": b"first\n"})
    run(copied(origin, folder / "baseline"), folder / "log", program, CALLS)
    made = Counter(call.name for call in calls_in(folder / "log"))
    trials = [(name, number) for name, times in made.items() for number in range(1, times + 1)]
    assert len(trials) > 30
    deaths = 0
    for name, number in trials[start::every]:
        scene = copied(origin, folder / "store")
        said = run(scene, folder / "log", program, (name,), f"signal=KILL:when={number}")
        deaths += not said
        survived(scene, said, warm=program is prepared_add)
        shutil.rmtree(scene.root)
    assert deaths > len(trials[start::every]) // 2, "nobody was killed"


def survived(scene: Scene, said: list[Said], *, warm: bool) -> None:
    """Somebody died or failed; the next ones do their work, unattended."""
    for path in (scene.gitdir / "objects").glob("tmp_obj_*"):
        os.utime(path, (1, 1))  # of who died a minute ago
    scene.write(Edit("a.md", line("alive")))
    add(scene, "2.0")
    again = add(scene, *KILLED)
    assert again.added in (0, len(KILLED)), "half a batch"
    if said and said[0][0] == "added":
        assert again.added == 0, "acknowledged, and lost"
    judge(scene, [*KILLED, "2.0", *(["warm"] if warm else [])])
    is_sound(scene)
    assert not [each for each in (scene.gitdir / "gitmem").iterdir() if each.suffix == ".new"]


@pytest.mark.parametrize(("name", "start"), [("first", 0), ("next", 5)])
def test_kill_every_syscall(tmp_path: Path, name: str, start: int) -> None:
    kill_at_calls(tmp_path, PROGRAMS[name], every=11, start=start)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_kill_every_syscall_without_exception(tmp_path: Path, name: str) -> None:
    kill_at_calls(tmp_path, PROGRAMS[name], every=1)


ERRORS = ("ENOSPC", "EIO")
FAILING = ("write", "pwrite64", "fsync", "fdatasync", "rename", "link", "mkdir", "openat")


def all_failures(origin: Scene, folder: Path, program: Program) -> list[Failure]:
    """Every call of one undisturbed add that could fail for want of space or of a disk."""
    run(copied(origin, folder / "baseline"), folder / "log", program, FAILING)
    found, counts = [], dict.fromkeys(FAILING, 0)
    for call in calls_in(folder / "log"):
        counts[call.name] += 1
        if call.name != "openat" or call.creates:
            for error, persistent in product(ERRORS, (False, True)):
                found.append(Failure(call.name, counts[call.name], error, persistent))
    return [each for each in found if not (each.call == "openat" and each.persistent)]


def fail_at(folder: Path, program: Program, every: int, start: int = 0) -> None:
    need_strace()
    origin = new_scene(folder / "origin", {"a.md": b"first\n"})
    failures = all_failures(origin, folder, program)
    assert len(failures) > 50
    answers = set()
    for failure in failures[start::every]:
        scene = copied(origin, folder / "store")
        said = run(scene, folder / "log", program, (failure.call,), failure.injection)
        answers.add(said[0][0])
        try:
            told_the_truth(scene, failure, said[0])
            survived(scene, said, warm=program is prepared_add)
        except AssertionError as error:
            raise AssertionError(f"after {failure}, which was answered by {said}") from error
        shutil.rmtree(scene.root)
    assert "error" in answers


def told_the_truth(scene: Scene, failure: Failure, answer: Said) -> None:
    with scene.opened() as group:
        listed = transcript_list(group)
        shown = [row for each in listed.chats for row in transcript_show(group, each.chat).messages]
    landed = {*KILLED} <= {row.id for row in shown}
    assert landed is (answer[0] == "added"), "a lie"
    if answer[0] == "error":
        assert answer[1] == "StorageFailed"
        if failure.error == "ENOSPC":
            assert "the disk is full" in answer[2]
            assert "free some space" in answer[3]


@pytest.mark.parametrize(("name", "start"), [("first", 3), ("next", 0)])
def test_ioerr_every_call(tmp_path: Path, name: str, start: int) -> None:
    fail_at(tmp_path, PROGRAMS[name], every=19, start=start)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_ioerr_every_call_without_exception(tmp_path: Path, name: str) -> None:
    fail_at(tmp_path, PROGRAMS[name], every=1)


def add_without_end(scene: Scene, acked: list[str]) -> None:
    with scene.opened() as group:
        for number in count():
            text = f"{word(str(number))} {random_text(30_000)}"
            transcript_add(group, [NewMessage("alpha", "ada", text, None, str(number))])
            acked.append(str(number))


def test_a_disk_that_fills_up_loses_nothing(small_disk: Path) -> None:
    scene = new_scene(small_disk / "store")
    reserve = small_disk / "reserve"
    reserve.write_bytes(bytes(300 * 4096))  # for what is added then, and for the index of it all
    acked: list[str] = []
    with pytest.raises(StorageFailed, match="the disk is full") as failure:
        add_without_end(scene, acked)
    assert "free some space" in failure.value.hint
    assert len(acked) > 10
    assert [each.id for each in messages(scene)] == acked

    reserve.unlink()
    add(scene, "again")
    judge(scene, [*acked, "again"])
    is_sound(scene)


def test_at_whatever_step_the_disk_is_full_the_next_one_works(
    small_disk: Path,
) -> None:
    answers = set()
    for spare in range(0, 30, 2):
        scene = new_scene(small_disk / "store", {"a.md": b"first\n"})
        add(scene, "0.0")
        ballast = fill(small_disk, spare)
        with scene.opened() as group:
            try:
                transcript_add(group, [spoken("1.0")])
                answer = "added"
            except StorageFailed as error:
                answer = error.message.rpartition(": ")[2]
        answers.add(answer)
        with scene.opened() as group:
            assert transcript_status(group).last == (2 if answer == "added" else 1)
        ballast.unlink()
        add(scene, "1.0", "2.0")
        judge(scene, ["0.0", "1.0", "2.0"])
        is_sound(scene)
        shutil.rmtree(scene.root)
    assert answers == {"the disk is full", "added"}


def test_a_range_that_cannot_be_noted_is_not_handed_out(
    small_disk: Path,
) -> None:
    scene = new_scene(small_disk / "store")
    add(scene, "0.0")
    ballast = fill(small_disk)
    with scene.opened() as group:
        with pytest.raises(StorageFailed, match="could not be handed out"):
            transcript_pending(group)
        ballast.unlink()
        found = transcript_pending(group)
        assert transcript_checkpoint(group, "done", token=found.token).messages == 1


def add_for_ever(voice: Voice, root: str, name: int, start: int) -> None:
    """Messages, one to three at once, each acknowledged, until it is killed.

    It begins with those that were under way when the one before it died.
    """
    with Scene(Path(root)).opened(f"adder {name}") as group:
        for turn in count(start):
            ids = [f"{name}.{turn}.{each}" for each in range(1 + (name + turn) % 3)]
            done = transcript_add(group, [spoken(id) for id in ids])
            assert done.added + done.known == len(ids)
            voice.say("ack", name, turn, ids)


class Adders:
    """Several who add at once; each has its own messages, and a new one goes on for a dead one."""

    def __init__(self, crowd: Crowd, root: Path, many: int) -> None:
        self._crowd, self._root = crowd, root
        self.acked: list[str] = []
        self._next = dict.fromkeys(range(many), 0)
        self._living = {name: self._start(name) for name in self._next}

    def _start(self, name: int) -> Child:
        return self._crowd.start(add_for_ever, str(self._root), name, self._next[name])

    def hear(self, heard: list[Said]) -> None:
        for _, name, turn, ids in (each for each in heard if each[0] == "ack"):
            self._next[name] = turn + 1
            self.acked += ids

    def kill(self, name: int, *, again: bool = True) -> None:
        child = self._living[name]
        child.kill()
        self.hear(child.finish())
        child.close()
        self._crowd.children.remove(child)
        if again:
            self._living[name] = self._start(name)


def kill_at_random(folder: Path, kills: int, many: int = 3) -> None:
    scene = new_scene(folder / "store", {"a.md": b"first\n"})
    with Crowd() as crowd:
        adders = Adders(crowd, scene.root, many)
        for number in range(kills):
            deadline = time.monotonic() + 60
            adders.hear([said for _, said in crowd.listen(random.uniform(0.01, 0.12))])
            while len(adders.acked) < number and time.monotonic() < deadline:
                adders.hear([said for _, said in crowd.listen(0.05)])
            adders.kill(random.randrange(many))
        for name in range(many):
            adders.kill(name, again=False)
    for path in (scene.gitdir / "objects").glob("tmp_obj_*"):
        os.utime(path, (1, 1))
    add(scene, "end")
    assert len(adders.acked) >= kills
    judge(scene, [*adders.acked, "end"])
    scene.write(Edit("a.md", line("alive")))
    is_sound(scene)


def test_random_kills(tmp_path: Path) -> None:
    kill_at_random(tmp_path, kills=25)


@pytest.mark.slow
def test_three_hundred_random_kills(tmp_path: Path) -> None:
    kill_at_random(tmp_path, kills=300)


ADDERS, ROUNDS = 8, 8


def add_in_turns(voice: Voice, root: str, name: int, rounds: int) -> None:
    """Messages of its own, and in every fourth turn one that all the others bring as well."""
    with Scene(Path(root)).opened(f"adder {name}") as group:
        for turn in range(rounds):
            ids = [f"{name}.{turn}", *([f"all.{turn}"] if turn % 4 == 3 else [])]
            done = transcript_add(group, [spoken(id) for id in ids])
            voice.say("ack", ids, done.added, done.known)


def test_eight_at_once_lose_nothing_and_get_no_errors(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store")

    with Crowd() as crowd:
        for name in range(ADDERS):
            crowd.start(add_in_turns, str(scene.root), name, ROUNDS)
        acks = [said[1:] for _, said in crowd.hear_out() if said[0] == "ack"]

    assert len(acks) == ADDERS * ROUNDS
    judge(scene, [id for ids, _, _ in acks for id in ids])
    assert sum(added for _, added, _ in acks) == len(messages(scene)) == ADDERS * ROUNDS + 2
    is_sound(scene)


def test_what_another_brings_in_the_last_moment_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = new_scene(tmp_path / "store")
    add(scene, "0.0")

    @contextmanager
    def slowly(*args: object) -> Iterator[SideBranch]:
        """Somebody is faster than who waits for the lock."""
        monkeypatch.undo()
        add(scene, "1.0", "1.1")
        with side_branch(*args) as found:  # type: ignore[arg-type]
            yield found

    monkeypatch.setattr(gitmem.memory.transcripts.add, "side_branch", slowly)
    done = add(scene, "1.1", "1.2")

    assert (done.added, done.known, done.first) == (1, 1, 4)
    judge(scene, ["0.0", "1.0", "1.1", "1.2"])
    monkeypatch.setattr(gitmem.memory.transcripts.add, "side_branch", slowly)
    assert add(scene, "1.0", "1.1").added == 0


def write_in_turns(voice: Voice, root: str, name: int, rounds: int) -> None:
    with Scene(Path(root)).opened(f"writer {name}") as group:
        for turn in range(rounds):
            token = f"w{name}.{turn}"
            edit = Edit(("a.md", "deep/b.md")[turn % 2], line(token), append=True)
            done = write(group, [edit], allowed=ANYTHING_GOES)
            voice.say("written", token, done.commit, done.pending)


def beside_writers(folder: Path, adders: int, writers: int, rounds: int) -> None:
    scene = new_scene(folder / "store", {"a.md": b"first\n"})
    with Crowd() as crowd:
        for name in range(adders):
            crowd.start(add_in_turns, str(scene.root), name, rounds)
        for name in range(writers):
            crowd.start(write_in_turns, str(scene.root), name, rounds)
        said = [each for _, each in crowd.hear_out(300)]

    written = [each[1:] for each in said if each[0] == "written"]
    assert len(written) == writers * rounds
    assert not any(pending for _, _, pending in written)
    assert {f"token-{token}" for token, _, _ in written} <= tokens_in_history(scene.gitdir)
    assert {commit for _, commit, _ in written} <= commits_of(scene.gitdir)
    assert len(commits_of(scene.gitdir)) == writers * rounds + 2
    judge(scene, [id for each in said if each[0] == "ack" for id in each[1]])
    is_sound(scene)


def test_beside_those_who_write_memory_nobody_gets_an_error(tmp_path: Path) -> None:
    beside_writers(tmp_path, adders=3, writers=2, rounds=8)


@pytest.mark.slow
def test_many_beside_many_who_write_memory(tmp_path: Path) -> None:
    beside_writers(tmp_path, adders=8, writers=4, rounds=100)


# Leases: who has a range, and for how long.


def session(scene: Scene, name: str, clock: Callable[[], datetime] | None = None) -> Group:
    return Group(Store(scene.root), "main", who=Who("ada", name), now=clock)


@pytest.fixture
def said(tmp_path: Path) -> Scene:
    """A store in which four things were said."""
    scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})
    add(scene, "0.0", "0.1", "0.2", "0.3")
    return scene


def ask_and_wait(voice: Voice, root: str, name: str) -> None:
    """A living process that gets the range, and closes it on the word `go`."""
    group = session(Scene(Path(root)), name)
    try:
        found = transcript_pending(group)
        voice.say("got", found.token, found.begin, found.end)
    except SyncInFlight as error:
        voice.say("in flight", str(error), in_shell(error.hint))
    voice.hear()
    try:
        done = transcript_checkpoint(group, f"summary of {name}")
        voice.say("closed", done.commit, done.begin, done.end)
    except StaleToken as error:
        voice.say("stale", str(error))


def checkpoints(scene: Scene) -> list[tuple[int, int]]:
    """The ranges of all checkpoints, by git's account."""
    form = "--format=%(trailers:key=Gitmem-Range,valueonly)"
    return [span(each) for each in git(scene.gitdir, "log", form, "main").split()]


@pytest.fixture
def crowd() -> Iterator[Crowd]:
    with Crowd() as found:
        yield found


def test_of_two_who_live_the_second_is_told_that_a_sync_is_in_flight(
    said: Scene, crowd: Crowd
) -> None:
    first, second = (crowd.start(ask_and_wait, str(said.root), name) for name in ("s-1", "s-2"))
    answers = sorted((first.hear(), second.hear()))

    assert [each[0] for each in answers] == ["got", "in flight"]
    assert "has the range 1-4" in answers[1][1]
    assert "--take-over" in answers[1][2]
    for each in (first, second):
        each.say("go")
    assert sorted(each.hear()[0] for each in (first, second)) == ["closed", "stale"]
    assert checkpoints(said) == [(1, 4)]


def test_when_its_holder_is_killed_the_range_can_be_taken_over(said: Scene, crowd: Crowd) -> None:
    dead = crowd.start(ask_and_wait, str(said.root), "s-1")
    _, token, *_ = dead.hear()
    group = session(said, "s-2")
    with pytest.raises(SyncInFlight):
        transcript_pending(group)

    dead.kill()
    dead.finish()
    found = transcript_pending(group, take_over=True)

    assert (found.begin, found.end) == (1, 4)
    with pytest.raises(StaleToken):
        transcript_checkpoint(session(said, "s-1"), "too late", token=token)
    transcript_checkpoint(group, "in time", token=found.token)
    assert checkpoints(said) == [(1, 4)]
    assert transcript_pending(group).messages == ()


def test_the_same_session_gets_it_again_and_the_old_token_is_stale(said: Scene) -> None:
    first = transcript_pending(session(said, "s-1"))
    again = transcript_pending(session(said, "s-1"))

    assert (again.begin, again.end) == (first.begin, first.end)
    assert again.token != first.token
    with pytest.raises(StaleToken, match="unknown token"):
        transcript_checkpoint(session(said, "s-1"), "old", token=first.token)
    transcript_checkpoint(session(said, "s-1"), "new", token=again.token)
    assert checkpoints(said) == [(1, 4)]


@pytest.mark.parametrize(
    ("minutes", "handed"), [(0, False), (29.9, False), (30, True), (600, True), (-1, True)]
)
def test_after_half_an_hour_whoever_asks_gets_it(said: Scene, minutes: float, handed: bool) -> None:
    clock = Clock(START)
    transcript_pending(session(said, "s-1", clock))
    since = read_lease(said.gitdir)
    assert since

    later = session(said, "s-2", lambda: since.since + timedelta(minutes=minutes))

    if handed:
        assert transcript_pending(later).token != since.token
    else:
        with pytest.raises(SyncInFlight):
            transcript_pending(later)


def test_who_takes_over_makes_the_other_one_s_token_stale(said: Scene, crowd: Crowd) -> None:
    living = crowd.start(ask_and_wait, str(said.root), "s-1")
    living.hear()

    taken = transcript_pending(session(said, "s-2"), take_over=True)
    living.say("go")

    assert living.hear()[0] == "stale"
    done = transcript_checkpoint(session(said, "s-2"), "taken over", token=taken.token)
    assert (done.begin, done.end) == (1, 4)
    assert checkpoints(said) == [(1, 4)]


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"token": "x"}', b"\0" * 200, b"null"])
def test_a_torn_lease_counts_for_nothing(said: Scene, torn: bytes) -> None:
    first = transcript_pending(session(said, "s-1"))
    (said.gitdir / "gitmem" / "sync").write_bytes(torn)

    second = transcript_pending(session(said, "s-2"))

    with pytest.raises(StaleToken):
        transcript_checkpoint(session(said, "s-1"), "mine", token=first.token)
    transcript_checkpoint(session(said, "s-2"), "mine", token=second.token)


def test_a_lease_of_no_zone_counts_for_nothing(said: Scene) -> None:
    transcript_pending(session(said, "s-1"))
    path = said.gitdir / "gitmem" / "sync"
    path.write_text(path.read_text().replace("+00:00", ""))

    assert transcript_pending(session(said, "s-2")).begin == 1


def die_closing_at(voice: Voice, root: str, name: str, step: str) -> None:
    """Somebody who gets the range and dies while closing it; `before` is before that."""
    group = session(Scene(Path(root)), name)
    found = transcript_pending(group)
    voice.say("got", found.token)

    def reached(point: str) -> None:
        if point == step:
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    reached("before")
    transcript_checkpoint(group, "what was said", token=found.token)
    voice.say("survived")


@pytest.mark.parametrize("by", ["the same session", "another one", "with its token"])
@pytest.mark.parametrize("step", ["before", "recorded", "objects", "branch"])
def test_whoever_dies_between_getting_a_range_and_forgetting_the_lease(
    said: Scene, step: str, by: str
) -> None:
    (_, token), *rest = alone(die_closing_at, str(said.root), "s-1", step)
    assert rest == []
    add(said, "1.0")  # meanwhile
    landed = step == "branch"
    group = session(said, "s-2" if by == "another one" else "s-1")

    if by == "with its token":  # a retry, by somebody who does not know what became of the first
        done = transcript_checkpoint(group, "what was said", token=token)
        assert done.recognised is landed
    # A lease whose range is closed blocks nobody, so only an open one has to be taken over.
    found = transcript_pending(group, take_over=by == "another one" and not landed)

    if landed or by == "with its token":
        assert (found.begin, found.end) == (5, 5), "only what came since"
    else:
        assert (found.begin, found.end) == (1, 4), "the same range, without what came since"
    while found.messages:
        transcript_checkpoint(group, "the rest", token=found.token)
        found = transcript_pending(group)
    ranges = checkpoints(said)
    closed = [number for first, last in ranges for number in range(first, last + 1)]
    assert sorted(closed) == [1, 2, 3, 4, 5], "each message is summarised, and once"
    assert transcript_pending(group).messages == ()
    assert transcript_status(group).in_flight is None
    writes_on(said)


def test_a_lease_that_outlives_its_range_blocks_nobody(said: Scene) -> None:
    alone(die_closing_at, str(said.root), "s-1", "branch")
    assert read_lease(said.gitdir)
    add(said, "1.0")

    found = transcript_pending(session(said, "s-2"))

    assert (found.begin, found.end) == (5, 5)
    assert checkpoints(said) == [(1, 4)]


def writes_on(scene: Scene) -> None:
    scene.write(Edit("a.md", line("alive")))
    is_sound(scene)


def test_what_comes_in_between_stays_pending(said: Scene, crowd: Crowd) -> None:
    group = session(said, "s-1")
    found = transcript_pending(group)
    for name in range(3):
        crowd.start(add_in_turns, str(said.root), name + 1, 3)
    list(crowd.hear_out())

    done = transcript_checkpoint(group, "the first four", token=found.token)

    assert (done.begin, done.end, done.messages) == (1, 4, 4)
    rest = transcript_pending(group)
    assert (rest.begin, rest.end, len(rest.messages)) == (5, 13, 9)
    transcript_checkpoint(group, "the others", token=rest.token)
    assert transcript_pending(group).messages == ()


def sync_for_ever(voice: Voice, root: str, name: int) -> None:
    """An agent that fetches, writes down and closes, again and again, until it is killed."""
    for turn in count():
        group = session(Scene(Path(root)), f"s-{name}")
        try:
            found = transcript_pending(group, chars=60)
            if not found.messages:
                time.sleep(0.01)
                continue
            write(group, [Edit("b.md", line(found.token), append=True)], allowed=ANYTHING_GOES)
            transcript_checkpoint(group, f"summary {name} {turn}", token=found.token)
            voice.say("closed", found.begin, found.end)
        except (SyncInFlight, StaleToken):
            time.sleep(0.01)
        finally:
            group.close()


def sync_under_kills(folder: Path, kills: int) -> None:
    scene = new_scene(folder / "store", {"b.md": b"first\n"})
    with Crowd() as crowd:
        adder = crowd.start(add_for_ever, str(scene.root), 0, 0)
        living = [crowd.start(sync_for_ever, str(scene.root), name) for name in range(2)]
        closed = 0
        for number in range(kills):
            deadline = time.monotonic() + 60
            while closed <= number and time.monotonic() < deadline:
                closed += sum(each[0] == "closed" for _, each in crowd.listen(0.05))
            name = random.randrange(2)
            dead = living[name]
            dead.kill()
            dead.finish()
            dead.close()
            crowd.children.remove(dead)
            # Its host resumes the session, so the range that it held is handed out again.
            living[name] = crowd.start(sync_for_ever, str(scene.root), name)
        for each in (adder, *living):
            each.kill()
            each.finish()
    rest_is_closed_once(scene)


def rest_is_closed_once(scene: Scene) -> None:
    """Close what is left; by then every message is in exactly one range."""
    group = session(scene, "the last one")
    while (found := transcript_pending(group, chars=0, take_over=True)).messages:
        transcript_checkpoint(group, "the rest", token=found.token)
    numbers = [each.number for each in messages(scene)]
    closed = [n for first, last in checkpoints(scene) for n in range(first, last + 1)]
    assert sorted(closed) == numbers
    assert transcript_status(group).pending == 0
    group.close()
    scene.write(Edit("c.md", line("end")))
    for path in (scene.gitdir / "objects").glob("tmp_obj_*"):
        os.utime(path, (1, 1))
    add(scene, "end")
    is_sound(scene)


def test_two_who_summarise_and_are_killed_close_each_message_once(tmp_path: Path) -> None:
    sync_under_kills(tmp_path, kills=8)


@pytest.mark.slow
def test_two_who_summarise_and_are_killed_a_hundred_times(tmp_path: Path) -> None:
    sync_under_kills(tmp_path, kills=100)


def test_taking_back_opens_the_range_again_also_for_the_index(said: Scene) -> None:
    group = session(said, "s-1")
    found = transcript_pending(group)
    written = write(group, [Edit("b.md", "what was said\n")])
    done = transcript_checkpoint(group, "all four", token=found.token)
    assert done.covers == (written.commit,)

    for commit in (written.commit, done.commit):
        taken = undo(group, [commit])
        assert transcript_status(group).pending == 4
        shutil.copytree(said.gitdir, said.root / "repos" / "copy.git")  # without any cache
        for cache in (said.root / "repos" / "copy.git" / "gitmem").glob("said.db*"):
            cache.unlink()
        assert transcript_status(Group(Store(said.root), "copy")).pending == 4
        shutil.rmtree(said.root / "repos" / "copy.git")
        undo(group, [taken.commit])
        assert transcript_status(group).pending == 0


def test_a_clock_that_was_ahead_hides_no_checkpoint(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})
    ahead = session(scene, "s-1", lambda: datetime(2099, 1, 1, tzinfo=UTC))
    transcript_add(ahead, [spoken("0.0")])
    group = session(scene, "s-1")

    found = transcript_pending(group)
    transcript_checkpoint(group, "in its time", token=found.token)

    assert transcript_status(group).pending == 0


def test_a_line_that_was_removed_and_begun_anew_is_not_closed_by_old_checkpoints(
    said: Scene,
) -> None:
    group = session(said, "s-1")
    transcript_checkpoint(group, "all", token=transcript_pending(group).token)
    git(said.gitdir, "update-ref", "-d", REF)

    add(said, "again")

    assert transcript_status(group).pending == 1


def test_what_cannot_be_read_is_not_closed_unseen(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store")
    for name in range(4):
        add(scene, f"{name}.0", f"{name}.1")
    path = next(each for each in files_at(scene.gitdir, REF) if each.endswith("0000000003.jsonl"))
    oid = git(scene.gitdir, "rev-parse", f"{REF}:{path}").strip()
    lost = scene.gitdir / "objects" / oid[:2] / oid[2:]
    kept = lost.read_bytes()
    lost.unlink()
    (scene.gitdir / "gitmem" / "said.db").unlink()
    group = session(scene, "s-1")

    ranges = []
    for number in range(2):
        found = transcript_pending(group)
        ranges.append((found.begin, found.end))
        transcript_checkpoint(group, f"range {number}", token=found.token)
    assert ranges == [(1, 2), (5, 8)]
    with pytest.raises(Damaged, match="cannot be read"):
        transcript_pending(group)
    assert transcript_status(group).unreadable

    lost.write_bytes(kept)
    healed = transcript_pending(group)
    assert (healed.begin, healed.end) == (3, 4)
    transcript_checkpoint(group, "healed", token=healed.token)
    assert transcript_status(group).pending == 0
    assert not transcript_status(group).unreadable


# The command, as hosts run it.


def command(scene: Scene, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    settings = {"PYTHONPATH": str(ROOT), "GITMEM_HOME": str(scene.root), **env}
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *args],
        env=os.environ | settings,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_commands_of_one_session_hold_a_range_together(said: Scene) -> None:
    """Each is a process of its own, in a sandbox even the first one of its namespace."""
    first = command(said, "transcript", "pending", "--json", GITMEM_SESSION="s-1")
    assert first.returncode == 0, first.stderr
    token = json.loads(first.stdout)["token"]
    busy = command(said, "transcript", "pending", GITMEM_SESSION="s-2")
    assert (busy.returncode, "a sync is in flight" in busy.stderr) == (7, True)

    taken = command(said, "transcript", "pending", "--take-over", GITMEM_SESSION="s-2")
    assert taken.returncode == 0, taken.stderr
    stale = command(
        said, "transcript", "checkpoint", "--token", token, "--summary", "x", GITMEM_SESSION="s-1"
    )
    assert (stale.returncode, "unknown token" in stale.stderr) == (4, True)
    done = command(said, "transcript", "checkpoint", "--summary", "y", GITMEM_SESSION="s-2")
    assert done.returncode == 0, done.stderr
    assert checkpoints(said) == [(1, 4)]
