"""The MCP server: tools, resources and prompts by the official SDK.

The SDK is an extra and slow to import, so `serve` imports this module as late as it can. Calls run
one after the other in the event loop: each takes milliseconds, and none waits for a thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from gitmem import __version__
from gitmem.errors import BadInput, ExtraMissing
from gitmem.integrations.mcp.groups import Endpoint, OpenGroups, called
from gitmem.integrations.mcp.resources import TEMPLATE, kind, list_documents, read_document
from gitmem.integrations.mcp.serve import INSTRUCTIONS
from gitmem.integrations.mcp.stdio import LineWriter, MessageIds, Messages, has_id
from gitmem.integrations.mcp.texts import ToolResult, sound
from gitmem.integrations.mcp.tools import TOOLS, Tool, answered, guarded, schema
from gitmem.model.context.escape import worded

try:
    from mcp import types
    from mcp.server import CacheHint, Server, ServerRequestContext
    from mcp.server.caching import CacheableMethod
    from mcp.server.stdio import stdio_server
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise ExtraMissing(
        f"the MCP server needs the package mcp, 2.3 or newer, and importing it failed: {error}",
        hint="in the checkout of gitmem, run `uv tool install '.[mcp]'` or "
        "`pipx install '.[mcp]'`; in the environment of gitmem, `pip install mcp`",
        extra="mcp",
    ) from error

if TYPE_CHECKING:
    from anyio import AsyncFile

FRESH = 3_600_000
"""Milliseconds for which a host may cache a list that changes only with gitmem's version."""
LASTING: tuple[CacheableMethod, ...] = ("tools/list", "prompts/list", "resources/templates/list")
CANCELLED = "notifications/cancelled"
IDLE = 60.0
"""Seconds after which a server that nobody calls closes its files."""


async def converse(
    endpoint: Endpoint,
    lines: AsyncIterable[bytes],
    words: LineWriter,
    opening: Sequence[bytes] = (),
) -> None:
    """Answer LINES until they end; those in OPENING have been answered already."""
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # errors are answered, not logged
    server, messages = _server(endpoint), Messages(lines, words, _message_ids, opening)
    async with stdio_server(_as_file(messages), _as_file(words)) as (read, write):
        await server.run(read, write, server.create_initialization_options())


def _message_ids(line: bytes) -> MessageIds:
    """The ids in a message; ValueError for a line that the SDK does not accept as one."""
    message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    if isinstance(message, types.JSONRPCRequest):
        return MessageIds(request=message.id)
    # The SDK takes a request for a notification where its id is null, true or 1.5.
    if isinstance(message, types.JSONRPCNotification) and has_id(line):
        raise ValueError("its id is neither a string nor a whole number")
    if isinstance(message, types.JSONRPCNotification) and message.method == CANCELLED:
        number = (message.params or {}).get("requestId")
        return MessageIds(cancelled=number if isinstance(number, str | int) else None)
    return MessageIds()


def _as_file(end: Messages | LineWriter) -> AsyncFile[str]:
    """An end of the wire as the type that the SDK declares."""
    return cast("AsyncFile[str]", end)


class Rest:
    """Closes open groups when no request came for a while."""

    def __init__(self, kept: OpenGroups, seconds: float = IDLE) -> None:
        self._kept, self._seconds = kept, seconds
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """Restart the timer."""
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._seconds, self._kept.close)


def _server(endpoint: Endpoint) -> Server[Any]:
    rest = Rest(endpoint.kept)

    async def list_tools(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_declared(tool) for tool in TOOLS])

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        rest.begin()
        return _result(called(endpoint, _client(context)), params)

    async def list_resources(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        rest.begin()
        return _listed(called(endpoint, _client(context)), (params and params.cursor) or "")

    async def read_resource(
        context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        rest.begin()
        return _read(called(endpoint, _client(context)), params.uri)

    return Server(
        "gitmem",
        version=__version__,
        title="gitmem",
        instructions=worded(INSTRUCTIONS, group=endpoint.group),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=_list_templates,
        on_read_resource=read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
        cache_hints=dict.fromkeys(LASTING, CacheHint(ttl_ms=FRESH, scope="public")),
    )


async def _list_templates(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template=TEMPLATE,
        name="memory",
        title="A memory file",
        description="A file of a group; `#` and the slug of an entry behind it name that entry",
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def _list_prompts(
    context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
) -> types.ListPromptsResult:
    from gitmem.integrations.mcp.resources import ABOUT, ARGUMENT, prompts

    argument = types.PromptArgument(name=ARGUMENT, description=ABOUT, required=False)
    found = [
        types.Prompt(name=each.name, description=each.about, arguments=[argument])
        for each in prompts().values()
    ]
    return types.ListPromptsResult(prompts=found)


async def _get_prompt(
    context: ServerRequestContext[Any], params: types.GetPromptRequestParams
) -> types.GetPromptResult:
    from gitmem.integrations.mcp.resources import ARGUMENT, prompted, prompts

    try:
        text = prompted(params.name, (params.arguments or {}).get(ARGUMENT, ""))
    except BadInput as error:
        message = f"{error.message}; {error.hint}"
        raise MCPError(code=types.INVALID_PARAMS, message=message) from error
    content = types.TextContent(type="text", text=sound(text))
    return types.GetPromptResult(
        description=prompts()[params.name].about,
        messages=[types.PromptMessage(role="user", content=content)],
    )


def _listed(endpoint: Endpoint, cursor: str) -> types.ListResourcesResult:
    facts = _done(guarded(endpoint, lambda: list_documents(endpoint, cursor))).facts or {}
    rows = [
        types.Resource(
            uri=each["uri"], name=sound(each["name"]), mime_type=each["kind"], size=each["size"]
        )
        for each in facts["rows"]
    ]
    return types.ListResourcesResult(resources=rows, next_cursor=facts.get("next"))


def _read(endpoint: Endpoint, uri: str) -> types.ReadResourceResult:
    text = sound(_done(guarded(endpoint, lambda: read_document(endpoint, uri))).text)
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=kind(uri), text=text)]
    )


def _done(answer: ToolResult) -> ToolResult:
    """ANSWER; a failed one is raised as an error of the protocol."""
    if not answer.failed:
        return answer
    code = types.INTERNAL_ERROR if answer.by_us else types.INVALID_PARAMS
    raise MCPError(code=code, message=sound(answer.text))


def _declared(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.about,
        input_schema=schema(tool.params),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads,
            destructive_hint=False,  # older versions stay in the history
            idempotent_hint=tool.reads,  # appending twice adds twice
            open_world_hint=False,
        ),
    )


def _client(context: ServerRequestContext[Any]) -> str:
    """The name of the client."""
    client = context.session.client_params
    return client.client_info.name if client else ""


def _result(endpoint: Endpoint, params: types.CallToolRequestParams) -> types.CallToolResult:
    answer = answered(endpoint, params.name, params.arguments or {})
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=sound(answer.text))],
        structured_content=sound(answer.facts),
        is_error=answer.failed,
    )
