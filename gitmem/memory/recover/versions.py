"""The versions of a file or an entry that `restore` can bring back, and its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import NamedTuple

from gitmem.errors import Conflict
from gitmem.memory.entries.targets import entries_in
from gitmem.memory.read.log import LogEntry, entry_of
from gitmem.memory.write.write import Change
from gitmem.model.entries.blocks import Entry, named, wording
from gitmem.model.hints import Hint, call, command
from gitmem.model.record import Record
from gitmem.store.history.log import follow
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.worktree.held import SetAside

VERSIONS_SHOWN = 10
SEARCHED = 50
"""How many commits of a path are searched for versions to choose from."""


class Restored(Record):
    """Files that were restored."""

    commit: str
    from_commit: str
    changes: tuple[Change, ...]
    captured: tuple[Captured, ...] = ()
    """The damage, committed first, so that it can be read and restored, too."""
    set_aside: tuple[SetAside, ...] = ()
    kept_newer: tuple[str, ...] = ()
    """Files of a restored folder that did not exist then; they stay."""
    pending: bool = False
    address: str = ""
    """The address of the restored entry, or the path of a file that was archived."""
    source: str = ""
    """The address it had in the archive, if it came from there."""


class ChooseVersion(Conflict):
    """No uncommitted damage to repair: the caller has to name a version."""

    code = "choose-version"


class EntryVersion(NamedTuple):
    """An entry as it was at a commit, with the file around it."""

    commit: str
    path: str
    text: str
    entry: Entry

    @property
    def words(self) -> str:
        """Its wording."""
        return wording(self.entry.block)

    @property
    def address(self) -> str:
        """The address it had."""
        return f"{self.path}#{self.entry.slug}"


def version_row(path: str, logged: LogEntry, size: int | None) -> dict[str, object]:
    """A version to choose, with the command that restores it; PATH may be an address."""
    return {
        "commit": logged.commit,
        "bytes": size,
        "op": logged.op,
        "agent": logged.agent,
        "time": logged.time,
        "command": command("restore", path or ".", at=logged.commit[:10]),
    }


def version_at(snapshot: Snapshot, path: str, name: str) -> EntryVersion | None:
    """The entry NAME of the file at PATH; None if it does not exist, or cannot be read."""
    with suppress(ObjectDamaged, UnicodeDecodeError):
        found = named(entries_in(snapshot, path, None), name)
        if found:
            text = (snapshot.read(path) or b"").decode()
            return EntryVersion(snapshot.commit, path, text, found)
    return None


def versions(snapshot: Snapshot, path: str, name: str) -> Iterator[EntryVersion]:
    """The versions of an entry, each wording once, newest first; moves of its file are followed."""
    known: set[str] = set()
    for each in _all_versions(snapshot, path, name):
        if each.words not in known:
            known.add(each.words)
            yield each


def _all_versions(snapshot: Snapshot, path: str, name: str) -> Iterator[EntryVersion]:
    """The entry now, then as it was before each commit that changed its file."""
    repository = snapshot.repository
    now = version_at(snapshot, path, name)
    if now:
        yield now
    for visit in follow(repository, snapshot.commit, path):
        for parent in visit.commit.parents:
            then = version_at(repository.snapshot(parent), visit.moved_from or visit.path, name)
            if then:
                yield then


def choose(snapshot: Snapshot, path: str, name: str) -> Conflict:
    """The error for an entry that is as last written: it lists the versions to choose from."""
    address = f"{path}#{name}"
    known = _written(snapshot, path, name)[1 : VERSIONS_SHOWN + 1]
    if not known:
        return Conflict(
            f"{address} is as it was written, and has no other version",
            hint=Hint("see the history of its file: ", call("log", path)),
            path=path,
        )
    repository = snapshot.repository
    rows = [(entry_of(repository, repository.commit(each.commit)), each) for each in known]
    return ChooseVersion(
        f"{address} is as it was last written; choose a version to restore",
        hint=Hint("to restore the version before: ", call("restore", address, previous=True)),
        path=path,
        versions=[version_row(address, row, len(each.entry.block.encode())) for row, each in rows],
    )


def _written(snapshot: Snapshot, path: str, name: str) -> list[EntryVersion]:
    """The versions by the commits that wrote them, newest first."""
    repository = snapshot.repository
    visits = islice(follow(repository, snapshot.commit, path), SEARCHED)
    found = (version_at(repository.snapshot(x.commit.oid), x.path, name) for x in visits)
    runs = groupby(filter(None, found), key=lambda each: each.words)
    return [list(same)[-1] for _, same in runs]
