"""A command on a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0


def on_terminal(*args: str, typed: str = "", **env: str) -> tuple[int, str]:
    """Run gitmem where a person sits; what was typed is there from the start.

    Returns the exit code and all that the person saw, what was typed included.
    """
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "gitmem", *args],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", **env},
        start_new_session=True,
    )
    os.close(slave)
    os.write(master, typed.encode())
    seen = _everything(master)
    os.close(master)
    return process.wait(PATIENCE), seen


def _everything(master: int) -> str:
    parts = b""
    deadline = time.monotonic() + PATIENCE
    while select.select([master], [], [], max(0.0, deadline - time.monotonic()))[0]:
        try:
            piece = os.read(master, 65536)
        except OSError:  # Linux says so when the last one who had it open is gone
            break
        if not piece:
            break
        parts += piece
    return parts.decode("utf-8", "replace").replace("\r\n", "\n")
