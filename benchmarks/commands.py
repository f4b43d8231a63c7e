"""gitmem as a command, against the imports that any such command pays for."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from benchmarks.table import Row, interleaved

ROUNDS = 20
GITMEM = [sys.executable, "-m", "gitmem"]


# As installed: compiled once, whatever this shell says about bytecode.
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}


def run(*command: str, env: dict[str, str] = ENVIRONMENT) -> None:
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL, env=env)


def imports(*names: str) -> None:
    run(sys.executable, "-c", f"import {', '.join(names)}")


def rows() -> Iterator[Row]:
    """The promises on start-up and on a write as a command."""
    run(*GITMEM, "--version")
    ours, theirs = interleaved(lambda: run(*GITMEM, "--version"), lambda: imports("click"), ROUNDS)
    yield Row("gitmem --version / import click", ours, theirs, 1.3)
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        env = {**ENVIRONMENT, "GITMEM_HOME": str(Path(folder) / "store")}
        run(*GITMEM, "init", env=env)
        run(*GITMEM, "write", "notes/a.md", "first", env=env)
        tokens = count()

        def write() -> None:
            run(*GITMEM, "write", "notes/a.md", f"text {next(tokens)}", env=env)

        ours, theirs = interleaved(write, lambda: imports("pygit2", "click"), ROUNDS)
        yield Row("gitmem write, own time / import pygit2, click", ours - theirs, theirs, 0.5)
