"""List the archive, with the commit that moved each entry and file there.

Only the history of the archive is searched, newest first, and only until the commit is known that
brought each item.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from typing import NamedTuple

from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.recover.versions import version_at
from gitmem.model.commit_messages import parse as parse_message
from gitmem.model.entries.blocks import Entry, parse, same_title, slug_of, split_address, wording
from gitmem.model.layout.archives import archive_of, archives
from gitmem.model.layout.layout import Layout
from gitmem.model.record import Record
from gitmem.store.history.log import follow, locate
from gitmem.store.history.moves import compare_commit
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import SUBMODULE, Node
from gitmem.store.repository import Commit, Repository, Snapshot


class Arrival(NamedTuple):
    """The commit that moved an item to the archive."""

    commit: str
    op: str
    """The operation; empty for a commit by plain git."""
    time: datetime
    agent: str
    reason: str
    source: str = ""
    """The address or path it had, if the commit says so."""
    touched: str = ""
    """When it last changed before, if the commit says so."""


class ArchivedItem(Record):
    """An entry or a file in the archive; unknown fields are empty."""

    address: str
    title: str
    """The title of an entry; empty for a file."""
    source: str
    commit: str = ""
    op: str = ""
    time: datetime | None = None
    agent: str = ""
    reason: str = ""
    touched: str = ""


class ArchivedList(Record):
    """The items of the archive, the latest arrival first."""

    commit: str
    archived: tuple[ArchivedItem, ...]


class _Present(NamedTuple):
    """A file of the archive, or the entry with that number in it."""

    path: str
    number: int = -1


def archived(group: Group) -> ArchivedList:
    """The entries and files in the archive, with their source, and when, by whom and why."""
    snapshot = group.repository.snapshot()
    layout = layout_at(group, snapshot).layout
    rows = [row for each in archives(layout) for row in _rows(snapshot, layout, each)]
    latest = sorted(rows, key=lambda row: row.time.timestamp() if row.time else 0.0, reverse=True)
    return ArchivedList(snapshot.commit, tuple(latest))


def arrival_of(snapshot: Snapshot, path: str, entry: Entry | None = None) -> Arrival | None:
    """How the file at PATH, or one ENTRY of it, came to the archive; its source is an address."""
    search = _ArrivalSearch(snapshot, path)
    if entry is None:
        return search.arrivals().get(_Present(path))
    number = next(at for at, each in enumerate(search.entries[path]) if each.start == entry.start)
    arrival = search.arrivals().get(_Present(path, number))
    return arrival._replace(source=_source(arrival, entry)) if arrival else None


def _rows(snapshot: Snapshot, layout: Layout, folder: str) -> Iterator[ArchivedItem]:
    search = _ArrivalSearch(snapshot, folder)
    found = search.arrivals()
    for path, entries in search.entries.items():
        arrival = found.get(_Present(path))
        collects = _collects(layout, path, arrival)
        if not collects:
            yield _row(path, "", arrival, arrival.source if arrival else "")
        for number, entry in enumerate(entries):
            own = found.get(_Present(path, number))
            # The other entries came with their file.
            if collects or (own and _is_address(own.source)):
                source = _source(own, entry) if own else ""
                yield _row(f"{path}#{entry.slug}", entry.title, own, source)


def _is_address(source: str) -> bool:
    return split_address(source)[1] != ""


def _row(address: str, title: str, arrival: Arrival | None, source: str) -> ArchivedItem:
    if arrival is None:
        return ArchivedItem(address, title, source)
    commit, op, time, agent, reason, _, touched = arrival
    return ArchivedItem(address, title, source, commit, op, time, agent, reason, touched)


def _collects(layout: Layout, path: str, arrival: Arrival | None) -> bool:
    """Whether a file of the archive collects entries, and is not one item itself."""
    if arrival and _is_address(arrival.source):
        return True
    home = path.removeprefix(f"{archive_of(layout, path)}/")
    layer = layout.layer_of(arrival.source if arrival and arrival.source else home)
    return layer is not None and layer.kind == "entries"


def _source(arrival: Arrival, entry: Entry) -> str:
    """The address an entry had: its own, or in the file with which it came."""
    if not arrival.source or _is_address(arrival.source):
        return arrival.source
    return f"{arrival.source}#{entry.slug}"


class _ArrivalSearch:
    """The search for the arrivals of all items at or below a path of the archive."""

    def __init__(self, snapshot: Snapshot, under: str) -> None:
        self._repository, self._start, self._under = snapshot.repository, snapshot.commit, under
        files = [(path, node) for path, node in snapshot.files(under) if node.mode != SUBMODULE]
        self.entries = {path: _entries(self._repository, node) for path, node in files}
        self._names = {path: path for path in self.entries}
        """The name of each file at the current commit of the search, to its name now."""
        self._missing = {_Present(path) for path in self.entries}
        for path, entries in self.entries.items():
            self._missing |= {_Present(path, number) for number in range(len(entries))}
        self._found: dict[_Present, Arrival] = {}
        self._likely: dict[_Present, Arrival] = {}
        """For entries that changed in the archive: the arrival of one of that title."""

    def arrivals(self) -> dict[_Present, Arrival]:
        """The arrival of each item, as far as the history tells."""
        visits = follow(self._repository, self._start, self._under) if self._missing else ()
        for visit in visits:
            with suppress(ObjectDamaged):
                self._read(visit.commit)
            if not self._missing:
                break
        return {**self._likely, **self._found}

    def _read(self, commit: Commit) -> None:
        """Note the items that COMMIT brought."""
        parents = [self._repository.commit(each) for each in commit.parents]
        compared = compare_commit(self._repository, commit, parents[0] if parents else None)
        bringing = _BringingCommit(self._repository, commit)
        for path, _, new in compared.differences:
            if path in self._names and new is not None:
                origin = compared.moves.get(path, "")
                names = dict.fromkeys((path, origin or path))
                nodes = (locate(self._repository, x.tree, name) for x in parents for name in names)
                self._explain(path, new, list(filter(None, nodes)), origin, bringing)

    def _explain(
        self, path: str, node: Node, before: list[Node], origin: str, bringing: _BringingCommit
    ) -> None:
        """Note what a commit brought to the file at PATH; ORIGIN is its name before a move."""
        present = self._names[path]
        renamed = origin in self.entries or origin.startswith(f"{self._under}/")
        if origin and not renamed:
            before = []  # it came whole, with all its entries
        known = [entry for each in before for entry in _entries(self._repository, each)]
        new = _unknown(_entries(self._repository, node), known)
        came = [bringing.arrival(origin or bringing.claimed(entry, path)) for entry in new]
        for entry, arrival in zip(new, came, strict=True):
            self._entry_came(present, entry, arrival)
        if renamed:
            self._names[origin] = self._names.pop(path)
        elif not before:
            first = next((each.source for each in came if each.source), "")
            self._came(_Present(present), bringing.arrival(origin or first))

    def _entry_came(self, path: str, entry: Entry, arrival: Arrival) -> None:
        words = wording(entry.block)
        for number, each in enumerate(self.entries[path]):
            item = _Present(path, number)
            if item in self._missing and wording(each.block) == words:
                self._came(item, arrival)
                return
        for number, each in enumerate(self.entries[path]):
            if same_title(each.title, entry.title):
                self._likely.setdefault(_Present(path, number), arrival)

    def _came(self, item: _Present, arrival: Arrival) -> None:
        self._found.setdefault(item, arrival)
        self._missing.discard(item)


class _BringingCommit:
    """A commit that brought items, and what its message says about them."""

    def __init__(self, repository: Repository, commit: Commit) -> None:
        self._repository = repository
        self._commit, self._note = commit, parse_message(commit.message)
        self._named = [each for each in self._note.all("Gitmem-From") if _is_address(each)]

    def arrival(self, source: str) -> Arrival:
        """The arrival of the item that was at SOURCE."""
        commit, note = self._commit, self._note
        ages = (each.rpartition(" ") for each in note.all("Gitmem-Touched"))
        touched = next((time for what, _, time in ages if what == source), "")
        agent = note.agent or commit.author
        return Arrival(commit.oid, note.op, commit.time, agent, note.body, source, touched)

    def claimed(self, entry: Entry, file: str) -> str:
        """The address that ENTRY of the archive FILE had; each is used once.

        Of several of that name, one with the same text is preferred, then one of a file that FILE
        is named after.
        """
        slug = re.escape(slug_of(entry.title))
        fits = [x for x in self._named if re.fullmatch(rf"{slug}(-[0-9]+)?", split_address(x)[1])]
        found = max(fits, key=lambda each: self._likeness(each, entry, file), default="")
        if found:
            self._named.remove(found)
        return found

    def _likeness(self, address: str, entry: Entry, file: str) -> tuple[bool, int]:
        path, name = split_address(address)
        parents = map(self._repository.snapshot, self._commit.parents)
        before = (version_at(each, path, name) for each in parents)
        words = wording(entry.block)
        return any(each and each.words == words for each in before), _common_end(path, file)


def _common_end(path: str, file: str) -> int:
    """How many parts at the end of FILE, its number aside, are those of PATH."""
    bare = re.sub(r"-[0-9]+(?=(\.[^./]*)?$)", "", file)
    ends = (
        zip(reversed(path.split("/")), reversed(x.split("/")), strict=False) for x in (file, bare)
    )
    return max(sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], each)) for each in ends)


def _entries(repository: Repository, node: Node) -> tuple[Entry, ...]:
    if node.is_folder or node.mode == SUBMODULE:
        return ()
    with suppress(ObjectDamaged):
        return parse(repository.objects.read_as("blob", node.oid).decode("utf-8", "replace"))
    return ()


def _unknown(entries: Iterable[Entry], known: Iterable[Entry]) -> list[Entry]:
    """The ENTRIES that were not among KNOWN, neither word for word nor by their title."""
    left = list(known)
    new = []
    for entry in entries:
        same = next((x for x in left if wording(x.block) == wording(entry.block)), None)
        if same:
            left.remove(same)
        else:
            new.append(entry)
    return [entry for entry in new if not _was_changed(entry, left)]


def _was_changed(entry: Entry, left: list[Entry]) -> bool:
    same = next((each for each in left if same_title(each.title, entry.title)), None)
    if same:
        left.remove(same)
    return same is not None
