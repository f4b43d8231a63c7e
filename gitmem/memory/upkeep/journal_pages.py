"""The pages of the journals that are rolled up, as one commit has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha1
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.layer_files import dated_part, layer_files
from gitmem.model.context.pieces import text_of
from gitmem.model.layout.archives import path_in
from gitmem.model.layout.journal import NEVER, TYPES, day_from, day_of, type_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.periods import FORMS
from gitmem.model.layout.rollups import Page, Shelf, named_sources, place_of
from gitmem.model.text.plain_frontmatter import read_fields
from gitmem.store.repository import Snapshot

ADD_KEY = "say so in gitmem.yaml: a journal with `rollup: move` or `rollup: keep`"
DIGITS = 12
"""Of the digest that stands for the sources somebody has seen."""


class Shelved(NamedTuple):
    """The pages of one layer, in order."""

    shelf: Shelf
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
    pages = list(_Reader(snapshot, layer, moment).pages(layout.before(layer)))
    undated = tuple(each.path for each in pages if each.day == NEVER)
    return Shelved(Shelf((each for each in pages if each.day != NEVER), moment.date()), undated)


def text_at(snapshot: Snapshot, blob: str) -> str | None:
    """What a page says; None where its blob is damaged."""
    try:
        return text_of(snapshot.repository.objects.read_as("blob", blob))
    except Damaged:
        return None


def digest_of_pages(pages: Iterable[Page]) -> str:
    """What stands for these versions of these pages."""
    said = "".join(f"{each.path}\0{each.blob}\n" for each in pages)
    return sha1(said.encode(), usedforsecurity=False).hexdigest()[:DIGITS]


class _Reader:
    """One layer of one commit."""

    def __init__(self, snapshot: Snapshot, layer: Layer, moment: datetime) -> None:
        self._snapshot, self._layer = snapshot, layer
        self._zone = moment.tzinfo or UTC

    def pages(self, before: Iterable[Layer]) -> Iterator[Page]:
        """Its pages, and the summaries that stand apart from them."""
        yield from self._at(self._layer, tuple(before))
        if self._layer.rollup == "keep":
            for type in FORMS:
                apart = self._layer._replace(path=place_of(self._layer, type))
                yield from (each for each in self._at(apart) if each.type == type)

    def _at(self, layer: Layer, before: tuple[Layer, ...] = ()) -> Iterator[Page]:
        name = dated_part(layer.path)
        for path, blob in layer_files(self._snapshot, layer, before):
            yield self._page(path, name(path), blob)

    def _page(self, path: str, name: str, blob: str) -> Page:
        """A page by its name; only what that does not say is looked up in the file."""
        page = Page(day_of(name), path, name, type_of(name), blob, again=self._is_again(path))
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
