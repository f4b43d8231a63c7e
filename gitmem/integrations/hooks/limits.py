"""How much a host takes from one hook; what goes over it would come as a preview, or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from gitmem.integrations.hosts.table import HOSTS

BETWEEN = "\n\n"
Line = TypeVar("Line", bound=str)


class Room(NamedTuple):
    """So many characters, and about so many tokens."""

    chars: int
    tokens: int

    def holds(self, text: str) -> bool:
        """Whether TEXT fits."""
        return length_of(text) <= self.chars and tokens_in(text) <= self.tokens

    def without(self, text: str) -> Room:
        """What is left beside TEXT."""
        if not text:
            return self
        chars, tokens = length_of(text) + len(BETWEEN), tokens_in(text) + tokens_in(BETWEEN)
        return Room(max(0, self.chars - chars), max(1, self.tokens - tokens))

    def part(self, share: float) -> Room:
        """A part of it."""
        return Room(int(self.chars * share), int(self.tokens * share))

    def weight(self, text: str) -> int:
        """How much of the characters TEXT takes, also where its tokens are what is short."""
        return max(length_of(text), -(-tokens_in(text) * self.chars // self.tokens))

    def whole_ones(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Those of LINES that fit, in order, none of them cut."""
        left = self
        for each in lines:
            if left.holds(each):
                left = left.without(each)
                yield each


def room_of(host: str) -> Room:
    """All that HOST takes."""
    row = HOSTS[host]
    # No character is more than one token, so that without a limit on tokens characters count.
    return Room(row.chars, row.tokens or row.chars)


def tokens_in(text: str) -> int:
    """About how many tokens TEXT is: one for 4 characters of ASCII, or for 1.3 of any other."""
    plain = sum(char < "\x80" for char in text)
    return -(-(plain * 13 + (len(text) - plain) * 40) // 52)


def length_of(text: str) -> int:
    """How long TEXT is to a host: a character beyond the first 65,536 counts as two there."""
    return len(text) + sum(char > "\uffff" for char in text)
