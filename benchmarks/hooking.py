"""What a hook costs the session that waits for it: as the process that its host starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.commands import ENVIRONMENT, imports
from benchmarks.table import Row, interleaved
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.transcripts.add import NewMessage, transcript_add
from gitmem.memory.transcripts.status import transcript_status
from gitmem.memory.write.write import Edit, write

ROUNDS = 25
GITMEM = str(Path(sys.executable).with_name("gitmem"))
"""The program as it is installed, which is what a host calls."""
FILES = 200
MESSAGES = 25


def rows() -> Iterator[Row]:
    """A group of some size, without and with conversations."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        yield from _all(_filled(root / "quiet", messages=0), _filled(root / "said", MESSAGES))


def _filled(root: Path, messages: int) -> Store:
    store = Store(root)
    init(store, "main", layout="standard")
    group = Group(store, "main")
    write(group, [Edit(f"notes/n{n}.md", f"# Note {n}\n\nSome text.\n") for n in range(FILES)])
    if messages:
        transcript_add(group, [NewMessage("c", "Ada", f"message {n}") for n in range(messages)])
        transcript_status(group)
    group.close()
    return store


def _all(quiet: Store, said: Store) -> Iterator[Row]:
    start = {"session_id": "s", "source": "startup", "cwd": "/"}
    heavy, light = ("pygit2", "click", "yaml"), ("json", "click")
    yield _row("session-start", start, quiet, heavy)
    yield _row("session-start, 25 messages pending", start, said, heavy)
    other = {"tool_name": "Write", "tool_input": {"file_path": "/tmp/none/of/ours.py"}}
    yield _row("post-tool-use, not ours", other, quiet, light)
    turn = {"session_id": "s", "cwd": "/", "transcript_path": "/tmp/none.jsonl"}
    _run([GITMEM, "--store", str(quiet.root), "hook", "stop"], json.dumps(turn).encode())
    yield _row("stop, nothing touched", turn, quiet, light, 1.8)
    idle = {"session_id": "s", "cwd": "/", "prompt": "thanks, great!"}
    yield _row("user-prompt-submit, idle talk", idle, quiet, light, 1.8)
    ended = {"session_id": "s", "transcript_path": "/tmp/none.jsonl", "reason": "other"}
    yield _row("session-end", ended, quiet, light)


def _row(
    what: str, said: dict[str, object], store: Store, bare: tuple[str, ...], limit: float = 1.5
) -> Row:
    event = what.partition(",")[0]
    text = json.dumps(said).encode()
    command = [GITMEM, "--store", str(store.root), "hook", event]
    ours, others = interleaved(lambda: _run(command, text), lambda: imports(*bare), ROUNDS)
    return Row(f"gitmem hook {what} / import {', '.join(bare)}", ours, others, limit)


def _run(command: list[str], said: bytes) -> None:
    subprocess.run(command, input=said, env=ENVIRONMENT, check=True, capture_output=True)
