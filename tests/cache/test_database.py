"""A derived SQLite file is brought to the state that is asked for, and never trusted."""

from __future__ import annotations

import random
import resource
import signal
import sqlite3
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cache.database import (
    BESIDE,
    MANY,
    CacheBroken,
    Connection,
    Query,
    Schema,
    chunks,
    discard,
    run_query,
)
from gitmem.errors import Damaged
from tests.support.processes import Crowd, Voice, alone

FORM = Schema(1, "CREATE TABLE facts (state INTEGER NOT NULL)")


def at(state: int, *, keep: bool = True) -> Query:
    def bring(connection: Connection) -> None:
        connection.execute("DELETE FROM facts")
        connection.execute("INSERT INTO facts VALUES (?)", (state,))

    return Query(lambda connection: read(connection) == [(state,)], bring, keep)


def read(connection: Connection) -> list[tuple[int]]:
    return connection.execute("SELECT state FROM facts").fetchall()


def asked(path: Path, question: Query) -> list[tuple[int]]:
    return run_query(path, FORM, question, read)


def stored(path: Path) -> list[tuple[int]]:
    connection = sqlite3.connect(path)
    try:
        return read(connection)
    finally:
        connection.close()


def test_it_is_brought_to_the_state_that_is_asked_for_and_stays_there(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"

    assert asked(path, at(1)) == [(1,)]
    assert asked(path, at(2)) == [(2,)]
    assert stored(path) == [(2,)]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_state_of_the_past_is_answered_and_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(2))

    assert asked(path, at(1, keep=False)) == [(1,)]
    assert stored(path) == [(2,)]


@pytest.mark.parametrize(
    "damage", [b"", b"not a database at all, and long enough to look at" * 99, b"SQLite format 3\0"]
)
def test_a_torn_file_is_begun_anew(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    path.write_bytes(damage)

    assert asked(path, at(1)) == [(1,)]
    assert stored(path) == [(1,)]


def test_a_file_cut_in_half_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])

    assert asked(path, at(3)) == [(3,)]
    assert stored(path) == [(3,)]


def test_a_file_of_another_form_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    other = Schema(2, "CREATE TABLE others (state INTEGER)")
    nothing = Query(lambda _: True, lambda _: None)

    run_query(path, other, nothing, lambda connection: connection.execute("SELECT * FROM others"))

    assert asked(path, at(1)) == [(1,)]


def test_a_file_that_was_filled_by_other_rules_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))

    anything = Query(lambda _: True, lambda _: None)
    assert run_query(path, FORM, anything, read) == [(1,)]
    assert run_query(path, FORM._replace(number=2), anything, read) == []


def test_nobody_waits_for_another_who_brings_it_up(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    assert asked(path, at(2)) == [(2,)]

    other.execute("ROLLBACK")
    assert read(other) == [(1,)]
    other.close()


def test_a_place_where_nothing_can_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    nowhere = tmp_path / "file" / "facts.db"
    (tmp_path / "file").write_text("not a folder")

    assert asked(nowhere, at(1)) == [(1,)]
    (tmp_path / "facts.db").symlink_to(tmp_path / "elsewhere.db")
    assert asked(tmp_path / "facts.db", at(1)) == [(1,)]
    assert not (tmp_path / "elsewhere.db").exists()


def test_what_stops_the_bringing_is_told_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))

    def broken(connection: Connection) -> None:
        connection.execute("DELETE FROM facts")
        raise Damaged("damaged")

    with pytest.raises(Damaged, match="damaged"):
        asked(path, Query(lambda _: False, broken))
    assert stored(path) == [(1,)]


def test_without_a_place_the_answer_comes_from_memory_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run_query(None, FORM, at(1), read) == [(1,)]
    assert run_query(None, FORM, at(2, keep=False), read) == [(2,)]
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_in_the_answer_is_told_and_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))

    def broken(connection: Connection) -> None:
        raise Damaged("no answer")

    with pytest.raises(Damaged, match="no answer"):
        run_query(path, FORM, at(2), broken)
    assert stored(path) == [(1,)]


@pytest.mark.parametrize("kind", [TypeError, ValueError, KeyError, IndexError, UnicodeError])
def test_a_file_whose_rows_make_no_sense_is_begun_anew(
    tmp_path: Path, kind: type[Exception]
) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    with sqlite3.connect(path) as table:
        table.execute("UPDATE facts SET state = 99")
    table.close()

    def picky(connection: Connection) -> list[tuple[int]]:
        if (99,) in (found := read(connection)):
            raise kind("torn")
        return found

    question = at(1)._replace(is_current=lambda connection: bool(read(connection)))
    assert run_query(path, FORM, question, picky) == [(1,)]
    assert stored(path) == [(1,)]


