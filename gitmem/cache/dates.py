"""The cache of dates of lines and entries: one derived file in the git directory.

It holds the dates at one commit. From a descendant of it a walk continues there; without the file,
or with a damaged one, it starts at the root of the history. The file is replaced atomically.

It has a header line, then the dates, then the log of removed texts. The log grows with the history
and is rarely needed, so it is read separately.
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
"""Incremented when the same history would give other dates."""
NAME = "dates"
LONGEST_HEAD = 300


class _Header(NamedTuple):
    """The size and the checksum of each part."""

    state: int
    past: int
    check: int
    past_check: int


def is_cached(path: Path, reading: str) -> bool:
    """Whether PATH has a valid header for READING, the way in which files were read."""
    try:
        with path.open("rb") as file:
            return _header(file.readline(LONGEST_HEAD), reading) is not None
    except OSError:
        return False


def load(path: Path, reading: str) -> KnownDates | None:
    """Return the dates stored for READING; None if missing or damaged."""
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
    words, _, numbers = line.decode("ascii", "replace").rpartition(": ")
    if words != _first_words(reading):
        return None
    try:
        return _Header(*map(int, numbers.split()))
    except (ValueError, TypeError):
        return None


def _memory(path: Path, line: bytes, head: _Header, start: int) -> bytes:
    """The log of removed texts after the dates, if the file is still the same."""
    try:
        data = path.read_bytes()
    except OSError:
        raise Forgotten from None
    rest = data[start:]
    if not data.startswith(line) or len(rest) != head.past or crc32(rest) != head.past_check:
        raise Forgotten
    return rest


def save(path: Path, reading: str, known: KnownDates) -> None:
    """Store KNOWN for the next command."""
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
