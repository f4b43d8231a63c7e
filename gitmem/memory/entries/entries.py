"""List the entries of a group."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gitmem.memory.entries.targets import KIND, entries_in, is_file, locate_entry
from gitmem.memory.group import Group
from gitmem.memory.layer_files import layer_files
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import known_path, missing
from gitmem.memory.resolve import resolve
from gitmem.model.entries.blocks import Entry, find, split_address
from gitmem.model.entries.rules import entry_issues, is_retired, one_of, status_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.paths import glob_match
from gitmem.model.record import Record
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot


class ListedEntry(Record):
    """One entry, with its layer's warnings about it."""

    path: str
    address: str
    title: str
    section: str
    layer: str
    """Empty for a file that belongs to none."""
    status: str
    type: str
    importance: int | None
    date: date | None
    """The newest date in the entry itself."""
    retired: bool
    line: int
    warnings: tuple[str, ...] = ()


class ListedEntries(Record):
    """The entries of one commit, by path and line."""

    commit: str
    entries: tuple[ListedEntry, ...]
    files: tuple[str, ...]
    """The files that were searched for entries."""


def entries(
    group: Group, path: str = "", *, status: str = "", at: str | None = None
) -> ListedEntries:
    """The entries of all layers of entries, or of a layer, file, folder, pattern or address."""
    snapshot = group.repository.snapshot(resolve(group, at))
    layout = layout_at(group, snapshot).layout
    files, name = _chosen(group, snapshot, layout, path)
    found = []
    for file in files:
        layer = layout.layer_of(file)
        each = entries_in(snapshot, file, layer)
        chosen = [find(each, name)] if name else each
        found += [_listed(file, entry, layer) for entry in chosen if _has(entry, status)]
    return ListedEntries(snapshot.commit, tuple(found), tuple(files))


def entry_files(snapshot: Snapshot, layout: Layout) -> Iterator[tuple[str, Layer]]:
    """The existing files of all layers of entries."""
    for layer in layout.layers:
        node = snapshot.node(layer.path) if layer.kind == KIND else None
        if node is not None and not node.is_folder:
            yield layer.path, layer


def _chosen(group: Group, snapshot: Snapshot, layout: Layout, path: str) -> tuple[list[str], str]:
    """The files that PATH selects, and the slug of the entry if PATH is an address."""
    if not path:
        return [each for each, _ in entry_files(snapshot, layout)], ""
    if snapshot.node(path) is None:
        layer = layout.layer(path)
        if layer is not None:
            return [
                each for each, _ in layer_files(snapshot, layer, layout.layers_before(layer))
            ], ""
        if split_address(path)[1]:
            file, entry = locate_entry(group, snapshot, layout, path)
            return [file], entry.slug
        if any(mark in path for mark in "*?["):
            return [each for each in _texts(snapshot) if glob_match(path, each)], ""
    file = known_path(group, snapshot, path)
    if is_file(snapshot, file):
        return [file], ""
    if file and snapshot.node(file) is None:
        raise missing(group, snapshot, file)
    return list(_texts(snapshot, file)), ""


def _texts(snapshot: Snapshot, under: str = "") -> Iterator[str]:
    for path, node in snapshot.files(under):
        if node.mode != SUBMODULE and path.endswith(".md"):
            yield path


def _has(entry: Entry, status: str) -> bool:
    return not status or one_of(entry.field("Status"), [status]) != ""


def _listed(path: str, entry: Entry, layer: Layer | None) -> ListedEntry:
    return ListedEntry(
        path,
        f"{path}#{entry.slug}",
        entry.title,
        entry.section,
        layer.name if layer else "",
        status_of(entry, layer),
        entry.type,
        entry.importance,
        entry.date,
        is_retired(entry, layer),
        entry.line,
        tuple(each.text for each in entry_issues(entry, layer)),
    )
