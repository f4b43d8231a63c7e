"""Print the time of each hook: `python time_hooks.py --cwd PROJECT [--file MEMORY_FILE]`

The least and the median wall time and the median CPU time, beside `python -c pass` and
`gitmem --version`. On a loaded machine trust the CPU column.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

EVENTS: dict[str, dict[str, Any]] = {
    "session-start": {"source": "startup", "hook_event_name": "SessionStart"},
    "session-start (resume)": {"source": "resume", "hook_event_name": "SessionStart"},
    "user-prompt-submit (fits)": {
        "prompt": "which database do we use for orders?",
        "hook_event_name": "UserPromptSubmit",
    },
    "user-prompt-submit (idle)": {
        "prompt": "thanks, great!",
        "hook_event_name": "UserPromptSubmit",
    },
    "stop": {"stop_hook_active": False, "hook_event_name": "Stop"},
    "session-end": {"reason": "other", "hook_event_name": "SessionEnd"},
}


def measure(name: str, command: list[str], args: argparse.Namespace, given: bytes = b"") -> None:
    walls, cpus = [], []
    for _ in range(args.reps):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        subprocess.run(command, input=given, cwd=args.cwd, capture_output=True, check=False)
        walls.append((time.perf_counter() - begun) * 1000)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cpus.append(used * 1000)
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    print(f"{name:28} min {min(walls):5.0f}  median {wall:5.0f}  cpu {cpu:5.0f} ms")


def edit_of(path: str) -> dict[str, Any]:
    tool = {"tool_name": "Write", "tool_input": {"file_path": path}}
    return {**tool, "hook_event_name": "PostToolUse"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cwd", required=True)
    parser.add_argument("--file", default="", help="a file of memory, for post-tool-use")
    parser.add_argument("--host", default="claude-code")
    parser.add_argument("--reps", type=int, default=15)
    parser.add_argument("--gitmem", default="gitmem")
    args = parser.parse_args()
    events = EVENTS | {"post-tool-use (no memory)": edit_of(os.path.join(args.cwd, "x.txt"))}
    if args.file:
        events["post-tool-use (memory)"] = edit_of(args.file)
    print(f"load {os.getloadavg()[0]:.1f}")
    measure("python -c pass", [sys.executable, "-c", "pass"], args)
    measure("gitmem --version", [args.gitmem, "--version"], args)
    base = {"session_id": "timing", "transcript_path": "/nonexistent.jsonl", "cwd": args.cwd}
    for name, fields in events.items():
        command = [args.gitmem, "hook", name.split()[0], "--host", args.host]
        measure(name, command, args, json.dumps({**base, **fields}).encode())
    measure("mcp start and end", [args.gitmem, "mcp"], args)


if __name__ == "__main__":
    main()
