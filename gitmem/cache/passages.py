"""The full-text index of files: which passages have which terms.

It stores terms and positions, never the text, which is read from its commit. `fill` adds files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.cache.database import Connection, Schema, chunks
from gitmem.cache.scoring import BALLAST, WORDS
from gitmem.model.record import Record

SCHEMA = Schema(
    6,
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
KnownRows = dict[tuple[str, ...], list[int]]
"""The passages of a file by their terms."""


class PassageRow(NamedTuple):
    """A passage and its file."""

    id: int
    source: str
    """The group of the file; empty for the group of the index."""
    path: str
    blob: str
    start: int
    stop: int
    line: int
    last: int
    heading: str
    slug: str
    """The slug of its entry, if it has one."""
    key: bytes
    """The freshness key of its entry, else of the file."""
    importance: int | None
    status: str


class FileContent(Record):
    """A file to index; data is None if it cannot be read."""

    path: str
    blob: str
    data: bytes | None


def states(connection: Connection) -> dict[str, str]:
    """Return the indexed tree of each source."""
    return dict(connection.execute("SELECT source, tree FROM states"))


def set_state(connection: Connection, source: str, tree: str) -> None:
    """Record that SOURCE is indexed as of TREE."""
    connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (source, tree))


def unread(connection: Connection) -> list[tuple[str, str, str]]:
    """Return source, path and blob of the files that could not be read."""
    rows = connection.execute("SELECT source, path, blob FROM files WHERE NOT is_read")
    return [(source, _path(raw), blob) for source, raw, blob in rows]


def forget(connection: Connection, source: str, paths: Iterable[str]) -> None:
    """Remove files from the index."""
    for path in paths:
        row = row_of(connection, source, path)
        if row is not None:
            delete_words(connection, rows_in(connection, row).values())
            take_out(connection, row)


def forget_all(connection: Connection, source: str) -> None:
    """Remove a source from the index."""
    rows = connection.execute("SELECT path FROM files WHERE source = ?", (source,)).fetchall()
    forget(connection, source, (_path(raw) for (raw,) in rows))
    connection.execute("DELETE FROM states WHERE source = ?", (source,))


def passage_rows(connection: Connection, ids: Sequence[int]) -> Mapping[int, PassageRow]:
    """Return the passages with IDS."""
    found: dict[int, PassageRow] = {}
    for part, marks in chunks(ids):
        rows = connection.execute(
            "SELECT p.id, f.source, f.path, f.blob, p.start, p.stop, p.line, p.last, p.heading,"
            " p.slug, CASE p.slug WHEN '' THEN f.key ELSE p.key END,"
            " CASE p.slug WHEN '' THEN f.importance ELSE p.importance END,"
            " CASE p.slug WHEN '' THEN f.status ELSE p.status END"
            f" FROM passages AS p JOIN files AS f ON f.id = p.document WHERE p.id IN ({marks})",
            part,
        )
        for number, source, raw, *rest in rows:
            found[number] = PassageRow(number, source, _path(raw), *rest)
    return found


def file_of(connection: Connection, document: int) -> tuple[str, str]:
    """Return the source and path of a file by its row."""
    row = connection.execute("SELECT source, path FROM files WHERE id = ?", (document,)).fetchone()
    return row[0], _path(row[1])


def raw_path(path: str) -> bytes:
    """Return PATH as bytes: git allows names that are not UTF-8."""
    return path.encode("utf-8", "surrogateescape")


def _path(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def row_of(connection: Connection, source: str, path: str) -> int | None:
    """Return the row of a file; None if it is not indexed."""
    query = "SELECT id FROM files WHERE source = ? AND path = ?"
    found = connection.execute(query, (source, raw_path(path))).fetchone()
    return None if found is None else int(found[0])


def rows_in(connection: Connection, row: int) -> KnownRows:
    """Return the passages of a file by their terms."""
    found: KnownRows = {}
    for number, *words in connection.execute(
        "SELECT p.id, w.text, w.before, w.after, w.head"
        " FROM passages AS p JOIN words AS w ON w.rowid = p.id WHERE p.document = ?",
        (row,),
    ):
        found.setdefault(tuple(words), []).append(number)
    return found


def take_out(connection: Connection, row: int) -> None:
    """Remove a file and its passages, but not their terms."""
    connection.execute("DELETE FROM files WHERE id = ?", (row,))
    connection.execute("DELETE FROM passages WHERE document = ?", (row,))


def delete_words(connection: Connection, rows: Iterable[Iterable[int]]) -> None:
    """Remove the terms of passages."""
    gone = ((number,) for numbers in rows for number in numbers)
    connection.executemany("DELETE FROM words WHERE rowid = ?", gone)
