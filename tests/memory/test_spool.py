"""What a session leaves is taken by one, and nothing newer is lost over it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitmem.memory.transcripts.spool import (
    ABANDONED,
    FOLDER,
    Ended,
    done,
    hand_over,
    leave,
    left_by,
    put_back,
    take,
)

ENDED = Ended("claude-code", "s-1", "/a/s-1.jsonl", "/work", "")


@pytest.fixture
def store(tmp_path: Path) -> str:
    (tmp_path / "repos").mkdir()
    return str(tmp_path)


def left(store: str) -> list[str]:
    return sorted(os.listdir(os.path.join(store, FOLDER)))


def test_what_is_left_is_taken_once(store: str) -> None:
    leave(store, ENDED)

    first = list(take(store))
    second = list(take(store))

    assert [each.ended for each in first] == [ENDED]
    assert second == []
    done(first[0])
    assert left(store) == []


def test_a_session_leaves_one_thing_the_newest(store: str) -> None:
    leave(store, ENDED)
    leave(store, ENDED._replace(folder="/elsewhere"))
    leave(store, ENDED._replace(session="s-2"))

    assert {each.ended.folder for each in take(store)} == {"/elsewhere", "/work"}


def test_what_came_meanwhile_is_not_removed_with_what_is_done(store: str) -> None:
    leave(store, ENDED)
    (taken,) = take(store)
    leave(store, ENDED._replace(folder="/newer"))

    done(taken)

    assert [each.ended.folder for each in take(store)] == ["/newer"]


@pytest.mark.parametrize("newer", [False, True])
def test_what_could_not_be_done_is_there_again(store: str, newer: bool) -> None:
    leave(store, ENDED)
    (taken,) = take(store)
    if newer:
        leave(store, ENDED._replace(folder="/newer"))

    put_back(taken)

    assert [each.ended.folder for each in take(store)] == ["/newer" if newer else "/work"]


def test_a_store_may_be_called_anything(tmp_path: Path) -> None:
    store = tmp_path / "x.json.d"
    (store / "repos").mkdir(parents=True)
    leave(str(store), ENDED)
    (taken,) = take(str(store))

    put_back(taken)

    assert [each.ended for each in take(str(store))] == [ENDED]


def test_a_summary_is_on_the_disk_before_it_counts(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        real(fd)
        synced.append(Path(f"/proc/self/fd/{fd}").read_bytes())

    monkeypatch.setattr(os, "fsync", fsync)

    leave(store, ENDED)
    assert synced == []
    leave(store, ENDED._replace(summary="the only copy"))

    assert b"the only copy" in synced[0]


def test_a_summary_takes_no_place_but_its_own(store: str) -> None:
    leave(store, ENDED)
    leave(store, ENDED._replace(summary="one"))
    leave(store, ENDED._replace(summary="two"))

    assert left_by(store, ENDED) == ENDED
    assert {each.ended.summary for each in take(store)} == {"", "one", "two"}


def test_what_somebody_died_over_is_taken_again_after_a_while(store: str) -> None:
    leave(store, ENDED)
    (taken,) = take(store)
    assert list(take(store)) == []
    then = time.time() - ABANDONED - 1
    os.utime(taken.path, (then, then))

    assert [each.ended for each in take(store)] == [ENDED]


@pytest.mark.parametrize("session", ["../../x", "a/b", "\udc80", "ü" * 300, ".", "漢字"])
def test_a_session_may_be_called_anything(store: str, session: str) -> None:
    leave(store, ENDED._replace(session=session))

    assert [each.ended.session for each in take(store)] == [session]
    assert sorted(os.listdir(store)) == ["repos", FOLDER]


def test_where_there_is_no_store_nothing_is_left(tmp_path: Path) -> None:
    leave(str(tmp_path / "none"), ENDED)

    assert list(tmp_path.iterdir()) == []


def test_nobody_else_can_read_it(store: str) -> None:
    leave(store, ENDED)

    folder = Path(store) / FOLDER
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / left(store)[0]).stat().st_mode & 0o777 == 0o600


def test_a_group_with_a_new_name_keeps_what_was_left_for_it(store: str) -> None:
    for number, name in enumerate(("shop", "other", "")):
        leave(store, ENDED._replace(session=f"s-{number}", group=name, summary=f"of {name}"))
    (first, *_) = take(store)

    hand_over(store, "shop", "market")

    put_back(first)
    then = time.time() - ABANDONED - 1
    for name in left(store):
        os.utime(os.path.join(store, FOLDER, name), (then, then))
    found = {each.ended.summary: each.ended.group for each in take(store)}
    assert found == {"of shop": "market", "of other": "other", "of ": ""}


def test_what_somebody_died_over_while_writing_it_goes(store: str) -> None:
    leave(store, ENDED)
    for name, age in ((".x.json.7", ABANDONED + 1), (".y.json.8", 0)):
        path = os.path.join(store, FOLDER, name)
        Path(path).write_text("{")
        os.utime(path, (time.time() - age,) * 2)

    assert [each.ended for each in take(store)] == [ENDED]

    assert [name for name in left(store) if name[0] == "."] == [".y.json.8"]


def test_what_cannot_be_written_leaves_nothing_behind(store: str) -> None:
    folder = Path(store) / FOLDER
    (folder / "claude-code-s-1.json").mkdir(parents=True)  # no file can take the place of it

    with pytest.raises(OSError, match="directory"):
        leave(store, ENDED)

    assert left(store) == ["claude-code-s-1.json"]
