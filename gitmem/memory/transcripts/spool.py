"""What a session leaves behind when it ends: one small file, for whoever starts next.

A host gives a session that ends a second and a half. So nothing is done then but this.
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
"""Seconds after which whoever took a file must have died over it."""
LARGEST = 4 * 1024 * 1024
LONGEST = 150
"""Characters of a session's name that the name of its file has."""


class SessionNote(NamedTuple):
    """What a session left when it, or one of its turns, ended."""

    host: str
    session: str
    transcript: str
    """The file in which its host keeps what was said."""
    folder: str
    """The project it worked on."""
    group: str
    """The group that it worked with; nothing where its folder says."""
    summary: str = ""
    """What its host made of it, where that could not be kept at once."""


class ClaimedNote(NamedTuple):
    """What one session left, and the file to remove when it is done with."""

    note: SessionNote
    path: str


def leave(store: str, note: SessionNote) -> bool:
    """Leave it in STORE, in the place of what the same session left before.

    False where there is no store: then nobody will ever look.
    """
    folder = os.path.join(store, FOLDER)
    if not os.path.isdir(os.path.join(store, "repos")):
        return False
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    _put(os.path.join(folder, _name(note) + SUFFIX), note)
    return True


def withdraw(store: str, note: SessionNote) -> None:
    """Take back what was left: it is done, unless somebody else is at it already."""
    with suppress(FileNotFoundError):
        os.unlink(os.path.join(store, FOLDER, _name(note) + SUFFIX))


def _put(path: str, note: SessionNote) -> None:
    folder, name = os.path.split(path)
    temp = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(note._asdict(), file)
            if note.summary:  # it stands nowhere else; of the others the host has a file
                file.flush()
                os.fsync(file.fileno())
        os.replace(temp, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temp)
        raise


def hand_over(store: str, old: str, new: str) -> None:
    """What was left for the group OLD is for NEW: it has another name now."""
    folder = os.path.join(store, FOLDER)
    for path in (os.path.join(folder, name) for name in _names(folder)):
        with suppress(OSError):  # who takes it in just now finds the group by its folder
            found = _read(path)
            if found and found.group == old:
                _put(path, found._replace(group=new))


def left_by(store: str, note: SessionNote) -> SessionNote | None:
    """What the same session has left before, if nobody has claimed it yet."""
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
    """What sessions have left in STORE, each for us alone."""
    folder = os.path.join(store, FOLDER)
    _sweep(folder)
    for name in sorted(_names(folder)):
        path = os.path.join(folder, name)
        with suppress(OSError):
            if name.endswith(CLAIMED) and not _is_abandoned(path):
                continue
            # By a name of our own: the session may go on, and leave something newer.
            mine = f"{path.removesuffix(CLAIMED)}.{os.getpid()}{CLAIMED}"
            os.rename(path, mine)
            os.utime(mine)
            found = _read(mine)
            if found is None:
                os.unlink(mine)
            else:
                yield ClaimedNote(found, mine)


def discard(claimed: ClaimedNote) -> None:
    """Everything was done that CLAIMED asked for."""
    with suppress(FileNotFoundError):
        os.unlink(claimed.path)


def put_back(claimed: ClaimedNote) -> None:
    """It could not be done now: the next one may, unless the session has left something newer."""
    folder, name = os.path.split(claimed.path)
    home = os.path.join(folder, name.partition(SUFFIX)[0] + SUFFIX)
    if os.path.exists(home):
        discard(claimed)
    else:
        with suppress(OSError):
            os.rename(claimed.path, home)


def _plain(text: str) -> str:
    """TEXT as a part of a file's name."""
    return "".join(
        char if (char.isalnum() and char.isascii()) or char == "-" else f"_{ord(char):x}"
        for char in text
    )[:LONGEST]


def _sweep(folder: str) -> None:
    """Remove what somebody had begun to write, and died over."""
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
    """What a file says; None for one that is torn, or of another kind."""
    try:
        with open(path, "rb") as file:
            row = json.loads(file.read(LARGEST))
    except (ValueError, RecursionError):
        return None
    if not isinstance(row, dict):
        return None
    fields = [row.get(name, SessionNote._field_defaults.get(name)) for name in SessionNote._fields]
    return SessionNote._make(fields) if all(isinstance(each, str) for each in fields) else None
