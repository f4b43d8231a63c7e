"""Claude Code as gitmem meets it: notes in its own folder, and a hook after each write."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

FIRST = "5f1c2a90-83d1-4d0b-9c55-7be21f04a6d3"
SECOND = "c3b86e17-4a20-4f9b-8d6e-95f01b7ad2c4"
THIRD = "9e07b3d4-16f2-4c8e-b0a7-20d95e3c81fa"
INDEX = "- [Deploys](deploys.md): on Tuesdays, from main\n"


class Shell(Protocol):
    """Runs a command in a home folder, at its own time or another one."""

    home: Path
    now: datetime

    def run(self, command: str, input: str = "", now: datetime | None = None) -> object: ...


class NotesOfClaudeCode:
    """The memory that Claude Code keeps for the project `~/shop`."""

    def __init__(self, shell: Shell) -> None:
        self._shell = shell
        self._project = shell.home / "shop"
        name = "".join(c if c.isalnum() else "-" for c in str(self._project))
        self._folder = shell.home / ".claude" / "projects" / name / "memory"

    def write_before_gitmem(self) -> None:
        """Write the notes that gitmem adopts when it is installed."""
        self._project.mkdir()
        self._folder.mkdir(parents=True)
        self._put("MEMORY.md", INDEX)
        self._put("deploys.md", "Deploys run on Tuesdays, from main.\n")

    def write_in_three_sessions(self) -> None:
        """Add a note yesterday; today change a note for the worse, and overwrite the index."""
        kroner = "Customers in Oslo want invoices in kroner.\n"
        both = f"{INDEX}- [Invoices](invoices.md): kroner for Oslo\n"
        yesterday = self._shell.now - timedelta(days=1)
        self._write("invoices.md", kroner, FIRST, yesterday)
        self._write("MEMORY.md", both, FIRST, yesterday)
        today = self._shell.now - timedelta(minutes=20)
        self._write("deploys.md", "Deploys run on Fridays.\n", SECOND, today)
        later = self._shell.now - timedelta(minutes=2)
        self._write("MEMORY.md", "- TODO: sort these notes\n", THIRD, later)

    def _put(self, name: str, text: str) -> Path:
        path = self._folder / name
        path.write_text(text)
        return path

    def _write(self, name: str, text: str, session: str, now: datetime) -> None:
        event = {
            "session_id": session,
            "cwd": str(self._project),
            "hook_event_name": "PostToolUse",
            "tool_name": "Write",
            "tool_input": {"file_path": str(self._put(name, text)), "content": text},
        }
        self._shell.run("gitmem hook --host claude-code", json.dumps(event), now)
