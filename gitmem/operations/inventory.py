"""What the layers of a group hold: sizes against budgets, entries, days and logs.

It reads the files of one commit and no history, so its cost is that of what there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date, datetime
from typing import NamedTuple

from gitmem.core.budgets import fill, percent
from gitmem.core.daylog import DATE, header_day, past_day
from gitmem.core.layout import Layer, Layout
from gitmem.errors import Damaged
from gitmem.git.repository import Snapshot

ONE_FILE = ("document", "entries", "log")
MANY_FILES = ("journal", "notes", "profile")


class CoreFile(NamedTuple):
    """A file that has its own place in the layout."""

    path: str
    layer: str
    state: str
    """ok, near (its budget), over (it), missing or damaged"""
    bytes: int = 0
    budget: int = 0
    """0 is no limit."""
    percent: int = 0
    updated: datetime | None = None
    """When it was changed last, if that was one of the newest commits ..."""
    agent: str = ""
    """... and by whom."""


class EntryCount(NamedTuple):
    """How many entries a file has."""

    path: str
    layer: str
    entries: int
    """Those that have their time."""
    retired: int
    """Those that have had it."""


class LayerFiles(NamedTuple):
    """A layer of many files."""

    layer: str
    kind: str
    files: int
    last: str = ""
    """The newest day of a journal."""


class LogDay(NamedTuple):
    """A log, and the day it is of."""

    path: str
    layer: str
    day: date | None
    """By its header; None where it has none, or is not there."""
    exists: bool
    due: bool
    """True when `rotate` has something to do."""
    rotated: str = ""
    """The newest of the logs that have rotated ..."""
    last_rotation: date | None = None
    """... and its day."""


class Inventory(NamedTuple):
    """What there is, layer by layer."""

    core: tuple[CoreFile, ...] = ()
    entries: tuple[EntryCount, ...] = ()
    layers: tuple[LayerFiles, ...] = ()
    logs: tuple[LogDay, ...] = ()


def inventory(snapshot: Snapshot, layout: Layout, today: date) -> Inventory:
    """Look at every layer of LAYOUT in SNAPSHOT."""
    each = layout.layers
    many = [layer for layer in each if layer.kind in MANY_FILES]
    return Inventory(
        tuple(core for layer in each for core in _core(snapshot, layer)),
        tuple(_entries(snapshot, layer) for layer in each if layer.kind == "entries"),
        tuple(_files(snapshot, layer) for layer in many),
        tuple(_log(snapshot, layer, today) for layer in each if layer.kind == "log"),
    )


def _core(snapshot: Snapshot, layer: Layer) -> Iterator[CoreFile]:
    """Each document and each file with a budget; of many files only those that need a look."""
    if layer.kind in ONE_FILE:
        if layer.kind == "document" or layer.budget:
            yield _measured(snapshot, layer, layer.path)
    elif layer.budget:
        found = (_measured(snapshot, layer, path) for path in _paths(snapshot, layer))
        yield from (each for each in found if each.state != "ok")


def _measured(snapshot: Snapshot, layer: Layer, path: str) -> CoreFile:
    try:
        data = snapshot.read(path)
    except Damaged:
        return CoreFile(path, layer.name, "damaged", 0, layer.budget)
    if data is None:
        return CoreFile(path, layer.name, "missing", 0, layer.budget)
    size = len(data)
    return CoreFile(path, layer.name, fill(layer, size), size, layer.budget, percent(layer, size))


def _entries(snapshot: Snapshot, layer: Layer) -> EntryCount:
    from gitmem.core.entry_rules import is_retired
    from gitmem.operations.entries import entries_in

    with suppress(Damaged):
        found = entries_in(snapshot, layer.path, layer)
        retired = sum(is_retired(each, layer) for each in found)
        return EntryCount(layer.path, layer.name, len(found) - retired, retired)
    return EntryCount(layer.path, layer.name, 0, 0)


def _files(snapshot: Snapshot, layer: Layer) -> LayerFiles:
    paths = list(_paths(snapshot, layer))
    last = max((_day(path) for path in paths), default="") if layer.kind == "journal" else ""
    return LayerFiles(layer.name, layer.kind, len(paths), last)


def _day(path: str) -> str:
    from gitmem.core.journal import day_of

    name = path.rpartition("/")[2]
    return day_of(name.rpartition(".")[0] or name).date


def _paths(snapshot: Snapshot, layer: Layer) -> Iterator[str]:
    """The files of a layer that has many, without the one from which a profile starts."""
    for path, _ in snapshot.files(_folder(layer.path)):
        if layer.holds(path) and path != layer.default:
            yield path


def _folder(pattern: str) -> str:
    """The folder in which everything lies that PATTERN can name."""
    return re.split(r"[{*]", pattern, maxsplit=1)[0].rpartition("/")[0]


def _log(snapshot: Snapshot, layer: Layer, today: date) -> LogDay:
    data, exists = None, snapshot.oid(layer.path) is not None
    with suppress(Damaged):
        data = snapshot.read(layer.path)
    day = None if data is None else header_day(layer, data)
    due = DATE in layer.header and day != today
    rotated = max(_past(snapshot, layer), default=None)
    if rotated is None:
        return LogDay(layer.path, layer.name, day, exists, due)
    return LogDay(layer.path, layer.name, day, exists, due, rotated[2], rotated[0])


def _past(snapshot: Snapshot, layer: Layer) -> Iterator[tuple[date, int, str]]:
    """Day, number and path of each log that has rotated."""
    for path, _ in snapshot.files(_folder(layer.rotated)):
        found = past_day(layer, path)
        if found:
            yield *found, path
