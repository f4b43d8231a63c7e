"""What has changed since a session was shown memory: a diff of what it was shown, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import NotFound
from gitmem.memory.context.mask import Masks
from gitmem.memory.context.sources import has_shared
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at, spelled_at
from gitmem.memory.read.diff import diff
from gitmem.model.access import GLOBAL
from gitmem.model.context.escape import NOTHING, ForModel, joined, worded
from gitmem.model.context.pieces import Piece, text_of, trimmed
from gitmem.model.context.render import Page, readable

if TYPE_CHECKING:
    from gitmem.memory.read.show import FileChange
    from gitmem.model.layout.layout import Layer, Layout

LOADED = ("always", "recent")
BETWEEN = "\n\n"
HEADING = "What memory holds has changed since this session was last shown it:"
SEE = ". See one with `gitmem read PATH`."
ENDING = 300
"""Characters that naming files may take for whose changes there is no room."""


class ChangedSince(NamedTuple):
    """What is new to a session, and what it has been shown with that."""

    pieces: tuple[Piece, ...]
    """The files that changed, each with what became of it."""
    format: str
    """In which the layout shows memory."""
    shown: tuple[tuple[str, str], ...]


def present(group: Group) -> tuple[tuple[str, str], ...]:
    """The commits that a session would be shown now."""
    own = (group.name, group.repository.tip())
    if not has_shared(group):
        return (own,)
    shared = Group(group.store, GLOBAL, acting=group.acting)
    try:
        return own, (GLOBAL, shared.repository.tip())
    finally:
        shared.close()


def changed_since(
    group: Group, shown: Sequence[tuple[str, str]], without: tuple[str, ...] = ()
) -> ChangedSince:
    """What differs from the commits that were SHOWN, in files that are loaded.

    WITHOUT names files of the group that the model gets in another way.
    """
    loaded = layout_at(group, group.repository.snapshot())
    pieces: list[Piece] = []
    now: list[tuple[str, str]] = []
    for name, commit in shown:
        try:
            pieces += _in_group(group, loaded.written, name, commit, now)
        except NotFound:  # a group that is gone, or a history that was written anew
            continue
    new = tuple(each for each in pieces if each.group or each.path not in without)
    return ChangedSince(new, loaded.layout.format, tuple(now))


def _in_group(
    group: Group, layout: Layout, name: str, commit: str, now: list[tuple[str, str]]
) -> list[Piece]:
    own = name == group.name
    meant = group if own else Group(group.store, name, acting=group.acting, now=group.moment)
    try:
        tip = meant.repository.tip()
        now.append((name, tip))
        if tip == commit:
            return []
        found = diff(meant, commit).files
        layout = spelled_at(layout, meant.repository.snapshot(tip))
        pieces = [piece for each in found for piece in _pieces(meant, layout, each, own)]
        masks = Masks({"": meant.repository.snapshot(tip)})
        return [
            each._replace(
                text=masks.mixed("", each.text, each.path),
                path=masks.mixed("", each.path),
                change=masks.mixed("", each.change),
            )
            for each in pieces
        ]
    finally:
        if not own:
            meant.close()


def _pieces(group: Group, layout: Layout, file: FileChange, own: bool) -> Iterator[Piece]:
    """A file that is moved into what is loaded, or out of it, comes, or goes."""
    there, here = (_loaded(layout, path, own) for path in (file.moved_from, file.path))
    if file.moved_from and there and not here:
        yield _piece(there, file.moved_from, own, "deleted")
    elif here and here.render != "whole":
        yield _piece(here, file.path, own, file.change)._replace(render="pointer")
    elif here and file.moved_from and not there:
        text = text_of(group.repository.snapshot().read(file.path) or b"")
        yield _piece(here, file.path, own, "created", text)
    elif here:
        change = f"moved from {file.moved_from}" if file.moved_from else file.change
        yield _piece(here, file.path, own, change, trimmed(file.diff))


def _piece(layer: Layer, path: str, own: bool, change: str, text: str = "") -> Piece:
    return Piece(
        layer.name,
        layer.kind,
        text,
        heading=layer.heading,
        group="" if own else GLOBAL,
        path=path,
        change=change,
        lack="missing" if change == "deleted" and not text else "",
    )


def _loaded(layout: Layout, path: str, own: bool) -> Layer | None:
    """The layer of a file that sessions are shown."""
    layer = layout.layer_of(path) if path else None
    return layer if layer and layer.load in LOADED and (own or layer.shared) else None


def drawn(found: ChangedSince, holds: Callable[[str], bool]) -> ForModel:
    """A page of what changed, in whole pieces only, as far as HOLDS says; the others are named.

    It is drawn as `inject` draws memory: what a note says cannot leave its block here, either.
    """
    page = Page(found.format, annotate=True)
    taken: list[Piece] = []
    left: list[ForModel] = []
    for each in found.pieces:
        text = joined((worded(HEADING), page.text([*taken, each])))
        if holds(text + BETWEEN + " " * ENDING):
            taken.append(each)
        else:
            left.append(readable(each.path, each.group))
    heading = worded(HEADING) if found.pieces else NOTHING
    return joined((heading, page.text(taken), _also(left)))


def _also(names: Sequence[ForModel]) -> ForModel:
    """Those of NAMES that have room in a line; the others are counted."""
    if not names:
        return NOTHING
    shown: list[ForModel] = []
    for each in names:
        if len(joined((*shown, each), ", ")) > ENDING - len(SEE) - 40:
            break
        shown.append(each)
    more = len(names) - len(shown)
    rest = worded("{more} more" if shown else "{more} files", more=more) if more else NOTHING
    listed = joined((joined(shown, ", "), rest), " and ")
    return joined((worded("Also changed: "), listed, worded(SEE)), "")
