"""Ranges of message numbers, of all chats or of one: which messages are summarised."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from gitmem.model.transcripts.batches import span

Stretch = tuple[int, int]
"""The first and the last of consecutive numbers."""
PARTS_SHOWN = 4


class Range(NamedTuple):
    """The messages from FIRST to LAST, both included."""

    first: int
    last: int
    chat: str = ""
    """Only messages of this chat; empty for all."""
    without: tuple[Stretch, ...] = ()
    """Excluded stretches in between, in order."""

    def has(self, number: int, chat: str) -> bool:
        """Whether the message NUMBER of CHAT is in the range."""
        if not self.first <= number <= self.last or self.chat not in ("", chat):
            return False
        # By bisection: there may be as many stretches as messages.
        at = bisect_left(self.without, number, key=_end)
        return at == len(self.without) or number < self.without[at][0]

    def stretches(self) -> Iterator[Stretch]:
        """Yield the stretches of the range, in order."""
        begin = self.first
        for first, last in self.without:
            if first > begin:
                yield begin, first - 1
            begin = max(begin, last + 1)
        if begin <= self.last:
            yield begin, self.last

    def __str__(self) -> str:
        """`12-45`, or `12-20,30-45` with a gap."""
        return ",".join(f"{first}-{last}" for first, last in self.stretches())


def brief(text: str) -> str:
    """Return the range TEXT for people: of many parts, the first ones and the last."""
    parts = text.split(",")
    if len(parts) <= PARTS_SHOWN:
        return text
    return ",".join((*parts[:2], f"… ({len(parts):,} parts) …", parts[-1]))


def read_range(text: str, chat: str = "") -> Range | None:
    """Parse a range; None for another text."""
    found = [span(each) for each in text.split(",")]
    ordered = all(0 < first <= last for first, last in found)
    between = [(one[1] + 1, other[0] - 1) for one, other in pairwise(found)]
    if not ordered or any(first > last + 1 for first, last in between):
        return None
    holes = tuple((first, last) for first, last in between if first <= last)
    return Range(found[0][0], found[-1][1], chat, holes)


def range_of(chosen: Sequence[int], there: Iterable[int], chat: str = "") -> Range:
    """Return the range with exactly the numbers CHOSEN, in order, of those that are THERE."""
    mine = set(chosen)
    holes: list[Stretch] = []
    for is_hole, run in groupby(there, lambda number: number not in mine):
        numbers = [number for number in run if chosen[0] < number < chosen[-1]]
        if is_hole and numbers:
            holes.append((numbers[0], numbers[-1]))
    return Range(chosen[0], chosen[-1], chat, tuple(holes))


class Closed:
    """The union of ranges, with a fast lookup."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        found: dict[str, list[Stretch]] = {}
        for each in ranges:
            found.setdefault(each.chat, []).extend(each.stretches())
        self._of = {chat: _joined(stretches) for chat, stretches in found.items()}

    def has(self, number: int, chat: str) -> bool:
        """Whether the message NUMBER of CHAT is in one of the ranges."""
        return not list(self.gaps(chat, number, number))

    def gaps(self, chat: str, first: int, last: int) -> Iterator[Stretch]:
        """Yield the stretches from FIRST to LAST outside the ranges of CHAT and of all chats."""
        own = self._of.get(chat, []) if chat else []
        for stretch in _without(own, (first, last)):
            yield from _without(self._of.get("", []), stretch)


def _end(stretch: Stretch) -> int:
    return stretch[1]


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same numbers in as few stretches as possible, in order."""
    found: list[Stretch] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _without(closed: Sequence[Stretch], stretch: Stretch) -> Iterator[Stretch]:
    """STRETCH without those that are CLOSED, which are in order."""
    begin, last = stretch
    for at in range(bisect_left(closed, begin, key=_end), len(closed)):
        first, end = closed[at]
        if first > last:
            break
        if first > begin:
            yield begin, first - 1
        begin = end + 1
    if begin <= last:
        yield begin, last
