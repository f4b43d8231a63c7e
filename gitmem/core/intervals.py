"""Which messages are summarised: ranges of numbers, of all chats or of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Range(NamedTuple):
    """The messages from FIRST to LAST, both included."""

    first: int
    last: int
    chat: str = ""
    """Only those of this chat; nothing for all."""

    def has(self, number: int, chat: str) -> bool:
        """Whether a message of CHAT with this NUMBER belongs to it."""
        return self.first <= number <= self.last and self.chat in ("", chat)


def gaps(closed: Iterable[Range], last: int) -> list[Range]:
    """What is left of the messages up to LAST without those that are CLOSED in all chats."""
    found, begin = [], 1
    for each in sorted(each for each in closed if not each.chat and each.first <= each.last):
        if each.first > begin:
            found.append(Range(begin, min(each.first - 1, last)))
        begin = max(begin, each.last + 1)
    if begin <= last:
        found.append(Range(begin, last))
    return [each for each in found if each.first <= each.last]


def is_closed(closed: Sequence[Range], number: int, chat: str) -> bool:
    """Whether the message NUMBER of CHAT is in one of the ranges that are CLOSED."""
    return any(each.has(number, chat) for each in closed)
