"""`gitmem mcp`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gitmem.cli.declare import as_somebody
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.errors import Damaged, GroupNotFound

if TYPE_CHECKING:
    from gitmem.integrations.mcp.desk import Desk

EXAMPLE = "claude mcp add gitmem -- gitmem mcp"


@declare("mcp")
@as_somebody
def command(call: Invocation) -> None:
    """Serve a group to an agent by MCP

    Answers on stdin and stdout, one JSON message in a line, until stdin is closed; a host starts it
    and talks to it. The tools are memory_search, memory_get, memory_write, memory_append,
    memory_entry, memory_list, memory_history, memory_restore and memory_status. Memory files are
    resources (memory://GROUP/PATH), and the skills are prompts.

    The server is bound to its group: only `main` may name another one, and everybody may read
    `global`. Commits are made in the name of GITMEM_AGENT, else of the client. This needs an extra:
    pip install 'gitmem-cli[mcp]'.

    \b
    Examples:
      claude mcp add gitmem -- gitmem mcp
      gitmem mcp -g research
      GITMEM_GROUP=research gitmem mcp
    """
    desk = _desk(call)
    _look(call, desk)
    from gitmem.integrations.mcp.session import serve

    if sys.stdin.isatty():
        call.remark(f"this talks to programs; a host starts it, for example `{EXAMPLE}`")
    serve(desk)


def _desk(call: Invocation) -> Desk:
    """Where the server stands; who is not told in whose name to act takes the client's name."""
    from gitmem.integrations.mcp.desk import SOURCE, Desk, Kept
    from gitmem.memory.group import Who

    group, settings = call.group_name(), call.settings
    agent = call.flags.agent or call.environ.get("GITMEM_AGENT", "")
    who = Who(agent, settings.session, settings.source or SOURCE)
    return Desk(Kept(), call.store, group, settings.acting or group, who, call.clock)


def _look(call: Invocation, desk: Desk) -> None:
    """Stop here if the group is not ours to serve; one that is missing may yet be made."""
    from gitmem.integrations.mcp.desk import opened

    try:
        with opened(desk):
            return
    except (GroupNotFound, Damaged) as error:
        call.remark(f"{error.message}; until then every call says so ({error.hint})")
