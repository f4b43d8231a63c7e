"""The date of an entry that is new where it is: that of its commit, or one it had before.

A mechanical operation (restore, undo, a merge and their like) and somebody's hand can bring a text
back that stood there once. It has the date it had in that file; if it stands in no file now, the
one it had in any other.
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
"""The ordinal of the day on which the clock of the commits begins."""


class EntryReading(NamedTuple):
    """How to read a file: what in it is an entry, whatever that may be."""

    blocks: Callable[[bytes], list[bytes]]
    """The keys of the entries in a file, or in a part of one."""
    whole: Callable[[str, bytes], bytes | None]
    """The key of a file that may be an entry itself."""
    texts: Callable[[bytes], Mapping[bytes, tuple[str, bytes]]]
    """What each of them is called, and its lines."""
    days: Callable[[bytes], Mapping[bytes, int]]
    """The day that an entry names itself, as an ordinal."""


class CommitContext(NamedTuple):
    """One commit on top of its parents."""

    step: WalkedCommit
    number: int
    """Its row."""
    parents: list[DateState]
    state: DateState
    """What becomes of the first parent."""


class Regaining:
    """What is known about texts that left their places."""

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
        """The dates of texts that are new in the file at PATH."""
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
        """A text has left a file, in which it had this date."""
        row, day = touch
        oid = bytes.fromhex(self._known.rows[row].oid)
        self._known.past.add(key + path_key(path) + oid + day.to_bytes(4, "little"), run)

    def last_at(self, key: bytes, path: str, state: DateState) -> LastChange | None:
        """The date that a text had when it left a file last."""
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
        """The days that entries of an adopted folder name themselves, where git knows no better.

        A commit of its own history knows when something was written, but for the first one: it
        brought whatever stood there already on the day when somebody made the repository.
        """
        step = commit.step
        has_past = _is_commit_id(step.source) and any(each.files for each in commit.parents)
        if step.op != ADOPTION or has_past:
            return {}
        latest = FIRST_DAY + step.seconds // A_DAY + 1  # where the day begins first, it is tomorrow
        found = self._reading.days(self._content(blob))
        return {key: day for key, day in found.items() if day <= latest}

    def _regained(
        self, keys: Iterable[bytes], path: str, commit: CommitContext
    ) -> dict[bytes, LastChange]:
        """The dates that texts had in this file last; if they stand in none now, in any other."""
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
        """Where somebody put something back by hand that was gone, it has the date it had.

        What stood there under the same title was not gone: it was changed, if only back.
        """
        found = self._regained(keys, path, commit)
        standing = self._titles(path, commit.parents) if found else {}
        names = self._reading.texts(self._content(blob)) if standing else {}
        return {
            key: each for key, each in found.items() if names.get(key, NAMELESS)[0] not in standing
        }

    def _titles(self, path: str, parents: Sequence[DateState]) -> dict[str, LastChange]:
        """The entries of a file as it was in the parents, by title; of several, the newest."""
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
        """A text that never stood before, made of others: it is as old as what it was made of.

        A merge can hold more than it merges: then it is touched.
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
    """Whether SOURCE is a commit, and not a folder whose path is as long."""
    return len(source) == 2 * OID and source.isalnum()


def _bare_lines(text: bytes) -> set[bytes]:
    return {line.translate(None, WHITE) for line in text.split(b"\n")}
