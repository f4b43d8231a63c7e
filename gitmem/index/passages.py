"""The passages of memory by their words: a table for full text search, derived from files.

A file that changed gives up the passages that are no more and gets those that are new; the others
keep their rows, so that a line added to a large file costs that line. What is stored are terms and
places, never the text: that is read from the commit it stands in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.core.freshness import key_of, key_of_file
from gitmem.core.journal import day_of, spelled
from gitmem.core.passages import Passage, beginning, ending, passages
from gitmem.core.plainfields import read_fields
from gitmem.core.words import terms_of
from gitmem.index.database import MANY, Connection, Form, portions
from gitmem.index.scoring import BALLAST, WORDS

FORM = Form(
    2,
    f"""
    CREATE TABLE states (source TEXT PRIMARY KEY, tree TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE files (
        id INTEGER PRIMARY KEY, source TEXT NOT NULL, path BLOB NOT NULL, blob TEXT NOT NULL,
        key BLOB NOT NULL, importance INTEGER, status TEXT NOT NULL, is_read INTEGER NOT NULL,
        UNIQUE (source, path)
    );
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL, start INTEGER NOT NULL,
        stop INTEGER NOT NULL, line INTEGER NOT NULL, last INTEGER NOT NULL, heading TEXT NOT NULL,
        slug TEXT NOT NULL, key BLOB NOT NULL, importance INTEGER, status TEXT NOT NULL
    );
    CREATE INDEX passages_of ON passages (document);
    {WORDS};
    {BALLAST}
    """,
)
Known = dict[tuple[str, ...], list[int]]
"""Rows by the terms they have."""


class Place(NamedTuple):
    """A passage, and the file it stands in."""

    id: int
    source: str
    """Nothing for the group itself, else the name of the group that the file belongs to."""
    path: str
    blob: str
    start: int
    stop: int
    line: int
    last: int
    heading: str
    slug: str
    """The name of the entry it belongs to, if to one."""
    key: bytes
    """What that entry is known by, else what the file is."""
    importance: int | None
    status: str


class Content(NamedTuple):
    """A file as it is to be found; None for one that cannot be read."""

    path: str
    blob: str
    data: bytes | None


def states(connection: Connection) -> dict[str, str]:
    """The tree of each source that the table has."""
    return dict(connection.execute("SELECT source, tree FROM states"))


def set_state(connection: Connection, source: str, tree: str) -> None:
    """Say that all of a source is as in TREE."""
    connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (source, tree))


def unread(connection: Connection) -> list[tuple[str, str, str]]:
    """Source, path and blob of the files that could not be read."""
    rows = connection.execute("SELECT source, path, blob FROM files WHERE NOT is_read")
    return [(source, _path(raw), blob) for source, raw, blob in rows]


def forget(connection: Connection, source: str, paths: Iterable[str]) -> None:
    """These files are no more."""
    for path in paths:
        row = _row_of(connection, source, path)
        if row is not None:
            _delete(connection, _rows_in(connection, row).values())
            connection.execute("DELETE FROM files WHERE id = ?", (row,))


def forget_all(connection: Connection, source: str) -> None:
    """This source is no more."""
    rows = connection.execute("SELECT path FROM files WHERE source = ?", (source,)).fetchall()
    forget(connection, source, (_path(raw) for (raw,) in rows))
    connection.execute("DELETE FROM states WHERE source = ?", (source,))


def put(connection: Connection, source: str, contents: Iterable[Content]) -> None:
    """These files are as they are given."""
    work = _Work(connection)
    for each in contents:
        work.put(source, each)
    work.flush()


class _Work:
    """Rows on their way into the tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._file, self._passage = _last(connection, "files"), _last(connection, "passages")
        self._is_new = not self._file
        self._rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in _INSERTS}

    def put(self, source: str, content: Content) -> None:
        """Take in one file."""
        row = None if self._is_new else _row_of(self._connection, source, content.path)
        known = {} if row is None else _rows_in(self._connection, row)
        if row is None:
            self._file += 1
            row = self._file
        text = _text(content.data)
        importance, status = _said(text)
        facts = (key_of_file(content.data or b""), importance, status, content.data is not None)
        self._rows["files"].append((row, source, _raw(content.path), content.blob, *facts))
        self._add(row, content.path, text, known)
        _delete(self._connection, known.values())
        if len(self._rows["words"]) >= MANY:
            self.flush()

    def _add(self, row: int, path: str, text: str, known: Known) -> None:
        parts = passages(text)
        for part, words in zip(parts, _words(text, parts, _named(path)), strict=True):
            same = known.get(words)
            if same:
                self._rows["passages"].append(_place(same.pop(), row, part))
                continue
            self._passage += 1
            self._rows["passages"].append(_place(self._passage, row, part))
            self._rows["words"].append((self._passage, *words))

    def flush(self) -> None:
        """Hand over what has gathered."""
        for name, rows in self._rows.items():
            self._connection.executemany(_INSERTS[name], rows)
            rows.clear()


