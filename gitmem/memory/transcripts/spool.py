"""The spool: notes about ended sessions, whose transcripts the next start imports.

A host gives the end of a session a second and a half, so that hook only leaves a note.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

FOLDER = "spool"
SUFFIX = ".json"
CLAIMED = ".taken"
ABANDONED = 600.0
"""Seconds after which the process that claimed a note must be dead."""
LARGEST = 4 * 1024 * 1024
LONGEST = 150
"""Characters of a session's name in the name of its file."""


class SessionNote(NamedTuple):
    """A note about a session or turn that ended."""

    host: str
    session: str
    transcript: str
    """The transcript of its host."""
    folder: str
    """The folder of its project."""
    group: str
    """Its group; empty where the folder decides."""
    summary: str = ""
    """The summary of its host, if it could not be stored at once."""


class ClaimedNote(NamedTuple):
    """A note that this process handles, and its file."""

    note: SessionNote
    path: str


def leave(store: str, note: SessionNote) -> bool:
    """Leave NOTE in STORE, in place of an earlier one of the same session.

    False where STORE does not exist: nobody would read it.
    """
    folder = os.path.join(store, FOLDER)
    if not os.path.isdir(os.path.join(store, "repos")):
        return False
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    _put(os.path.join(folder, _name(note) + SUFFIX), note)
    return True


def withdraw(store: str, note: SessionNote) -> None:
    """Remove a note that was handled, unless another process has claimed it."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(store, FOLDER, _name(note) + SUFFIX))


def _put(path: str, note: SessionNote) -> None:
    folder, name = os.path.split(path)
    temp = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(note._asdict(), file)
            if note.summary:  # there is no other copy of a summary
                file.flush()
                os.fsync(file.fileno())
        os.replace(temp, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temp)
        raise


def hand_over(store: str, old: str, new: str) -> None:
    """Change the notes of the group OLD, which is renamed, to NEW."""
    folder = os.path.join(store, FOLDER)
    for path in (os.path.join(folder, name) for name in _names(folder)):
        with suppress(OSError):  # who takes it in just now finds the group by its folder
            found = _read(path)
            if found and found.group == old:
                _put(path, found._replace(group=new))


def left_by(store: str, note: SessionNote) -> SessionNote | None:
    """The earlier note of the same session, if nobody has claimed it."""
    with suppress(OSError):
        return _read(os.path.join(store, FOLDER, _name(note) + SUFFIX))
    return None


def _name(note: SessionNote) -> str:
    mark = ""
    if note.summary:
        from zlib import crc32

        text = note.summary.encode("utf-8", "surrogatepass")
        mark = f"-{crc32(text):08x}"  # one does not replace the other
    return f"{note.host}-{_plain(note.session)}{mark}"


def claim(store: str) -> Iterator[ClaimedNote]:
    """Claim the notes in STORE, each for this process alone."""
    folder = os.path.join(store, FOLDER)
    _sweep(folder)
    for name in sorted(_names(folder)):
        path = os.path.join(folder, name)
        with suppress(OSError):
            if name.endswith(CLAIMED) and not _is_abandoned(path):
                continue
            # Under a name of its own: the session may go on and leave a newer note.
            mine = f"{path.removesuffix(CLAIMED)}.{os.getpid()}{CLAIMED}"
            os.rename(path, mine)
            os.utime(mine)
            found = _read(mine)
            if found is None:
                os.unlink(mine)
            else:
                yield ClaimedNote(found, mine)


def discard(claimed: ClaimedNote) -> None:
    """Remove a note that was handled."""
    with suppress(FileNotFoundError):
        os.unlink(claimed.path)


def put_back(claimed: ClaimedNote) -> None:
    """Release a note for the next start, unless the session has left a newer one."""
    folder, name = os.path.split(claimed.path)
    home = os.path.join(folder, name.partition(SUFFIX)[0] + SUFFIX)
    if os.path.exists(home):
        discard(claimed)
    else:
        with suppress(OSError):
            os.rename(claimed.path, home)


def _plain(text: str) -> str:
    """TEXT as part of a file name."""
    return "".join(
        char if (char.isalnum() and char.isascii()) or char == "-" else f"_{ord(char):x}"
        for char in text
    )[:LONGEST]


def _sweep(folder: str) -> None:
    """Remove unfinished files of dead processes."""
    with suppress(OSError):
        for path in (os.path.join(folder, name) for name in os.listdir(folder) if name[0] == "."):
            if _is_abandoned(path):
                os.unlink(path)


def _names(folder: str) -> list[str]:
    try:
        found = os.listdir(folder)
    except OSError:
        return []
    return [each for each in found if each[0] != "." and each.endswith((SUFFIX, CLAIMED))]


def _is_abandoned(path: str) -> bool:
    from time import time

    return time() - os.stat(path).st_mtime > ABANDONED


def _read(path: str) -> SessionNote | None:
    """The note in a file; None for a broken one."""
    try:
        with open(path, "rb") as file:
            row = json.loads(file.read(LARGEST))
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    fields = [row.get(name, SessionNote._field_defaults.get(name)) for name in SessionNote._fields]
    return SessionNote._make(fields) if all(isinstance(each, str) for each in fields) else None