def test_a_mistake_that_is_no_fault_of_the_file_is_told(tmp_path: Path) -> None:
    def mistaken(connection: Connection) -> None:
        raise TypeError("a mistake")

    with pytest.raises(TypeError, match="a mistake"):
        run_query(tmp_path / "facts.db", FORM, at(1), mistaken)


WORDS = Schema(1, "CREATE TABLE words (word TEXT NOT NULL)")
SECRET = "heron" * 20


def saying(word: str, *, drops: str = "") -> Query:
    """Bring the words to WORD; a file that has DROPS must not be carried on."""

    def bring(connection: Connection) -> None:
        there = [found for (found,) in connection.execute("SELECT word FROM words")]
        if drops and drops in there:
            raise CacheBroken
        connection.execute("DELETE FROM words")
        connection.execute("INSERT INTO words VALUES (?)", (word,))

    return Query(lambda connection: words(connection) == [word], bring)


def words(connection: Connection) -> list[str]:
    return [word for (word,) in connection.execute("SELECT word FROM words")]


def bytes_of(path: Path) -> bytes:
    """All that the files beside PATH hold."""
    return b"".join(each.read_bytes() for each in path.parent.glob(f"{path.name}*"))


def test_a_file_that_holds_what_it_must_not_hold_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "words.db"
    run_query(path, WORDS, saying(SECRET), words)
    assert SECRET.encode() in bytes_of(path)

    assert run_query(path, WORDS, saying("stork", drops=SECRET), words) == ["stork"]

    assert SECRET.encode() not in bytes_of(path)
    assert b"stork" in bytes_of(path)


def hold(voice: Voice, path: str) -> None:
    """Read twice, and wait between the two."""

    def answer(connection: Connection) -> None:
        voice.say("first", read(connection))
        voice.hear()
        voice.say("second", read(connection))

    run_query(Path(path), FORM, Query(lambda _: True, lambda _: None), answer)


def files_of(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()} & {
        f"{path.name}{end}" for end in (*BESIDE, "")
    }


def test_nobody_throws_away_what_another_has_open(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    with Crowd() as crowd:
        child = crowd.start(hold, str(path))
        assert child.hear() == ["first", [[1]]]

        assert not discard(path)
        assert path.exists()

        child.say("on")
        assert child.finish()[0] == ["second", [[1]]]
    assert discard(path)
    assert files_of(path) == set()
    assert discard(path)
    assert not discard(tmp_path / "nowhere" / "facts.db")


def test_who_reads_is_not_disturbed_by_who_brings_it_on(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    with Crowd() as crowd:
        child = crowd.start(hold, str(path))
        child.hear()

        assert asked(path, at(2)) == [(2,)]
        assert stored(path) == [(2,)]

        child.say("on")
        assert child.finish()[0] == ["second", [[1]]]


def test_a_spoilt_file_that_another_reads_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))

    def spoilt(connection: Connection) -> None:
        if read(connection):
            raise CacheBroken
        at(2).update(connection)

    question = Query(lambda connection: read(connection) == [(2,)], spoilt)
    with Crowd() as crowd:
        child = crowd.start(hold, str(path))
        child.hear()

        assert asked(path, question) == [(2,)]
        assert stored(path) == [(1,)]

        child.say("on")
        assert child.finish()[0] == ["second", [[1]]]
    assert asked(path, question) == [(2,)]
    assert stored(path) == [(2,)]


ROWS = 400


def many_at(state: int) -> Query:
    """A state of many rows, brought slowly: whoever sees half of it sees a wrong answer."""

    def bring(connection: Connection) -> None:
        connection.execute("DELETE FROM facts")
        for number in range(ROWS):
            connection.execute("INSERT INTO facts VALUES (?)", (state,))
            if number == ROWS // 2:
                time.sleep(0.001)

    def is_there(connection: Connection) -> bool:
        return connection.execute("SELECT min(state) FROM facts").fetchone() == (state,)

    return Query(is_there, bring)


def read_slowly(connection: Connection) -> list[list[tuple[int]]]:
    before = read(connection)
    time.sleep(0.001)
    return [before, read(connection)]


def ask_again_and_again(voice: Voice, path: str, seed: int, rounds: int) -> None:
    chance = random.Random(seed)
    for _ in range(rounds):
        state = chance.randint(1, 3)
        question = many_at(state)._replace(keep=chance.random() < 0.8)
        for found in run_query(Path(path), FORM, question, read_slowly):
            if found != [(state,)] * ROWS:
                voice.say("wrong", state, sorted(set(found)), len(found))
        if chance.random() < 0.05:
            discard(Path(path))


