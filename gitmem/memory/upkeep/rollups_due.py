"""List the weeks and months that are over and have no summary yet, with the pages to sum up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, tzinfo
from hashlib import sha1
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.group import Group
from gitmem.memory.layer_files import dated_part, layer_files
from gitmem.memory.layouts import layout_at
from gitmem.model.context.pieces import one_line, text_of
from gitmem.model.hints import Hint, Option, command
from gitmem.model.layout.archives import path_in
from gitmem.model.layout.journal import NEVER, TYPES, day_from, day_of, type_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.rollups import (
    FORMS,
    JournalPage,
    JournalPages,
    Period,
    named_sources,
    pattern_of,
    target_of,
)
from gitmem.model.record import Record
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.store.repository import Snapshot


class Source(Record):
    """A page that waits for its summary."""

    path: str
    date: str
    type: str
    summary: str
    text: str | None
    """The whole text; None if the caller does not want it, or it cannot be read."""
    readable: bool = True


class DueRollup(Record):
    """A period that is over, has pages and no summary."""

    layer: str
    type: str
    period: str
    first: date
    last: date
    target: str
    sources: tuple[Source, ...]
    if_match: str
    """The digest of these versions of these pages: a roll-up of others is refused."""
    command: str


class MonthWaiting(Record):
    """A month that is over, but some of its weeks have no summary yet."""

    layer: str
    period: str
    weeks: tuple[str, ...]


class Late(Record):
    """A page that was written after the summaries above it, none of which names it."""

    layer: str
    path: str
    summary: str
    """The file of the highest of those summaries."""


class RollupsDue(Record):
    """What there is to roll up, the oldest first."""

    commit: str
    today: date
    layers: tuple[str, ...]
    """The layers that are rolled up."""
    due: tuple[DueRollup, ...] = ()
    waiting: tuple[MonthWaiting, ...] = ()
    late: tuple[Late, ...] = ()
    undated: tuple[str, ...] = ()
    """Files of those layers with no date in their name or frontmatter."""


def rollups_due(group: Group, *, layer: str = "", texts: bool = True) -> RollupsDue:
    """What is due in all layers that are rolled up, or in LAYER; with the TEXTS of the sources."""
    snapshot, moment = group.repository.snapshot(), group.now()
    layout = layout_at(group, snapshot).layout
    layers = rolled_layers(layout, layer)
    found = [(each, journal_of(snapshot, layout, each, moment)) for each in layers]
    due = [
        _due(snapshot, each, journal.pages.sources(period), period, texts=texts)
        for each, journal in found
        for period in journal.pages.due()
    ]
    return RollupsDue(
        snapshot.commit,
        moment.date(),
        tuple(each.name for each in layers),
        tuple(sorted(due, key=lambda each: (each.last, each.type == "month"))),
        tuple(
            MonthWaiting(each.name, month.period.name, month.weeks)
            for each, journal in found
            for month in journal.pages.waiting()
        ),
        tuple(
            Late(each.name, page.path, summary.path)
            for each, journal in found
            for page, summary in journal.pages.late()
        ),
        tuple(path for _, journal in found for path in journal.undated),
    )


def _due(
    snapshot: Snapshot, layer: Layer, pages: tuple[JournalPage, ...], period: Period, *, texts: bool
) -> DueRollup:
    match = digest_of_pages(pages)
    options = {"layer": layer.name, "if_match": match, "summary": "SUMMARY"}
    return DueRollup(
        layer.name,
        period.type,
        period.name,
        period.first,
        period.last,
        target_of(layer, period),
        tuple(_source(snapshot, each, texts=texts) for each in pages),
        match,
        command("rollup", period.type, period.name, **options) + " -",
    )


def _source(snapshot: Snapshot, page: JournalPage, *, texts: bool) -> Source:
    text = text_at(snapshot, page.blob)
    summary = one_line(read_fields(text or "").get("summary"))
    shown = text if texts else None
    return Source(page.path, page.day.date, page.type, summary, shown, text is not None)


ADD_KEY = "add `rollup: move` or `rollup: keep` to a journal in gitmem.yaml"
DIGITS = 12
"""Of the digest of the sources that the caller has read."""


class Journal(NamedTuple):
    """The pages of one layer, by week and month."""

    pages: JournalPages
    undated: tuple[str, ...]
    """Files of the layer that have no date, and so belong to no week."""


def rolled_layers(layout: Layout, name: str = "") -> tuple[Layer, ...]:
    """The layers whose pages are rolled up, or the one called NAME."""
    known = tuple(each for each in layout.layers if each.rollup)
    found = tuple(each for each in known if name in ("", each.name))
    if name and not found:
        what = f"the layer {name} is not rolled up" if layout.layer(name) else f"no layer {name!r}"
        names = ", ".join(each.name for each in known)
        raise BadInput(what, hint=f"use one of {names}" if names else ADD_KEY)
    return found


def rolled_layer(layout: Layout, name: str) -> Layer:
    """The layer called NAME; without a name, the only one, or the only one whose pages move."""
    found = rolled_layers(layout, name)
    moving = [each for each in found if each.rollup == "move"]
    for candidates in (found, moving):
        if len(candidates) == 1:
            return candidates[0]
    if not found:
        raise BadInput("no layer of this group is rolled up", hint=ADD_KEY)
    names = ", ".join(each.name for each in found)
    hint = Hint("add ", Option("layer", "NAME"), f" with one of {names}")
    raise BadInput("several layers are rolled up", hint=hint)


def journal_of(snapshot: Snapshot, layout: Layout, layer: Layer, moment: datetime) -> Journal:
    """The pages of LAYER up to MOMENT, which is in the zone of the group."""
    zone = moment.tzinfo or UTC
    pages = list(_pages(snapshot, layer, layout.layers_before(layer), zone))
    undated = tuple(each.path for each in pages if each.day == NEVER)
    return Journal(
        JournalPages((each for each in pages if each.day != NEVER), moment.date()), undated
    )


def text_at(snapshot: Snapshot, blob: str) -> str | None:
    """The text of a page; None if its blob is damaged."""
    try:
        return text_of(snapshot.repository.objects.read_as("blob", blob))
    except Damaged:
        return None


def digest_of_pages(pages: Iterable[JournalPage]) -> str:
    """A digest of these versions of these pages."""
    rows = "".join(f"{each.path}\0{each.blob}\n" for each in pages)
    return sha1(rows.encode(), usedforsecurity=False).hexdigest()[:DIGITS]


def _pages(
    snapshot: Snapshot, layer: Layer, before: Iterable[Layer], zone: tzinfo
) -> Iterator[JournalPage]:
    """The pages of LAYER, and the summaries that are kept apart from them."""
    yield from _files(snapshot, layer, layer, tuple(before), zone)
    if layer.rollup == "keep":
        for type in FORMS:
            apart = layer._replace(path=pattern_of(layer, type))
            pages = _files(snapshot, layer, apart, (), zone)
            yield from (each for each in pages if each.type == type)


def _files(
    snapshot: Snapshot, layer: Layer, at: Layer, before: tuple[Layer, ...], zone: tzinfo
) -> Iterator[JournalPage]:
    """The pages of LAYER among the files of AT."""
    name = dated_part(at.path)
    for path, blob in layer_files(snapshot, at, before):
        archived = layer.rollup == "move" and snapshot.node(path_in(layer.archive, path))
        page = JournalPage(day_of(name(path)), path, name(path), type_of(name(path)), blob)
        yield _read_page(snapshot, page._replace(again=bool(archived)), zone)


def _read_page(snapshot: Snapshot, page: JournalPage, zone: tzinfo) -> JournalPage:
    """PAGE with the day, type and sources from its frontmatter, if its name does not tell them."""
    if page.day != NEVER and page.type == "day":
        return page
    fields = read_fields(text_at(snapshot, page.blob) or "")
    if page.day == NEVER:
        type = fields.get("type")
        type = str(type) if type in TYPES else page.type
        page = page._replace(day=day_from(fields.get("date"), zone), type=type)
    return page._replace(covers=named_sources(fields.get("sources")))
