"""The words of a text that are long enough for a token, whole or cut in two by a line break."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from gitmem.model.secrets.views import View

# No rule for a token matches anything shorter, and ordinary words rarely get there.
_SHORTEST = 12
_SHORTEST_JOINED = 20
_PAIR = 2
_MARGIN = " \t\r>\\"


class Words(View):
    """Words of a text. Where they stand there is found out when somebody asks, which is rare."""

    __slots__ = ("_source", "_words")

    def __init__(self, source: str, words: list[str]) -> None:
        super().__init__("\n".join(words), [], [])
        self._source, self._words = source, words

    def place(self, start: int, end: int) -> tuple[int, int, bool]:
        if not self.starts:
            self._locate()
        return super().place(start, end)

    def _locate(self) -> None:
        end = 0
        for word in self._words:
            self.offsets.append(self._source.find(word, end))
            end = self.offsets[-1] + len(word)
        sizes = (len(word) + 1 for word in self._words[:-1])
        self.starts = list(accumulate(sizes, initial=0))
        self.widths = [0] * len(self.starts)


def long_words(text: str) -> View:
    """The words of TEXT that are long enough for a token, which in prose are few."""
    return Words(text, [word for word in text.split() if len(word) >= _SHORTEST])


def joined(rows: list[list[tuple[int, str]]]) -> View:
    """Each row as one word."""
    starts, offsets, parts, size = [], [], [], 0
    for row in rows:
        for offset, word in row:
            starts.append(size)
            offsets.append(offset)
            size += len(word)
            parts.append(word)
        parts.append("\n")
        size += 1
    return View("".join(parts), starts, offsets)


def readings(row: list[tuple[int, str]]) -> Iterator[list[tuple[int, str]]]:
    """ROW, and the parts of it that a token may fill if the words around it are none of it."""
    longest_trimmed = 64
    yield row
    if any(word.endswith("=") for _, word in row[:-1]):
        # In mail a line that goes on ends with that sign, which is none of the text's.
        yield [*((at, word.removesuffix("=")) for at, word in row[:-1]), row[-1]]
    if len(row) > _PAIR:
        yield from (list(pair) for pair in pairwise(row))
    if _PAIR + 1 < len(row) <= longest_trimmed:
        yield from (row[1:], row[:-1], row[1:-1])


def rows_of(text: str) -> Iterator[list[tuple[int, str]]]:
    """Rows of words, with their offsets, that have only a line break and a margin between them."""
    row: list[tuple[int, str]] = []
    tail, before, at = "", "", 0  # the last word, the line it ends, and where this line begins
    for line in text.split("\n"):
        words = line.strip(_MARGIN).split(None, 1)
        joins = bool(words) and bool(tail) and len(tail) + len(words[0]) >= _SHORTEST_JOINED
        if joins:
            row = row or [(at - len(before) - 1 + before.rfind(tail), tail)]
            row.append((at + line.find(words[0]), words[0]))
        if row and (not joins or len(words) > 1):
            yield row
            row = []
        tail, before = words[-1].rsplit(None, 1)[-1] if words else "", line
        at += len(line) + 1
    if row:
        yield row
