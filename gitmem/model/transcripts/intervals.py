"""Which messages are summarised: ranges of numbers, of all chats or of one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from gitmem.model.transcripts.batches import span

Stretch = tuple[int, int]
"""Numbers that follow each other: the first and the last of them."""
PARTS_SHOWN = 4


class Range(NamedTuple):
    """The messages from FIRST to LAST, both included."""

    first: int
    last: int
    chat: str = ""
    """Only those of this chat; nothing for all."""
    without: tuple[Stretch, ...] = ()
    """Stretches in between that do not belong to it, in order."""

    def has(self, number: int, chat: str) -> bool:
        """Whether a message of CHAT with this NUMBER belongs to it."""
        if not self.first <= number <= self.last or self.chat not in ("", chat):
            return False
        # The first that does not end before it: there may be as many as there are messages.
        at = bisect_left(self.without, number, key=_end)
        return at == len(self.without) or number < self.without[at][0]

    def stretches(self) -> Iterator[Stretch]:
        """The stretches of which it is made, in order."""
        begin = self.first
        for first, last in self.without:
            if first > begin:
                yield begin, first - 1
            begin = max(begin, last + 1)
        if begin <= self.last:
            yield begin, self.last

    def __str__(self) -> str:
        """`12-45`, or `12-20,30-45` where something is left out."""
        return ",".join(f"{first}-{last}" for first, last in self.stretches())


def brief(text: str) -> str:
    """A range as people read it: of one that is made of many parts, the first and the last."""
    parts = text.split(",")
    if len(parts) <= PARTS_SHOWN:
        return text
    return ",".join((*parts[:2], f"… ({len(parts):,} parts) …", parts[-1]))


def read_range(text: str, chat: str = "") -> Range | None:
    """The range that TEXT names; None where it names none."""
    found = [span(each) for each in text.split(",")]
    ordered = all(0 < first <= last for first, last in found)
    between = [(one[1] + 1, other[0] - 1) for one, other in pairwise(found)]
    if not ordered or any(first > last + 1 for first, last in between):
        return None
    holes = tuple((first, last) for first, last in between if first <= last)
    return Range(found[0][0], found[-1][1], chat, holes)


def range_of(chosen: Sequence[int], there: Iterable[int], chat: str = "") -> Range:
    """The range of the numbers CHOSEN, in order, and of no other of those that are THERE."""
    mine = set(chosen)
    holes: list[Stretch] = []
    for is_hole, run in groupby(there, lambda number: number not in mine):
        numbers = [number for number in run if chosen[0] < number < chosen[-1]]
        if is_hole and numbers:
            holes.append((numbers[0], numbers[-1]))
    return Range(chosen[0], chosen[-1], chat, tuple(holes))


class Closed:
    """Everything that some ranges hold, looked up at the cost of one of them."""

    def __init__(self, ranges: Iterable[Range] = ()) -> None:
        found: dict[str, list[Stretch]] = {}
        for each in ranges:
            found.setdefault(each.chat, []).extend(each.stretches())
        self._of = {chat: _joined(stretches) for chat, stretches in found.items()}

    def has(self, number: int, chat: str) -> bool:
        """Whether the message NUMBER of CHAT is closed, with all chats or with its own."""
        return not list(self.gaps(chat, number, number))

    def gaps(self, chat: str, first: int, last: int) -> Iterator[Stretch]:
        """What of the numbers from FIRST to LAST is not closed for CHAT; nothing is any chat."""
        own = self._of.get(chat, []) if chat else []
        for stretch in _without(own, (first, last)):
            yield from _without(self._of.get("", []), stretch)


def _end(stretch: Stretch) -> int:
    return stretch[1]


def _joined(stretches: Iterable[Stretch]) -> list[Stretch]:
    """The same numbers in as few stretches as can be, in order."""
    found: list[Stretch] = []
    for first, last in sorted(stretches):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _without(closed: Sequence[Stretch], stretch: Stretch) -> Iterator[Stretch]:
    """What is left of STRETCH without those that are CLOSED, which are in order."""
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
