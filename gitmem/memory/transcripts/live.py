"""The sessions of agents that work with any group of a store, and where their transcripts are.

A session can write to the files of every group by their paths. So there is one list for the store:
to ask everybody costs as much with one group as with a thousand. To lose it costs little: each
session is in it again with its next hook.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha1
from typing import NamedTuple

from gitmem.cache.files import put
from gitmem.memory.transcripts.sessions import KEPT

FOLDER = "sessions"
_LARGEST = 65_536


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
    path = os.path.join(store, FOLDER, sha1(data, usedforsecurity=False).hexdigest()[:16])
    try:
        os.utime(path)
    except OSError:
        with suppress(OSError):
            os.mkdir(os.path.dirname(path), 0o700)
        put(path, data)


def live_sessions(store: str) -> Iterator[tuple[LiveSession, float]]:
    """The sessions of STORE, each with the time when a hook of it was called last."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, FOLDER)):
            with suppress(OSError, ValueError, TypeError, RecursionError):
                with open(each.path, "rb") as file:
                    found = LiveSession(*map(str, json.loads(file.read(_LARGEST))))
                yield found, each.stat().st_mtime


def forget_live(store: str, now: float) -> None:
    """Forget those that were not seen for long."""
    with suppress(OSError):
        for each in os.scandir(os.path.join(store, FOLDER)):
            if now - each.stat().st_mtime > KEPT:
                os.unlink(each.path)
