"""Add lines to the log of the day, as a part of a commit or of several."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.errors import TooBig
from gitmem.memory.write.apply import Edit, applied
from gitmem.memory.write.target import HERE, resolve_edits
from gitmem.model.guards import check_size, write_warnings
from gitmem.model.layout.layout import Layer, Layout
from gitmem.store.repository import Snapshot

WRITABLE = ("free", "append-only")
"""Policies of logs that can be added to."""


class Noted(NamedTuple):
    """A log with lines added."""

    path: str
    data: bytes
    warnings: tuple[str, ...]


def day_log(layout: Layout) -> Layer | None:
    """The log that can be added to: the first there is."""
    return next((x for x in layout.layers if x.kind == "log" and x.policy in WRITABLE), None)


def noted(snapshot: Snapshot, layout: Layout, text: str, now: datetime) -> Noted | None:
    """The log with TEXT at its end; None where there is none, or it is full."""
    layer = day_log(layout)
    if layer is None:
        return None
    edit = Edit(f"{HERE}{layer.path}", text, append=True)
    (aim,) = resolve_edits([edit], layout, snapshot, now)
    data = applied(aim, snapshot.read(layer.path))
    try:
        check_size(layer.path, len(data))
    except TooBig:
        return None
    return Noted(layer.path, data, tuple(write_warnings(layer, layer.path, data, today=aim.day)))
