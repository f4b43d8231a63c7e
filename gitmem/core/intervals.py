"""Which messages are summarised: ranges of numbers, of all chats or of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from gitmem.core.transcripts import span

Stretch = tuple[int, int]
"""Numbers that follow each other: the first and the last of them."""


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
        return not any(first <= number <= last for first, last in self.without)

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


def gaps(closed: Iterable[Range], last: int) -> list[Range]:
    """What is left of the messages up to LAST without those that are CLOSED in all chats."""
    found, begin = [], 1
    whole = (each for each in closed if not each.chat)
    for first, end in sorted(stretch for each in whole for stretch in each.stretches()):
        if first > begin:
            found.append(Range(begin, min(first - 1, last)))
        begin = max(begin, end + 1)
    if begin <= last:
        found.append(Range(begin, last))
    return [each for each in found if each.first <= each.last]


def is_closed(closed: Sequence[Range], number: int, chat: str) -> bool:
    """Whether the message NUMBER of CHAT is in one of the ranges that are CLOSED."""
    return any(each.has(number, chat) for each in closed)
