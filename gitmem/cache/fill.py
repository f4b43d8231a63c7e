"""Adding files and batches of messages to the search indexes.

A changed file loses the passages that are gone and gets the new ones; the others keep their rows,
so that a line added to a large file costs that line. A passage of a message also has the terms of
its neighbours in the chat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.cache.database import MANY, Connection
from gitmem.cache.messages import last_number, storable
from gitmem.cache.passages import (
    FileContent,
    KnownRows,
    delete_words,
    raw_path,
    row_of,
    rows_in,
    take_out,
)
from gitmem.model.entries.blocks import Entry
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.language.passages import (
    Passage,
    beginning,
    ending,
    parted,
    passages,
    without_comments,
)
from gitmem.model.language.words import terms_of
from gitmem.model.layout.journal import day_of, spelled
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.model.transcripts.batches import Message
from gitmem.model.transcripts.batches import key_of as message_key
from gitmem.model.transcripts.compactions import without_scratchpads

Row = Sequence[object]
_NO_ENTRY = ("", b"", None, "")
_WORDS = "INSERT INTO words(rowid, text, before, after, head) VALUES (?, ?, ?, ?, ?)"
# Never OR REPLACE: to take back one row SQLite would write out all words.
_FILE_ROWS = {
    "files": f"INSERT INTO files VALUES ({', '.join('?' * 8)})",
    "passages": f"INSERT INTO passages VALUES ({', '.join('?' * 11)})",
    "words": _WORDS,
}
_MESSAGE_ROWS = {
    "messages": "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
    "passages": "INSERT INTO passages VALUES (?, ?, ?, ?, ?)",
    "words": _WORDS,
}


def put_files(connection: Connection, source: str, contents: Iterable[FileContent]) -> None:
    """Index CONTENTS of SOURCE in place of their former versions."""
    files = _FileRows(connection, source)
    for each in contents:
        files.put(each)
    files.flush()


def put_batches(
    connection: Connection, batches: Iterable[tuple[str, str, Sequence[Message]]]
) -> None:
    """Index batches, each with its path and blob, in the order of their numbers."""
    messages = _MessageRows(connection)
    for path, blob, batch in batches:
        messages.put(path, blob, batch)
    messages.flush()


class _Rows:
    """Rows that are inserted many at a time."""

    def __init__(self, connection: Connection, inserts: Mapping[str, str]) -> None:
        self._connection, self._inserts = connection, inserts
        self._rows: dict[str, list[Row]] = {name: [] for name in inserts}
        self._passage = self._last("passages")

    def flush(self) -> None:
        """Insert the rows."""
        for name, rows in self._rows.items():
            self._connection.executemany(self._inserts[name], rows)
            rows.clear()

    def _flush_many(self) -> None:
        if len(self._rows["words"]) >= MANY:
            self.flush()

    def _last(self, table: str) -> int:
        found = self._connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
        return int(found or 0)


class _FileRows(_Rows):
    def __init__(self, connection: Connection, source: str) -> None:
        super().__init__(connection, _FILE_ROWS)
        self._source, self._file = source, self._last("files")
        self._is_new = not self._file

    def put(self, content: FileContent) -> None:
        """Index one file."""
        row = None if self._is_new else row_of(self._connection, self._source, content.path)
        known: KnownRows = {}
        if row is None:
            self._file += 1
            row = self._file
        else:
            known = rows_in(self._connection, row)
            take_out(self._connection, row)
        text = _text(content.data)
        importance, status = _from_frontmatter(text)
        facts = (key_of_file(content.data or b""), importance, status, content.data is not None)
        path = raw_path(content.path)
        self._rows["files"].append((row, self._source, path, content.blob, *facts))
        self._put_passages(row, content.path, text, known)
        if known:
            delete_words(self._connection, known.values())
        self._flush_many()

    def _put_passages(self, row: int, path: str, text: str, known: KnownRows) -> None:
        text = without_scratchpads(text)
        parts = passages(text)
        words_of_parts = _words(without_comments(text), parts, _path_terms(path))
        for part, words, entry in zip(parts, words_of_parts, _facts(parts), strict=True):
            if not words[0]:
                continue  # a horizontal rule: no term to find it by
            same = known.get(words) if known else None
            if same:
                number = same.pop()
            else:
                self._passage += 1
                number = self._passage
                self._rows["words"].append((number, *words))
            span = (part.start, part.stop, part.line, part.last)
            self._rows["passages"].append((number, row, *span, part.heading, *entry))


def _text(data: bytes | None) -> str:
    """The searchable text of a file; empty for a binary one."""
    if data is None or b"\0" in data:
        return ""
    return data.decode("utf-8", "replace")


def _from_frontmatter(text: str) -> tuple[int | None, str]:
    """The importance and the status in the frontmatter."""
    fields = read_fields(text) if text.startswith(("---", "\ufeff---")) else {}
    found, status = fields.get("importance"), fields.get("status")
    is_number = isinstance(found, int) and not isinstance(found, bool) and 1 <= found <= 5  # noqa: PLR2004
    return found if is_number else None, status.lower() if isinstance(status, str) else ""  # type: ignore[return-value]


def _path_terms(path: str) -> str:
    """The terms of the path of a file, and of the day in its name."""
    name = path.rpartition("/")[2].partition(".")[0]
    return terms_of(f"{path.removesuffix('.md')} {spelled(day_of(name).date)}")


def _words(text: str, parts: Sequence[Passage], path_terms: str) -> Iterator[tuple[str, ...]]:
    """The terms of each passage: its own, those before and after it, those of its headings."""
    own = [terms_of(text[part.start : part.stop]) for part in parts]
    last = len(parts) - 1
    for at, part in enumerate(parts):
        # Not across the border of an entry: its neighbours are about something else.
        led = at > 0 and parts[at - 1].entry is part.entry
        followed = at < last and parts[at + 1].entry is part.entry
        before = ending(own[at - 1]) if led else ""
        after = beginning(own[at + 1]) if followed else ""
        yield own[at], before, after, f"{terms_of(part.heading)} {path_terms}"


def _facts(parts: Sequence[Passage]) -> Iterator[tuple[object, ...]]:
    """The facts of the entry of each part, computed once for the parts of one entry."""
    last: Entry | None = None
    facts: tuple[object, ...] = _NO_ENTRY
    for part in parts:
        if part.entry is not last:
            last = part.entry
            facts = _NO_ENTRY if last is None else _facts_of(last)
        yield facts


def _facts_of(entry: Entry) -> tuple[object, ...]:
    key = key_of(entry.block.encode("utf-8", "surrogateescape"))
    return entry.slug, key, entry.importance, entry.status


class _MessageRows(_Rows):
    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, _MESSAGE_ROWS)
        self._number = last_number(connection)
        self._chats = dict(connection.execute("SELECT name, id FROM chats"))
        self._senders = {name for (name,) in connection.execute("SELECT name FROM senders")}
        self._keys: set[bytes] = set()
        self._days: dict[tuple[int, str], int] = {}
        self._last_rows: dict[int, list[object]] = {}
        self._written: set[int] = set()

    def put(self, path: str, blob: str, messages: Sequence[Message]) -> None:
        """Index one batch."""
        row = self._connection.execute(
            "INSERT INTO batches(path, blob) VALUES (?, ?)", (path, blob)
        )
        for each in messages:
            key = message_key(each.chat, each.id)
            # Numbers only grow, unless a file was forged; an id comes twice if its batch was
            # unreadable when the message came again.
            if each.number > self._number and key not in self._keys:
                self._number = each.number
                self._keys.add(key)
                self._message(each, key, int(row.lastrowid or 0))
        self._flush_many()

    def flush(self) -> None:
        """Insert the rows, and note which of the last ones are in the table now."""
        super().flush()
        self._written = {int(str(row[0])) for row in self._last_rows.values()}

    def _message(self, message: Message, key: bytes, batch: int) -> None:
        chat, sender = self._chat(storable(message.chat)), storable(message.sender)
        day = message.at.date()
        facts = (key, batch, chat, sender)
        self._rows["messages"].append((message.number, *facts, message.at.timestamp()))
        self._add_sender(sender)
        document = self._day(chat, f"{day}")
        head = terms_of(f"{sender} {day} {spelled(str(day))}")
        for start, stop in parted(message.text):
            self._passage += 1
            own = terms_of(message.text[start:stop])
            before = self._before(chat, own)
            row: list[object] = [self._passage, own, ending(before), "", head]
            self._rows["passages"].append((self._passage, document, message.number, start, stop))
            self._rows["words"].append(row)
            self._last_rows[chat] = row

    def _before(self, chat: int, own: str) -> str:
        """The terms of the passage before a new one, whose row gets the terms after it."""
        row = self._last_rows.get(chat) or self._stored(chat)
        if row is None:
            return ""
        row[3] = beginning(own)
        if row[0] in self._written:
            self._connection.execute("UPDATE words SET after = ? WHERE rowid = ?", (row[3], row[0]))
        return str(row[1])

    def _stored(self, chat: int) -> list[object] | None:
        """The last passage of a chat in the tables."""
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
        """The document of a message: all of one day in one chat."""
        if (chat, day) not in self._days:
            values = (chat, day)
            self._connection.execute("INSERT OR IGNORE INTO days(chat, day) VALUES (?, ?)", values)
            query = "SELECT id FROM days WHERE chat = ? AND day = ?"
            self._days[chat, day] = int(self._connection.execute(query, values).fetchone()[0])
        return self._days[chat, day]

    def _add_sender(self, sender: str) -> None:
        if sender not in self._senders:
            self._senders.add(sender)
            values = sender, terms_of(sender)
            self._connection.execute("INSERT OR IGNORE INTO senders VALUES (?, ?)", values)
