"""List the weeks and months that are over and have no summary yet, with the pages to sum up."""

from __future__ import annotations

from datetime import date, datetime
from shlex import quote
from typing import NamedTuple

from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.upkeep.journal_pages import digest_of_pages, rolled_layers, shelf_of, text_at
from gitmem.model.context.pieces import one_line
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.periods import Period
from gitmem.model.layout.rollups import Page, target_of
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.store.repository import Snapshot


class Source(NamedTuple):
    """A page that waits for its summary."""

    path: str
    date: str
    type: str
    summary: str
    text: str | None
    """All of it; None where it was not asked for, or cannot be read."""
    readable: bool = True


class Due(NamedTuple):
    """A period that is over, has pages and no summary."""

    layer: str
    type: str
    period: str
    first: date
    last: date
    target: str
    sources: tuple[Source, ...]
    if_match: str
    """Stands for these versions of these pages: a roll-up of others is refused."""
    command: str


class MonthWaiting(NamedTuple):
    """A month that is over, but some of its weeks have no summary yet."""

    layer: str
    period: str
    weeks: tuple[str, ...]


class Late(NamedTuple):
    """A page that came after the summaries above it were written, and that none of them names."""

    layer: str
    path: str
    summary: str
    """The file of the highest of those."""


class RollupsDue(NamedTuple):
    """What there is to roll up, the oldest first."""

    commit: str
    today: date
    layers: tuple[str, ...]
    """The layers that were looked at."""
    due: tuple[Due, ...] = ()
    waiting: tuple[MonthWaiting, ...] = ()
    late: tuple[Late, ...] = ()
    undated: tuple[str, ...] = ()
    """Files of those layers that have no date, neither in their name nor in their frontmatter."""


def rollups_due(group: Group, *, layer: str = "", texts: bool = True) -> RollupsDue:
    """What is due in all layers that are rolled up, or in LAYER; with the TEXTS of the sources."""
    snapshot, moment = group.repository.snapshot(), group.now()
    layout = layout_at(group, snapshot).layout
    layers = rolled_layers(layout, layer)
    found = [_Look(snapshot, layout, each, moment, texts).taken() for each in layers]
    due = sorted((each for one in found for each in one.due), key=_oldest_first)
    return RollupsDue(
        snapshot.commit,
        moment.date(),
        tuple(each.name for each in layers),
        tuple(due),
        tuple(each for one in found for each in one.waiting),
        tuple(each for one in found for each in one.late),
        tuple(each for one in found for each in one.undated),
    )


def _oldest_first(due: Due) -> tuple[date, bool]:
    return due.last, due.type == "month"


class _Look:
    """A look at one layer of one commit."""

    def __init__(
        self, snapshot: Snapshot, layout: Layout, layer: Layer, moment: datetime, texts: bool
    ) -> None:
        self._snapshot, self._layer = snapshot, layer
        self._moment, self._texts = moment, texts
        self._shelf, self._undated = shelf_of(snapshot, layout, layer, moment)

    def taken(self) -> RollupsDue:
        """What there is to say about this layer."""
        name, shelf = self._layer.name, self._shelf
        return RollupsDue(
            self._snapshot.commit,
            self._moment.date(),
            (name,),
            tuple(map(self._due, shelf.due())),
            tuple(MonthWaiting(name, each.period.name, each.weeks) for each in shelf.waiting()),
            tuple(Late(name, page.path, summary.path) for page, summary in shelf.late()),
            self._undated,
        )

    def _due(self, period: Period) -> Due:
        pages = self._shelf.sources(period)
        match, layer = digest_of_pages(pages), self._layer.name
        call = f"gitmem rollup {period.type} {period.name} --layer {quote(layer)}"
        return Due(
            layer,
            period.type,
            period.name,
            period.first,
            period.last,
            target_of(self._layer, period),
            tuple(map(self._source, pages)),
            match,
            f"{call} --if-match {match} --summary SUMMARY -",
        )

    def _source(self, page: Page) -> Source:
        text = text_at(self._snapshot, page.blob)
        summary = one_line(read_fields(text or "").get("summary"))
        shown = text if self._texts else None
        return Source(page.path, page.day.date, page.type, summary, shown, text is not None)
