"""The date of an entry that is new in its file: that of its commit, or an earlier one.

A mechanical operation (restore, undo, a merge and the like) and a person can bring a text back. It
has the date it had in that file; if no file has it now, the one it had in any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.model.entries.dates import OID, PATH_KEY, DateState, KnownDates, LastChange, path_key
from gitmem.model.entries.freshness import ADOPTION, BY_HAND, KEY, MECHANICAL, WHITE
from gitmem.store.history.blame import Contents
from gitmem.store.history.walk import WalkedCommit

NAMELESS = ("", b"")
A_DAY = 86400
FIRST_DAY = 719163
"""The ordinal of 1970-01-01."""


class EntryReading(NamedTuple):
    """How to find the entries of a file."""

    blocks: Callable[[bytes], list[bytes]]
    """The keys of the entries in a file, or in a part of one."""
    whole: Callable[[str, bytes], bytes | None]
    """The key of a file that may be an entry itself."""
    texts: Callable[[bytes], Mapping[bytes, tuple[str, bytes]]]
    """The title and lines of each entry."""
    days: Callable[[bytes], Mapping[bytes, int]]
    """The day that an entry names, as an ordinal."""


class CommitContext(NamedTuple):
    """A commit, and the dates of its parents."""

    step: WalkedCommit
    number: int
    """Its row in the known commits."""
    parents: list[DateState]
    state: DateState
    """The dates of the first parent, updated in place."""


class Regaining:
    """Dates new texts, with what is known about removed ones."""

    def __init__(
        self,
        known: KnownDates,
        reading: EntryReading,
        content: Contents,
        row_of: Callable[[str], int],
    ) -> None:
        self._known, self._reading = known, reading
        self._content, self._row_of = content, row_of

    def touches(
        self, keys: list[bytes], path: str, blob: str, commit: CommitContext
    ) -> dict[bytes, LastChange]:
        """The dates of new texts in the file at PATH."""
        days = self._own_days(blob, commit)
        found = {key: (commit.number, days.get(key, 0)) for key in keys}
        if commit.step.op in MECHANICAL or len(commit.parents) > 1:
            regained = self._regained(keys, path, commit)
            others = [key for key in keys if key not in regained]
            return found | self._made_of_others(others, path, blob, commit.parents) | regained
        if commit.step.op in BY_HAND:
            return found | self._put_back(keys, path, blob, commit)
        return found

    def remember(self, key: bytes, path: str, touch: LastChange, run: int) -> None:
        """Record the date of a text that was removed from PATH."""
        row, day = touch
        oid = bytes.fromhex(self._known.rows[row].oid)
        self._known.past.add(key + path_key(path) + oid + day.to_bytes(4, "little"), run)

    def last_at(self, key: bytes, path: str, state: DateState) -> LastChange | None:
        """The date of a text when it was last removed from PATH."""
        record = self._known.past.last(key + path_key(path), state.runs)
        return self._touch_in(record) if record else None

    def when(self, touch: LastChange) -> int:
        """The time of a date, in seconds."""
        row, day = touch
        return (day - FIRST_DAY) * A_DAY if day else self._known.rows[row].seconds

    def _touch_in(self, record: bytes) -> LastChange:
        start = KEY + PATH_KEY
        oid = record[start : start + OID].hex()
        return self._row_of(oid), int.from_bytes(record[start + OID :], "little")

    def _own_days(self, blob: str, commit: CommitContext) -> Mapping[bytes, int]:
        """The days that entries of an adopted folder name, where git has no better date.

        A commit of its own history dates its entries, except the first one, which has everything
        that was there when the repository was created.
        """
        step = commit.step
        has_past = _is_commit_id(step.source) and any(each.files for each in commit.parents)
        if step.op != ADOPTION or has_past:
            return {}
        latest = FIRST_DAY + step.seconds // A_DAY + 1  # in the first time zone it is tomorrow
        found = self._reading.days(self._content(blob))
        return {key: day for key, day in found.items() if day <= latest}

    def _regained(
        self, keys: Iterable[bytes], path: str, commit: CommitContext
    ) -> dict[bytes, LastChange]:
        """The last dates of texts in this file; if no file has them now, in any other."""
        records = {key: self._record(key, path, commit) for key in keys}
        return {key: self._touch_in(record) for key, record in records.items() if record}

    def _record(self, key: bytes, path: str, commit: CommitContext) -> bytes | None:
        past, runs, own = self._known.past, commit.state.runs, key + path_key(path)
        anywhere = past.last(key, runs)
        if anywhere is None or anywhere.startswith(own):
            return anywhere
        here = past.last(own, runs)
        if here or any(each.has(key) for each in commit.parents):
            return here
        return anywhere

    def _put_back(
        self, keys: list[bytes], path: str, blob: str, commit: CommitContext
    ) -> dict[bytes, LastChange]:
        """The dates of texts that a person put back by hand.

        A text whose title was still there was not gone: it was changed, if only back.
        """
        found = self._regained(keys, path, commit)
        standing = self._titles(path, commit.parents) if found else {}
        names = self._reading.texts(self._content(blob)) if standing else {}
        return {
            key: each for key, each in found.items() if names.get(key, NAMELESS)[0] not in standing
        }

    def _titles(self, path: str, parents: Sequence[DateState]) -> dict[str, LastChange]:
        """The dates of a file's entries in the parents, by title; the newest of several."""
        found: dict[str, LastChange] = {}
        for state in parents:
            before = state.files.get(path)
            known = self._reading.texts(self._content(before.blob)) if before else {}
            for key, (title, _) in known.items():
                for touch in state.last_changes(path, key):
                    if title not in found or self.when(touch) > self.when(found[title]):
                        found[title] = touch
        return found

    def _made_of_others(
        self, keys: list[bytes], path: str, blob: str, parents: Sequence[DateState]
    ) -> dict[bytes, LastChange]:
        """The dates of new texts that were merged from others: those of their sources.

        A merge with lines that no parent has is a change.
        """
        standing = self._titles(path, parents) if keys else {}
        names = self._reading.texts(self._content(blob)) if standing else {}
        merged = self._lines_of(path, parents) if len(parents) > 1 and standing else None
        found = {}
        for key in keys:
            title, text = names.get(key, NAMELESS)
            if title in standing and (merged is None or merged.issuperset(_bare_lines(text))):
                found[key] = standing[title]
        return found

    def _lines_of(self, path: str, parents: Sequence[DateState]) -> set[bytes]:
        blobs = [each.files[path].blob for each in parents if path in each.files]
        return {line for blob in blobs for line in _bare_lines(self._content(blob))}


def _is_commit_id(source: str) -> bool:
    """True when SOURCE is a commit id, and not the path of a folder."""
    return len(source) == 2 * OID and source.isalnum()


def _bare_lines(text: bytes) -> set[bytes]:
    return {line.translate(None, WHITE) for line in text.split(b"\n")}
