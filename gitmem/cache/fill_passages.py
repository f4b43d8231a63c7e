"""Putting files into the table of passages.

A file that changed gives up the passages that are no more and gets those that are new; the others
keep their rows, so that a line added to a large file costs that line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gitmem.cache.database import MANY, Connection
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
from gitmem.model.language.passages import Passage, beginning, ending, passages, without_comments
from gitmem.model.language.words import terms_of
from gitmem.model.layout.journal import day_of, spelled
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.model.transcripts.compactions import without_scratchpads


def put(connection: Connection, source: str, contents: Iterable[FileContent]) -> None:
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

    def put(self, source: str, content: FileContent) -> None:
        """Take in one file."""
        row = None if self._is_new else row_of(self._connection, source, content.path)
        known: KnownRows = {}
        if row is None:
            self._file += 1
            row = self._file
        else:
            known = rows_in(self._connection, row)
            take_out(self._connection, row)
        text = _text(content.data)
        importance, status = _said(text)
        facts = (key_of_file(content.data or b""), importance, status, content.data is not None)
        self._rows["files"].append((row, source, raw_path(content.path), content.blob, *facts))
        self._add(row, content.path, text, known)
        if known:
            delete_words(self._connection, known.values())
        if len(self._rows["words"]) >= MANY:
            self.flush()

    def _add(self, row: int, path: str, text: str, known: KnownRows) -> None:
        text = without_scratchpads(text)
        parts = passages(text)
        plain = without_comments(text)
        named = _words(plain, parts, _named(path))
        for part, words, entry in zip(parts, named, _facts(parts), strict=True):
            if not words[0]:
                continue  # a line across the page: nothing to look for, and nothing to show
            same = known.get(words) if known else None
            if same:
                self._rows["passages"].append(_place(same.pop(), row, part, entry))
                continue
            self._passage += 1
            self._rows["passages"].append(_place(self._passage, row, part, entry))
            self._rows["words"].append((self._passage, *words))

    def flush(self) -> None:
        """Hand over what has gathered."""
        for name, rows in self._rows.items():
            self._connection.executemany(_INSERTS[name], rows)
            rows.clear()


_NO_ENTRY = ("", b"", None, "")
# Never OR REPLACE: SQLite could have to take back one row alone, and writes all words down for it.
_INSERTS = {
    "files": f"INSERT INTO files VALUES ({', '.join('?' * 8)})",
    "passages": f"INSERT INTO passages VALUES ({', '.join('?' * 11)})",
    "words": "INSERT INTO words(rowid, text, before, after, head) VALUES (?, ?, ?, ?, ?)",
}


def _last(connection: Connection, table: str) -> int:
    found = connection.execute(f"SELECT max(id) FROM {table}").fetchone()[0]
    return int(found or 0)


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
    last = len(parts) - 1
    for at, part in enumerate(parts):
        # An entry stands for itself: what its neighbours say is about something else.
        led = at > 0 and parts[at - 1].entry is part.entry
        followed = at < last and parts[at + 1].entry is part.entry
        before = ending(own[at - 1]) if led else ""
        after = beginning(own[at + 1]) if followed else ""
        yield own[at], before, after, f"{terms_of(part.heading)} {named}"


def _place(number: int, row: int, part: Passage, entry: tuple[object, ...]) -> tuple[object, ...]:
    return (number, row, part.start, part.stop, part.line, part.last, part.heading, *entry)


def _facts(parts: Sequence[Passage]) -> Iterator[tuple[object, ...]]:
    """What each of PARTS says of its entry; found out once for the many parts of a long one."""
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
