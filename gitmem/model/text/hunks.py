"""The ranges of lines that differ between two texts."""

from __future__ import annotations

from typing import NamedTuple


class Hunk(NamedTuple):
    """Lines `a0:a1` of the old text became lines `b0:b1` of the new one (half-open, from 0)."""

    a0: int
    a1: int
    b0: int
    b1: int


def one_hunk(old: bytes, new: bytes) -> Hunk | None:
    """Return the one range that differs, if it is unambiguous; None if a real diff is needed.

    Most writes replace, append or create. A diff is needed if a line could also belong to the next
    range, or if some lines in between are unchanged.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if b"\r" in old or b"\r" in new:
        return None  # for git only a newline ends a line
    start = _common(before, after)
    end = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    around = {*before[max(0, start - 1) : start], *before[len(before) - end :][:1]}
    edges = {*gone[:1], *gone[-1:], *come[:1], *come[-1:]}
    if around & edges or not set(gone).isdisjoint(come):
        return None
    return Hunk(start, start + len(gone), start, start + len(come))


def _common(one: list[bytes], other: list[bytes]) -> int:
    """The number of equal lines at the start."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))
