"""A hook that keeps what a host says: `python dumphook.py DIR [HOST]` writes a file per event.

Put this command into the settings of a host for the events you want to see. It prints nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

PREFIXES = ("CLAUDE", "CODEX", "GEMINI", "CURSOR", "COPILOT", "AI_")


def main() -> None:
    folder = Path(sys.argv[1])
    host = sys.argv[2] if len(sys.argv) > 2 else "host"
    raw = sys.stdin.read()
    try:
        payload = json.loads(raw)
    except ValueError:
        payload = {"_raw": raw}
    payload["_env"] = sorted(each for each in os.environ if each.startswith(PREFIXES))
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{host}-{payload.get('hook_event_name', 'unknown')}-{time.time_ns()}.json"
    (folder / name).write_text(json.dumps(payload, indent=1))


if __name__ == "__main__":
    main()
