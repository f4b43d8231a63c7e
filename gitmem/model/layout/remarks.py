"""What a layer has to say about a file that was just written to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gitmem.errors import EntryRefused
from gitmem.model.layout.budgets import fill, human, percent
from gitmem.model.layout.layout import Layer

if TYPE_CHECKING:
    from gitmem.model.entries.blocks import Entry


def remarks(
    layer: Layer,
    path: str,
    data: bytes,
    before: bytes | None = None,
    *,
    entry: str = "",
    today: str = "",
) -> Iterator[str]:
    """One sentence for each thing that is worth a thought; a strict layer refuses instead."""
    yield from _size(layer, path, len(data))
    if layer.kind == "log" and layer.holds(path):
        yield from _day(layer, path, data, today)
    text = data.decode("utf-8", "replace")
    if layer.kind == "journal" and layer.render == "summary":
        yield from _summary(path, text, (before or b"").decode("utf-8", "replace"))
    if entry:
        yield from _entry(layer, text, entry)
    elif layer.kind == "entries":
        yield from _entries(layer, text, (before or b"").decode("utf-8", "replace"))


def _size(layer: Layer, path: str, size: int) -> Iterator[str]:
    state = fill(layer, size)
    if state == "ok":
        return
    used = f"{human(size)} of {human(layer.budget)} ({percent(layer, size)} %)"
    what = "over its budget" if state == "over" else "near its budget"
    yield f"{path} is {what}: {used}; move what is past elsewhere"


def _day(layer: Layer, path: str, data: bytes, today: str) -> Iterator[str]:
    from gitmem.model.layout.daylog import header_day

    day = header_day(layer, data)
    if day and str(day) < today:
        yield f"{path} is the log of {day}; `gitmem rotate` keeps it and begins today's"


def _summary(path: str, text: str, before: str) -> Iterator[str]:
    from gitmem.model.text.plain_frontmatter import read_fields

    now, old = read_fields(text).get("summary"), read_fields(before).get("summary")
    if not now:
        yield f"{path} has no summary, so a prompt will not show it: add --summary"
    elif old and old != now:
        yield f"the summary of {path} was {str(old)!r} until now"


def _entry(layer: Layer, text: str, name: str) -> Iterator[str]:
    from gitmem.model.entries.edit import find, matching, parse

    entries = parse(text, layer.fields)
    yield from judged(matching(entries, name) or find(entries, name), layer)


def _entries(layer: Layer, text: str, before: str) -> Iterator[str]:
    """What there is to say about entries that were not there before, as they are now."""
    from gitmem.model.entries.blocks import parse, wording

    known = {wording(each.block) for each in parse(before, layer.fields)}
    for each in parse(text, layer.fields):
        if wording(each.block) not in known:
            yield from judged(each, layer)


def judged(entry: Entry, layer: Layer) -> tuple[str, ...]:
    """What LAYER does not know about ENTRY; a strict one refuses it."""
    from gitmem.model.entries.rules import judge

    found = judge(entry, layer)
    if found and layer.strict:
        raise EntryRefused(
            f"{layer.name} is strict: {found[0]}",
            hint="say it as the layout has it, or take `strict` out of gitmem.yaml",
        )
    return found
