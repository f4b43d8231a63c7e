"""Putting batches of messages into the tables of what was said.

A message is told what stands before it in its chat, and the one before it what comes after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.cache.database import MANY, Connection
from gitmem.cache.messages import last_number, storable
from gitmem.model.language.passages import beginning, ending, parted
from gitmem.model.language.words import terms_of
from gitmem.model.layout.journal import spelled
from gitmem.model.transcripts.batches import Message, key_of


def put(connection: Connection, batches: Iterable[tuple[str, str, Sequence[Message]]]) -> None:
    """Take in batches, each with its path and its blob, in the order of their numbers."""
    work = _Work(connection)
    for path, blob, messages in batches:
        work.put(path, blob, messages)
    work.flush()


class _Work:
    """Rows on their way into the tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._passage = int(connection.execute("SELECT max(id) FROM passages").fetchone()[0] or 0)
        self._number = last_number(connection)
        self._chats = dict(connection.execute("SELECT name, id FROM chats"))
        self._senders = {name for (name,) in connection.execute("SELECT name FROM senders")}
        self._keys: set[bytes] = set()
        self._days: dict[tuple[int, str], int] = {}
        self._last: dict[int, list[object]] = {}
        self._rows: dict[str, list[Sequence[object]]] = {name: [] for name in _INSERTS}
        self._written: set[int] = set()

    def put(self, path: str, blob: str, messages: Sequence[Message]) -> None:
        """Take in one batch."""
        row = self._connection.execute(
            "INSERT INTO batches(path, blob) VALUES (?, ?)", (path, blob)
        )
        for each in messages:
            key = key_of(each.chat, each.id)
            # A number only grows, unless somebody has made it up; an id comes twice where its
            # batch could not be read when it came again.
            if each.number > self._number and key not in self._keys:
                self._number = each.number
                self._keys.add(key)
                self._message(each, key, int(row.lastrowid or 0))
        if len(self._rows["words"]) >= MANY:
            self.flush()

    def _message(self, message: Message, key: bytes, batch: int) -> None:
        chat, sender = self._chat(storable(message.chat)), storable(message.sender)
        day = message.at.date()
        facts = (key, batch, chat, sender)
        self._rows["messages"].append((message.number, *facts, message.at.timestamp()))
        self._know(sender)
        document = self._day(chat, f"{day}")
        named = terms_of(f"{sender} {day} {spelled(str(day))}")
        for start, stop in parted(message.text):
            self._passage += 1
            own = terms_of(message.text[start:stop])
            before = self._before(chat, own)
            row: list[object] = [self._passage, own, ending(before), "", named]
            self._rows["passages"].append((self._passage, document, message.number, start, stop))
            self._rows["words"].append(row)
            self._last[chat] = row

    def _before(self, chat: int, own: str) -> str:
        """The terms that stand before those of a new passage, which is told what comes after."""
        row = self._last.get(chat) or self._stored(chat)
        if row is None:
            return ""
        row[3] = beginning(own)
        if row[0] in self._written:
            self._connection.execute("UPDATE words SET after = ? WHERE rowid = ?", (row[3], row[0]))
        return str(row[1])

    def _stored(self, chat: int) -> list[object] | None:
        """The last passage of a chat that is in the tables already."""
        found = self._connection.execute(
            "SELECT rowid, text, before, after, head FROM words WHERE rowid = ("
            " SELECT p.id FROM messages AS m CROSS JOIN passages AS p ON p.number = m.number"
            " WHERE m.chat = ? ORDER BY m.number DESC, p.id DESC LIMIT 1)",
            (chat,),
        ).fetchone()
        if found is None:
            return None
        self._written.add(found[0])
        return list(found)

    def _chat(self, name: str) -> int:
        if name not in self._chats:
            row = self._connection.execute("INSERT INTO chats(name) VALUES (?)", (name,))
            self._chats[name] = int(row.lastrowid or 0)
        return int(self._chats[name])

    def _day(self, chat: int, day: str) -> int:
        """What a message of that day counts as a part of."""
        if (chat, day) not in self._days:
            self._connection.execute(
                "INSERT OR IGNORE INTO days(chat, day) VALUES (?, ?)", (chat, day)
            )
            row = self._connection.execute(
                "SELECT id FROM days WHERE chat = ? AND day = ?", (chat, day)
            )
            self._days[chat, day] = int(row.fetchone()[0])
        return self._days[chat, day]

    def _know(self, sender: str) -> None:
        if sender not in self._senders:
            self._senders.add(sender)
            values = sender, terms_of(sender)
            self._connection.execute("INSERT OR IGNORE INTO senders VALUES (?, ?)", values)

    def flush(self) -> None:
        """Hand over what has gathered."""
        for name, rows in self._rows.items():
            self._connection.executemany(_INSERTS[name], rows)
            rows.clear()
        self._written = {int(str(row[0])) for row in self._last.values()}


_INSERTS = {
    "messages": "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
    "passages": "INSERT INTO passages VALUES (?, ?, ?, ?, ?)",
    "words": "INSERT INTO words(rowid, text, before, after, head) VALUES (?, ?, ?, ?, ?)",
}
