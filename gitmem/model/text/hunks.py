"""What differs between two texts, as ranges of lines."""

from __future__ import annotations

from gitmem.model.record import NamedTuple


class Hunk(NamedTuple):
    """Lines `a0:a1` of the old text became lines `b0:b1` of the new one (half-open, from 0)."""

    a0: int
    a1: int
    b0: int
    b1: int
