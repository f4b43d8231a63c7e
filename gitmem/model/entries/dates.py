"""Dates of lines and entries at one commit.

`store/history/dating` updates them commit by commit, `cache/dates` stores them between calls. They
are derived from the history, so they may be lost at any time. Each path has its own: a text in two
files has two dates.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple
from zlib import crc32

from gitmem.model.entries.freshness import KEY

MARK = array("I").itemsize
"""The size of the mark of a line: the number of its commit among `KnownDates.rows`."""
OID = 20
PATH_KEY = 4
PAST = KEY + PATH_KEY + OID + 4
"""The size of a record: key, path key, commit that last changed it, own day."""
ROOM = 1024
"""Unused commits that may be kept."""
REMEMBERED = 1 << 17
"""How many removed texts are remembered."""
FEW = 32
"""Searches that are cheaper than building a table."""

LastChange = tuple[int, int]
"""The row of the commit that last changed a text, and the own day of an adopted entry (an ordinal;
0 is the commit's time). A plain tuple, so that `marshal` loads the cache as it was saved."""
LastChanges = tuple[LastChange, ...]
"""One for each copy of a text in a file, in the order in which they were added."""


Moved = dict[bytes, tuple[str, int, str]]
"""Texts that may be moving between files: path, time and run of the capture."""


def mark_of(number: int) -> bytes:
    """Return the mark of a line whose commit is row NUMBER."""
    return array("I", [number]).tobytes()


def path_key(path: str) -> bytes:
    """Return the key of PATH in a record, a checksum: few texts were in several files."""
    return crc32(path.encode("utf-8", "surrogateescape")).to_bytes(PATH_KEY, "little")


class DatedCommit(NamedTuple):
    """The part of a commit that dates need."""

    oid: str
    seconds: int
    agent: str


class FileDates(NamedTuple):
    """The dates of one file."""

    blob: str
    lines: bytes
    """For each line the mark of its commit."""
    texts: Mapping[bytes, LastChanges]
    """Its entries by key; replaced, never changed."""


class Forgotten(Exception):
    """The stored records are gone."""


class RecordLog:
    """Records of one size in order; the newest are remembered.

    Old records are fetched when they are first needed, which is rare. A record belongs to a run of
    commits, and a search names the runs before it: branches do not see each other's records.
    """

    def __init__(self, size: int, fetch: Callable[[], bytes] = bytes) -> None:
        self._size, self._fetch = size, fetch
        self._old: bytes | None = None
        self._new = bytearray()
        self._runs = array("I")
        """The run of each new record."""
        self._run = self._floor = self._dropped = self._searches = 0
        self._table: dict[bytes, int] | None = None
        """The number of the newest record by its key, and by its key and path key."""
        self._before: dict[int, array[int]] = {}
        """For each length of such a key, the number of the next older record with it."""

    def new_run(self, *, joins_all: bool = False) -> int:
        """Start a run and return its number; JOINS_ALL makes all records so far precede it."""
        self._run += 1
        self._floor = self._run if joins_all else self._floor
        return self._run

    def add(self, record: bytes, run: int = 0) -> None:
        """Add a record."""
        self._new += record
        self._runs.append(run)
        if self._table is not None:
            self._put(self._table, record)
        if len(self._runs) > 2 * REMEMBERED:
            self._dropped += len(self._runs) - REMEMBERED
            del self._new[: -REMEMBERED * self._size], self._runs[:-REMEMBERED]

    def all(self) -> bytes:
        """Return all remembered records; raises Forgotten."""
        return (self._fetched() + self._new)[-REMEMBERED * self._size :]

    def last(self, key: bytes, runs: Container[int] = (0,)) -> bytes | None:
        """Return the newest record of RUNS that begins with KEY; raises Forgotten.

        After a few searches a table is built: a commit of 80,000 entries took minutes without.
        """
        self._searches += 1
        if self._searches > FEW:
            return self._looked_up(key, runs)
        room = REMEMBERED * self._size
        found = self._last(self._new, key, len(self._new) - room, runs)
        return found or self._last(
            self._fetched(), key, len(self._fetched()) + len(self._new) - room
        )

    def _looked_up(self, key: bytes, runs: Container[int]) -> bytes | None:
        if self._table is None:
            self._table, self._before = {}, {KEY: array("i"), KEY + PATH_KEY: array("i")}
            data = self._fetched() + b"\0" * (self._dropped * self._size) + self._new
            for at in range(0, len(data), self._size):
                self._put(self._table, data[at : at + self._size])
        old, count = len(self._fetched()) // self._size, len(self._before[KEY])
        number = self._table.get(key, -1)
        while number >= max(0, count - REMEMBERED):
            new = number - old - self._dropped
            if new < 0 or self._came_before(self._runs[new], runs):
                kept = self._fetched() if new < 0 else self._new
                at = (number if new < 0 else new) * self._size
                return bytes(kept[at : at + self._size])
            number = self._before[len(key)][number]
        return None

    def _put(self, table: dict[bytes, int], record: bytes) -> None:
        for length, before in self._before.items():
            before.append(table.get(record[:length], -1))
            table[record[:length]] = len(before) - 1

    def _fetched(self) -> bytes:
        if self._old is None:
            self._old = self._fetch()
        return self._old

    def _last(
        self, data: bytes | bytearray, key: bytes, first: int, runs: Container[int] | None = None
    ) -> bytes | None:
        first = max(0, first)
        at = data.rfind(key, first)
        while at >= 0 and (
            at % self._size  # a match across two records
            or (runs is not None and not self._came_before(self._runs[at // self._size], runs))
        ):
            at = data.rfind(key, first, at + len(key) - 1)
        return bytes(data[at : at + self._size]) if at >= 0 else None

    def _came_before(self, run: int, runs: Container[int]) -> bool:
        return run < self._floor or run in runs


class DateState:
    """The dates of all files at one commit of a history with branches."""

    def __init__(self) -> None:
        self.files: dict[str, FileDates] = {}
        self.run = 0
        """The current run of commits ..."""
        self.runs: frozenset[int] = frozenset((0,))
        """... and, with it, those before."""
        self.cut: Moved = {}
        """Texts that recent captures removed and did not add elsewhere ..."""
        self.pasted: Moved = {}
        """... and those that they added and did not remove elsewhere; the newest last."""

    def copy(self) -> DateState:
        """Return a copy for another branch."""
        other = DateState()
        other.files, other.run, other.runs = self.files.copy(), self.run, self.runs
        other.cut, other.pasted = self.cut.copy(), self.pasted.copy()
        return other

    def last_changes(self, path: str, key: bytes) -> LastChanges:
        """Return the last changes of the text KEY in the file at PATH."""
        found = self.files.get(path)
        return found.texts.get(key, ()) if found else ()

    def has(self, key: bytes) -> bool:
        """Whether any file has the text KEY."""
        return any(key in each.texts for each in self.files.values())


class KnownDates:
    """The dates at one commit, and the texts that were removed before it."""

    def __init__(self) -> None:
        self.commit = ""
        self.state = DateState()
        self.rows: list[DatedCommit] = []
        self.live = 0
        """How many rows were in use at the last count."""
        self.past = RecordLog(PAST)
        """The removed texts with their paths and dates, in order."""

    def changes(self, path: str, key: bytes) -> list[tuple[DatedCommit, int]]:
        """Return the commits that last changed the text KEY in PATH, each with its own day.

        One for each copy of the text in the file.
        """
        return [(self.rows[row], day) for row, day in self.state.last_changes(path, key)]

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> list[DatedCommit]:
        """Return the commits of the lines START to STOP of a file, counted from 0."""
        found = self.state.files.get(path)
        end = None if stop is None else stop * MARK
        marks = array("I", found.lines[start * MARK : end]) if found else ()
        return [self.rows[each] for each in marks]

    def tidy(self) -> None:
        """Drop unused commits if there are many."""
        if len(self.rows) <= 2 * self.live + ROOM:
            return
        files = self.state.files
        marks = {path: array("I", each.lines) for path, each in files.items()}
        texts = [touch[0] for each in files.values() for x in each.texts.values() for touch in x]
        used = sorted(set(texts).union(*marks.values()))
        number = {old: new for new, old in enumerate(used)}
        for path, each in files.items():
            lines = array("I", map(number.__getitem__, marks[path])).tobytes()
            dates = {
                key: tuple((number[row], day) for row, day in touches)
                for key, touches in each.texts.items()
            }
            files[path] = FileDates(each.blob, lines, dates)
        self.rows = [self.rows[each] for each in used]
        self.live = len(self.rows)
