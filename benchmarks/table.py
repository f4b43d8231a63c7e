"""Rows of ratios, and how they are shown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
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


class Process(NamedTuple):
    """A process to be measured."""

    command: Sequence[str]
    said: bytes = b""
    """What it reads on standard input; less than a pipe holds."""


def cpu_times(
    processes: Mapping[str, Callable[[], Process]], rounds: int, env: Mapping[str, str]
) -> dict[str, float]:
    """The median CPU time of each in ms, user and system, measured in turn after a first run."""
    for each in processes.values():
        _cpu_time(each(), env)
    times: dict[str, list[float]] = {name: [] for name in processes}
    for _ in range(rounds):
        for name, each in processes.items():
            times[name].append(_cpu_time(each(), env))
    return {name: median(found) for name, found in times.items()}


def _cpu_time(process: Process, env: Mapping[str, str]) -> float:
    source, sink = os.pipe()
    os.write(sink, process.said)
    os.close(sink)
    nowhere = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, fd, to) for fd, to in ((source, 0), (nowhere, 1))]
    child = os.posix_spawn(process.command[0], process.command, env, file_actions=actions)
    os.close(source)
    os.close(nowhere)
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{process.command} ended with {status}")
    return (used.ru_utime + used.ru_stime) * 1000
