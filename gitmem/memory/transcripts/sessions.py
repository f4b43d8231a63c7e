"""What a group remembers of an agent's session: what it was shown, and its turns.

To lose it costs little: a session that is resumed is told nothing new, and a nudge comes later.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from os import PathLike
from typing import NamedTuple

from gitmem.cache.files import put

FOLDER = "sessions"
KEPT = 30 * 24 * 3600.0
"""Seconds after which a session that was not seen again is forgotten."""
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
LIVE = "sessions"
_LARGEST = 65_536


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


def read_session(gitdir: str | PathLike[str], session: str) -> Session:
    """What is remembered; nothing of a session that is new."""
    try:
        with open(_path(gitdir, session), "rb") as file:
            return _session(file.read())
    except _UNREADABLE:
        return Session()


def _session(data: bytes) -> Session:
    row = json.loads(data)
    shown = tuple((str(name), str(commit)) for name, commit in row["shown"])
    return Session(shown, int(row["turns"]), bool(row["nudge"]), str(row.get("compacted") or ""))


def keep_session(gitdir: str | PathLike[str], session: str, known: Session) -> None:
    """Remember it."""
    path = _path(gitdir, session)
    with suppress(OSError):
        os.mkdir(os.path.dirname(path), 0o700)
    put(path, json.dumps(known._asdict()).encode())


def forget_sessions(gitdir: str | PathLike[str], now: float) -> None:
    """Forget those that were not seen for long."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(gitdir, "gitmem", FOLDER)):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)


def _path(gitdir: str | PathLike[str], session: str) -> str:
    name = sha1(session.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]
    return os.path.join(gitdir, "gitmem", FOLDER, name)


class LiveSession(NamedTuple):
    """A session of which a hook was called."""

    id: str
    host: str
    transcript: str
    """The file in which its host keeps the conversation; nothing where it has not said so."""


def note_live(store: str, session: LiveSession) -> None:
    """Note that SESSION works with a group of STORE, just now."""
    data = json.dumps(session).encode()
    # A file for each answer of a host: then to note it again is a single call.
    path = os.path.join(store, LIVE, sha1(data, usedforsecurity=False).hexdigest()[:16])
    try:
        os.utime(path)
    except OSError:
        with suppress(OSError):
            os.mkdir(os.path.dirname(path), 0o700)
        put(path, data)


def live_sessions(store: str) -> Iterator[tuple[LiveSession, float]]:
    """The sessions of STORE, each with the time when a hook of it was called last."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, LIVE)):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                with open(each.path, "rb") as file:
                    found = LiveSession(*map(str, json.loads(file.read(_LARGEST))))
                yield found, each.stat().st_mtime


def forget_live(store: str, now: float) -> None:
    """Forget those that were not seen for long."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, LIVE)):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)
