"""The commands `mcp` and `memory-tool`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gitmem.cli.declare import as_somebody, option
from gitmem.cli.declare import command as declare
from gitmem.cli.input import read_stdin
from gitmem.cli.invocation import Invocation
from gitmem.errors import BadInput, Damaged, GroupNotFound
from gitmem.model.hints import Call, Hint

if TYPE_CHECKING:
    from gitmem.integrations.mcp.groups import Endpoint


MCP_EXAMPLE = "claude mcp add gitmem -- gitmem mcp"


@declare("mcp")
@as_somebody
def mcp_command(call: Invocation) -> None:
    """Serve a group to an agent by MCP

    Answers on stdin and stdout, one JSON message in a line, until stdin is closed; a host starts it
    and talks to it. The tools are memory_search, memory_get, memory_write, memory_append,
    memory_entry, memory_list, memory_history, memory_restore and memory_status. Memory files are
    resources (memory://GROUP/PATH), and the skills are prompts.

    The server is bound to its group: only `main` may name another one, and everybody may read
    `global`. Commits are made in the name of GITMEM_AGENT, else of the client. This needs the
    extra `mcp`: uv tool install '.[mcp]' in the checkout of gitmem.

    \b
    Examples:
      claude mcp add gitmem -- gitmem mcp
      gitmem mcp -g research
      GITMEM_GROUP=research gitmem mcp
    """
    endpoint = _desk(call)
    _look(call, endpoint)
    from gitmem.integrations.mcp.serve import serve

    if sys.stdin.isatty():
        call.remark(f"this talks to programs; a host starts it, for example `{MCP_EXAMPLE}`")
    serve(endpoint)


def _desk(call: Invocation) -> Endpoint:
    """Where the server stands; who is not told in whose name to act takes the client's name."""
    from gitmem.integrations.mcp.groups import SOURCE, Endpoint, OpenGroups
    from gitmem.memory.group import Who

    group, settings = call.group_name(), call.settings
    agent = call.flags.agent or call.environ.get("GITMEM_AGENT", "")
    who = Who(agent, settings.session, settings.source or SOURCE)
    return Endpoint(OpenGroups(), call.store, group, settings.acting or group, who, call.clock)


def _look(call: Invocation, endpoint: Endpoint) -> None:
    """Stop here if the group is not ours to serve; one that is missing may yet be made."""
    from gitmem.integrations.mcp.groups import opened

    try:
        with opened(endpoint):
            return
    except (GroupNotFound, Damaged) as error:
        until_then = "; until then every call says so ("
        call.remark(Hint(error.message, until_then, error.hint, ")"))


SOURCE = "memory-tool"
"""Where a change comes from, if nobody says otherwise."""
MEMORY_TOOL_EXAMPLE = Hint(
    'pipe {"command": "view", "path": "/memories"} into ', Call("memory-tool")
)


@declare("memory-tool")
@option("--overwrite", is_flag=True, help="Let create replace an existing file")
@option("--allow-shrink", is_flag=True, help="Let a change remove most of a file")
@as_somebody
def memory_tool_command(call: Invocation, overwrite: bool, allow_shrink: bool) -> None:
    """Answer one command of the Anthropic memory tool

    Standard input is the `input` of a `tool_use` block, a JSON object: view, create, str_replace,
    insert, delete or rename. The answer is a JSON object with `content`, the text for the model,
    and `is_error`, both for the `tool_result` block. A mistake of the model is such an answer, and
    this command still exits with 0.

    /memories is the root of the group. Each change is one commit; delete moves to the archive.

    \b
    Examples:
      echo '{"command": "view", "path": "/memories"}' | gitmem memory-tool
      gitmem memory-tool -g research --agent claude < command.json
    """
    from gitmem.integrations.memory_tool.commands import MemoryCommands

    given = _object(read_stdin("memory command", MEMORY_TOOL_EXAMPLE))
    who = call.who
    with call.group(who._replace(source=who.source or SOURCE)) as group:
        commands = MemoryCommands(group, overwrite=overwrite, allow_shrink=allow_shrink)
        answer = commands.answer(given)
    call.answer(answer, [_line(answer._asdict())], data=True)


def _object(data: bytes) -> dict[str, object]:
    import json

    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"invalid JSON on standard input: {error}", hint=MEMORY_TOOL_EXAMPLE
        ) from error
    if not isinstance(found, dict):
        raise BadInput("standard input must be a JSON object", hint=MEMORY_TOOL_EXAMPLE)
    return found


def _line(answer: dict[str, object]) -> str:
    """The answer on one line; what a terminal would obey, and half a character, are escapes."""
    import json

    line = json.dumps(answer, ensure_ascii=False)
    return line if line.isprintable() else json.dumps(answer)
