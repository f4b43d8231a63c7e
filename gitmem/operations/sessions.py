"""What is remembered of an agent's session: what it was shown, its turns, and its transcript.

To lose it costs little: a session that is resumed is told nothing new, and a nudge comes later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from typing import NamedTuple

from gitmem.index.files import put

FOLDER = "sessions"
KEPT = 30 * 24 * 3600.0
"""Seconds after which a session that was not seen again is forgotten."""


_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class Session(NamedTuple):
    """One session, as far as it is known."""

    shown: tuple[tuple[str, str], ...] = ()
    """The commit of each group that it was shown last."""
    turns: int = 0
    """How many turns it has had since it was reminded of the diary."""
    nudge: bool = False
    """Whether it is to be reminded as soon as that can be said."""
    compacted: str = ""
    """The file that has its summary, where it was compacted and did not start again since."""
    id: str = ""
    host: str = ""
    transcript: str = ""
    """The file in which its host keeps the conversation."""


def read_session(gitdir: Path, session: str) -> Session:
    """What is remembered; nothing of a session that is new."""
    try:
        return _session(_path(gitdir, session).read_bytes())
    except _UNREADABLE:
        return Session()


def _session(data: bytes) -> Session:
    row = json.loads(data)
    shown = tuple((str(name), str(commit)) for name, commit in row["shown"])
    words = (str(row.get(each) or "") for each in ("compacted", "id", "host", "transcript"))
    return Session(shown, int(row["turns"]), bool(row["nudge"]), *words)


def known_sessions(gitdir: Path) -> Iterator[tuple[Session, float]]:
    """The sessions that work with a group, each with the time when a hook of it was called last."""
    with suppress(OSError):
        for each in os.scandir(gitdir / "gitmem" / FOLDER):
            with suppress(*_UNREADABLE):
                known = _session(Path(each.path).read_bytes())
                if known.id:
                    yield known, each.stat().st_mtime


def keep_session(gitdir: Path, session: str, known: Session) -> None:
    """Remember it."""
    path = _path(gitdir, session)
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
    put(path, json.dumps(known._asdict()).encode())


def forget_sessions(gitdir: Path, now: float) -> None:
    """Forget those that were not seen for long."""
    with suppress(OSError):
        for each in os.scandir(gitdir / "gitmem" / FOLDER):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)


def _path(gitdir: Path, session: str) -> Path:
    name = sha1(session.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]
    return gitdir / "gitmem" / FOLDER / name
