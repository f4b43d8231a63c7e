"""How answers look to people: colours, columns, and text that cannot play tricks on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

Paint = Callable[[str], str]

SHORT = 7
GAP = "  "
WIDE = ("W", "F")


PAINTS = r"(\x1b\[(?:0|1|2|1;4|3[1236])m)"
"""The colours below."""
WIDEST = 60
"""Cells to which a column is filled up: one long name must not push all others off the screen."""


class Style:
    """Colours, or none of them."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def _painted(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and text else text

    def bold(self, text: str) -> str:
        """What the eye should find first."""
        return self._painted("1", text)

    def dim(self, text: str) -> str:
        """What is there for who looks for it."""
        return self._painted("2", text)

    def good(self, text: str) -> str:
        """Done, added, sound."""
        return self._painted("32", text)

    def bad(self, text: str) -> str:
        """Failed, removed, damaged."""
        return self._painted("31", text)

    def warn(self, text: str) -> str:
        """Somebody should look."""
        return self._painted("33", text)

    def mark(self, text: str) -> str:
        """What was looked for, also where there are no colours."""
        return self._painted("1;4", text) if self.colour else f"[{text}]"

    def name(self, text: str) -> str:
        """A commit."""
        return self._painted("36", text)

    def line(self, text: str) -> str:
        """TEXT as one line that does nothing to a terminal but what our colours do.

        Everything printed for people goes through here, so that no name, whoever gave it, can move
        the cursor, hide text or look like a line of ours.
        """
        if text.isprintable():
            return text
        import re

        parts = re.split(PAINTS, text) if self.colour else [text]
        return "".join(part if number % 2 else _tabbed(part) for number, part in enumerate(parts))


def echo(text: str | bytes, *, err: bool = False, end: str = "\n") -> None:
    """Print TEXT at once, so that answers and remarks keep their order."""
    stream = sys.stderr if err else sys.stdout
    if stream is None:
        return  # closed by the caller, as with `>&-`
    if isinstance(text, bytes):
        stream.flush()
        stream.buffer.write(text + end.encode())
    else:
        stream.write(text + end)
    stream.flush()


def plain(text: str) -> str:
    """TEXT as it is: the paint of a column without one."""
    return text


def short(commit: str, digits: int = SHORT) -> str:
    """A commit's id as people quote it."""
    return commit[:digits]


def delta(added: int, removed: int) -> str:
    """How many lines came and went, as `+3 -1`."""
    return " ".join(filter(None, (f"+{added:,}" * bool(added), f"-{removed:,}" * bool(removed))))


def visible(text: str) -> str:
    """TEXT on one line: what breaks, hides, moves or reorders text is written as `\\u{XXXX}`."""
    if text.isprintable():
        return text
    from gitmem.model.commit_messages import visible as one_line

    return one_line(text)


def text_lines(text: str) -> Iterator[str]:
    """The lines of a text that may have several or none; within each the same, but tabs stay."""
    if text:
        yield from visible_text(text.removesuffix("\n")).split("\n")


def visible_text(text: str) -> str:
    """A text of several lines, or a part of one: line ends and tabs stay."""
    return "\n".join(map(_tabbed, text.split("\n")))


def _tabbed(line: str) -> str:
    return "\t".join(map(visible, line.split("\t")))


def width(text: str) -> int:
    """How many cells of a terminal TEXT takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 1 + (east_asian_width(c) in WIDE) for c in text)


def columns(rows: Iterable[Sequence[str]], paints: Sequence[Paint] = ()) -> Iterator[str]:
    """ROWS as aligned lines; the last column is as long as it is."""
    table = [[visible(cell) for cell in row] for row in rows]
    widths = [min(max(map(width, column)), WIDEST) for column in zip(*table, strict=True)]
    paints = (*paints, *[plain] * len(widths))
    for row in table:
        cells = [
            paint(cell) + " " * (wide - width(cell))
            for cell, wide, paint in zip(row, widths, paints, strict=False)
        ]
        yield GAP.join(cells).rstrip()
