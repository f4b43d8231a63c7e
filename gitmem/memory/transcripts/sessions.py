"""Sessions of agents: what each was shown and its turns, and which are active in a store.

Both are disposable. Without its file a resumed session is shown no changes, and a reminder comes
later. The list of active sessions is one for the store, because a session can write to the files of
every group; each is in it again with its next hook.
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
"""Seconds after which an inactive session is forgotten."""
_UNREADABLE = (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError)
LIVE = "sessions"
_LARGEST = 65_536


class Session(NamedTuple):
    """What a group remembers of a session."""

    shown: tuple[tuple[str, str], ...] = ()
    """The last commit of each group that it was shown."""
    turns: int = 0
    """Turns since it was reminded of the diary."""
    nudge: bool = False
    """Whether a reminder is due as soon as the host can show one."""
    compacted: str = ""
    """The file with its summary, if it was compacted and has not started again."""


def read_session(gitdir: str | PathLike[str], session: str) -> Session:
    """The stored session; an empty one where it is new."""
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
    """Store KNOWN for the session."""
    path = _path(gitdir, session)
    with suppress(OSError):
        os.mkdir(os.path.dirname(path), 0o700)
    put(path, json.dumps(known._asdict()).encode())


def forget_sessions(gitdir: str | PathLike[str], now: float) -> None:
    """Forget sessions that have been inactive for long."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(gitdir, "gitmem", FOLDER)):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)


def _path(gitdir: str | PathLike[str], session: str) -> str:
    name = sha1(session.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]
    return os.path.join(gitdir, "gitmem", FOLDER, name)


class LiveSession(NamedTuple):
    """A session that called a hook."""

    id: str
    host: str
    transcript: str
    """The transcript of its host; empty where the host has not named it."""


def note_live(store: str, session: LiveSession) -> None:
    """Note that SESSION is active in STORE."""
    data = json.dumps(session).encode()
    # The content names the file, so noting it again is a single system call.
    path = os.path.join(store, LIVE, sha1(data, usedforsecurity=False).hexdigest()[:16])
    try:
        os.utime(path)
    except OSError:
        with suppress(OSError):
            os.mkdir(os.path.dirname(path), 0o700)
        put(path, data)


def live_sessions(store: str) -> Iterator[tuple[LiveSession, float]]:
    """The sessions of STORE, each with the time of its last hook."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, LIVE)):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                with open(each.path, "rb") as file:
                    found = LiveSession(*map(str, json.loads(file.read(_LARGEST))))
                yield found, each.stat().st_mtime


def forget_live(store: str, now: float) -> None:
    """Forget sessions that have been inactive for long."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, LIVE)):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)
