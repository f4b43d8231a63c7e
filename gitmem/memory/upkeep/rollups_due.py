"""List the weeks and months that are over and have no summary yet, with the pages to sum up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from hashlib import sha1
from shlex import quote
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.group import Group
from gitmem.memory.layer_files import dated_part, layer_files
from gitmem.memory.layouts import layout_at
from gitmem.model.context.pieces import one_line, text_of
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
    """All of it; None where it was not asked for, or cannot be read."""
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
    """Stands for these versions of these pages: a roll-up of others is refused."""
    command: str


class MonthWaiting(Record):
    """A month that is over, but some of its weeks have no summary yet."""

    layer: str
    period: str
    weeks: tuple[str, ...]


class Late(Record):
    """A page that came after the summaries above it were written, and that none of them names."""

    layer: str
    path: str
    summary: str
    """The file of the highest of those."""


class RollupsDue(Record):
    """What there is to roll up, the oldest first."""

    commit: str
    today: date
    layers: tuple[str, ...]
    """The layers that were looked at."""
    due: tuple[DueRollup, ...] = ()
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


def _oldest_first(due: DueRollup) -> tuple[date, bool]:
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

    def _due(self, period: Period) -> DueRollup:
        pages = self._shelf.sources(period)
        match, layer = digest_of_pages(pages), self._layer.name
        call = f"gitmem rollup {period.type} {period.name} --layer {quote(layer)}"
        return DueRollup(
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

    def _source(self, page: JournalPage) -> Source:
        text = text_at(self._snapshot, page.blob)
        summary = one_line(read_fields(text or "").get("summary"))
        shown = text if self._texts else None
        return Source(page.path, page.day.date, page.type, summary, shown, text is not None)


ADD_KEY = "say so in gitmem.yaml: a journal with `rollup: move` or `rollup: keep`"
DIGITS = 12
"""Of the digest that stands for the sources somebody has seen."""


class Shelved(NamedTuple):
    """The pages of one layer, in order."""

    shelf: JournalPages
    undated: tuple[str, ...]
    """Files of it that have no date, and so belong to no week."""


def rolled_layers(layout: Layout, name: str = "") -> tuple[Layer, ...]:
    """The layers whose pages are rolled up, or the one called NAME."""
    known = tuple(each for each in layout.layers if each.rollup)
    found = tuple(each for each in known if name in ("", each.name))
    if name and not found:
        what = f"the layer {name} is not rolled up" if layout.layer(name) else f"no layer {name!r}"
        names = ", ".join(each.name for each in known)
        raise BadInput(what, hint=f"take one of {names}" if names else ADD_KEY)
    return found


def rolled_layer(layout: Layout, name: str) -> Layer:
    """The layer that is meant: where none is named, the only one, or the only one that moves."""
    found = rolled_layers(layout, name)
    moving = [each for each in found if each.rollup == "move"]
    for candidates in (found, moving):
        if len(candidates) == 1:
            return candidates[0]
    if not found:
        raise BadInput("no layer of this group is rolled up", hint=ADD_KEY)
    names = ", ".join(each.name for each in found)
    raise BadInput("there are several layers to roll up", hint=f"add --layer with one of {names}")


def shelf_of(snapshot: Snapshot, layout: Layout, layer: Layer, moment: datetime) -> Shelved:
    """What LAYER holds up to MOMENT, which is in the zone of the group."""
    pages = list(_Reader(snapshot, layer, moment).pages(layout.layers_before(layer)))
    undated = tuple(each.path for each in pages if each.day == NEVER)
    return Shelved(
        JournalPages((each for each in pages if each.day != NEVER), moment.date()), undated
    )


def text_at(snapshot: Snapshot, blob: str) -> str | None:
    """What a page says; None where its blob is damaged."""
    try:
        return text_of(snapshot.repository.objects.read_as("blob", blob))
    except Damaged:
        return None


def digest_of_pages(pages: Iterable[JournalPage]) -> str:
    """What stands for these versions of these pages."""
    said = "".join(f"{each.path}\0{each.blob}\n" for each in pages)
    return sha1(said.encode(), usedforsecurity=False).hexdigest()[:DIGITS]


class _Reader:
    """One layer of one commit."""

    def __init__(self, snapshot: Snapshot, layer: Layer, moment: datetime) -> None:
        self._snapshot, self._layer = snapshot, layer
        self._zone = moment.tzinfo or UTC

    def pages(self, before: Iterable[Layer]) -> Iterator[JournalPage]:
        """Its pages, and the summaries that stand apart from them."""
        yield from self._at(self._layer, tuple(before))
        if self._layer.rollup == "keep":
            for type in FORMS:
                apart = self._layer._replace(path=pattern_of(self._layer, type))
                yield from (each for each in self._at(apart) if each.type == type)

    def _at(self, layer: Layer, before: tuple[Layer, ...] = ()) -> Iterator[JournalPage]:
        name = dated_part(layer.path)
        for path, blob in layer_files(self._snapshot, layer, before):
            yield self._page(path, name(path), blob)

    def _page(self, path: str, name: str, blob: str) -> JournalPage:
        """A page by its name; only what that does not say is looked up in the file."""
        page = JournalPage(
            day_of(name), path, name, type_of(name), blob, again=self._is_again(path)
        )
        if page.day != NEVER and page.type == "day":
            return page
        fields = read_fields(text_at(self._snapshot, blob) or "")
        if page.day == NEVER:
            said = fields.get("type")
            type = str(said) if said in TYPES else page.type
            page = page._replace(day=day_from(fields.get("date"), self._zone), type=type)
        return page._replace(covers=named_sources(fields.get("sources")))

    def _is_again(self, path: str) -> bool:
        """Whether a page of this name has been moved away before."""
        moves = self._layer.rollup == "move"
        return moves and self._snapshot.node(path_in(self._layer.archive, path)) is not None