def test_many_who_bring_and_read_at_once_all_get_right_answers(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with Crowd() as crowd:
        for seed in range(6):
            crowd.start(ask_again_and_again, str(path), seed, 25)
        said = [said for _, said in crowd.hear_out()]

    assert said == [["done"]] * 6
    assert run_query(path, FORM, many_at(9), read) == [(9,)] * ROWS
    assert stored(path) == [(9,)] * ROWS


def die_bringing(voice: Voice, path: str, state: int) -> None:
    """Bring a great many rows, say so in the middle, and wait for the end."""

    def bring(connection: Connection) -> None:
        connection.execute("PRAGMA cache_size=10")  # so that some of it reaches the disk
        connection.execute("DELETE FROM facts")
        connection.executemany("INSERT INTO facts VALUES (?)", [(state,)] * 200_000)
        voice.say("half")
        voice.hear()

    run_query(Path(path), FORM, Query(lambda _: False, bring), read)


def test_who_is_killed_while_bringing_it_leaves_a_good_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    inode = path.stat().st_ino
    for state in (7, 8):
        with Crowd() as crowd:
            child = crowd.start(die_bringing, str(path), state)
            assert child.hear() == ["half"]
            assert Path(f"{path}-wal").stat().st_size > 100_000
            child.kill()
            child.finish()

    assert asked(path, at(1)) == [(1,)]
    assert asked(path, at(2)) == [(2,)]
    assert stored(path) == [(2,)]
    assert path.stat().st_ino == inode


def test_the_log_of_who_was_killed_is_thrown_away_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    with Crowd() as crowd:
        child = crowd.start(die_bringing, str(path), 7)
        child.hear()
        child.kill()
        child.finish()
    assert f"{path.name}-wal" in files_of(path)

    assert discard(path)

    assert files_of(path) == set()
    assert asked(path, at(1)) == [(1,)]


def hog(voice: Voice, path: str) -> None:
    """Keep everybody else out, as a backup program may do."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA locking_mode=EXCLUSIVE")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE facts SET state = state")
    voice.say("mine")
    voice.hear()
    connection.execute("ROLLBACK")
    connection.close()


def test_a_file_that_is_merely_busy_is_not_thrown_away(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    inode = path.stat().st_ino
    with Crowd() as crowd:
        child = crowd.start(hog, str(path))
        assert child.hear() == ["mine"]

        assert asked(path, at(1)) == [(1,)]
        assert asked(path, at(2)) == [(2,)]

        assert path.stat().st_ino == inode
        child.say("go")
        child.finish()
    assert stored(path) == [(1,)]
    assert asked(path, at(3)) == [(3,)]


def change_mode(voice: Voice, path: str) -> None:
    """Do what only one who is alone may do."""
    connection = sqlite3.connect(path, timeout=0)
    try:
        mode = connection.execute("PRAGMA journal_mode=DELETE").fetchone()[0]
    except sqlite3.OperationalError:
        mode = "locked"
    connection.close()
    voice.say(mode)


def test_to_ask_ends_no_lock_that_the_same_process_has_on_the_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.db"
    asked(path, at(1))
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    assert read(reader) == [(1,)]

    asked(path, at(2))

    assert alone(change_mode, str(path))[0] in (["wal"], ["locked"])
    assert read(reader) == [(1,)]
    reader.close()


def ask_on_a_full_disk(voice: Voice, path: str) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    for state in (2, 3):
        found = run_query(Path(path), FORM, many_rows_at(state), read)
        voice.say(state, len(found), sorted(set(found)))


def many_rows_at(state: int) -> Query:
    def bring(connection: Connection) -> None:
        connection.execute("DELETE FROM facts")
        connection.executemany("INSERT INTO facts VALUES (?)", [(state,)] * 20_000)

    def is_there(connection: Connection) -> bool:
        return connection.execute("SELECT min(state) FROM facts").fetchone() == (state,)

    return Query(is_there, bring)


@pytest.mark.parametrize("begun", [False, True])
def test_a_disk_that_takes_no_more_is_no_reason_to_fail(tmp_path: Path, begun: bool) -> None:
    path = tmp_path / "facts.db"
    if begun:
        asked(path, at(1))

    said = alone(ask_on_a_full_disk, str(path))

    assert said == [[2, 20_000, [[2]]], [3, 20_000, [[3]]], ["done"]]
    assert asked(path, at(4)) == [(4,)]
    assert stored(path) == [(4,)]


@given(st.lists(st.integers(), max_size=3 * MANY))
def test_portions_are_what_a_statement_takes(values: list[int]) -> None:
    found = list(chunks(values))

    assert [each for part, _ in found for each in part] == values
    assert all(1 <= len(part) <= MANY for part, _ in found)
    assert all(marks.count("?") == len(part) for part, marks in found)
