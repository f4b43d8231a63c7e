"""Messages that are dropped are gone, to the last byte, whoever dies on the way; and nothing else.

Also what `check` makes of a store in which something was said: the line of messages is no memory.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

import gitmem.memory.transcripts.prune
import gitmem.store.fault_points
import gitmem.store.worktree.fingerprint
from gitmem.errors import Busy, Damaged, StorageFailed
from gitmem.memory.admin.check import check, check_group
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.recover.undo import undo
from gitmem.memory.search.search import search
from gitmem.memory.transcripts.add import NewMessage, TranscriptAdded, transcript_add
from gitmem.memory.transcripts.checkpoint import StaleToken, transcript_checkpoint
from gitmem.memory.transcripts.pending import SyncInFlight, transcript_pending
from gitmem.memory.transcripts.prune import TranscriptPruned, transcript_prune
from gitmem.memory.transcripts.status import transcript_list, transcript_show, transcript_status
from gitmem.memory.upkeep.maintain import Maintained, PackLimits, maintain
from gitmem.memory.write.write import Edit, write
from gitmem.model.transcripts.batches import REF, Message
from gitmem.store.gc.packing import pack, packs_of
from gitmem.store.gc.prune_list import dropped
from gitmem.store.refs.side_branch import SideBranch, side_branch, side_branch_tip
from tests.faults.test_enospc import fill, small_disk
from tests.faults.test_secret_every_door import traces
from tests.faults.test_transcript_faults import is_sound, messages, write_in_turns
from tests.support.damage import WATCHDOG
from tests.support.faults import (
    Scene,
    blobs_in_history,
    commits_of,
    copied,
    dying_at,
    files_at,
    line,
    new_scene,
    tokens_in_history,
)
from tests.support.git import git, git_bytes
from tests.support.processes import Crowd, Voice, alone, calls_in, need_strace, traced

__all__ = ["small_disk"]

PRUNING = ("locked", "objects", "held", "logged", "branch")
FORGETTING = ("repacked", "listed", "unpacked", "removed")
MARCH = datetime(2026, 3, 1, 12, tzinfo=UTC)
GONE = ("qwertzuiopgone", "zebulonpikejr", "yttriumvalley")
"""What was said, by whom and where, that shall be forgotten; nothing else looks like it."""
STAYS = ("asdfghjklstays", "montgomeryq", "xenonharbour")


def at(scene: Scene, moment: datetime, session: str = "s-1") -> Group:
    """The group at some time, each look at which is a second later."""
    ticks = count()
    clock = lambda: moment + timedelta(seconds=next(ticks))  # noqa: E731
    return Group(Store(scene.root), "main", who=Who("ada", session), now=clock)


def say(scene: Scene, moment: datetime, words: tuple[str, str, str], *ids: str) -> TranscriptAdded:
    text, sender, chat = words
    with closing(at(scene, moment)) as group:
        said = [NewMessage(chat, sender, f"there is {text} in it", None, id) for id in ids]
        return transcript_add(group, said)


def close_all(scene: Scene, moment: datetime) -> None:
    """Summarise what is pending."""
    with closing(at(scene, moment)) as group:
        found = transcript_pending(group, chars=0, take_over=True)
        write(group, [Edit("summary.md", line(found.token), append=True)])
        transcript_checkpoint(group, "it was summarised", token=found.token)


JANUARY, FEBRUARY = datetime(2026, 1, 10, 12, tzinfo=UTC), datetime(2026, 2, 20, 12, tzinfo=UTC)
BEFORE = "2026-02-01"
FUTURE = datetime(2099, 1, 1, tzinfo=UTC)
"""After anything that is written by the clock of the machine."""


def talked(root: Path) -> Scene:
    """Eight messages of January that are summarised, one that is not, and two of February."""
    scene = new_scene(root, {"a.md": b"one\n", "deep/b.md": b"two\n"})
    say(scene, JANUARY, GONE, "old.0", "old.1", "old.2")
    say(scene, JANUARY + timedelta(hours=3), GONE, "old.3", "old.4")
    say(scene, JANUARY + timedelta(days=3), GONE, "old.5", "old.6", "old.7")
    close_all(scene, JANUARY + timedelta(days=4))
    say(scene, JANUARY + timedelta(days=5), STAYS, "pending.0")
    say(scene, FEBRUARY, STAYS, "new.0", "new.1")
    scene.write(Edit("a.md", line("memory")))
    return scene


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return talked(tmp_path / "store")


def prune(scene: Scene, before: str = BEFORE) -> TranscriptPruned:
    with closing(at(scene, MARCH)) as group:
        return transcript_prune(group, before)


def maintained(scene: Scene, limits: PackLimits | None = None) -> Maintained:
    with closing(at(scene, MARCH + timedelta(minutes=1))) as group:
        return maintain(group, limits=limits)


def forgotten(done: Maintained) -> str:
    """What became of the step that removes objects."""
    return next(each.outcome for each in done.steps if each.step == "forget")


def ids(scene: Scene) -> list[str]:
    return [each.id for each in messages(scene)]


ALL = [*(f"old.{number}" for number in range(8)), "pending.0", "new.0", "new.1"]
KEPT = ALL[8:]


def memory(scene: Scene) -> tuple[object, ...]:
    """All of memory and its past, by git's account."""
    blame = [git(scene.gitdir, "blame", "--root", "-p", "main", "--", each) for each in NAMES]
    log = git(scene.gitdir, "log", "--format=raw", "--stat", "main")
    return log, blobs_in_history(scene.gitdir), blame, git(scene.gitdir, "reflog", "show", "main")


