"""The line of commits that an adopted folder becomes.

First its own history, then what was not committed there, by the day of its last change, then the
layout.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.memory.adopt.folder import Folder, Progress, by_day
from gitmem.memory.adopt.history import History, Kept
from gitmem.memory.adopt.layout import Choice
from gitmem.memory.group import Who, make_note
from gitmem.model.commit_messages import Note, compose
from gitmem.model.secrets.find import redact
from gitmem.store.foreign.graft import Remade
from gitmem.store.objects.commits import EMAIL
from gitmem.store.objects.database import blob_id
from gitmem.store.transaction.capture import new_id

ADOPTED = "Gitmem-Adopted"
"""The trailer of the last commit of an adoption: which folder it was."""
MOST_SAID = 64 * 1024

Version = str | bytes
"""A file's content, or the id under which its own repository has it."""
Blobs = Callable[[str], bytes]


class Entry(NamedTuple):
    """One commit to be."""

    key: str
    parents: tuple[str, ...]
    files: Mapping[str, Version | None]
    note: Note
    when: datetime
    said: str = ""
    email: str = EMAIL


class Brought(NamedTuple):
    """What a folder brings along."""

    root: Path
    folder: Folder
    history: History
    keeps_missing: bool = False
    """True when a file that is not in the folder was not deleted."""


class Line(NamedTuple):
    """All of them, in order, and what stands there at the end."""

    entries: tuple[Entry, ...]
    files: Mapping[str, Version]
    dates_from: str

    @property
    def last_note(self) -> Note:
        """What the last one says of itself."""
        return self.entries[-1].note

    def remade(self, blobs: Blobs, progress: Progress | None = None) -> Iterator[Remade]:
        """The commits with their content; BLOBS reads from the folder's own repository."""
        for number, each in enumerate(self.entries, 1):
            files = {path: _content(version, blobs) for path, version in each.files.items()}
            message = compose(each.note, each.said)
            yield Remade(
                each.key, each.parents, files, each.note.agent, each.when, message, each.email
            )
            if progress:
                progress(number, len(self.entries))

    def contents(self, blobs: Blobs) -> dict[str, bytes]:
        """What the folder holds at the end."""
        return {
            path: version if isinstance(version, bytes) else blobs(version)
            for path, version in self.files.items()
        }


def plan_line(brought: Brought, choice: Choice, who: Who, now: datetime) -> Line:
    """Decide on every commit."""
    root, folder, history, keeps_missing = brought
    place = redact(str(root))[0]
    template = make_note(who._replace(source=who.source or place), "adopt")
    entries = [_kept(each) for each in history.commits]
    files: dict[str, Version] = dict(history.files)
    last = history.head

    def add(key: str, changes: Mapping[str, Version | None], title: str, when: datetime) -> None:
        nonlocal last
        note = template._replace(id=new_id(), title=title, paths=tuple(changes))
        entries.append(Entry(key, (last,), changes, note, when))
        last = key

    gone = [] if keeps_missing else _gone(history.files, folder)
    if gone:
        add("gone", dict.fromkeys(gone), "no longer in the folder", now)
    fresh = {
        path: taken
        for path, taken in folder.files.items()
        if path not in files or blob_id(taken.data) != files[path]
    }
    for when, day in by_day(fresh, now):
        add(f"day {when.date()}", day, f"as it was on {when.date()}", when)
    if choice.text is not None:
        add("layout", {choice.adds: choice.text}, f"the layout {choice.name}", now)
    entries[-1] = _marked(entries[-1], place)
    files = {path: version for path, version in files.items() if path not in gone}
    files.update({path: taken.data for path, taken in folder.files.items()})
    files.update({choice.adds: choice.text} if choice.text is not None else {})
    return Line(tuple(entries), files, _dates(bool(history.commits), bool(fresh)))


def _gone(before: Collection[str], folder: Folder) -> list[str]:
    """Files of the past that are no longer there; not so where something is left out instead."""
    return [path for path in before if path not in folder.files and not _hidden(path, folder.away)]


def _hidden(path: str, away: Collection[str]) -> bool:
    parts = path.split("/")
    return any("/".join(parts[:end]) in away for end in range(1, len(parts) + 1))


def _kept(kept: Kept) -> Entry:
    """A commit in the words of whoever made it; a credential in them is blanked out."""
    commit, email, _ = kept.source
    agent = redact(commit.author)[0]
    note = Note("adopt", new_id(), agent, paths=tuple(kept.files), source=commit.oid)
    said = redact(commit.message[:MOST_SAID])[0]
    return Entry(commit.oid, kept.parents, kept.files, note, commit.time, said, redact(email)[0])


def _marked(entry: Entry, place: str) -> Entry:
    extra = (*entry.note.extra, (ADOPTED, place))
    return entry._replace(note=entry.note._replace(extra=extra))


def _content(version: Version | None, blobs: Blobs) -> bytes | None:
    return blobs(version) if isinstance(version, str) else version


def _dates(git: bool, mtime: bool) -> str:
    return " and ".join(word for word, used in (("git", git), ("mtime", mtime)) if used)
