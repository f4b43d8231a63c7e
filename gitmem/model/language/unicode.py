"""Unicode: normal forms of a text, and where its sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

PART = 512
"""Characters that are looked at together: no language has as many marks behind one letter."""


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """TEXT in a normal FORM.

    Marks behind one letter are put in order, and Python takes the square of their number for that:
    a file of nothing else would take minutes.
    """
    if text.isascii():
        return text
    from unicodedata import normalize  # a megabyte that plain text never needs

    if len(text) <= PART:
        return normalize(form, text)
    return "".join(normalize(form, part) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """TEXT in parts of about one size, which begin where nothing belongs to what stands before."""
    from unicodedata import combining

    ascii = re.compile(r"[\x00-\x7f]")
    at = 0
    while at < len(text):
        # Nothing before an ASCII character changes with it. A letter may still join with the next.
        plain = ascii.search(text, at + PART, at + 2 * PART)
        stop = plain.start() if plain else at + PART
        while not plain and stop < at + 2 * PART and combining(text[stop : stop + 1] or "a"):
            stop += 1
        yield text[at:stop]
        at = stop


FENCED = r"(?ms)^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*\r?$|\Z)"
"""A block of code, up to its end or that of the text."""
_WIDE_END = "\u3002\uff01\uff1f"
_ENDS = f".!?\u2026\u061f\u06d4\u0964\u0965{_WIDE_END}"
SENTENCE_END = rf"(?<=[{_ENDS}])[\"')\]]*\s+|(?<=[{_WIDE_END}])"


def sentences(text: str) -> list[str]:
    """TEXT by its sentences; a line is never part of two."""
    lines = (line for line in text.splitlines() if line.strip())
    parts = (part.strip() for line in lines for part in re.split(SENTENCE_END, line))
    return [part for part in parts if part]
