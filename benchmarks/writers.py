"""Eight writers at once, against one, and against `git add && git commit`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from benchmarks.table import Row
from gitmem.memory.admin.init import init
from gitmem.memory.group import Store

WRITES = 400
EIGHT = 8

# Each waits for a line on its standard input, so that all begin together.
WRITER = """
import sys
from pathlib import Path
from gitmem.memory.group import Group, Store
from gitmem.memory.write.write import Edit, write
root, name, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
group = Group(Store(Path(root)), "main")
write(group, [Edit(f"notes/{name}.md", "warm")])
print("ready", flush=True)
sys.stdin.readline()
failed = 0
for number in range(many):
    try:
        write(group, [Edit(f"notes/{name}.md", f"text {number}\\n")])
    except Exception:
        failed += 1
print(failed, flush=True)
"""
GIT_WRITER = """
import subprocess, sys
from pathlib import Path
root, name, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
failed = 0
for number in range(many):
    Path(root, name).write_text(f"text {number}\\n")
    for command in (["add", name], ["commit", "-qm", "note", "--", name]):
        done = subprocess.run(["git", "-C", root, *command], capture_output=True)
        if done.returncode:
            failed += 1
            break
print(failed, flush=True)
"""


def _together(script: str, root: Path, processes: int, each: int) -> tuple[float, int]:
    """Successful writes a second, and failures."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(root), f"w{number}", str(each)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(processes)
    ]
    for process in running:
        assert process.stdout
        process.stdout.readline()
    began = perf_counter()
    for process in running:
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    failed = sum(int(process.communicate()[0]) for process in running)
    return (processes * each - failed) / (perf_counter() - began), failed


def _git_repository(root: Path, *, synced: bool) -> Path:
    root.mkdir()
    settings = {"user.name": "agent", "user.email": "agent@example.invalid", "gc.auto": "0"}
    if synced:
        settings["core.fsync"] = "all"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for key, value in settings.items():
        subprocess.run(["git", "-C", str(root), "config", key, value], check=True)
    return root


def rows() -> Iterator[Row]:
    """The promise on concurrent writers, and what happens without gitmem."""
    os.sync()
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        root = Path(folder)
        store = Store((root / "store").resolve())
        init(store, "main")
        one, lost = _together(WRITER, store.root, 1, WRITES)
        eight, failed = _together(WRITER, store.root, EIGHT, WRITES // EIGHT)
        note = f"writes/s; {lost + failed} errors"
        yield Row("8 writers / 1 writer, gitmem", eight, one, 0.8, True, note)
        for synced in (False, True):
            name = "git add && git commit" + (", core.fsync=all" if synced else "")
            place = _git_repository(root / f"git-{synced}", synced=synced)
            alone, _ = _together(GIT_WRITER, place, 1, WRITES // 4)
            crowd, failed = _together(GIT_WRITER, place, EIGHT, WRITES // EIGHT // 2)
            asked = WRITES // EIGHT // 2 * EIGHT
            note = f"writes/s; {failed} of {asked} failed on index.lock"
            yield Row(f"8 writers / 1 writer, {name}", crowd, alone, None, True, note)
