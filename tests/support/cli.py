"""The command line, run in this process, and what it said."""

from __future__ import annotations

import json
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


def run_gitmem(*args: str, input: str | bytes | None = None, **env: str) -> Said:
    """Run a command; nothing but an exit may come out of it."""
    result = CliRunner().invoke(app, list(args), input=input, env=env)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Said(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)
