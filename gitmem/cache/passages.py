"""The passages of memory by their words: a table for full text search, derived from files.

What is stored are terms and places, never the text: that is read from the commit it stands in.
`fill_passages` puts files in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.cache.database import Connection, Schema, chunks
from gitmem.cache.scoring import BALLAST, WORDS

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
"""Rows by the terms they have."""


class PassageRow(NamedTuple):
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


class FileContent(NamedTuple):
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
        row = row_of(connection, source, path)
        if row is not None:
            delete_words(connection, rows_in(connection, row).values())
            take_out(connection, row)


def forget_all(connection: Connection, source: str) -> None:
    """This source is no more."""
    rows = connection.execute("SELECT path FROM files WHERE source = ?", (source,)).fetchall()
    forget(connection, source, (_path(raw) for (raw,) in rows))
    connection.execute("DELETE FROM states WHERE source = ?", (source,))


def passage_rows(connection: Connection, ids: Sequence[int]) -> Mapping[int, PassageRow]:
    """The passages with these ids."""
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
    """The source and path of a file by its number."""
    row = connection.execute("SELECT source, path FROM files WHERE id = ?", (document,)).fetchone()
    return row[0], _path(row[1])


def raw_path(path: str) -> bytes:
    """PATH as git has it: not every name is a text."""
    return path.encode("utf-8", "surrogateescape")


def _path(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def row_of(connection: Connection, source: str, path: str) -> int | None:
    """The number of a file; None where it is not there."""
    wanted = "SELECT id FROM files WHERE source = ? AND path = ?"
    found = connection.execute(wanted, (source, raw_path(path))).fetchone()
    return None if found is None else int(found[0])


def rows_in(connection: Connection, row: int) -> KnownRows:
    """The passages of a file, by what they are found by."""
    found: KnownRows = {}
    for number, *words in connection.execute(
        "SELECT p.id, w.text, w.before, w.after, w.head"
        " FROM passages AS p JOIN words AS w ON w.rowid = p.id WHERE p.document = ?",
        (row,),
    ):
        found.setdefault(tuple(words), []).append(number)
    return found


def take_out(connection: Connection, row: int) -> None:
    """Remove a file and the places of its passages; their words stay."""
    connection.execute("DELETE FROM files WHERE id = ?", (row,))
    connection.execute("DELETE FROM passages WHERE document = ?", (row,))


def delete_words(connection: Connection, rows: Iterable[Iterable[int]]) -> None:
    """Remove the words of passages."""
    gone = ((number,) for numbers in rows for number in numbers)
    connection.executemany("DELETE FROM words WHERE rowid = ?", gone)
