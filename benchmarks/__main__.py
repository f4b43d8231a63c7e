"""Run all benchmarks, or those named: `python -m benchmarks [NAME ...]`."""

from __future__ import annotations

import sys

from benchmarks import (
    by_hand,
    commands,
    dating,
    hooking,
    injecting,
    maintaining,
    searching,
    serving,
    starting,
    writers,
    writes,
)
from benchmarks.table import Row, show

PARTS = {
    "by_hand": by_hand.rows,
    "writes": writes.rows,
    "commands": commands.rows,
    "writers": writers.rows,
    "injecting": injecting.rows,
    "dating": dating.rows,
    "maintaining": maintaining.rows,
    "searching": searching.rows,
    "hooking": hooking.rows,
    "starting": starting.rows,
    "serving": serving.rows,
}


def main() -> int:
    """Print each table; the exit code is the number of ratios beyond their limit."""
    names = sys.argv[1:] or list(PARTS)
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; there are: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    missed: list[Row] = []
    for name in names:
        missed += show(name, PARTS[name]())
    return min(len(missed), 100)


if __name__ == "__main__":
    sys.exit(main())
