"""The lock file: a record or a remark, and the last published tip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitmem.store.lock import (
    NO_INDEX,
    Inflight,
    Item,
    Lock,
    decode,
    encode,
    last_published,
    last_run,
    remark_in,
    run_in,
)

TIP = "a1" * 20
OTHER = "b2" * 20
RECORD = Inflight("id", OTHER, 1, False, (Item("a.md", None, OTHER, ".gitmem-x-0", False),))


@pytest.fixture
def gitdir(tmp_path: Path) -> Path:
    (tmp_path / "gitmem").mkdir()
    return tmp_path


def content(gitdir: Path) -> bytes:
    return (gitdir / "gitmem/lock").read_bytes()


def test_a_tip_stands_beside_a_remark_and_beside_a_record(gitdir: Path) -> None:
    with Lock(gitdir / "gitmem/lock") as lock:
        lock.clear(b"index 1 2 3", TIP)
        assert (lock.remark(), lock.tip(), lock.record()) == (b"index 1 2 3", TIP, None)
        lock.note(RECORD, TIP)
        assert (lock.remark(), lock.tip(), lock.record()) == (b"", TIP, RECORD)
        lock.mark(OTHER)
        assert (lock.tip(), lock.record()) == (OTHER, RECORD)
    assert last_published(gitdir) == OTHER


def test_the_first_line_is_what_a_release_without_tips_reads(gitdir: Path) -> None:
    """It reads up to the first line end, and takes a blank line before other text for torn."""
    with Lock(gitdir / "gitmem/lock") as lock:
        lock.clear(b"index 1 2 3", TIP)
        assert content(gitdir).split(b"\n")[0] == b"index 1 2 3"
        assert len(content(gitdir)) == 512
        lock.clear(b"", TIP)
        assert remark_in(content(gitdir)) == NO_INDEX
        lock.note(RECORD, TIP)
        assert decode(content(gitdir).split(b"\n")[0]) == RECORD


def test_a_content_without_a_tip_names_none(gitdir: Path) -> None:
    with Lock(gitdir / "gitmem/lock") as lock:
        assert lock.tip() == ""
        lock.mark(TIP)
        assert (lock.tip(), content(gitdir)) == ("", b""), "nobody has written yet"
        lock.clear(b"index 1 2 3")
        assert lock.tip() == ""
        lock.clear()
        assert lock.remark() == b""
    for torn in (b"x\ntip ", b"x\ntip " + TIP[:39].encode(), b"x\ntip %s rest" % TIP.encode()):
        assert run_in(torn) == ("", "")


def test_a_run_of_own_commits_stands_beside_the_tip(gitdir: Path) -> None:
    with Lock(gitdir / "gitmem/lock") as lock:
        lock.clear(b"index 1 2 3", TIP, OTHER)
        assert (lock.run(), lock.tip(), lock.remark()) == ((OTHER, TIP), TIP, b"index 1 2 3")
        lock.note(RECORD, TIP, OTHER)
        assert (lock.run(), lock.record()) == ((OTHER, TIP), RECORD)
        lock.mark(OTHER)
        assert lock.run() == ("", OTHER), "somebody else moved the branch: that run has ended"
    assert last_run(gitdir) == ("", OTHER)
    assert run_in(b"x\ntip %s since " % TIP.encode()) == ("", "")


def test_a_long_record_is_not_carried_on(gitdir: Path) -> None:
    """Every writer after a batch of thousands would write a megabyte, twice."""
    many = RECORD._replace(items=tuple(RECORD.items[0] for _ in range(1000)))
    with Lock(gitdir / "gitmem/lock") as lock:
        lock.note(many, TIP, OTHER)
        assert (lock.record(), len(content(gitdir)) > 50_000) == (many, True)
        lock.clear(b"index 1 2 3", TIP, OTHER)
        assert (len(content(gitdir)), lock.record(), lock.run()) == (512, None, (OTHER, TIP))
        lock.note(many)
        assert lock.record() == many


def test_what_a_dying_writer_leaves_behind_a_short_content_tells_nothing(gitdir: Path) -> None:
    """It died when the short one was written, before the file was cut."""
    many = RECORD._replace(items=tuple(RECORD.items[0] for _ in range(1000)))
    with Lock(gitdir / "gitmem/lock") as lock:
        lock.note(many, OTHER, OTHER)
        rest = content(gitdir)
        lock.clear(b"index 1 2 3", TIP)
    short = content(gitdir)
    (gitdir / "gitmem/lock").write_bytes(short + rest[len(short) :])
    with Lock(gitdir / "gitmem/lock") as lock:
        assert (lock.remark(), lock.tip(), lock.record()) == (b"index 1 2 3", TIP, None)


@pytest.mark.parametrize(
    "path", ["a.md", 'a "b".md', "a\\b", "\u00e9.md", "a\nb", "a\udc80", "\x7f"]
)
def test_a_record_is_json_whatever_a_path_holds(path: str) -> None:
    record = Inflight("id", OTHER, 17, True, (Item(path, None, TIP, ".gitmem-x-0", False),) * 2)

    assert decode(encode(record)) == record
    text = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode()
    assert encode(record).partition(b" ")[2] == text
