"""What it means to have something back: the answer, and the versions to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import groupby, islice
from typing import NamedTuple

from gitmem.errors import Conflict
from gitmem.memory.entries.entries import entries_in
from gitmem.memory.read.log import Entry as LogEntry
from gitmem.memory.read.log import entry_of
from gitmem.memory.write.write import Change
from gitmem.model.entries.blocks import Entry, named, wording
from gitmem.model.record import Record
from gitmem.model.text.format import quoted
from gitmem.store.history.log import follow
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.worktree.held import SetAside

VERSIONS_SHOWN = 10
SEARCHED = 50
"""How many commits of a path are looked at for versions to choose from."""


class Restored(Record):
    """Files that are as they were."""

    commit: str
    from_commit: str
    changes: tuple[Change, ...]
    captured: tuple[Captured, ...] = ()
    """The damage, committed first: it can be looked at, and brought back, too."""
    set_aside: tuple[SetAside, ...] = ()
    kept_newer: tuple[str, ...] = ()
    """Files of a restored folder that did not exist then; they stay."""
    pending: bool = False
    address: str = ""
    """The address of the entry that came back, or the path of a file that was archived."""
    source: str = ""
    """The address it had in the archive, where it came from there."""


class ChooseVersion(Conflict):
    """Nothing is damaged that is not committed: somebody has to say which version."""

    code = "choose-version"


def version(path: str, entry: LogEntry, size: int | None) -> dict[str, object]:
    """One version to choose, with the command that brings it back; PATH may be an address."""
    return {
        "commit": entry.commit,
        "bytes": size,
        "op": entry.op,
        "agent": entry.agent,
        "time": entry.time,
        "command": command("restore", path or ".", "--at", entry.commit[:10]),
    }


def command(verb: str, target: str, *options: str) -> str:
    """A command as it can be typed."""
    return " ".join(["gitmem", verb, *([quoted(target)] if target else []), *options])


class EntryVersion(NamedTuple):
    """An entry as it stood at a commit, with the file around it."""

    commit: str
    path: str
    text: str
    entry: Entry

    @property
    def says(self) -> str:
        """Its wording."""
        return wording(self.entry.block)

    @property
    def address(self) -> str:
        """The address it had."""
        return f"{self.path}#{self.entry.slug}"


def version_at(snapshot: Snapshot, path: str, name: str) -> EntryVersion | None:
    """The entry NAME of the file at PATH; None where it does not stand, or cannot be read."""
    with suppress(ObjectDamaged, UnicodeDecodeError):
        found = named(entries_in(snapshot, path, None), name)
        if found:
            text = (snapshot.read(path) or b"").decode()
            return EntryVersion(snapshot.commit, path, text, found)
    return None


def versions(snapshot: Snapshot, path: str, name: str) -> Iterator[EntryVersion]:
    """What the entry said, each wording once, newest first."""
    seen: set[str] = set()
    for each in _standing(snapshot, path, name):
        if each.says not in seen:
            seen.add(each.says)
            yield each


def _standing(snapshot: Snapshot, path: str, name: str) -> Iterator[EntryVersion]:
    """The entry now, then as it was before each commit that touched its file."""
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
    """It stands there: say which versions of it there are, with the command for each."""
    address = f"{path}#{name}"
    known = _written(snapshot, path, name)[1 : VERSIONS_SHOWN + 1]
    if not known:
        return Conflict(
            f"{address} stands as it was written, and there is no other version to bring back",
            hint=f"see the history of its file: `{command('log', path)}`",
            path=path,
        )
    repository = snapshot.repository
    rows = [(entry_of(repository, repository.commit(each.commit)), each) for each in known]
    return ChooseVersion(
        f"{address} stands as it was last written; choose a version to bring back",
        hint=f"take the one before with `{command('restore', address, '--previous')}`",
        path=path,
        versions=[version(address, row, len(each.entry.block.encode())) for row, each in rows],
    )


def _written(snapshot: Snapshot, path: str, name: str) -> list[EntryVersion]:
    """The versions by the commits that wrote them, newest first."""
    repository = snapshot.repository
    visits = islice(follow(repository, snapshot.commit, path), SEARCHED)
    found = (version_at(repository.snapshot(x.commit.oid), x.path, name) for x in visits)
    runs = groupby(filter(None, found), key=lambda each: each.says)
    return [list(same)[-1] for _, same in runs]
