"""`gitmem memory`."""

from __future__ import annotations

import click

from gitmem.cli.commands.read import show_file
from gitmem.cli.commands.search import show_hits
from gitmem.cli.declare import group
from gitmem.cli.invocation import Invocation
from gitmem.cli.texts import TextCommand
from gitmem.errors import BadInput


@group("memory")
@click.pass_context
def command(context: click.Context, call: Invocation) -> None:
    """Read and search just the files that the layout allows

    The two actions that agents also have by MCP and in Python, with the same limits: `allow` in
    gitmem.yaml names the files, and only the group main may name another group with -g. To read or
    search everything, use `gitmem read` and `gitmem search`.

    \b
    Examples:
      gitmem memory get
      gitmem memory get memory/billing.md
      gitmem memory search "when do we deploy?" --source sessions
    """
    del call
    if context.invoked_subcommand is None:
        raise BadInput(
            "no action given", hint="use `gitmem memory get` or `gitmem memory search QUERY`"
        )


@command.declare("get")
@click.argument("path", default="MEMORY.md")
def get(call: Invocation, path: str) -> None:
    """Print a memory file; MEMORY.md if no PATH is given

    Secrets that plain git committed are masked.

    \b
    Examples:
      gitmem memory get
      gitmem memory get memory/billing.md --json
    """
    from gitmem.memory.read.memory_actions import memory_get

    with call.group() as group:
        found = memory_get(group, path)
    show_file(call, found)


@command.declare("search", cls=TextCommand)
@click.argument("query", nargs=-1, required=True)
@click.option("--source", metavar="S", default="all", help="memory, sessions or all")
@click.option(
    "-n", "--limit", metavar="N", type=int, default=8, help="Number of hits, 1 to 64 (default 8)"
)
def search(call: Invocation, *, query: tuple[str, ...], source: str, limit: int) -> None:
    """Find passages of memory files and messages that fit QUERY

    \b
    Examples:
      gitmem memory search billing
      gitmem memory search "when do we deploy?" --source sessions -n 3 --json
    """
    from gitmem.memory.read.memory_actions import memory_search

    with call.group() as group:
        found = memory_search(group, " ".join(query), top_k=limit, sources=source)
    show_hits(call, found)
