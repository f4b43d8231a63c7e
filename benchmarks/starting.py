"""What each call costs in CPU time, as a multiple of a bare Python and of its libraries."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from benchmarks.commands import ENVIRONMENT, run
from benchmarks.searching import sentences
from benchmarks.table import Process, Row, cpu_times
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.write.last_scan import MARGIN
from gitmem.memory.write.write import Edit, write

ROUNDS = 15
GITMEM = str(Path(sys.executable).with_name("gitmem"))
"""The program as it is installed, which is what a host calls."""
P, S, CLICK = "python -c pass", "import pygit2, click, yaml", "import click"
FILES = 2500
PER_FILE = 4
LIMITS = {
    "hook user-prompt-submit, nothing to say": (P, 5.0),
    "hook user-prompt-submit, a hit at 10,000 passages": (P, 6.5),
    "hook stop, nothing changed": (P, 4.5),
    "inject": (P, 6.5),
    "read": (P, 6.0),
    "write": (S, 1.2),
    "--version": (CLICK, 1.1),
}
"""What each call is compared with, and how often that it may cost."""


def rows() -> Iterator[Row]:
    """Every call in one run, so that all ratios are of the same minutes."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        small, large, written = (Path(folder, name) for name in ("small", "large", "written"))
        _small(small)
        _small(written)
        _large(large)
        times = cpu_times(_calls(small, large, written), ROUNDS, ENVIRONMENT)
    for name, (bare, limit) in LIMITS.items():
        yield Row(f"gitmem {name} / {bare}", times[name], times[bare], limit)
        if bare == P:
            yield Row(f"gitmem {name} / {S}", times[name], times[S])


def _calls(small: Path, large: Path, written: Path) -> dict[str, Callable[[], Process]]:
    texts = count()
    idle, asked = _prompt("thanks, great!"), _prompt("Which port does the Zeppelin relay use?")
    turn = json.dumps({"session_id": "s", "cwd": "/"}).encode()
    _settle(small, turn)
    calls = {
        "hook user-prompt-submit, nothing to say": lambda: _ours(small, *PROMPTED, said=idle),
        "hook user-prompt-submit, a hit at 10,000 passages": lambda: _ours(
            large, *PROMPTED, said=asked
        ),
        "hook stop, nothing changed": lambda: _ours(small, "hook", "stop", said=turn),
        "inject": lambda: _ours(small, "inject"),
        "read": lambda: _ours(small, "read", "notes/n1.md"),
        "write": lambda: _ours(written, "write", "notes/w.md", f"text {next(texts)}"),
        "--version": lambda: Process([GITMEM, "--version"]),
    }
    bare = {P: "pass", S: S, CLICK: CLICK}
    _check_hit(large, asked)
    return calls | {
        name: lambda code=code: Process([sys.executable, "-c", code])  # type: ignore[misc]
        for name, code in bare.items()
    }


PROMPTED = ("hook", "user-prompt-submit")


def _ours(store: Path, *args: str, said: bytes = b"") -> Process:
    return Process([GITMEM, "--store", str(store), *args], said)


def _prompt(text: str) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/", "prompt": text}).encode()


def _small(root: Path) -> None:
    store = Store(root)
    init(store, "main", layout="standard")
    group = Group(store, "main")
    write(group, [Edit(f"notes/n{n}.md", f"# Note {n}\n\nSome text.\n") for n in range(20)])
    group.close()


def _large(root: Path) -> None:
    """Notes that a prompt may find something in, one of which answers the question."""
    store, said = Store(root), sentences()
    init(store, "main", layout="nano")
    parts = (
        "\n\n".join(f"## Part {n}\n\n{' '.join(_some(said, at + n))}" for n in range(PER_FILE))
        for at in range(0, FILES * PER_FILE, PER_FILE)
    )
    edits = [Edit(f"memory/n{at}.md", f"{text}\n") for at, text in enumerate(parts)]
    answer = Edit("memory/relay.md", "## Relay\n\nThe Zeppelin relay uses port 7411.\n")
    group = Group(store, "main")
    write(group, [*edits, answer])
    group.close()
    run(GITMEM, "--store", str(root), "hook", "ready")


def _some(said: list[str], at: int) -> list[str]:
    return [said[(at * 7 + step * 13) % len(said)] for step in range(7)]


def _settle(store: Path, turn: bytes) -> None:
    """Let a hook look at the files, once nothing about them is too young to be told."""
    time.sleep(MARGIN / 1e9 + 0.1)
    subprocess.run(_ours(store, "hook", "stop").command, input=turn, env=ENVIRONMENT, check=True)


def _check_hit(store: Path, asked: bytes) -> None:
    command = _ours(store, *PROMPTED).command
    done = subprocess.run(command, input=asked, env=ENVIRONMENT, check=True, capture_output=True)
    if b"7411" not in done.stdout:
        raise RuntimeError("the prompt finds nothing: a hit is not what is measured")
