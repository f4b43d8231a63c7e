"""Unicode: normal forms of a text, and where its sentences end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

PART = 512
"""Characters normalised together: no language has as many marks on one letter."""


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return TEXT in a normal FORM, in linear time.

    Python sorts the marks on one letter in quadratic time: a file of marks would take minutes.
    """
    if text.isascii():
        return text
    from unicodedata import normalize  # a megabyte that plain text never needs

    if len(text) <= PART:
        return normalize(form, text)
    return "".join(normalize(form, part) for part in _parts(text))


def _parts(text: str) -> Iterator[str]:
    """TEXT in parts of about one size that can be normalised separately."""
    from unicodedata import combining

    ascii = re.compile(r"[\x00-\x7f]")
    at = 0
    while at < len(text):
        # An ASCII character never combines with the one before it, but may with the next.
        plain = ascii.search(text, at + PART, at + 2 * PART)
        stop = plain.start() if plain else at + PART
        while not plain and stop < at + 2 * PART and combining(text[stop : stop + 1] or "a"):
            stop += 1
        yield text[at:stop]
        at = stop


FENCED = r"(?ms)^[ \t]*(`{3,}(?=[^`\n]*$)|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*\r?$|\Z)"
"""A fenced code block, up to its end or that of the text."""
_WIDE_END = "\u3002\uff01\uff1f"
_ENDS = f".!?\u2026\u061f\u06d4\u0964\u0965{_WIDE_END}"
SENTENCE_END = rf"(?<=[{_ENDS}])[\"')\]]*\s+|(?<=[{_WIDE_END}])"


def sentences(text: str) -> list[str]:
    """Return the sentences of TEXT; a line break ends one."""
    lines = (line for line in text.splitlines() if line.strip())
    parts = (part.strip() for line in lines for part in re.split(SENTENCE_END, line))
    return [part for part in parts if part]
