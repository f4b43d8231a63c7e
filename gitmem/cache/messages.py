"""The index of messages: by number, chat and key, and full text.

A message is found by its own terms, those of its neighbours in the chat, its sender and its date.
The text stays in its batch. `fill` adds batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from gitmem.cache.database import Connection, Schema, chunks
from gitmem.cache.scoring import BALLAST, WORDS
from gitmem.model.record import Record
from gitmem.model.transcripts.batches import chat_name
from gitmem.model.transcripts.intervals import Range, read_range

SCHEMA = Schema(
    5,
    f"""
    CREATE TABLE states (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE batches (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, blob TEXT NOT NULL);
    CREATE TABLE unread (path TEXT PRIMARY KEY, blob TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE forgotten (key BLOB PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE chats (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE days (
        id INTEGER PRIMARY KEY, chat INTEGER NOT NULL, day TEXT NOT NULL, UNIQUE (chat, day)
    );
    CREATE TABLE messages (
        number INTEGER PRIMARY KEY, key BLOB NOT NULL, batch INTEGER NOT NULL,
        chat INTEGER NOT NULL, sender TEXT NOT NULL, at REAL NOT NULL
    );
    CREATE INDEX messages_by_key ON messages (key);
    CREATE INDEX messages_of ON messages (chat, number);
    CREATE TABLE senders (name TEXT PRIMARY KEY, terms TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE passages (
        id INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL,
        start INTEGER NOT NULL, stop INTEGER NOT NULL
    );
    CREATE INDEX passages_of ON passages (number);
    CREATE TABLE deeds (
        place INTEGER PRIMARY KEY, oid TEXT NOT NULL UNIQUE, undoes TEXT NOT NULL,
        partly TEXT NOT NULL, closes TEXT NOT NULL, chat TEXT NOT NULL, covers TEXT NOT NULL
    );
    {WORDS};
    {BALLAST}
    """,
)
TREE, TIP = "tree", "tip"
"""Names of states: the indexed tree of transcripts, and the commit of the branch."""


class MessagePassage(NamedTuple):
    """A passage of a message, and its batch."""

    id: int
    number: int
    start: int
    stop: int
    path: str
    blob: str
    """The batch."""
    sender: str
    chat: str
    at: float


class IndexedMessage(NamedTuple):
    """A message without its text."""

    number: int
    key: bytes
    chat: str
    at: float


class RangeCommit(NamedTuple):
    """A commit of the branch that closes a range of messages, or undoes others."""

    oid: str
    undoes: tuple[str, ...] = ()
    partly: tuple[str, ...] = ()
    """Commits of which it undoes a part."""
    closes: Range | None = None
    covers: tuple[str, ...] = ()


class Chat(Record):
    """One chat and its messages in numbers."""

    chat: str
    messages: int
    first: int
    last: int
    since: datetime
    until: datetime
    senders: tuple[str, ...]


def state(connection: Connection, name: str) -> str:
    """Return the state NAME; empty if it was never set."""
    row = connection.execute("SELECT value FROM states WHERE name = ?", (name,)).fetchone()
    return str(row[0]) if row else ""


def set_state(connection: Connection, name: str, value: str) -> None:
    """Set the state NAME."""
    connection.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (name, value))


def clear(connection: Connection) -> None:
    """Remove all messages from the index."""
    tables = ("batches", "unread", "forgotten", "chats", "days", "messages", "senders", "passages")
    for each in tables:
        connection.execute(f"DELETE FROM {each}")
    connection.execute("DELETE FROM words WHERE rowid > 0")
    connection.execute("DELETE FROM states WHERE name = ?", (TREE,))


def forget(connection: Connection, keys: Iterable[bytes]) -> None:
    """Record the keys of pruned messages."""
    connection.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", ((key,) for key in keys))


def known(connection: Connection, keys: Sequence[bytes]) -> set[bytes]:
    """Return those of KEYS that a message has, or had before it was pruned."""
    found: set[bytes] = set()
    for part, marks in chunks(keys):
        for table in ("messages", "forgotten"):
            query = f"SELECT key FROM {table} WHERE key IN ({marks})"
            found.update(key for (key,) in connection.execute(query, part))
    return found


def numbers_by_key(connection: Connection, keys: Sequence[bytes]) -> set[int]:
    """Return the numbers of the messages with KEYS."""
    found: set[int] = set()
    for part, marks in chunks(keys):
        query = f"SELECT number FROM messages WHERE key IN ({marks})"
        found.update(number for (number,) in connection.execute(query, part))
    return found


def message_passages(connection: Connection, ids: Sequence[int]) -> Mapping[int, MessagePassage]:
    """Return the passages with IDS."""
    found: dict[int, MessagePassage] = {}
    for part, marks in chunks(ids):
        rows = connection.execute(
            "SELECT p.id, p.number, p.start, p.stop, b.path, b.blob, m.sender, c.name, m.at"
            " FROM passages AS p JOIN messages AS m ON m.number = p.number"
            " JOIN batches AS b ON b.id = m.batch JOIN chats AS c ON c.id = m.chat"
            f" WHERE p.id IN ({marks})",
            part,
        )
        found.update((row[0], MessagePassage(*row)) for row in rows)
    return found


def senders(connection: Connection) -> dict[str, frozenset[str]]:
    """Return the senders, each with the terms of the name."""
    rows = connection.execute("SELECT name, terms FROM senders")
    return {name: frozenset(terms.split()) for name, terms in rows}


def day_of(connection: Connection, document: int) -> str:
    """Return the day of a document: the messages of one day in one chat."""
    row = connection.execute("SELECT day FROM days WHERE id = ?", (document,)).fetchone()
    return str(row[0])


def is_of(connection: Connection, document: int, chats: Iterable[str]) -> bool:
    """Whether a document belongs to one of CHATS, which are names as stored."""
    query = "SELECT c.name FROM days AS d JOIN chats AS c ON c.id = d.chat WHERE d.id = ?"
    return connection.execute(query, (document,)).fetchone()[0] in chats


def last_number(connection: Connection) -> int:
    """Return the number of the newest message; 0 if there is none."""
    return int(connection.execute("SELECT max(number) FROM messages").fetchone()[0] or 0)


def counts(connection: Connection) -> tuple[int, int]:
    """Return the number of messages and of chats."""
    row = connection.execute(
        "SELECT (SELECT count(*) FROM messages), (SELECT count(*) FROM chats)"
    ).fetchone()
    return int(row[0]), int(row[1])


def unread(connection: Connection) -> list[tuple[str, str]]:
    """Return the paths and blobs of unreadable batches, by name."""
    rows = connection.execute("SELECT path, blob FROM unread").fetchall()
    return sorted(rows, key=lambda row: str(row[0]).rpartition("/")[2])


def next_number(connection: Connection, number: int) -> int:
    """Return the number of the first readable message after NUMBER; 0 if there is none."""
    query = "SELECT min(number) FROM messages WHERE number > ?"
    return int(connection.execute(query, (number,)).fetchone()[0] or 0)


def put_unread(connection: Connection, path: str, blob: str) -> None:
    """Record an unreadable batch, which may be repaired later."""
    connection.execute("INSERT OR REPLACE INTO unread VALUES (?, ?)", (path, blob))


def numbers_in(connection: Connection, chosen: Range) -> Iterator[tuple[int, str]]:
    """Return the existing numbers of CHOSEN, each with its chat, in order."""
    query = (
        "SELECT m.number, c.name FROM messages AS m JOIN chats AS c ON c.id = m.chat"
        " WHERE m.number BETWEEN ? AND ?"
    )
    values: tuple[object, ...] = (chosen.first, chosen.last)
    if chosen.chat:
        query, values = f"{query} AND c.name = ?", (*values, storable(chosen.chat))
    return connection.execute(f"{query} ORDER BY m.number", values)


def spans(connection: Connection, chat: str = "") -> list[tuple[str, int, int]]:
    """Return each chat, or CHAT alone, with the first and the last number of its messages."""
    # Two index lookups for each chat: GROUP BY would read all messages.
    query = (
        "SELECT name, (SELECT min(number) FROM messages WHERE chat = chats.id),"
        " (SELECT max(number) FROM messages WHERE chat = chats.id) FROM chats"
    )
    if not chat:
        return connection.execute(query).fetchall()
    return connection.execute(f"{query} WHERE name = ?", (storable(chat),)).fetchall()


def numbers_of(connection: Connection, chat: str, first: int, last: int) -> list[int]:
    """Return the numbers of CHAT from FIRST to LAST, in order."""
    rows = connection.execute(
        "SELECT number FROM messages WHERE chat = (SELECT id FROM chats WHERE name = ?)"
        " AND number BETWEEN ? AND ? ORDER BY number",
        (chat, first, last),
    )
    return [number for (number,) in rows]


def batches_of(connection: Connection, numbers: Sequence[int]) -> list[tuple[str, str]]:
    """Return the paths and blobs of the batches with the messages NUMBERS, in order."""
    found: dict[tuple[str, str], None] = {}
    for part, marks in chunks(numbers):
        rows = connection.execute(
            "SELECT b.path, b.blob FROM messages AS m JOIN batches AS b ON b.id = m.batch"
            f" WHERE m.number IN ({marks}) ORDER BY m.number",
            part,
        )
        found.update(dict.fromkeys(rows))
    return list(found)


def by_batch(connection: Connection) -> Iterator[tuple[str, list[IndexedMessage]]]:
    """Yield each batch by its path, with its messages, in order."""
    rows = connection.execute(
        "SELECT b.path, m.number, m.key, c.name, m.at FROM messages AS m"
        " JOIN batches AS b ON b.id = m.batch JOIN chats AS c ON c.id = m.chat ORDER BY m.number"
    )
    for path, group in groupby(rows, key=lambda row: str(row[0])):
        yield path, [IndexedMessage(*each[1:]) for each in group]


def newest(connection: Connection, chat: str, count: int) -> list[int]:
    """Return the numbers of the last COUNT messages of a chat by time; 0 is all.

    A higher number may be an older message: a conversation that was imported later.
    """
    rows = connection.execute(
        "SELECT m.number FROM messages AS m JOIN chats AS c ON c.id = m.chat WHERE c.name = ?"
        " ORDER BY m.at DESC, m.number DESC LIMIT ?",
        (storable(chat), count or -1),
    )
    return [number for (number,) in rows][::-1]


def chats(connection: Connection) -> list[Chat]:
    """Return all chats, the one with the newest message first."""
    rows = connection.execute(
        "SELECT c.name, count(*), min(m.number), max(m.number), min(m.at), max(m.at)"
        " FROM messages AS m JOIN chats AS c ON c.id = m.chat GROUP BY c.id"
        " ORDER BY max(m.at) DESC, c.name"
    ).fetchall()
    return [
        Chat(name, count, first, last, _time(since), _time(until), _senders_of(connection, name))
        for name, count, first, last, since, until in rows
    ]


def _senders_of(connection: Connection, chat: str) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT m.sender FROM messages AS m JOIN chats AS c ON c.id = m.chat WHERE c.name = ?"
        " GROUP BY m.sender ORDER BY count(*) DESC, m.sender LIMIT 10",
        (chat,),
    )
    return tuple(sender for (sender,) in rows)


def _time(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except ValueError:  # outside of the calendar in UTC
        return (datetime.min if seconds < 0 else datetime.max).replace(tzinfo=UTC)


def stored_chat(connection: Connection, chat: str) -> str:
    """Return the stored name of CHAT, which may be its name before redaction."""
    name = storable(chat)
    found = connection.execute("SELECT 1 FROM chats WHERE name = ?", (name,)).fetchone()
    return name if found else storable(chat_name(chat)[0])


def storable(name: str) -> str:
    """Return NAME without lone surrogates, which SQLite does not take."""
    return name if name.isascii() else name.encode("utf-8", "replace").decode()


def range_commits(connection: Connection) -> list[RangeCommit]:
    """Return the stored commits, the newest first."""
    rows = connection.execute(
        "SELECT oid, undoes, partly, closes, chat, covers FROM deeds ORDER BY place DESC"
    )
    return [
        RangeCommit(
            oid,
            tuple(undoes.split()),
            tuple(partly.split()),
            read_range(closes, chat),
            tuple(covers.split()),
        )
        for oid, undoes, partly, closes, chat, covers in rows
    ]


def put_range_commits(connection: Connection, found: Iterable[RangeCommit], *, anew: bool) -> None:
    """Add commits, the oldest first; ANEW removes those before."""
    if anew:
        connection.execute("DELETE FROM deeds")
    for each in found:
        closes, chat = (str(each.closes), each.closes.chat) if each.closes else ("", "")
        covers = (" ".join(each.covers),)
        connection.execute(
            "INSERT INTO deeds(oid, undoes, partly, closes, chat, covers)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (each.oid, *map(" ".join, (each.undoes, each.partly)), closes, chat, *covers),
        )