_INSERTS = {
    "files": f"INSERT OR REPLACE INTO files VALUES ({', '.join('?' * 8)})",
    "passages": f"INSERT OR REPLACE INTO passages VALUES ({', '.join('?' * 11)})",
    "words": "INSERT INTO words(rowid, text, before, after, head) VALUES (?, ?, ?, ?, ?)",
}


def places(connection: Connection, ids: Sequence[int]) -> Mapping[int, Place]:
    """The passages with these ids."""
    found: dict[int, Place] = {}
    for part, marks in portions(ids):
        rows = connection.execute(
            "SELECT p.id, f.source, f.path, f.blob, p.start, p.stop, p.line, p.last, p.heading,"
            " p.slug, CASE p.slug WHEN '' THEN f.key ELSE p.key END,"
            " CASE p.slug WHEN '' THEN f.importance ELSE p.importance END,"
            " CASE p.slug WHEN '' THEN f.status ELSE p.status END"
            f" FROM passages AS p JOIN files AS f ON f.id = p.document WHERE p.id IN ({marks})",
            part,
        )
        for number, source, raw, *rest in rows:
            found[number] = Place(number, source, _path(raw), *rest)
    return found


def file_of(connection: Connection, document: int) -> tuple[str, str]:
    """The source and path of a file by its number."""
    row = connection.execute("SELECT source, path FROM files WHERE id = ?", (document,)).fetchone()
    return row[0], _path(row[1])


def _raw(path: str) -> bytes:
    """PATH as git has it: not every name is a text."""
    return path.encode("utf-8", "surrogateescape")


def _path(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _last(connection: Connection, table: str) -> int:
    found = connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
    return int(found or 0)


def _row_of(connection: Connection, source: str, path: str) -> int | None:
    wanted = "SELECT id FROM files WHERE source = ? AND path = ?"
    found = connection.execute(wanted, (source, _raw(path))).fetchone()
    return None if found is None else int(found[0])


def _rows_in(connection: Connection, row: int) -> Known:
    """The passages of a file, by what they are found by."""
    found: Known = {}
    for number, *words in connection.execute(
        "SELECT p.id, w.text, w.before, w.after, w.head"
        " FROM passages AS p JOIN words AS w ON w.rowid = p.id WHERE p.document = ?",
        (row,),
    ):
        found.setdefault(tuple(words), []).append(number)
    return found


def _delete(connection: Connection, rows: Iterable[Iterable[int]]) -> None:
    gone = [(number,) for numbers in rows for number in numbers]
    if gone:
        connection.executemany("DELETE FROM words WHERE rowid = ?", gone)
        connection.executemany("DELETE FROM passages WHERE id = ?", gone)


def _text(data: bytes | None) -> str:
    """What of a file can be looked for; nothing of one that is no text."""
    if data is None or b"\0" in data:
        return ""
    return data.decode("utf-8", "replace")


def _said(text: str) -> tuple[int | None, str]:
    """Importance and status that the frontmatter names."""
    fields = read_fields(text) if text.startswith(("---", "\ufeff---")) else {}
    found, status = fields.get("importance"), fields.get("status")
    is_number = isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= 5  # noqa: PLR2004
    return found if is_number else None, status.lower() if isinstance(status, str) else ""  # type: ignore[return-value]


def _named(path: str) -> str:
    """What the name of a file tells: its words, and the day it is of."""
    name = path.rpartition("/")[2].partition(".")[0]
    return terms_of(f"{path.removesuffix('.md')} {spelled(day_of(name).date)}")


def _words(text: str, parts: Sequence[Passage], named: str) -> Iterator[tuple[str, ...]]:
    """By which terms each passage is found: its own, those around it, those above it."""
    own = [terms_of(text[part.start : part.stop]) for part in parts]
    for at, part in enumerate(parts):
        before, after = max(at - 1, 0), min(at + 1, len(parts) - 1)
        # An entry stands for itself: what its neighbours say is about something else.
        led = before < at and parts[before].entry == part.entry
        followed = after > at and parts[after].entry == part.entry
        around = ending(own[before]) if led else "", beginning(own[after]) if followed else ""
        yield own[at], *around, f"{terms_of(part.heading)} {named}"


def _place(number: int, row: int, part: Passage) -> tuple[object, ...]:
    entry = part.entry
    spot = (number, row, part.start, part.stop, part.line, part.last, part.heading)
    if entry is None:
        return (*spot, "", b"", None, "")
    key = key_of(entry.block.encode("utf-8", "surrogateescape"))
    return (*spot, entry.slug, key, entry.importance, entry.status)
