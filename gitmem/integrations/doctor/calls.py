"""Each call that a host will make of us, made once as the host makes it.

That is in the environment of a login shell, not in that of this moment: an active virtual
environment hides what is missing everywhere else.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import join

from gitmem.errors import GitmemError
from gitmem.integrations.doctor.findings import Finding, Wiring
from gitmem.integrations.hooks.answer import DISABLE
from gitmem.integrations.install.locations import USER, places
from gitmem.integrations.install.record import install_of

PATIENCE = 20.0
"""Seconds within which a call answers."""
_CLIENT = {"name": "gitmem doctor", "version": "1"}
_GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT},
}


def call_findings(
    store: Path,
    wired: Sequence[Wiring],
    environ: Mapping[str, str],
    bare: Mapping[str, str],
    project: Path,
) -> Iterator[Finding]:
    """The calls that fail, with what they print; what only a project names may be anybody's."""
    for row in wired:
        if row.scope != USER:
            continue
        again = f"`gitmem install {row.host} --scope {row.scope}` names the gitmem that runs"
        for words in row.commands:
            line = join((*words, "hook", "session-start", "--host", row.host))
            if said := _hook_fails(line, bare):
                yield Finding("hook-fails", f"`{line}` in {row.settings} fails: {said}", again)
        server = _server(store, row, environ, project)
        if server and (said := _server_fails(server, bare)):
            yield Finding("hook-fails", f"`{join(server)}`, the MCP server, fails: {said}", again)


def _hook_fails(line: str, bare: Mapping[str, str]) -> str:
    """What a hook prints that fails; nothing where it works. A host has a shell run it."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", line],
            env={**bare, DISABLE: "1"},
            input=b"{}",
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return _last_line(done.stderr) or f"exit code {done.returncode}" if done.returncode else ""


def _last_line(output: bytes) -> str:
    lines = output.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""


def _server(
    store: Path, row: Wiring, environ: Mapping[str, str], project: Path
) -> list[str] | None:
    """The words that start our MCP server, where `install` has configured it."""
    with suppress(GitmemError):  # told already
        known = install_of(store, places(row.host, row.scope, environ, project)).mcp
        if row.mcp and isinstance(known, dict):
            return [str(known.get("command")), *map(str, known.get("args", ()))]
    return None


def _server_fails(words: Sequence[str], bare: Mapping[str, str]) -> str:
    """What an MCP server prints that does not answer; nothing where it does."""
    try:
        with subprocess.Popen(
            words,
            env=dict(bare),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as server:
            answer = _greeted(server)
            server.kill()
            _, errors = server.communicate()
    except OSError as error:
        return str(error)
    if b'"result"' in answer:
        return ""
    return _last_line(errors) or "it does not answer"


def _greeted(server: subprocess.Popen[bytes]) -> bytes:
    """What a server says first when a client greets it."""
    stdin, stdout = server.stdin, server.stdout
    if stdin is None or stdout is None:
        return b""
    with suppress(OSError):  # it ended already
        stdin.write(json.dumps(_GREETING).encode() + b"\n")
        stdin.flush()
    ready, _, _ = select.select([stdout], [], [], PATIENCE)
    return os.read(stdout.fileno(), 1 << 16) if ready else b""
