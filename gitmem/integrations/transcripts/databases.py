"""Conversations in SQLite databases: the C4 bridge of zylos, and nano.

A database is identified by its tables and columns, and read in portions of rows, so that its owner
never waits long. Nothing is written beside it: a reader of a database in WAL mode would recreate
its shared memory and remove the log of a program that died, so it is opened by what lies there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from gitmem.errors import BadInput
from gitmem.integrations.transcripts.readers import (
    NO_TEXT,
    files_among,
    home_in,
    moment_of,
    opened,
    parsed,
    unknown,
)
from gitmem.memory.transcripts.checkpoint import Summarised
from gitmem.memory.transcripts.import_file import ParsedLine
from gitmem.model.hints import Hint, call

if TYPE_CHECKING:
    import sqlite3

_MAGIC = b"SQLite format 3\0"
_VERSIONS = 20
_WAL = 2
_PATIENCE = 1.0
"""Seconds to wait for a lock of the database."""
PORTION = 500
"""Rows read at once."""
_DIRECTIONS = {"in": "user", "out": "assistant"}
Row = tuple[object, ...]


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A read-only connection; BadInput where reading fails, also while it is used."""
    import sqlite3

    with opened(path) as file:
        head = file.read(_VERSIONS)
    if not head.startswith(_MAGIC):
        raise BadInput(f"{path} is not a SQLite database", hint="give the path of the database")
    try:
        with _way_in(path, _WAL in head[-2:]) as way, closing(_connected(way)) as connection:
            yield connection
    except sqlite3.Error as error:
        hint = "try again when the program that owns it is idle, or import a copy"
        raise BadInput(f"reading {path} failed: {error}", hint=hint) from error


def _connected(uri: str) -> sqlite3.Connection:
    import sqlite3

    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_PATIENCE)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return connection


@contextmanager
def _way_in(path: Path, wal: bool) -> Iterator[str]:
    """The URI by which SQLite opens a database without writing."""
    log, shared = (path.with_name(path.name + end) for end in ("-wal", "-shm"))
    if not wal:
        yield _address(path, "mode=ro")
    elif log.exists() and shared.exists():  # a program may run, even with an empty log
        yield _address(path, "mode=ro&readonly_shm=1")
    elif not log.exists() or log.stat().st_size == 0:
        yield _address(path, "mode=ro&immutable=1")
    else:
        with _copied(path, log) as copy:
            yield _address(copy, "mode=rw")


def _address(path: Path, how: str) -> str:
    return f"file:{quote(str(path.absolute()))}?{how}"


