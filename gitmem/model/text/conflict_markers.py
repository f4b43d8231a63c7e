"""Detection of the conflict markers that git leaves in a file after a failed merge."""

from __future__ import annotations

import re

# Strings, compiled on demand: hardly any file has a marker.
_MARKER = rb"(<{7}|>{7})(?: |$)|(={7})$"
_FENCE = rb" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)"


def conflicts(data: bytes) -> list[int]:
    """Return the line on which each full set of conflict markers begins.

    A single marker is Markdown: `=======` underlines a heading, `>>>>>>>` quotes. A set that begins
    in fenced code is an example; one that begins before the fence counts, since both sides of a
    conflict may have the line that opens it.
    """
    if b"<<<<<<<" not in data or b">>>>>>>" not in data:
        return []
    found: list[int] = []
    fence, start, parted = b"", 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        mark = re.match(_MARKER, line.rstrip(b"\r"))
        sign = (mark[1] or mark[2])[:1] if mark else b""
        if sign == b"<" and not fence:
            start, parted = number, False
        elif sign == b"=" and start:
            parted = True
        elif sign == b">" and parted:
            found.append(start)
            fence, start, parted = b"", 0, False
        elif not sign:
            fence = _fence_after(fence, line.rstrip(b"\r"))
    return found


def new_conflicts(data: bytes, before: bytes | None) -> list[int]:
    """Return the same if there are more sets than in BEFORE; else nothing."""
    found = conflicts(data)
    return found if found and len(found) > len(conflicts(before or b"")) else []


def _fence_after(fence: bytes, line: bytes) -> bytes:
    """The fence that the line after LINE is in; empty outside of code."""
    found = re.match(_FENCE, line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return b"" if closes else fence
