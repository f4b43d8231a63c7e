"""What is known about dates at one commit: of every line, and of every text that is an entry.

It is carried forward commit by commit by `git/dating`, and kept between two calls by `index/dates`.
All of it follows from the history, so it can be lost at any time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gitmem.core.freshness import KEY

MARK = array("I").itemsize
"""The bytes that tell the commit of a line: its number among the rows."""
OID = 20
PAST = KEY + OID + 4
"""A text, the commit that touched it, and the day that it names itself."""
ROOM = 1024
"""So many commits may be kept for nothing."""
REMEMBERED = 1 << 17
"""How many texts are remembered that stand nowhere any more."""
FEW = 32
"""So often it is cheaper to look through what is remembered than to make a table of it."""


def mark_of(number: int) -> bytes:
    """How a line says which row is its commit."""
    return array("I", [number]).tobytes()


class Row(NamedTuple):
    """A commit as far as dates need it."""

    oid: str
    seconds: int
    agent: str


class Touch(NamedTuple):
    """When a text was last touched."""

    row: int
    day: int = 0
    """The day that an adopted entry names itself, as an ordinal; 0 for the commit's own time."""


class FileDates(NamedTuple):
    """What is known about one file."""

    blob: str
    lines: bytes
    """For each line the mark of its commit."""


class Forgotten(Exception):
    """What was to be remembered is no longer where it was kept."""


class Memory:
    """Records of one size, in the order in which they came; the newest are remembered.

    Most of them are never asked for, so those of earlier are fetched when they are needed.
    """

    def __init__(self, size: int, fetch: Callable[[], bytes] = bytes) -> None:
        self._size, self._fetch = size, fetch
        self._old: bytes | None = None
        self._new = bytearray()
        self._searches = 0
        self._table: dict[bytes, tuple[int, bytes]] | None = None
        self._count = 0
        """How many records the table has seen."""

    def add(self, record: bytes) -> None:
        """Remember one more."""
        self._new += record
        if self._table is not None:
            self._put(record)
        if len(self._new) > 2 * REMEMBERED * self._size:
            del self._new[: -REMEMBERED * self._size]

    def all(self) -> bytes:
        """Everything that is remembered; raises Forgotten."""
        return (self._fetched() + self._new)[-REMEMBERED * self._size :]

    def last(self, key: bytes) -> bytes | None:
        """The newest record that begins with KEY; raises Forgotten.

        A commit of 80,000 entries asks as often, and took minutes to look through all each time.
        """
        self._searches += 1
        if self._searches > FEW:
            return self._looked_up(key)
        room = REMEMBERED * self._size
        found = self._last(self._new, key, len(self._new) - room)
        return found or self._last(
            self._fetched(), key, len(self._fetched()) + len(self._new) - room
        )

    def _looked_up(self, key: bytes) -> bytes | None:
        if self._table is None or len(self._table) > 2 * REMEMBERED:
            self._table, self._count = {}, 0
            data = self.all()
            for at in range(0, len(data), self._size):
                self._put(data[at : at + self._size])
        number, record = self._table.get(key, (-1, b""))
        return record if number >= max(0, self._count - REMEMBERED) else None

    def _put(self, record: bytes) -> None:
        assert self._table is not None
        self._table[record[:KEY]] = self._count, record
        self._count += 1

    def _fetched(self) -> bytes:
        if self._old is None:
            self._old = self._fetch()
        return self._old

    def _last(self, data: bytes | bytearray, key: bytes, first: int) -> bytes | None:
        first = max(0, first)
        at = data.rfind(key, first)
        while at >= 0 and at % self._size:  # across a border: it only looks like it
            at = data.rfind(key, first, at + len(key) - 1)
        return bytes(data[at : at + self._size]) if at >= 0 else None


class State:
    """Files and texts at one commit of a history that may have branches."""

    def __init__(self) -> None:
        self.files: dict[str, FileDates] = {}
        self.count: dict[bytes, int] = {}
        """The texts that stand somewhere, and how often."""
        self.dates: dict[bytes, Touch] = {}
        """When each of them was touched."""

    def copy(self) -> State:
        """The same, to go another way from here."""
        other = State()
        other.files, other.count, other.dates = (
            self.files.copy(),
            self.count.copy(),
            self.dates.copy(),
        )
        return other

    def stand(self, keys: Iterable[bytes]) -> None:
        """These texts stand once more."""
        for key in keys:
            self.count[key] = self.count.get(key, 0) + 1

    def leave(self, keys: Iterable[bytes]) -> None:
        """These texts stand once less."""
        for key in keys:
            left = self.count.pop(key, 0) - 1
            if left > 0:
                self.count[key] = left
            else:
                self.dates.pop(key, None)


class Chronicle:
    """Where a walk through the history has come to."""

    def __init__(self) -> None:
        self.commit = ""
        self.state = State()
        self.rows: list[Row] = []
        self.live = 0
        """How many of the rows were in use when they were last counted."""
        self.past = Memory(PAST)
        """Which texts were touched by which commit, in order."""

    def touched(self, key: bytes) -> tuple[Row, int] | None:
        """By which commit a text that stands somewhere was touched, and the day it names itself."""
        touch = self.state.dates.get(key)
        return (self.rows[touch.row], touch.day) if touch else None

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> list[Row]:
        """The commit of each line of a file, or of those from START to STOP, counted from 0."""
        found = self.state.files.get(path)
        end = None if stop is None else stop * MARK
        marks = array("I", found.lines[start * MARK : end]) if found else ()
        return [self.rows[each] for each in marks]

    def tidy(self) -> None:
        """Let go of commits that nothing refers to any more, if there are many."""
        if len(self.rows) <= 2 * self.live + ROOM:
            return
        files, dates = self.state.files, self.state.dates
        marks = {path: array("I", each.lines) for path, each in files.items()}
        used = sorted({touch.row for touch in dates.values()}.union(*marks.values()))
        number = {old: new for new, old in enumerate(used)}
        for path, each in files.items():
            lines = array("I", map(number.__getitem__, marks[path])).tobytes()
            files[path] = each._replace(lines=lines)
        for key, touch in dates.items():
            dates[key] = touch._replace(row=number[touch.row])
        self.rows = [self.rows[each] for each in used]
        self.live = len(self.rows)