@contextmanager
def _copied(path: Path, log: Path) -> Iterator[Path]:
    """A temporary copy of a database and its log."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="gitmem-") as folder:
        copy = Path(folder) / "copy.db"
        shutil.copyfile(path, copy)
        shutil.copyfile(log, f"{copy}-wal")
        yield copy


class Database(NamedTuple):
    """The database of one system: where it is, and how its rows are read."""

    system: str
    places: tuple[str, ...]
    """Paths in the folder of the system, the usual one first."""
    home: Callable[[Mapping[str, str]], Path]
    table: str
    columns: tuple[tuple[str, ...], ...]
    """The columns of each row, each with its possible names."""
    optional: tuple[str, ...]
    read_row: Callable[[Row], ParsedLine]

    def rows(self, path: Path, offset: int) -> Iterator[tuple[ParsedLine, int]]:
        """The messages in the rows of PATH after OFFSET, each with the number of its row."""
        with reading(path) as connection:
            names = self._names(connection, path)
            query = f"SELECT rowid, {', '.join(names)} FROM {self.table} WHERE rowid > ?"
            query += f" ORDER BY rowid LIMIT {PORTION}"
            while rows := connection.execute(query, (offset,)).fetchall():
                for number, *values in rows:
                    offset = number
                    yield self.read_row(tuple(values)), number

    def mark(self, path: Path, number: int) -> str:
        """A digest of the row NUMBER of PATH; empty where it is missing or unreadable.

        SQLite reuses the number of a deleted row, so the number alone does not identify it.
        """
        with suppress(BadInput, OSError), reading(path) as connection:
            names = ", ".join(self._names(connection, path))
            query = f"SELECT {names} FROM {self.table} WHERE rowid = ?"
            row = connection.execute(query, (number,)).fetchone()
            data = repr(row).encode("utf-8", "backslashreplace")
            return sha1(data, usedforsecurity=False).hexdigest()[:16] if row else ""
        return ""

    def _names(self, connection: sqlite3.Connection, path: Path) -> list[str]:
        """The names of the columns to read."""
        there = columns_of(connection, self.table)
        named = [next((name for name in names if name in there), "") for names in self.columns]
        if all(named):
            return [*named, *(each if each in there else "NULL" for each in self.optional)]
        raise _not_of(self, connection, path)

    def is_there(self, connection: sqlite3.Connection) -> bool:
        """Whether the database has the tables of this system."""
        there = columns_of(connection, self.table)
        return all(there.intersection(names) for names in self.columns)

    def files(self, folder: Path) -> list[Path]:
        """The database in the folder of the system."""
        return files_among(folder / each for each in self.places)[:1]


def columns_of(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table; none where it is missing."""
    return {str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")}


def _not_of(named: Database, connection: sqlite3.Connection, path: Path) -> BadInput:
    """The error for the database at PATH, which is not one of the system that was NAMED."""
    for name, each in DATABASES.items():
        if each.is_there(connection):
            again = call("transcript import", name, str(path))
            other = Hint(f"{path} is a database of {each.system}: run ", again)
            return BadInput(other, hint="give the path of the database")
    text = f"{path} has no conversations of {named.system}: no known table {named.table!r}"
    return BadInput(text, hint="give the path of the database")


def _said_in_c4(row: Row) -> ParsedLine:
    number, at, direction, channel, content, endpoint = row
    if not isinstance(content, str) or not content.strip():
        return NO_TEXT
    sender = _DIRECTIONS.get(str(direction))
    if sender is None:
        return unknown(str(direction))
    return parsed(_id_in_c4(number), _chat_in_c4(channel, endpoint), sender, at, [content])


def _id_in_c4(number: object) -> str:
    """The id of a message of the bridge; the prefix keeps it apart from ids of other sources."""
    return f"c4:{number}"


def _chat_in_c4(channel: object, endpoint: object) -> str:
    return f"{channel}:{endpoint}" if endpoint not in (None, "") else str(channel)


def _said_in_nano(row: Row) -> ParsedLine:
    id, chat, at, content, mine, sender, name, bot = row
    if not isinstance(content, str) or not content.strip():
        return NO_TEXT
    who = "assistant" if mine or bot else str(name or sender or "user")
    return parsed(id, str(chat), who, at, [content])


def summarised_in_c4(path: Path) -> list[Summarised]:
    """The checkpoints of a bridge with the messages they cover; none for an old schema."""
    found: list[Summarised] = []
    with reading(path) as connection:
        wanted = {"summary", "start_conversation_id", "end_conversation_id"}
        if not wanted <= columns_of(connection, "checkpoints"):
            return []
        channel = "channel" if "channel" in columns_of(connection, "conversations") else "source"
        covered = f"SELECT id, {channel}, endpoint_id FROM conversations WHERE id BETWEEN ? AND ?"
        at = "timestamp" if "timestamp" in columns_of(connection, "checkpoints") else "NULL"
        checkpoints = connection.execute(
            f"SELECT start_conversation_id, end_conversation_id, summary, {at} FROM checkpoints"
            " WHERE end_conversation_id IS NOT NULL ORDER BY end_conversation_id, id"
        ).fetchall()
        after = 0
        for start, end, summary, made in checkpoints:
            rows = connection.execute(covered, (start or after + 1, end)).fetchall()
            messages = [(_chat_in_c4(*where), _id_in_c4(number)) for number, *where in rows]
            found.append(Summarised(messages, str(summary or ""), moment_of(made)))
            after = end
    return found


def _zylos(environ: Mapping[str, str]) -> Path:
    chosen = environ.get("ZYLOS_DIR")
    return Path(chosen) if chosen else home_in(environ) / "zylos"


DATABASES = {
    "c4": Database(
        "C4",
        ("comm-bridge/c4.db", "c4.db"),
        _zylos,
        "conversations",
        (("id",), ("timestamp",), ("direction",), ("channel", "source"), ("content",)),
        ("endpoint_id",),
        _said_in_c4,
    ),
    "nano": Database(
        "nano",
        ("store/messages.db", "messages.db"),
        lambda environ: home_in(environ) / "nano",
        "messages",
        (("id",), ("chat_jid",), ("timestamp",), ("content",), ("is_from_me",)),
        ("sender", "sender_name", "is_bot_message"),
        _said_in_nano,
    ),
}
