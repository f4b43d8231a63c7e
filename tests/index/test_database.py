"""A derived SQLite file is brought to the state that is asked for, and never trusted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gitmem.index.database import Connection, Form, Question, ask

FORM = Form(1, "CREATE TABLE facts (state INTEGER NOT NULL)")


def at(state: int, *, keep: bool = True) -> Question:
    def bring(connection: Connection) -> None:
        connection.execute("DELETE FROM facts")
        connection.execute("INSERT INTO facts VALUES (?)", (state,))

    return Question(lambda connection: read(connection) == [(state,)], bring, keep)


def read(connection: Connection) -> list[tuple[int]]:
    return connection.execute("SELECT state FROM facts").fetchall()


def asked(path: Path, question: Question) -> list[tuple[int]]:
    return ask(path, FORM, question, read)


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
    other = Form(2, "CREATE TABLE others (state INTEGER)")
    nothing = Question(lambda _: True, lambda _: None)

    ask(path, other, nothing, lambda connection: connection.execute("SELECT * FROM others"))

    assert asked(path, at(1)) == [(1,)]


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
        raise ValueError("damaged")

    with pytest.raises(ValueError, match="damaged"):
        asked(path, Question(lambda _: False, broken))
    assert stored(path) == [(1,)]
