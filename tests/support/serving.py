"""`gitmem mcp` as a child process, and the real client of the SDK that talks to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters, types
from mcp.client.stdio import stdio_client

from tests.support.seal import sealed

CLIENT = "a-client"
PATIENCE = 60.0


class Told(NamedTuple):
    """The answer of a tool."""

    text: str
    facts: dict[str, Any]
    failed: bool


class Server:
    """A server, as seen by the client of the SDK."""

    def __init__(self, portal: BlockingPortal, client: Client, errors: Path) -> None:
        self._portal = portal
        self._errors = errors
        self.client = client

    def call(self, tool: str, /, **arguments: object) -> Told:
        """Call a tool, whatever comes of it."""
        said = self._portal.call(partial(self.client.call_tool, tool, arguments))
        assert isinstance(said, types.CallToolResult)
        assert [each.type for each in said.content] == ["text"]
        text = said.content[0].text if isinstance(said.content[0], types.TextContent) else ""
        return Told(text, said.structured_content or {}, bool(said.is_error))

    def done(self, tool: str, /, **arguments: object) -> Told:
        """Call a tool that has to succeed."""
        told = self.call(tool, **arguments)
        assert not told.failed, told.text
        return told

    def refused(self, tool: str, /, **arguments: object) -> str:
        """Call a tool that has to fail; the text says why."""
        told = self.call(tool, **arguments)
        assert told.failed, told.text
        assert told.facts == {}
        return told.text

    def tools(self) -> list[types.Tool]:
        """The tools that it offers."""
        return self._portal.call(self.client.list_tools).tools

    @property
    def errors(self) -> str:
        """What it printed on stderr."""
        return self._errors.read_text("utf-8")


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a server whose store is in HOME."""
    return {**sealed(os.environ, home=home), "GITMEM_HOME": str(home / "store"), **more}


@contextmanager
def serving(
    home: Path,
    *args: str,
    env: Mapping[str, str] | None = None,
    mode: str = "auto",
    program: tuple[str, str] = ("-m", "gitmem"),
) -> Iterator[Server]:
    """Start `gitmem mcp ARGS` on the store in HOME, as Python runs PROGRAM, and connect to it."""
    errors = home / f"stderr-{next(_NUMBERS)}"
    parameters = StdioServerParameters(
        command=sys.executable,
        args=[*program, "mcp", *args],
        env=environment(home, **(env or {})),
    )
    named = types.Implementation(name=CLIENT, version="1")
    with errors.open("w", encoding="utf-8") as log, start_blocking_portal() as portal:
        client = Client(stdio_client(parameters, errlog=log), mode=mode, client_info=named)
        with portal.wrap_async_context_manager(client) as connected:
            yield Server(portal, connected, errors)


_NUMBERS = count()


class Pipes:
    """A server without the SDK on our side: lines as they are."""

    def __init__(self, home: Path, *args: str, **env: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gitmem", "mcp", *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, **env),
        )
        self._ids = count(1)

    def __enter__(self) -> Pipes:
        self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": CLIENT, "version": "1"},
        )
        self.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with suppress(BrokenPipeError):
                assert stream is not None
                stream.close()

    def send(self, line: str) -> None:
        """One line, whatever it says."""
        self.send_bytes(line.encode())

    def send_bytes(self, line: bytes) -> None:
        """The same, in bytes."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        """A request, and the result of it; whatever else is said before that is none."""
        number = next(self._ids)
        asked = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(asked))
        answer = self.hear()
        assert answer["id"] == number, answer
        result = answer["result"]
        assert isinstance(result, dict)
        return result

    def call(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        """Call a tool."""
        return self.ask("tools/call", name=tool, arguments=arguments)

    def hear(self) -> dict[str, Any]:
        """The next line, which has to be a message."""
        assert self.process.stdout is not None
        message = json.loads(self.process.stdout.readline())
        assert isinstance(message, dict)
        assert message["jsonrpc"] == "2.0"
        return message

    def end(self) -> tuple[int, str, str]:
        """Close its input: exit code, the rest of its output, and all of its stderr."""
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.decode(), err.decode()
