"""Two sessions that overlap: the second ends while an edit of the first is not captured yet."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.real_hosts.bench import Bench, Run

# Limited, so that a host that never runs the command makes a check fail, not hang.
WAIT = "for i in $(seq 300); do [ -e {} ] && break; sleep 0.2; done"


class Both(NamedTuple):
    """The runs of two sessions."""

    first: Run
    second: Run


def overlap(bench: Bench, prompt: Callable[[str, str], Run]) -> Both:
    """Let two sessions edit memory with the shell; PROMPT(name, command) gives a host a prompt.

    The first edits `facts/first.md` and stays in its turn until the second has edited
    `facts/second.md` and ended.
    """
    begun, ended = (_flag(bench, each) for each in ("begun", "ended"))
    first = f"echo one > {bench.group}/facts/first.md; touch {begun}; {WAIT.format(ended)}"
    second = f"{WAIT.format(begun)}; echo two > {bench.group}/facts/second.md"
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(prompt, "first", first)
        other = pool.submit(prompt, "second", second).result()
        ended.touch()
        return Both(waiting.result(), other)


def _flag(bench: Bench, name: str) -> Path:
    return bench.project / f"{name}.flag"
