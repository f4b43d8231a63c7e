"""The lock file: a record or a remark, and the last published tip."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.git.lock import NO_INDEX, Item, Lock, Record, decode, last_published, remark_in, run_in

TIP = "a1" * 20
OTHER = "b2" * 20
RECORD = Record("id", OTHER, 1, False, (Item("a.md", None, OTHER, ".gitmem-x-0", False),))


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
