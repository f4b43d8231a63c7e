"""The command line, run in this process, and what it said."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from typing import Any, NamedTuple

from click.testing import CliRunner

from gitmem.cli.app import app


class Said(NamedTuple):
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str
    raw: bytes

    @property
    def document(self) -> dict[str, Any]:
        """The one document on stdout."""
        found = json.loads(self.raw)
        assert isinstance(found, dict)
        assert found["schema_version"] == 1
        return found

    @property
    def error(self) -> dict[str, Any]:
        """The error in the document on stdout."""
        found = self.document["error"]
        assert {"code", "message", "hint"} <= found.keys()
        assert isinstance(found, dict)
        return found


Run = Callable[..., Said]


def shell_words(line: str) -> list[str]:
    """LINE as a shell takes it apart, `$'...'` included."""
    script = f"printf '%s\\0' {line}"
    said = subprocess.run(["bash", "-c", script], check=True, capture_output=True).stdout
    return [os.fsdecode(word) for word in said.split(b"\0")[:-1]]


def run_gitmem(*args: str, input: str | bytes | None = None, **env: str) -> Said:
    """Run a command; nothing but an exit may come out of it."""
    result = CliRunner().invoke(app, list(args), input=input, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Said(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)