NAMES = ("a.md", "deep/b.md", "summary.md")


def in_indexes(scene: Scene, wanted: str) -> list[str]:
    """Where in any SQLite file a word is, or most of it."""
    found = []
    for path in (scene.gitdir / "gitmem").glob("*.db"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)")
            rows = [str(row) for row in connection.execute("SELECT term FROM temp.terms")]
            rows += connection.iterdump()
        found += [f"{path.name}: {row}" for row in rows if wanted[: len(wanted) * 2 // 3] in row]
    return found


def headless(scene: Scene) -> list[Path]:
    """Packs that nobody sees and that have everything in them still."""
    packs = (scene.gitdir / "objects" / "pack").glob("*.pack")
    return [each for each in packs if not each.with_suffix(".idx").exists()]


def assert_gone(scene: Scene) -> None:
    """No byte of what was dropped is anywhere, and nothing else is missing."""
    for word in (*GONE, "old.3"):
        assert traces(Store(scene.root), word) == [], word
        assert in_indexes(scene, word) == [], word
    assert dropped(scene.gitdir) == []
    assert headless(scene) == []
    assert ids(scene) == KEPT
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    with closing(at(scene, MARCH)) as group:
        assert search(group, GONE[0], source="transcripts").hits == ()
        assert {hit.id for hit in search(group, STAYS[0], source="transcripts").hits} == {*KEPT}
        assert [each.chat for each in transcript_list(group).chats] == [STAYS[2]]
        assert transcript_status(group).pending == 3
        assert check(group).sound
    for word in GONE:
        assert in_indexes(scene, word) == [], word


def loose(scene: Scene) -> None:
    """As it comes."""


def packed(scene: Scene) -> None:
    assert maintained(scene, PackLimits(loose=0)).failed == ()
    assert len(packs_of(scene.gitdir)) == 1


def packed_bit_by_bit(scene: Scene) -> None:
    """Every kind of object in another pack, and those in which the dropped ones are last."""
    listed = git(scene.gitdir, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    for kind in ("commit", "tree", "blob"):
        names = [each.split()[0] for each in listed if each.split()[1] == kind]
        target = str(scene.gitdir / "objects" / "pack" / "pack")
        git(scene.gitdir, "pack-objects", "-q", target, input="\n".join(names))
    git(scene.gitdir, "prune-packed")
    assert len(packs_of(scene.gitdir)) == 3


FORMS: dict[str, Callable[[Scene], None]] = {
    "loose": loose,
    "packed": packed,
    "bit by bit": packed_bit_by_bit,
}


@pytest.mark.parametrize("form", FORMS)
def test_after_a_prune_and_maintenance_no_byte_is_left_and_memory_is_as_it_was(
    scene: Scene, form: str
) -> None:
    FORMS[form](scene)
    with closing(at(scene, MARCH)) as group:
        assert search(group, GONE[0], source="transcripts").hits
    assert traces(Store(scene.root), GONE[0]), "it can be found where it is"
    assert in_indexes(scene, GONE[0])
    before = memory(scene)

    done = prune(scene)
    assert (done.batches, done.messages, done.chats) == (3, 8, (GONE[2],))
    assert (done.kept_pending, done.kept_with_them) == (1, 0)
    assert forgotten(maintained(scene)) == "done"

    assert memory(scene) == before
    assert_gone(scene)
    assert forgotten(maintained(scene)) == "nothing"
    is_sound(scene)


def test_numbers_go_on_and_what_was_dropped_is_not_taken_in_again(scene: Scene) -> None:
    prune(scene)
    maintained(scene)
    for cache in (scene.gitdir / "gitmem").glob("said.db*"):
        cache.unlink()

    again = say(scene, MARCH, GONE, "old.3", "old.7")
    assert (again.added, again.known) == (0, 2)
    more = say(scene, MARCH, STAYS, "old.3", "more.0")  # the same id in another chat

    assert (more.first, more.last) == (12, 13)
    assert [each.number for each in messages(scene)] == [9, 10, 11, 12, 13]


def test_numbers_go_on_where_nothing_at_all_is_left(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store")
    say(scene, JANUARY, GONE, "0", "1", "2")
    close_all(scene, JANUARY)
    prune(scene)
    maintained(scene)
    assert messages(scene) == []

    assert say(scene, MARCH, STAYS, "3").first == 4
    with closing(at(scene, MARCH)) as group:
        assert transcript_status(group).pending == 1
    assert say(scene, MARCH, GONE, "1").added == 0


def test_a_second_prune_goes_on_from_the_first(scene: Scene) -> None:
    prune(scene)
    maintained(scene)
    close_all(scene, FEBRUARY + timedelta(days=2))
    say(scene, FEBRUARY + timedelta(days=3), STAYS, "newest")

    done = prune(scene, "2026-02-25")
    maintained(scene)

    assert done.messages == 3
    assert ids(scene) == ["newest"]
    assert say(scene, MARCH, GONE, "old.3").added == 0
    assert say(scene, MARCH, STAYS, "new.0").added == 0


def test_what_came_in_together_goes_together_or_not_at_all(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store")
    text, sender, chat = GONE
    early, late = (
        NewMessage(chat, sender, text, moment, f"{moment}") for moment in (JANUARY, MARCH)
    )
    with closing(at(scene, MARCH)) as group:
        transcript_add(group, [early, late])
    close_all(scene, MARCH)

    done = prune(scene)

    assert (done.messages, done.kept_with_them) == (0, 1)
    assert len(messages(scene)) == 2
    assert dropped(scene.gitdir) == []


def test_a_memory_that_is_byte_for_byte_a_dropped_batch_stays(scene: Scene) -> None:
    (path,) = (each for each in files_at(scene.gitdir, REF) if "0000000001" in each)
    batch = files_at(scene.gitdir, REF)[path]
    scene.write(Edit("copy.jsonl", batch))
    packed(scene)

    prune(scene)
    assert forgotten(maintained(scene)) == "done"

    assert scene.files()["copy.jsonl"] == batch
    assert batch in git_bytes(scene.gitdir, "cat-file", "--batch-all-objects", "--batch")
    is_sound(scene)


def test_a_checkpoint_that_is_taken_back_in_the_last_moment_saves_its_messages(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = git(scene.gitdir, "log", "-1", "--format=%H", "--grep=Gitmem-Op: checkpoint", "main")

    @contextmanager
    def slowly(*args: object) -> Iterator[SideBranch]:
        """Somebody is faster than who waits for the lock."""
        with closing(at(scene, MARCH)) as other:
            undo(other, [taken.strip()])
        with side_branch(*args) as found:  # type: ignore[arg-type]
            yield found

    monkeypatch.setattr(gitmem.memory.transcripts.prune, "side_branch", slowly)

    done = prune(scene)

    assert done.messages == 0
    assert ids(scene) == ALL
    assert dropped(scene.gitdir) == []


def die_pruning_at(voice: Voice, root: str, step: str) -> None:
    """Somebody who drops messages and dies at a named step."""
    dying_at(voice, step)
    prune(Scene(Path(root)))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("step", PRUNING)
def test_whoever_dies_dropping_leaves_all_or_nothing_for_maintenance(
    tmp_path: Path, step: str, again: bool
) -> None:
    scene = talked(tmp_path / "store")
    with closing(at(scene, MARCH)) as group:
        search(group, "warm", source="transcripts")
    before = memory(scene)

    assert alone(die_pruning_at, str(scene.root), step) == [["dies", step]]

    landed = step == "branch"
    assert ids(scene) == (KEPT if landed else ALL)
    if again:
        assert prune(scene).messages == (0 if landed else 8)
    done = maintained(scene)
    if landed or again:
        assert forgotten(done) == "done"
        assert_gone(scene)
    else:
        assert ids(scene) == ALL, "who was not told that it is gone has it still"
        assert dropped(scene.gitdir) == []
        with closing(at(scene, MARCH)) as group:
            assert len(transcript_show(group, GONE[2]).messages) == 8
        prune(scene)
        maintained(scene)
        assert_gone(scene)
    assert memory(scene) == before
    scene.write(Edit("a.md", line("alive")))
    is_sound(scene)


def test_maintenance_that_had_nothing_to_do_wakes_up(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gitmem.store.worktree.fingerprint, "SETTLED", 0.2)
    maintained(scene)
    time.sleep(0.3)
    maintained(scene)
    assert "nothing since" in maintained(scene).steps[0].detail

    alone(die_pruning_at, str(scene.root), "branch")

    assert forgotten(maintained(scene)) == "done"
    assert_gone(scene)


def die_forgetting_at(voice: Voice, root: str, step: int) -> None:
    """Maintenance that dies at the STEP-th named point of removing objects."""
    points = count(1)

    def reached(point: str) -> None:
        if point in (*FORGETTING, "drafted") and next(points) == step:
            voice.say("dies", point)
            os.kill(os.getpid(), signal.SIGKILL)

    gitmem.store.fault_points.reached = reached
    voice.say("done", forgotten(maintained(Scene(Path(root)))))


@pytest.mark.parametrize("form", FORMS)
def test_whoever_dies_removing_leaves_the_rest_to_the_next(tmp_path: Path, form: str) -> None:
    origin = talked(tmp_path / "origin")
    FORMS[form](origin)
    prune(origin)
    before, seen = memory(origin), set()
    for step in range(1, 100):
        scene = copied(origin, tmp_path / f"store {step}")
        said = alone(die_forgetting_at, str(scene.root), step)
        if said[0][0] == "done":
            break
        seen.add(said[0][1])
        assert memory(scene) == before
        assert ids(scene) == KEPT
        assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
        scene.write(Edit("c.md", line("after the death")))
        say(scene, MARCH, STAYS, "later")
        say_nothing_new(scene)

        assert forgotten(maintained(scene)) in ("done", "nothing")

        git(scene.gitdir, "update-ref", REF, f"{REF}~1")  # what was said since is another matter
        assert_gone_but_for(scene, ["c.md"])
    assert seen == {*FORGETTING} | (set() if form == "loose" else {"drafted"})


def say_nothing_new(scene: Scene) -> None:
    assert say(scene, MARCH, GONE, "old.2").added == 0


def assert_gone_but_for(scene: Scene, paths: list[str]) -> None:
    for word in (*GONE, "old.3"):
        assert traces(Store(scene.root), word) == [], word
    assert dropped(scene.gitdir) == []
    assert {*paths} <= {*scene.files()}
    assert os.listdir(scene.gitdir / "gitmem" / "packing") == ["lock"]
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    is_sound(scene)


def forget_on_the_word(voice: Voice, root: str) -> None:
    scene = Scene(Path(root))
    voice.say("ready")
    voice.hear()
    voice.say("done", forgotten(maintained(scene)))


def kill_at_every_unlink(folder: Path, form: str, every: int) -> None:
    """Whatever was removed when it died, the rest is known to the next."""
    need_strace()
    origin = talked(folder / "origin")
    FORMS[form](origin)
    prune(origin)
    before, deaths = memory(origin), 0
    for number in count(1, every):
        scene = copied(origin, folder / "store")
        with Crowd() as crowd:
            child = crowd.start(forget_on_the_word, str(scene.root))
            child.hear()
            with traced(child, folder / "log", ("unlink",), f"signal=KILL:when={number}"):
                child.say("go")
                said = child.finish()
        if said:
            assert len(calls_in(folder / "log")) < number
            break
        deaths += 1
        assert memory(scene) == before
        assert ids(scene) == KEPT
        assert forgotten(maintained(scene)) in ("done", "nothing")
        assert memory(scene) == before
        assert_gone(scene)
        shutil.rmtree(scene.root)
    assert deaths > 2


@pytest.mark.parametrize(("form", "every"), [("loose", 11), ("bit by bit", 7)])
def test_kill_at_some_of_the_files_that_go(tmp_path: Path, form: str, every: int) -> None:
    kill_at_every_unlink(tmp_path, form, every)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_kill_at_every_file_that_goes(tmp_path: Path, form: str) -> None:
    kill_at_every_unlink(tmp_path, form, every=1)


def test_a_reader_that_has_the_index_open_does_not_save_the_words(scene: Scene) -> None:
    """The file cannot be thrown away then; whoever asks next begins it anew."""
    with closing(at(scene, MARCH)) as group:
        search(group, GONE[0], source="transcripts")
    lock = os.open(scene.gitdir / "gitmem" / "said.db.lock", os.O_RDWR)
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_SH)
    prune(scene)
    os.close(lock)
    assert in_indexes(scene, GONE[0])

    with closing(at(scene, MARCH)) as group:
        assert search(group, GONE[0], source="transcripts").hits == ()

    maintained(scene)
    assert_gone(scene)


def answer_to_prune(scene: Scene) -> str:
    try:
        prune(scene)
    except StorageFailed as error:
        return error.message.rpartition(": ")[2]
    return "dropped"


def test_a_full_disk_drops_nothing_or_all_of_it(small_disk: Path, tmp_path: Path) -> None:
    origin = talked(tmp_path / "origin")
    answers = set()
    for spare in range(0, 16, 2):
        scene = copied(origin, small_disk / "store")
        for cache in (scene.gitdir / "gitmem").glob("*.db*"):
            cache.unlink()  # or the room that these had would do
        ballast = fill(small_disk, spare)
        answer = answer_to_prune(scene)
        answers.add(answer)
        ballast.unlink()
        assert ids(scene) == (KEPT if answer == "dropped" else ALL)
        maintained(scene)
        assert ids(scene) == (KEPT if answer == "dropped" else ALL)
        assert dropped(scene.gitdir) == []
        shutil.rmtree(scene.root)
    assert answers == {"dropped", "the disk is full"}


def test_a_full_disk_removes_nothing_and_the_next_maintenance_does(small_disk: Path) -> None:
    scene = talked(small_disk / "store")
    prune(scene)
    packed_bit_by_bit(scene)
    ballast = fill(small_disk, 1)
    assert forgotten(maintained(scene)) == "failed"
    ballast.unlink()
    before = memory(scene)
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""

    assert forgotten(maintained(scene)) == "done"

    assert memory(scene) == before
    assert_gone(scene)


def drop_for_a_while(voice: Voice, root: str) -> None:
    """Summarise everything, drop all of it, remove it from the disk, again and again."""
    scene = Scene(Path(root))
    voice.say("ready")
    stop, turns = time.monotonic() + float(voice.hear()[0]), 0
    while time.monotonic() < stop:
        with scene.opened("pruner") as group:
            try:
                found = transcript_pending(group, chars=0, take_over=True)
                if found.messages:
                    transcript_checkpoint(group, "all of it", token=found.token)
                ahead = f"{datetime.now(UTC) + timedelta(days=2):%Y-%m-%d}"
                done = transcript_prune(group, ahead)
                voice.say("dropped", done.messages)
                forget = forgotten(
                    maintain(group, limits=PackLimits(loose=random.choice([0, 10**6])))
                )
                assert forget in ("done", "nothing", "skipped"), forget
                turns += 1
            except (SyncInFlight, StaleToken, Busy):
                continue
    voice.say("turns", turns)


def add_for_a_while(voice: Voice, root: str, name: int) -> None:
    voice.say("ready")
    stop = time.monotonic() + float(voice.hear()[0])
    with Scene(Path(root)).opened(f"adder {name}") as group:
        for turn in count():
            if time.monotonic() > stop:
                return
            id = f"{name}.{turn}"
            done = transcript_add(group, [NewMessage("chat", "ada", f"said {id}", None, id)])
            assert (done.added, done.known) == (1, 0)
            again = transcript_add(group, [NewMessage("chat", "ada", f"said {id}", None, id)])
            assert (again.added, again.known) == (0, 1), "also where it was dropped since"
            voice.say("ack", id, done.first)


def beside_everybody(folder: Path, seconds: float, adders: int, writers: int, rounds: int) -> None:
    scene = new_scene(folder / "store", {"a.md": b"first\n"})
    with Crowd() as crowd:
        timed = [crowd.start(drop_for_a_while, str(scene.root))]
        timed += [crowd.start(add_for_a_while, str(scene.root), name) for name in range(adders)]
        for child in timed:
            child.hear()
            child.say(seconds)
        for name in range(writers):
            crowd.start(write_in_turns, str(scene.root), name, rounds)
        said = [each for _, each in crowd.hear_out(seconds + 120)]

    acked = {each[2]: each[1] for each in said if each[0] == "ack"}
    assert len(acked) == sum(each[0] == "ack" for each in said), "no number is given twice"
    gone = sum(each[1] for each in said if each[0] == "dropped")
    left: list[Message] = messages(scene)
    assert gone > 0
    assert next(each[1] for each in said if each[0] == "turns") > 0
    assert len(acked) == gone + len(left)
    assert {each.number: each.id for each in left}.items() <= acked.items()
    written = [each[1:] for each in said if each[0] == "written"]
    assert len(written) == writers * rounds
    assert {f"token-{token}" for token, _, _ in written} <= tokens_in_history(scene.gitdir)
    assert {commit for _, commit, _ in written} <= commits_of(scene.gitdir)
    assert git(scene.gitdir, "fsck", "--full", "--strict", "--no-dangling") == ""
    scene.write(Edit("again.md", line("again")))
    is_sound(scene)


def test_dropping_beside_those_who_add_and_write(tmp_path: Path) -> None:
    beside_everybody(tmp_path, seconds=2.5, adders=2, writers=1, rounds=15)


@pytest.mark.slow
def test_dropping_beside_many_for_a_minute(tmp_path: Path) -> None:
    beside_everybody(tmp_path, seconds=60, adders=4, writers=3, rounds=150)


# What `check` makes of it.


def repaired(scene: Scene) -> list[str]:
    """What check --repair found and did; it leaves a sound group."""
    done = check_group(Store(scene.root), "main", repair=True, now=lambda: MARCH)
    return [each.code for each in done.findings]


def lose_the_branch(scene: Scene, *, verified: bool) -> None:
    """Everything that says where the branch was, but for the commits themselves."""
    for name in ("refs/heads/main", "logs/refs/heads/main", "logs/HEAD", "packed-refs"):
        (scene.gitdir / name).unlink(missing_ok=True)
    if not verified:
        (scene.gitdir / "refs" / "gitmem" / "verified").unlink(missing_ok=True)
    shutil.rmtree(scene.gitdir / "refs" / "tags")
    (scene.gitdir / "refs" / "tags").mkdir()


@pytest.mark.parametrize("verified", [False, True])
@pytest.mark.parametrize("pruned", [False, True])
@pytest.mark.parametrize("form", ["loose", "packed"])
def test_a_lost_branch_never_comes_back_as_what_was_said(
    scene: Scene, form: str, pruned: bool, verified: bool
) -> None:
    FORMS[form](scene)
    say(scene, FUTURE, STAYS, "the newest of all")  # later than any memory
    if pruned:
        prune(scene)  # then the old line, too, is one that nobody builds on
    head, said = scene.head(), git(scene.gitdir, "rev-parse", REF).strip()
    lose_the_branch(scene, verified=verified)

    assert "branch-missing" in repaired(scene)

    assert scene.head() == head
    assert git(scene.gitdir, "rev-parse", REF).strip() == said
    assert scene.files()["a.md"] == line("memory").encode()
    assert "pending.0" in ids(scene)
    is_sound(scene)


def test_a_lost_commit_of_memory_is_never_stood_in_for_by_what_was_said(tmp_path: Path) -> None:
    scene = new_scene(tmp_path / "store", {"a.md": b"one\n"})
    first = scene.head()
    say(scene, FUTURE, STAYS, "0")  # by its time it would fit
    with closing(at(scene, FUTURE + timedelta(days=1))) as group:
        lost = write(group, [Edit("a.md", "two\n")]).commit
        last = write(group, [Edit("a.md", "three\n")]).commit
    for name in ("logs/refs/heads/main", "logs/HEAD"):
        (scene.gitdir / name).unlink()
    (scene.gitdir / "objects" / lost[:2] / lost[2:]).unlink()

    repaired(scene)

    history = git(scene.gitdir, "rev-list", "main").split()
    assert history[0] == last
    assert first in history
    said = git(scene.gitdir, "rev-parse", REF).strip()
    assert said not in history


def batch_object(scene: Scene, number: int) -> tuple[str, Path]:
    """The path of a batch, and the file of its object."""
    path = next(each for each in files_at(scene.gitdir, REF) if f"{number:010}" in each)
    oid = git(scene.gitdir, "rev-parse", f"{REF}:{path}").strip()
    return path, scene.gitdir / "objects" / oid[:2] / oid[2:]


@pytest.mark.parametrize("how", ["torn", "gone"])
def test_a_damaged_batch_is_found_named_and_hides_no_other(scene: Scene, how: str) -> None:
    path, file = batch_object(scene, 4)
    if how == "gone":
        file.unlink()
    else:
        file.chmod(0o600)
        file.write_bytes(file.read_bytes()[:-4])
    with closing(at(scene, MARCH)) as group:
        found = check(group)
        (problem,) = (each for each in found.findings if each.stands)
        assert problem.severity == "error"
        assert problem.message.startswith(f"{path} of the transcripts cannot be read: object ")
        assert problem.path == path

    codes = repaired(scene)

    assert problem.code in codes or "object-missing" in codes
    (scene.gitdir / "gitmem" / "said.db").unlink(missing_ok=True)
    with closing(at(scene, MARCH)) as group:
        assert transcript_status(group).unreadable
        shown = transcript_show(group, GONE[2]).messages
        assert [each.number for each in shown] == [1, 2, 3, 6, 7, 8]
        assert (
            transcript_add(group, [NewMessage(GONE[2], "x", "after it", None, "after")]).first == 12
        )
        assert search(group, STAYS[0], source="transcripts").hits


@pytest.mark.parametrize("what", ["the day", "the hour"])
def test_a_damaged_folder_of_what_was_said_does_not_stop_what_is_said_the_next_day(
    scene: Scene, what: str
) -> None:
    with closing(at(scene, MARCH)) as group:
        search(group, "warm", source="transcripts")
    tree = {"the day": "2026-02-20", "the hour": "2026-02-20/12"}[what]
    oid = git(scene.gitdir, "rev-parse", f"{REF}:{tree}").strip()
    (scene.gitdir / "objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(Damaged):
        say(scene, FEBRUARY + timedelta(minutes=6), STAYS, "in the same hour")
    with closing(at(scene, MARCH)) as group:
        assert any(f"{tree} of the transcripts cannot" in x.message for x in check(group).findings)

    assert say(scene, FEBRUARY + timedelta(days=1), STAYS, "new.2").first == 12
    with closing(at(scene, MARCH)) as group:
        assert len(transcript_show(group, STAYS[2]).messages) == 4, "the index knows where it is"


@pytest.mark.parametrize("content", [b"", b"\0" * 41, b"garbage"])
@pytest.mark.parametrize("was_packed", [False, True])
def test_a_torn_ref_of_what_was_said_is_restored_from_its_log(
    scene: Scene, content: bytes, was_packed: bool
) -> None:
    if was_packed:
        git(scene.gitdir, "pack-refs", "--all")
        say(scene, FEBRUARY, STAYS, "after packing")
    kept, tip = ids(scene), git(scene.gitdir, "rev-parse", REF).strip()
    (scene.gitdir / REF).write_bytes(content)

    assert "ref-malformed" in repaired(scene)

    assert git(scene.gitdir, "rev-parse", REF).strip() == tip
    assert ids(scene) == kept
    assert say(scene, MARCH, STAYS, "next").first == len(kept) + 1
    is_sound(scene)


def test_a_torn_ref_without_a_log_is_found_by_its_newest_commit_and_never_by_a_dropped_one(
    scene: Scene,
) -> None:
    prune(scene)
    say(scene, MARCH, STAYS, "after it")
    tip = git(scene.gitdir, "rev-parse", REF).strip()
    (scene.gitdir / REF).write_bytes(b"")
    (scene.gitdir / "logs" / REF).unlink()

    repaired(scene)

    assert git(scene.gitdir, "rev-parse", REF).strip() == tip
    assert ids(scene) == [*KEPT, "after it"]


@pytest.mark.parametrize("pruned", [False, True])
def test_of_a_ref_whose_file_is_gone_nothing_is_lost(scene: Scene, pruned: bool) -> None:
    if pruned:
        prune(scene)
    kept = ids(scene)
    (scene.gitdir / REF).unlink()

    repaired(scene)

    with closing(at(scene, MARCH)) as group:
        assert transcript_status(group).last == 11
        shown = [transcript_show(group, each.chat) for each in transcript_list(group).chats]
        assert sorted(row.id for chat in shown for row in chat.messages) == sorted(kept)
    assert say(scene, MARCH, STAYS, "next").first == 12
    assert ids(scene) == [*kept, "next"]
    with closing(at(scene, MARCH)) as group:
        assert check(group).sound
        assert side_branch_tip(group.repository, REF)


def test_packing_keeps_what_was_said(scene: Scene) -> None:
    began = time.monotonic()
    for number in range(3):
        say(scene, MARCH, STAYS, f"more.{number}")
        pack(scene.gitdir, seconds=60, most_packs=2)

    assert time.monotonic() - began < WATCHDOG
    assert ids(scene) == [*ALL, "more.0", "more.1", "more.2"]
    is_sound(scene)
