"""Conflict markers: what git writes into a file that a merge could not settle.

Only a full set counts: lines that begin with `<<<<<<<`, then `=======`, then `>>>>>>>`. One alone
is Markdown, too: `=======` underlines a heading, `>>>>>>>` quotes. A set that begins in fenced code
is an example. One that begins before the fence counts, fence or not: both sides of a conflict may
have the line that opens it.
"""

from __future__ import annotations

import re

# Compiled where they are needed: nearly no file has a line that could be a marker.
_MARK = rb"(<{7}|>{7})(?: |$)|(={7})$"
_FENCE = rb" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)"


def conflicts(data: bytes) -> list[int]:
    """The line on which each full set of markers begins."""
    if b"<<<<<<<" not in data or b">>>>>>>" not in data:
        return []
    found: list[int] = []
    fence, start, parted = b"", 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        mark = re.match(_MARK, line.rstrip(b"\r"))
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
    """The same, where there are more of them than in the version BEFORE."""
    found = conflicts(data)
    return found if found and len(found) > len(conflicts(before or b"")) else []


def _fence_after(fence: bytes, line: bytes) -> bytes:
    """What opened the code in which the next line stands; nothing outside of code."""
    found = re.match(_FENCE, line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return b"" if closes else fence
