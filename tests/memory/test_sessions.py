"""What is remembered of a session comes back, or nothing does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.memory.transcripts.sessions import (
    FOLDER,
    KEPT,
    Session,
    forget_sessions,
    keep_session,
    read_session,
)

KNOWN = Session((("main", "a" * 40), ("global", "b" * 40)), 17, True)


@pytest.fixture
def gitdir(tmp_path: Path) -> Path:
    (tmp_path / "gitmem").mkdir()
    return tmp_path


@pytest.mark.parametrize("session", ["s-1", "", "../../x", "\udc80", "x" * 1000])
def test_it_comes_back(gitdir: Path, session: str) -> None:
    keep_session(gitdir, session, KNOWN)

    assert read_session(gitdir, session) == KNOWN
    assert read_session(gitdir, "another") == Session()
    assert [each.name for each in gitdir.iterdir()] == ["gitmem"]


@pytest.mark.parametrize("torn", [b"", b"{", b"[]", b'{"shown": [1]}', b"\xff", b"[" * 100_000])
def test_what_is_torn_is_nothing(gitdir: Path, torn: bytes) -> None:
    keep_session(gitdir, "s", KNOWN)
    (path,) = (gitdir / "gitmem" / FOLDER).iterdir()
    path.write_bytes(torn)

    assert read_session(gitdir, "s") == Session()


def test_a_session_that_was_not_seen_for_long_is_forgotten(gitdir: Path) -> None:
    keep_session(gitdir, "old", KNOWN)
    keep_session(gitdir, "new", KNOWN)
    (old, *_) = sorted((gitdir / "gitmem" / FOLDER).iterdir(), key=lambda each: each.stat().st_ino)
    os.utime(old, (1000, 1000))
    then = (gitdir / "gitmem").stat().st_mtime

    forget_sessions(gitdir, then)
    forget_sessions(gitdir / "none", then)

    assert {read_session(gitdir, each) for each in ("old", "new")} == {KNOWN, Session()}
    assert then - 1000 > KEPT
