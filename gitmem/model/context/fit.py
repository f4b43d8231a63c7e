"""Fitting the pieces of a prompt into a budget.

The steps, in order: documents over the budget of their layer are cut to it; whole pieces are
dropped, the least important and oldest first; documents are cut, at the end of a paragraph, or of a
line in a long one; then they are dropped. Layers of importance 1 are cut below their budget only
when nothing else is left, by the same steps.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gitmem.model.context.pieces import WHOLE_KINDS, Piece

Size = Callable[[Sequence[Piece]], int]

COARSE = 300
"""A longer paragraph, in characters, is cut at its lines."""


class Fitted(NamedTuple):
    """The pieces that fit."""

    pieces: tuple[Piece, ...]
    """In the order of the page, some of them cut."""
    dropped: tuple[Piece, ...]
    """In the order in which they were dropped."""


class _Step(NamedTuple):
    at: int
    end: int | None = None
    """The end of the text of a cut piece; None for a dropped one."""


def fit(pieces: Sequence[Piece], budget: int, size: Size) -> Fitted:
    """Return as much of PIECES as fits into BUDGET, measured by SIZE.

    Each step makes the page shorter, so the first that suffices is found by bisection.
    """
    if size(pieces) <= budget:
        return Fitted(tuple(pieces), ())
    steps = list(_ladder(pieces, size))

    def suffices(number: int) -> bool:
        return size(_standing(_after(pieces, steps[: number + 1]))) <= budget

    taken = steps[: bisect_left(range(len(steps)), True, key=suffices) + 1]
    page, last = _after(pieces, taken), taken[-1]
    if last.end is not None:
        page[last.at] = _cut(page, last.at, pieces[last.at], lambda each: size(each) <= budget)
    gone = [pieces[step.at] for step in taken if step.end is None]
    return Fitted(tuple(_standing(page)), tuple(gone))


def _ladder(pieces: Sequence[Piece], size: Size) -> Iterator[_Step]:
    """All steps, in order; after the last one nothing is left."""
    yield from _trims(pieces, size)
    for vital in (False, True):
        here = [at for at, each in enumerate(pieces) if each.vital is vital]
        here.sort(key=lambda at: _rank(pieces, at))
        whole = [at for at in here if pieces[at].kind in WHOLE_KINDS]
        yield from (_Step(at) for at in here if pieces[at].kind not in WHOLE_KINDS)
        for at in whole:
            # A document shorter than the note about the cut is not cut.
            if size([_shortened(pieces[at], 0)]) < size([pieces[at]]):
                yield _Step(at, 0)
        yield from (_Step(at) for at in whole)


def _rank(pieces: Sequence[Piece], at: int) -> tuple[int, str, int]:
    return -pieces[at].importance, pieces[at].date, -at


def _trims(pieces: Sequence[Piece], size: Size) -> Iterator[_Step]:
    """Cuts to the budget of a layer, so that a long file never displaces another one."""
    over = [at for at, each in enumerate(pieces) if each.kind in WHOLE_KINDS and each.is_over]
    for at in sorted(over, key=lambda at: (pieces[at].vital, *_rank(pieces, at))):
        end = _end_within(pieces[at], size)
        if size([_shortened(pieces[at], end)]) < size([pieces[at]]):
            yield _Step(at, end)


def _end_within(piece: Piece, size: Size) -> int:
    """Where to cut PIECE so that, with the note, it takes no more than a piece at its budget."""
    data = piece.text.encode("utf-8", "surrogatepass")[: piece.budget]
    most = size([piece._replace(text=data.decode("utf-8", "ignore"))])
    for ends in (_ends(piece.text), _line_ends(piece.text)):
        count = bisect_left(ends, True, key=lambda end: size([_shortened(piece, end)]) > most)
        if count:
            return ends[count - 1]
    return 0


def _after(pieces: Sequence[Piece], steps: Sequence[_Step]) -> list[Piece | None]:
    """The page after STEPS; None for dropped pieces."""
    page: list[Piece | None] = list(pieces)
    for step in steps:
        page[step.at] = None if step.end is None else _shortened(pieces[step.at], step.end)
    return page


def _standing(page: Sequence[Piece | None]) -> list[Piece]:
    return [each for each in page if each]


def _cut(
    page: list[Piece | None], at: int, piece: Piece, fits: Callable[[Sequence[Piece]], bool]
) -> Piece:
    """The longest beginning of PIECE that fits, to a paragraph if possible, else to a line."""

    def too_long(end: int) -> bool:
        page[at] = _shortened(piece, end)
        return not fits(_standing(page))

    for ends in (_ends(piece.text), _line_ends(piece.text)):
        count = bisect_left(ends, True, key=too_long)
        if count:
            return _shortened(piece, ends[count - 1])
    return _shortened(piece, 0)


def _ends(text: str) -> list[int]:
    """Where TEXT may be cut: after a paragraph, and after each line of a long one.

    A list is one paragraph: with paragraphs alone, a file that is a list would lose all of it. The
    positions do not depend on the budget, so that a larger budget never shows less.
    """
    ends, start = [], 0
    for blank in re.finditer(r"\n[ \t]*\n|\Z", text):
        end = blank.start()
        if end - start > COARSE:
            ends += [start + each for each in _line_ends(text[start:end])]
        if end < len(text):
            ends.append(end)
        start = blank.end()
    return ends


def _line_ends(text: str) -> list[int]:
    return [found.start() for found in re.finditer(r"\n", text)]


def _shortened(piece: Piece, end: int) -> Piece:
    return piece._replace(text=piece.text[:end], whole=piece.size)
