"""The manifest of a context: where each piece comes from, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.memory.context.gather import BROKEN, Gathered, LeftOut
from gitmem.memory.layouts import Silenced, silenced_at
from gitmem.model.context.pieces import Piece
from gitmem.model.record import Record
from gitmem.model.text.format import counted

if TYPE_CHECKING:
    from gitmem.memory.context.mask import Masks
    from gitmem.memory.context.pins import Sources
    from gitmem.model.context.render import ContextPage

OVER_BUDGET = "no room within the budget"


class Placed(Record):
    """One piece of the context, and its source."""

    layer: str
    group: str
    path: str
    address: str
    commit: str
    blob: str
    why: str
    date: str
    age: str
    state: str
    """Its freshness, if shown."""
    chars: int
    """Its size in characters, without the heading or tag around it."""
    cut: str
    """`N of M bytes` if the piece was cut."""
    lack: str
    """missing, empty or unreadable, instead of a text."""
    lines: str = ""
    """The lines of the file that a retrieved passage takes ..."""
    score: float = 0.0
    """... and its score."""


class Manifest(Record):
    """The pieces of a context, and what it lacks."""

    pieces: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    uncommitted: int | None
    """Uncommitted edits, which the context does not show; None if they were not counted."""
    notes: tuple[str, ...]
    layout_problem: str = ""
    held: int = 0
    """Edits that a guard refuses, so that no context will show them."""


class Draft(Record):
    """The pieces of a context while it is built."""

    found: Gathered
    """Everything that the layout selects."""
    kept: Sequence[Piece]
    """The part of it that fits the budget."""
    dropped: Sequence[Piece]
    """The part that does not fit."""
    passages: Sequence[Piece] = ()
    """What was retrieved for the prompt."""
    near_misses: tuple[LeftOut, ...] = ()

    @property
    def pieces(self) -> Sequence[Piece]:
        """All pieces of the context."""
        return (*self.kept, *self.passages)


class Overshadowed(Record):
    """A file that no layer shows, because its name is there in the layout's own spelling."""

    group: str
    file: Silenced
    layer: str

    @property
    def left_out(self) -> LeftOut:
        """Its row in the manifest."""
        return LeftOut(self.layer, self.group, self.file.path, f"{self.file.by} is there")


def overshadowed_files(sources: Sources) -> Iterator[Overshadowed]:
    """The files that a layer would show if another spelling of their name were not there."""
    for group, snapshot in sources.by_group.items():
        layout = sources.layouts[group]
        for each in silenced_at(layout, snapshot):
            layer = layout.layer_of(each.by)
            if layer and (layer.shared or not group):
                yield Overshadowed(group, each, layer.name)


def placed(draft: Draft, page: ContextPage, commits: Mapping[str, str]) -> Iterator[Placed]:
    """The pieces of DRAFT in the order of PAGE; COMMITS has the commit of each group."""
    for piece in page.in_order(draft.pieces):
        yield Placed(
            layer=piece.layer,
            group=piece.group,
            path=piece.path,
            address=piece.address or piece.path,
            commit=commits[piece.group],
            blob=piece.blob,
            why=piece.why,
            date=piece.date,
            age=piece.age,
            state=piece.state,
            chars=len(page.draw(piece).text),
            cut="" if piece.whole is None else f"{piece.size} of {piece.whole} bytes",
            lack=piece.lack,
            lines=piece.lines,
            score=piece.score,
        )


def left_out(draft: Draft, page: ContextPage) -> Iterator[LeftOut]:
    """What was left out: by rule, without text, over the budget, and near misses of the prompt."""
    yield from draft.found.left_out
    for each in draft.found.pieces:
        if not page.shows(each):
            yield leaving(each, f"it is {each.lack}")
    yield from (leaving(each, OVER_BUDGET) for each in draft.dropped)
    yield from draft.near_misses


def leaving(piece: Piece, why: str) -> LeftOut:
    """The row in the manifest for PIECE, which is left out."""
    return LeftOut(piece.layer, piece.group, piece.address or piece.path, why)


def warnings(
    group: str, draft: Draft, sources: Sources, overshadowed: Sequence[Overshadowed]
) -> Iterator[str]:
    """What a person should know; the model does not see it."""
    yield from sources.trouble
    for each in draft.found.left_out:
        if each.why == BROKEN:
            yield f"{each.address}: {each.why}, so its summary is not shown"
    yield from _masked(sources.masks)
    yield from (each.file.words(each.group or group) for each in overshadowed)


def _masked(masks: Masks) -> Iterator[str]:
    if not masks.masked:
        return
    from gitmem.model.hints import Hint, call

    for (group, path), count in sorted(masks.masked.items()):
        name = masks.name(group, path)
        file = f"{group}: {name}" if group else name
        yield Hint(f"{file}: {counted(count, 'secret')} masked, see ", call("check"))
