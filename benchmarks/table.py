"""Rows of ratios, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from statistics import median
from time import perf_counter
from typing import NamedTuple


class Row(NamedTuple):
    """One comparison. Times are in milliseconds and for orientation; the ratio is the claim."""

    what: str
    ours: float
    theirs: float
    limit: float | None = None
    """The ratio that must not be exceeded (or reached, where `at_least`); None for information."""
    at_least: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours against theirs."""
        return self.ours / self.theirs

    @property
    def kept(self) -> bool:
        """True when the promise holds."""
        if self.limit is None:
            return True
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit


def show(title: str, rows: Iterable[Row]) -> list[Row]:
    """Print a table; return the rows whose promise does not hold."""
    found = list(rows)
    print(f"\n{title}")
    wide = max(len(row.what) for row in found)
    for row in found:
        sign = ">=" if row.at_least else "<="
        limit = f"{sign} {row.limit:g}" if row.limit is not None else ""
        verdict = "" if row.limit is None else ("ok" if row.kept else "MISSED")
        numbers = f"{row.ours:9.2f} {row.theirs:9.2f} {row.ratio:7.2f} {limit:>8} {verdict:6}"
        print(f"  {row.what:{wide}} {numbers} {row.note}".rstrip())
    return [row for row in found if not row.kept]


def interleaved(
    ours: Callable[[], object], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """The median time of each in ms, measured in turn, so that noise hits both alike."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for call, kept in zip((ours, theirs), times, strict=True):
            began = perf_counter()
            call()
            kept.append((perf_counter() - began) * 1000)
    return median(times[0]), median(times[1])
