"""The content of each layer: sizes against budgets, entries, days and logs.

It reads the files of one commit and no history.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime

from gitmem.errors import Damaged
from gitmem.memory.layer_files import dated_part, layer_files
from gitmem.model.layout.archives import DATE, header_day, rotated_day
from gitmem.model.layout.layout import Layer, Layout, budget_percent, budget_state
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot

ONE_FILE = ("document", "entries", "log")
MANY_FILES = ("journal", "notes", "profile")


class CoreFile(Record):
    """A file that a layer names."""

    path: str
    layer: str
    state: str
    """ok, near (its budget), over (it), missing or damaged"""
    bytes: int = 0
    budget: int = 0
    """0 is no limit."""
    percent: int = 0
    updated: datetime | None = None
    """The time of its last change, if that is among the newest commits ..."""
    agent: str = ""
    """... and its author."""
    older_than: datetime | None = None
    """Otherwise the time of the oldest of those commits."""


class EntryCount(Record):
    """The number of entries in a file."""

    path: str
    layer: str
    entries: int
    """Active entries."""
    retired: int
    """Completed, superseded or otherwise retired entries."""
    updated: datetime | None = None
    """The time of the file's last change, if that is among the newest commits ..."""
    agent: str = ""
    """... and its author."""
    older_than: datetime | None = None
    """Otherwise the time of the oldest of those commits."""


class LayerFiles(Record):
    """A layer of many files."""

    layer: str
    kind: str
    files: int
    last: str = ""
    """The newest day of a journal."""


class LogDay(Record):
    """A log and its day."""

    path: str
    layer: str
    day: date | None
    """From its header; None without one."""
    exists: bool
    due: bool
    """True if `rotate` has something to do."""
    rotated: str = ""
    """The newest rotated log ..."""
    last_rotation: date | None = None
    """... and its day."""


class Inventory(Record):
    """The content of a group by layer."""

    core: tuple[CoreFile, ...] = ()
    entries: tuple[EntryCount, ...] = ()
    layers: tuple[LayerFiles, ...] = ()
    logs: tuple[LogDay, ...] = ()


def inventory(snapshot: Snapshot, layout: Layout, today: date) -> Inventory:
    """The content of every layer of LAYOUT in SNAPSHOT."""
    each = layout.layers
    files = {
        layer.name: _paths(snapshot, layer, layout.layers_before(layer))
        for layer in each
        if layer.kind in MANY_FILES
    }
    return Inventory(
        tuple(core for layer in each for core in _core(snapshot, layer, files.get(layer.name, ()))),
        tuple(_entries(snapshot, layer) for layer in each if layer.kind == "entries"),
        tuple(_counted(layer, files[layer.name]) for layer in each if layer.name in files),
        tuple(_log(snapshot, layer, today) for layer in each if layer.kind == "log"),
    )


def _paths(snapshot: Snapshot, layer: Layer, before: Sequence[Layer]) -> tuple[str, ...]:
    """The files of a layer with many, without the template of a profile."""
    found = layer_files(snapshot, layer, before)
    return tuple(path for path, _ in found if path != layer.default)


def _core(snapshot: Snapshot, layer: Layer, paths: Sequence[str]) -> Iterator[CoreFile]:
    """Each document and each file with a budget; of many files only those not `ok`."""
    if layer.kind in ONE_FILE:
        if layer.kind == "document" or layer.budget:
            yield _measured(snapshot, layer, layer.path)
    elif layer.budget:
        found = (_measured(snapshot, layer, path) for path in paths)
        yield from (each for each in found if each.state != "ok")


def _measured(snapshot: Snapshot, layer: Layer, path: str) -> CoreFile:
    try:
        data = snapshot.read(path)
    except Damaged:
        return CoreFile(path, layer.name, "damaged", 0, layer.budget)
    if data is None:
        return CoreFile(path, layer.name, "missing", 0, layer.budget)
    size = len(data)
    return CoreFile(
        path, layer.name, budget_state(layer, size), size, layer.budget, budget_percent(layer, size)
    )


def _entries(snapshot: Snapshot, layer: Layer) -> EntryCount:
    from gitmem.memory.entries.targets import entries_in
    from gitmem.model.entries.rules import is_retired

    with suppress(Damaged):
        found = entries_in(snapshot, layer.path, layer)
        retired = sum(is_retired(each, layer) for each in found)
        return EntryCount(layer.path, layer.name, len(found) - retired, retired)
    return EntryCount(layer.path, layer.name, 0, 0)


def _counted(layer: Layer, paths: Sequence[str]) -> LayerFiles:
    last = _last_day(layer, paths) if layer.kind == "journal" else ""
    return LayerFiles(layer.name, layer.kind, len(paths), last)


def _last_day(layer: Layer, paths: Sequence[str]) -> str:
    from gitmem.model.layout.journal import day_of

    part = dated_part(layer.path)
    return max((day_of(part(path)).date for path in paths), default="")


def _log(snapshot: Snapshot, layer: Layer, today: date) -> LogDay:
    data, exists = None, snapshot.oid(layer.path) is not None
    with suppress(Damaged):
        data = snapshot.read(layer.path)
    day = None if data is None else header_day(layer, data)
    due = DATE in layer.header and day != today
    rotated = max(past_logs(snapshot, layer), default=None)
    if rotated is None:
        return LogDay(layer.path, layer.name, day, exists, due)
    return LogDay(layer.path, layer.name, day, exists, due, rotated[2], rotated[0])


def past_logs(snapshot: Snapshot, layer: Layer) -> Iterator[tuple[date, int, str]]:
    """Day, number and path of each rotated log."""
    for path, _ in layer_files(snapshot, layer._replace(path=layer.rotated)):
        found = rotated_day(layer, path)
        if found:
            yield *found, path
