"""What a call by MCP costs, against the same operation in process.

Measured is the time from the first byte of a request to the last byte of its answer, at the pipes
of a running `gitmem mcp`: the protocol, the operation, and the text of the answer. The bytes are
exchanged by a bare client of a few lines, since what a host does with them is not ours; one row has
the client of the SDK instead. In process, the group is open and nothing is made of the result.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count, cycle
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from benchmarks.commands import ENVIRONMENT, GITMEM
from benchmarks.searching import build, questions, sentences
from benchmarks.table import Row, interleaved
from gitmem.memory.group import Group, Store
from gitmem.memory.read.listing import list_files
from gitmem.memory.read.log import log
from gitmem.memory.read.memory_actions import memory_get, memory_search
from gitmem.memory.read.status import status
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.write import Edit, write

ROUNDS = 60
WARM = 5
LIMIT = 1.3
STARTS, START_LIMIT = 7, 0.5
SERVE = [*GITMEM, "mcp", "-g", "main"]
NOTE, DRAFT = "notes/000/note00007.md", "notes/000/draft.md"

# What the SDK does by itself where somebody writes a server the usual way.
EMPTY = """
from mcp.server import MCPServer
server = MCPServer("empty", log_level="CRITICAL")
@server.tool()
def nothing(path: str) -> str:
    return path
server.run()
"""

BARE = [sys.executable, "-c", EMPTY]


class Wire:
    """A bare client: one line out, one line in."""

    def __init__(self, command: Sequence[str], env: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        self._server = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=env)
        self._ids = count()
        client = {"name": "benchmark", "version": "1"}
        self._ask("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.communicate()

    def list_tools(self) -> None:
        """Ask for the list of tools, as a host does first."""
        assert self._ask("tools/list")["tools"]

    def call(self, tool: str, **arguments: object) -> None:
        """Call a tool; it has to succeed."""
        result = self._ask("tools/call", name=tool, arguments=arguments)
        assert not result.get("isError"), result

    def _ask(self, method: str, **params: object) -> Any:
        number = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        assert self._server.stdout is not None
        answer = json.loads(self._server.stdout.readline())
        assert answer["id"] == number, answer
        return answer["result"]

    def _send(self, message: dict[str, object]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message).encode() + b"\n")
        self._server.stdin.flush()


class Pair(NamedTuple):
    """Two ways to the same thing."""

    what: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    limit: float | None = LIMIT
    note: str = ""


def rows() -> Iterator[Row]:
    """The promise on serving."""
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        store = build(Path(folder), files=2500)
        env = {**ENVIRONMENT, "GITMEM_HOME": str(store.root)}
        group = Group(store, "main", acting="main")
        yield _start(env)
        with Wire(SERVE, env) as wire, Wire(BARE, env) as empty:
            yield from map(_measured, _searches(group, wire))
            yield from map(_measured, _writes(group, wire))
            yield from map(_measured, _looks(group, wire))
            yield from map(_measured, _small(group, wire, empty))
        yield _by_the_client(store, group, env)
        group.close()


def _start(env: dict[str, str]) -> Row:
    """What a host waits for before its first prompt."""
    ours, theirs = [], []
    for _ in range(STARTS):
        ours.append(_until_listed(SERVE, env))
        theirs.append(_until_listed(BARE, env))
    what = "start to tools/list answered / a tool that does nothing, by the SDK's own server"
    return Row(what, median(ours), median(theirs), START_LIMIT)


def _until_listed(command: Sequence[str], env: dict[str, str]) -> float:
    """Milliseconds from the start of a server until its tools are known; its end does not count."""
    began = perf_counter()
    with Wire(command, env) as wire:
        wire.list_tools()
        return (perf_counter() - began) * 1000


def _measured(pair: Pair) -> Row:
    """Each of the two is first in half of the rounds: who comes second finds the disk warm."""
    for _ in range(WARM):
        pair.ours()
        pair.theirs()
    ours, theirs = interleaved(pair.ours, pair.theirs, ROUNDS // 2)
    later, earlier = interleaved(pair.theirs, pair.ours, ROUNDS // 2)
    return Row(pair.what, (ours + earlier) / 2, (theirs + later) / 2, pair.limit, note=pair.note)


def _searches(group: Group, wire: Wire) -> Iterator[Pair]:
    asked, again = cycle(questions(ROUNDS + WARM)), cycle(questions(ROUNDS + WARM))
    yield Pair(
        "memory_search / in process",
        lambda: wire.call("memory_search", query=next(asked)),
        lambda: memory_search(group, next(again)),
        note="10,000 passages",
    )


def _writes(group: Group, wire: Wire) -> Iterator[Pair]:
    prose = " ".join(sentences()[:20])
    texts = (f"# Draft {number}\n\n{prose}\n" for number in count())
    yield Pair(
        "memory_write / in process",
        lambda: wire.call("memory_write", path=DRAFT, text=next(texts)),
        lambda: write(group, [Edit(DRAFT, next(texts))]),
        note="2,500 files",
    )
    yield Pair(
        "memory_append / in process",
        lambda: wire.call("memory_append", path="diary", text="- it rained"),
        lambda: write(group, [Edit("diary", "- it rained\n", append=True)]),
    )
    titles = (f"Decision {number}" for number in count())
    yield Pair(
        "memory_entry / in process",
        lambda: wire.call("memory_entry", path="decisions", title=next(titles), text="So be it."),
        lambda: write(group, [Edit("decisions", "So be it.\n", entry=next(titles))]),
    )
    yield Pair(
        "memory_restore / in process",
        lambda: wire.call("memory_restore", path=DRAFT, previous=True),
        lambda: restore(group, DRAFT, previous=True),
    )


def _looks(group: Group, wire: Wire) -> Iterator[Pair]:
    yield Pair(
        "memory_list / in process",
        lambda: wire.call("memory_list"),
        lambda: list_files(group),
        note="2,500 files",
    )
    yield Pair(
        "memory_history / in process",
        lambda: wire.call("memory_history", path=NOTE),
        lambda: log(group, NOTE, limit=21),
    )
    yield Pair(
        "memory_status / in process",
        lambda: wire.call("memory_status"),
        lambda: status(group),
    )


def _small(group: Group, wire: Wire, empty: Wire) -> Iterator[Pair]:
    yield Pair(
        "memory_get / in process",
        lambda: wire.call("memory_get", path=NOTE),
        lambda: memory_get(group, NOTE),
        None,
        "it takes less than the protocol, so:",
    )
    yield Pair(
        "memory_get / a tool that does nothing, by the SDK's own server",
        lambda: wire.call("memory_get", path=NOTE),
        lambda: empty.call("nothing", path=NOTE),
    )


def _by_the_client(store: Store, group: Group, env: dict[str, str]) -> Row:
    """What a program sees that uses the SDK itself, which takes its time, too."""
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    asked, again = cycle(questions(ROUNDS + WARM)), cycle(questions(ROUNDS + WARM))
    server = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=env)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server)) as client,
    ):

        def ours() -> None:
            portal.call(partial(client.call_tool, "memory_search", {"query": next(asked)}))

        what = "memory_search by the SDK's client / in process"
        return _measured(Pair(what, ours, lambda: memory_search(group, next(again)), None))
