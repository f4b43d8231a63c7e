"""List the entries of a group: what was decided, built, preferred and thought of."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.layer_files import layer_files
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import known_path, missing
from gitmem.memory.resolve import resolve
from gitmem.model.entries.blocks import Entry, find, parse, split_address
from gitmem.model.entries.rules import entry_issues, is_retired, one_of, status_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.paths import glob_match
from gitmem.model.record import Record
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot

KIND = "entries"


class ListedEntry(Record):
    """One entry, with what its layer has to say about it."""

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
    """The newest day that it names itself."""
    retired: bool
    line: int
    warnings: tuple[str, ...] = ()


class ListedEntries(Record):
    """The entries of one commit, by path and place."""

    commit: str
    entries: tuple[ListedEntry, ...]
    files: tuple[str, ...]
    """The files that were looked at."""


def entries(
    group: Group, path: str = "", *, status: str = "", at: str | None = None
) -> ListedEntries:
    """The entries of all layers that have any, or of a layer, file, folder, pattern or address."""
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


def entries_in(snapshot: Snapshot, path: str, layer: Layer | None) -> tuple[Entry, ...]:
    """The entries of a file of SNAPSHOT; bytes that are not UTF-8 are read as they can be."""
    text = (snapshot.read(path) or b"").decode("utf-8", "replace")
    return parse(text, layer.fields if layer else ())


def entry_files(snapshot: Snapshot, layout: Layout) -> Iterator[tuple[str, Layer]]:
    """The files of all layers of entries, where they exist."""
    for layer in layout.layers:
        node = snapshot.node(layer.path) if layer.kind == KIND else None
        if node is not None and not node.is_folder:
            yield layer.path, layer


def address_parts(
    group: Group, snapshot: Snapshot, layout: Layout, address: str
) -> tuple[str, str]:
    """The file and the name of the entry in `path#slug`; a layer may stand for the path."""
    named, name = split_address(address)
    if not name:
        raise BadInput(
            f"{address!r} names no entry",
            hint="add its slug: `gitmem entries` lists addresses such as reference/ideas.md#try-it",
        )
    return file_of(group, snapshot, layout, named), name


def locate_entry(
    group: Group, snapshot: Snapshot, layout: Layout, address: str
) -> tuple[str, Entry]:
    """The file and the entry that ADDRESS names."""
    path, name = address_parts(group, snapshot, layout, address)
    if not _is_file(snapshot, path):
        raise missing(group, snapshot, path)
    return path, find(entries_in(snapshot, path, layout.layer_of(path)), name)


def file_of(group: Group, snapshot: Snapshot, layout: Layout, name: str) -> str:
    """The file that NAME stands for: itself, or that of the layer of entries called so."""
    layer = layout.layer(name)
    if layer is not None and layer.kind == KIND and snapshot.node(name) is None:
        return layer.path
    return known_path(group, snapshot, name)


def _chosen(group: Group, snapshot: Snapshot, layout: Layout, path: str) -> tuple[list[str], str]:
    """The files that PATH stands for, and the slug of the entry if it names one."""
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
    if _is_file(snapshot, file):
        return [file], ""
    if file and snapshot.node(file) is None:
        raise missing(group, snapshot, file)
    return list(_texts(snapshot, file)), ""


def _is_file(snapshot: Snapshot, path: str) -> bool:
    node = snapshot.node(path)
    return node is not None and not node.is_folder and node.mode != SUBMODULE


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
