"""What is known about dates, kept in one file in the git directory: a cache, never the truth.

It is of one commit, and of one way to read files. Who finds another commit goes on from there, if
that is a descendant; who finds the file torn, or none, begins at the root of the history. The file
is replaced at once, so that two processes may do so, and a third may read.

It has a line that says what it is, then the state, then the memory of texts that stand nowhere any
more. The memory grows with the history and is seldom needed, so it is read on its own.
"""

from __future__ import annotations

import marshal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from gitmem.cache.files import put
from gitmem.model.entries.dates import (
    PAST,
    DatedCommit,
    FileDates,
    Forgotten,
    KnownDates,
    RecordLog,
)

FORM = 6
"""Counted up when the same history would give other dates than before."""
NAME = "dates"
LONGEST_HEAD = 300


class _Header(NamedTuple):
    """How long each part is, and what proves that it is whole."""

    state: int
    past: int
    check: int
    past_check: int


def is_cached(path: Path, reading: str) -> bool:
    """Whether something is kept there by who read files in the same way: a look at its head."""
    try:
        with path.open("rb") as file:
            return _header(file.readline(LONGEST_HEAD), reading) is not None
    except OSError:
        return False


def load(path: Path, reading: str) -> KnownDates | None:
    """What was kept by who read files in the same way; None where there is nothing to believe."""
    try:
        with path.open("rb") as file:
            line = file.readline(LONGEST_HEAD)
            head = _header(line, reading)
            data = file.read(head.state) if head else b""
    except OSError:
        return None
    if head is None or len(data) != head.state or crc32(data) != head.check:
        return None
    start = len(line) + head.state
    return _restored(data, RecordLog(PAST, lambda: _memory(path, line, head, start)))


def _header(line: bytes, reading: str) -> _Header | None:
    said, _, numbers = line.decode("ascii", "replace").rpartition(": ")
    if said != _first_words(reading):
        return None
    try:
        return _Header(*map(int, numbers.split()))
    except (ValueError, TypeError):
        return None


def _memory(path: Path, line: bytes, head: _Header, start: int) -> bytes:
    """What stands behind the state, if it is still that of the same file."""
    try:
        data = path.read_bytes()
    except OSError:
        raise Forgotten from None
    rest = data[start:]
    if not data.startswith(line) or len(rest) != head.past or crc32(rest) != head.past_check:
        raise Forgotten
    return rest


def save(path: Path, reading: str, known: KnownDates) -> None:
    """Keep what is known for the next command; a disk that cannot is no reason to fail."""
    known.tidy()
    state, past = marshal.dumps(_plain(known)), known.past.all()
    head = _Header(len(state), len(past), crc32(state), crc32(past))
    line = f"{_first_words(reading)}: {' '.join(map(str, head))}\n"
    put(path, b"".join((line.encode("ascii"), state, past)))


def _first_words(reading: str) -> str:
    return f"gitmem-dates {FORM} {sys.hexversion} {reading}"


def _plain(known: KnownDates) -> Any:
    rows = [tuple(each) for each in known.rows]
    files = {path: tuple(each) for path, each in known.state.files.items()}
    return known.commit, known.live, rows, files, known.state.cut, known.state.pasted


def _restored(data: bytes, past: RecordLog) -> KnownDates | None:
    known = KnownDates()
    known.past = past
    with suppress(ValueError, TypeError, EOFError):
        known.commit, known.live, rows, files, cut, pasted = marshal.loads(data)
        known.state.cut, known.state.pasted = cut, pasted
        known.rows = [DatedCommit(*each) for each in rows]
        known.state.files = {path: FileDates(*each) for path, each in files.items()}
        return known
    return None
