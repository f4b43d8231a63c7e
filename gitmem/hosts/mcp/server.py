"""The MCP server: the tools of `mcp_tools`, spoken by the official SDK over stdin and stdout.

The SDK is an extra and slow to import, so nothing but `gitmem mcp` comes here. Calls are made one
after the other, in the event loop: each takes milliseconds, and none has to wait for a thread.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING, Any, cast

from gitmem import __version__
from gitmem.core.escaping import worded
from gitmem.errors import ExtraMissing
from gitmem.hosts.mcp.desk import Desk, Kept, called
from gitmem.hosts.mcp.params import schema
from gitmem.hosts.mcp.stdio import Lines, Messages, Sense, Words, claimed
from gitmem.hosts.mcp.tools import INSTRUCTIONS, TOOLS, Tool, answered

try:
    from mcp import types
    from mcp.server import CacheHint, Server, ServerRequestContext
    from mcp.server.stdio import stdio_server
except ImportError as error:
    raise ExtraMissing(
        f"`gitmem mcp` needs the package mcp, 2.3 or newer, which cannot be imported: {error}",
        hint="install it: pip install 'gitmem-cli[mcp]'",
        extra="mcp",
    ) from error

if TYPE_CHECKING:
    from anyio import AsyncFile

FRESH = 3_600_000
"""Milliseconds for which a host may keep the list of tools: it changes with gitmem's version."""
CANCELLED = "notifications/cancelled"
IDLE = 60.0
"""Seconds after which a server that nobody calls closes its files."""


def serve(desk: Desk) -> None:
    """Answer calls on stdin until it is closed."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what is wrong is answered, and no news
    try:
        asyncio.run(_serve(_server(desk)))
    finally:
        desk.kept.close()


async def _serve(server: Server[Any]) -> None:
    with claimed() as (source, target):
        lines, words = Lines(source), Words(target)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lines.interrupt, number)
        messages = Messages(lines, words, _sense)
        async with stdio_server(_as_file(messages), _as_file(words)) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    if lines.interrupted == signal.SIGINT:
        raise KeyboardInterrupt


def _sense(line: bytes) -> Sense:
    """What a message asks; what the SDK will not take for one, by its own judgement, is refused."""
    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(message, types.JSONRPCRequest):
        return Sense(request=message.id)
    if isinstance(message, types.JSONRPCNotification) and message.method == CANCELLED:
        number = (message.params or {}).get("requestId")
        return Sense(cancelled=number if isinstance(number, str | int) else None)
    return Sense()


def _as_file(end: Messages | Words) -> AsyncFile[str]:
    """An end of the wire, by the type that the SDK asks for."""
    return cast("AsyncFile[str]", end)


class Rest:
    """Closes what is open when nothing was asked for a while."""

    def __init__(self, kept: Kept, seconds: float = IDLE) -> None:
        self._kept, self._seconds = kept, seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Begin to wait, from now on."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._kept.close)


def _server(desk: Desk) -> Server[Any]:
    rest = Rest(desk.kept)

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_declared(tool) for tool in TOOLS])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        rest.begin()
        return _result(called(desk, _client(context)), params)

    return Server(
        "gitmem",
        version=__version__,
        title="gitmem",
        instructions=worded(INSTRUCTIONS, group=desk.group),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        cache_hints={"tools/list": CacheHint(ttl_ms=FRESH, scope="public")},
    )


def _declared(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=schema(tool.params),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=False,  # whatever is overwritten stays in the history
            idempotent_hint=tool.reads,  # a journal takes the same page twice
            open_world_hint=False,
        ),
    )


def _client(context: ServerRequestContext[Any]) -> str:
    """What the client calls itself."""
    said = context.session.client_params
    return said.client_info.name if said else ""


def _result(desk: Desk, params: types.CallToolRequestParams) -> types.CallToolResult:
    answer = answered(desk, params.name, params.arguments or {})
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=_sound(answer.text))],
        structured_content=_sound(answer.facts),
        is_error=answer.failed,
    )


def _sound(value: Any) -> Any:
    """VALUE without halves of characters, as a name has that is no UTF-8: JSON has none."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_sound(key): _sound(each) for key, each in value.items()}
    return [_sound(each) for each in value] if isinstance(value, list) else value
