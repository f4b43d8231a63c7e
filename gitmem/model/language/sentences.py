"""Where sentences end, in the scripts of the world, and what is code between them."""

from __future__ import annotations

import re

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
