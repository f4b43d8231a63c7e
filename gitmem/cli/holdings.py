"""What the layers of a group hold, for people: sizes against budgets, entries, days, logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.cli.invocation import ago
from gitmem.cli.style import Paint, columns, plain
from gitmem.model.text.numbers import counted

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.cli.invocation import Invocation
    from gitmem.memory.read.inventory import CoreFile, EntryCount, Inventory, LayerFiles, LogDay

INDENT = "  "


def holding_lines(call: Invocation, found: Inventory, now: datetime) -> Iterator[str]:
    """A block for the core files, and one for everything else."""
    style = call.style
    if found.core:
        yield ""
        paints: dict[str, Paint] = {"over": style.bad, "near": style.warn, "missing": style.warn}
        rows = [_core(each, now) for each in found.core]
        for each, line in zip(found.core, columns(rows, (style.bold,)), strict=True):
            yield INDENT + paints.get(each.state, plain)(line)
    rest = [
        *(_entries(each, now) for each in found.entries),
        *(_files(each) for each in found.layers),
        *(_log(call, each) for each in found.logs),
    ]
    if rest:
        yield ""
        yield from (INDENT + line for line in columns(rest, (style.bold,)))


def _core(file: CoreFile, now: datetime) -> tuple[str, str, str, str]:
    from gitmem.model.layout.budgets import human

    if file.state in ("missing", "damaged"):
        return file.path, "", file.state, ""
    size = human(file.bytes)
    if file.budget:
        size += f" / {human(file.budget)} ({file.percent}%)"
    return file.path, size, file.state, _changed(file, now)


def _entries(count: EntryCount, now: datetime) -> tuple[str, str]:
    many = "1 entry" if count.entries == 1 else f"{count.entries:,} entries"
    many += f", {count.retired:,} retired" if count.retired else ""
    changed = _changed(count, now)
    return count.path, many + (f"; {changed}" if changed else "")


def _changed(file: CoreFile | EntryCount, now: datetime) -> str:
    """When a file was changed last, and by whom."""
    if file.updated:
        return f"{ago(file.updated, now)} by {file.agent}"
    return f"before {file.older_than:%Y-%m-%d}" if file.older_than else ""


def _files(layer: LayerFiles) -> tuple[str, str]:
    last = f", last {layer.last}" if layer.last else ""
    return layer.layer, counted(layer.files, "file") + last


def _log(call: Invocation, log: LogDay) -> tuple[str, str]:
    of = f"of {log.day}" if log.day else "without a day" if log.exists else "not begun"
    past = f", last rotated to {log.rotated}" if log.rotated else ", never rotated"
    due = call.addressed("; next: gitmem rotate") if log.due else ""
    return log.path, of + past + due
