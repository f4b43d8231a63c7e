"""What is known about dates at one commit: of every line, and of every entry in its file.

Each path has its own provenance: a text that stands in two files has two dates.

It is carried forward commit by commit by `store/history/dating`, and kept between two calls by
`cache/dates`. All of it follows from the history, so it can be lost at any time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Container, Mapping
from typing import NamedTuple
from zlib import crc32

from gitmem.model.entries.freshness import KEY

MARK = array("I").itemsize
"""The bytes that tell the commit of a line: its number among the rows."""
OID = 20
PATH_KEY = 4
PAST = KEY + PATH_KEY + OID + 4
"""A text, where it stood, the commit that changed it last, and the day that it names itself."""
ROOM = 1024
"""So many commits may be kept for nothing."""
REMEMBERED = 1 << 17
"""How many texts are remembered that have left their places."""
FEW = 32
"""So often it is cheaper to look through what is remembered than to make a table of it."""

LastChange = tuple[int, int]
"""The row of the commit that last changed a text, and the day that an adopted entry names itself,
as an ordinal; 0 for the commit's own time. A plain tuple: a cache is loaded as it was saved."""
LastChanges = tuple[LastChange, ...]
"""One for each time that a text stands in a file, in the order in which they came."""


Moved = dict[bytes, tuple[str, int, str]]
"""Texts that may be on their way from one file to another: where, since when, by which captures."""


def mark_of(number: int) -> bytes:
    """How a line says which row is its commit."""
    return array("I", [number]).tobytes()


def path_key(path: str) -> bytes:
    """What a file is known by where a text is remembered. Few texts stood in several files."""
    return crc32(path.encode("utf-8", "surrogateescape")).to_bytes(PATH_KEY, "little")


class DatedCommit(NamedTuple):
    """A commit as far as dates need it."""

    oid: str
    seconds: int
    agent: str


class FileDates(NamedTuple):
    """What is known about one file."""

    blob: str
    lines: bytes
    """For each line the mark of its commit."""
    texts: Mapping[bytes, LastChanges]
    """The entries in it, by what they are known by; never changed, but replaced."""


class Forgotten(Exception):
    """What was to be remembered is no longer where it was kept."""


class RecordLog:
    """Records of one size, in the order in which they came; the newest are remembered.

    Most of them are never asked for, so those of earlier are fetched when they are needed.
    A history has branches, and one does not know what happened on the other: a record belongs to a
    run of commits, and who asks says which runs came before.
    """

    def __init__(self, size: int, fetch: Callable[[], bytes] = bytes) -> None:
        self._size, self._fetch = size, fetch
        self._old: bytes | None = None
        self._new = bytearray()
        self._runs = array("I")
        """The run of each new record."""
        self._run = self._floor = self._dropped = self._searches = 0
        self._table: dict[bytes, int] | None = None
        """The number of the newest record that begins with a text, or with a text and its place."""
        self._before: dict[int, array[int]] = {}
        """For each length of such a beginning, the number of the next older record with it."""

    def new_run(self, *, joins_all: bool = False) -> int:
        """The number of a run that begins; if it JOINS_ALL, all that came so far came before it."""
        self._run += 1
        self._floor = self._run if joins_all else self._floor
        return self._run

    def add(self, record: bytes, run: int = 0) -> None:
        """Remember one more."""
        self._new += record
        self._runs.append(run)
        if self._table is not None:
            self._put(self._table, record)
        if len(self._runs) > 2 * REMEMBERED:
            self._dropped += len(self._runs) - REMEMBERED
            del self._new[: -REMEMBERED * self._size], self._runs[:-REMEMBERED]

    def all(self) -> bytes:
        """Everything that is remembered; raises Forgotten."""
        return (self._fetched() + self._new)[-REMEMBERED * self._size :]

    def last(self, key: bytes, runs: Container[int] = (0,)) -> bytes | None:
        """The newest record that begins with KEY, of these RUNS; raises Forgotten.

        A commit of 80,000 entries asks as often, and took minutes to look through all each time.
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
            at % self._size  # across a border: it only looks like it
            or (runs is not None and not self._came_before(self._runs[at // self._size], runs))
        ):
            at = data.rfind(key, first, at + len(key) - 1)
        return bytes(data[at : at + self._size]) if at >= 0 else None

    def _came_before(self, run: int, runs: Container[int]) -> bool:
        return run < self._floor or run in runs


class DateState:
    """Files and texts at one commit of a history that may have branches."""

    def __init__(self) -> None:
        self.files: dict[str, FileDates] = {}
        self.run = 0
        """The run of commits that goes on here, ..."""
        self.runs: frozenset[int] = frozenset((0,))
        """... and those that came before, with it."""
        self.cut: Moved = {}
        """Texts that captures took out of a file a short while ago, and put nowhere, ..."""
        self.pasted: Moved = {}
        """... and those that they put into one, and took from nowhere; the newest last."""

    def copy(self) -> DateState:
        """The same, to go another way from here."""
        other = DateState()
        other.files, other.run, other.runs = self.files.copy(), self.run, self.runs
        other.cut, other.pasted = self.cut.copy(), self.pasted.copy()
        return other

    def last_changes(self, path: str, key: bytes) -> LastChanges:
        """The dates of a text in one file."""
        found = self.files.get(path)
        return found.texts.get(key, ()) if found else ()

    def has(self, key: bytes) -> bool:
        """Whether a text stands anywhere."""
        return any(key in each.texts for each in self.files.values())


class KnownDates:
    """Where a walk through the history has come to."""

    def __init__(self) -> None:
        self.commit = ""
        self.state = DateState()
        self.rows: list[DatedCommit] = []
        self.live = 0
        """How many of the rows were in use when they were last counted."""
        self.past = RecordLog(PAST)
        """Which texts left which places, and the dates they had there, in order."""

    def changes(self, path: str, key: bytes) -> list[tuple[DatedCommit, int]]:
        """By which commit a text in a file was touched, and the day it names itself.

        Once for each time that it stands there.
        """
        return [(self.rows[row], day) for row, day in self.state.last_changes(path, key)]

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> list[DatedCommit]:
        """The commit of each line of a file, or of those from START to STOP, counted from 0."""
        found = self.state.files.get(path)
        end = None if stop is None else stop * MARK
        marks = array("I", found.lines[start * MARK : end]) if found else ()
        return [self.rows[each] for each in marks]

    def tidy(self) -> None:
        """Let go of commits that nothing refers to any more, if there are many."""
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
