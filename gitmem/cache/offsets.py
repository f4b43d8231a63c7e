"""How far files of other programs were read: a cache, so that one that grew is read on from there.

Without it everything is read again, and recognised.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from gitmem.cache.files import put

NAME = "imported"
FORM = 2
MOST = 20_000
"""Files that are remembered; those that were read last."""


class Offset(NamedTuple):
    """How far a file was read, and by what it is known to be the same one."""

    offset: int
    inode: int
    head: str
    """A digest of its beginning."""
    since: float = 0.0
    """What was said before that was passed over; 0 where nothing was."""
    tail: str = ""
    """A digest of what stands before the offset: who writes a file anew changes that."""


def read_offsets(gitdir: Path) -> dict[str, Offset]:
    """What is remembered, by the path of each file."""
    try:
        form, rows = json.loads((gitdir / "gitmem" / NAME).read_bytes())
        if form != FORM:
            return {}
        return {path: _offset(*row) for path, row in rows}
    except (OSError, ValueError, TypeError, OverflowError, RecursionError):
        return {}


def _offset(offset: int, inode: int, head: str, since: float, tail: str) -> Offset:
    return Offset(int(offset), int(inode), str(head), float(since), str(tail))


def keep_offsets(gitdir: Path, offsets: dict[str, Offset]) -> None:
    """Remember it."""
    rows = list(offsets.items())[-MOST:]
    put(gitdir / "gitmem" / NAME, json.dumps([FORM, rows]).encode())
