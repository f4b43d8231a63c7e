"""What a session leaves is claimed by one, and nothing newer is lost over it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitmem.memory.transcripts.spool import (
    ABANDONED,
    FOLDER,
    SessionNote,
    claim,
    discard,
    hand_over,
    leave,
    left_by,
    put_back,
)

NOTE = SessionNote("claude-code", "s-1", "/a/s-1.jsonl", "/work", "")


@pytest.fixture
def store(tmp_path: Path) -> str:
    (tmp_path / "repos").mkdir()
    return str(tmp_path)


def left(store: str) -> list[str]:
    return sorted(os.listdir(os.path.join(store, FOLDER)))


def test_what_is_left_is_taken_once(store: str) -> None:
    leave(store, NOTE)

    first = list(claim(store))
    second = list(claim(store))

    assert [each.note for each in first] == [NOTE]
    assert second == []
    discard(first[0])
    assert left(store) == []


def test_a_session_leaves_one_thing_the_newest(store: str) -> None:
    leave(store, NOTE)
    leave(store, NOTE._replace(folder="/elsewhere"))
    leave(store, NOTE._replace(session="s-2"))

    assert {each.note.folder for each in claim(store)} == {"/elsewhere", "/work"}


def test_what_came_meanwhile_is_not_removed_with_what_is_done(store: str) -> None:
    leave(store, NOTE)
    (claimed,) = claim(store)
    leave(store, NOTE._replace(folder="/newer"))

    discard(claimed)

    assert [each.note.folder for each in claim(store)] == ["/newer"]


@pytest.mark.parametrize("newer", [False, True])
def test_what_could_not_be_done_is_there_again(store: str, newer: bool) -> None:
    leave(store, NOTE)
    (claimed,) = claim(store)
    if newer:
        leave(store, NOTE._replace(folder="/newer"))

    put_back(claimed)

    assert [each.note.folder for each in claim(store)] == ["/newer" if newer else "/work"]


def test_a_store_may_be_called_anything(tmp_path: Path) -> None:
    store = tmp_path / "x.json.d"
    (store / "repos").mkdir(parents=True)
    leave(str(store), NOTE)
    (claimed,) = claim(str(store))

    put_back(claimed)

    assert [each.note for each in claim(str(store))] == [NOTE]


def test_a_summary_is_on_the_disk_before_it_counts(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        real(fd)
        synced.append(Path(f"/proc/self/fd/{fd}").read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)

    leave(store, NOTE)
    assert synced == []
    leave(store, NOTE._replace(summary="the only copy"))

    assert b"the only copy" in synced[0]


def test_a_summary_takes_no_place_but_its_own(store: str) -> None:
    leave(store, NOTE)
    leave(store, NOTE._replace(summary="one"))
    leave(store, NOTE._replace(summary="two"))

    assert left_by(store, NOTE) == NOTE
    assert {each.note.summary for each in claim(store)} == {"", "one", "two"}


def test_what_somebody_died_over_is_taken_again_after_a_while(store: str) -> None:
    leave(store, NOTE)
    (claimed,) = claim(store)
    assert list(claim(store)) == []
    then = time.time() - ABANDONED - 1
    os.utime(claimed.path, (then, then))

    assert [each.note for each in claim(store)] == [NOTE]


@pytest.mark.parametrize("session", ["../../x", "a/b", "\udc80", "ü" * 300, ".", "漢字"])
def test_a_session_may_be_called_anything(store: str, session: str) -> None:
    leave(store, NOTE._replace(session=session))

    assert [each.note.session for each in claim(store)] == [session]
    assert sorted(os.listdir(store)) == ["repos", FOLDER]


def test_where_there_is_no_store_nothing_is_left(tmp_path: Path) -> None:
    leave(str(tmp_path / "none"), NOTE)

    assert list(tmp_path.iterdir()) == []


def test_nobody_else_can_read_it(store: str) -> None:
    leave(store, NOTE)

    folder = Path(store) / FOLDER
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / left(store)[0]).stat().st_mode & 0o777 == 0o600


def test_a_group_with_a_new_name_keeps_what_was_left_for_it(store: str) -> None:
    for number, name in enumerate(("shop", "other", "")):
        leave(store, NOTE._replace(session=f"s-{number}", group=name, summary=f"of {name}"))
    (first, *_) = claim(store)

    hand_over(store, "shop", "market")

    put_back(first)
    then = time.time() - ABANDONED - 1
    for name in left(store):
        os.utime(os.path.join(store, FOLDER, name), (then, then))
    found = {each.note.summary: each.note.group for each in claim(store)}
    assert found == {"of shop": "market", "of other": "other", "of ": ""}


def test_what_somebody_died_over_while_writing_it_goes(store: str) -> None:
    leave(store, NOTE)
    for name, age in ((".x.json.7", ABANDONED + 1), (".y.json.8", 0)):
        path = os.path.join(store, FOLDER, name)
        Path(path).write_text("{")
        os.utime(path, (time.time() - age,) * 2)

    assert [each.note for each in claim(store)] == [NOTE]

    assert [name for name in left(store) if name[0] == "."] == [".y.json.8"]


def test_what_cannot_be_written_leaves_nothing_behind(store: str) -> None:
    folder = Path(store) / FOLDER
    (folder / "claude-code-s-1.json").mkdir(parents=True)  # no file can claim the place of it

    with pytest.raises(OSError, match="directory"):
        leave(store, NOTE)

    assert left(store) == ["claude-code-s-1.json"]
