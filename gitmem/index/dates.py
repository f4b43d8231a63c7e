"""What is known about dates, kept in one file in the git directory: a cache, never the truth.

It is of one commit, and of one way to read files. Who finds another commit goes on from there, if
that is a descendant; who finds the file torn, or none, begins at the root of the history. The file
is replaced at once, so that two processes may do so, and a third may read.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from zlib import crc32

from gitmem.core.chronicle import Chronicle, FileDates, Row, State, Touch
from gitmem.index.layouts import put

FORM = 1
"""Counted up when the same history would give other dates than before."""
NAME = "dates"


def load(path: Path, reading: str) -> Chronicle | None:
    """What was kept by who read files in the same way; None where there is nothing to believe."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    head, _, rest = data.partition(b"\n")
    try:
        said, *numbers = head.decode("ascii").rsplit(" ", 4)
        state, past, seen, check = map(int, numbers)
    except ValueError:
        return None
    if said != _said(reading) or len(rest) != state + past + seen or crc32(rest) != check:
        return None
    return _restored(rest[:state], rest[state : state + past], rest[state + past :])


def save(path: Path, reading: str, known: Chronicle) -> None:
    """Keep what is known for the next command; a disk that cannot is no reason to fail."""
    known.tidy()
    state, past, seen = marshal.dumps(_plain(known)), known.past.data, known.seen.data
    rest = b"".join((state, past, seen))
    head = f"{_said(reading)} {len(state)} {len(past)} {len(seen)} {crc32(rest)}\n"
    put(path, head.encode("ascii") + rest)


def _said(reading: str) -> str:
    return f"gitmem-dates {FORM} {sys.hexversion} {reading}"


def _plain(known: Chronicle) -> Any:
    state = known.state
    rows = [tuple(each) for each in known.rows]
    files = {path: tuple(each) for path, each in state.files.items()}
    dates = {key: (state.count[key], *touch) for key, touch in state.dates.items()}
    return known.commit, known.live, rows, files, dates


def _restored(state: bytes, past: bytes, seen: bytes) -> Chronicle | None:
    known = Chronicle()
    with suppress(ValueError, TypeError, EOFError):
        known.commit, known.live, rows, files, dates = marshal.loads(state)
        known.rows = [Row(*each) for each in rows]
        known.state = _state(files, dates)
        known.past.data, known.seen.data = bytearray(past), bytearray(seen)
        return known
    return None


def _state(files: dict[str, Any], dates: dict[bytes, Any]) -> State:
    state = State()
    state.files = {path: FileDates(*each) for path, each in files.items()}
    for key, (count, *touch) in dates.items():
        state.count[key], state.dates[key] = count, Touch(*touch)
    return state
