"""`gitmem memory-tool`."""

from __future__ import annotations

import click

from gitmem.cli.declare import as_somebody
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.stdin import read_stdin
from gitmem.errors import BadInput

SOURCE = "memory-tool"
"""Where a change comes from, if nobody says otherwise."""
EXAMPLE = 'for example `echo \'{"command": "view", "path": "/memories"}\' | gitmem memory-tool`'


@declare("memory-tool")
@click.option("--overwrite", is_flag=True, help="Let create replace a file that exists")
@click.option("--allow-shrink", is_flag=True, help="Let a change remove most of a file")
@as_somebody
def command(call: Invocation, overwrite: bool, allow_shrink: bool) -> None:
    """Answer one command of the Anthropic memory tool

    Standard input is the `input` of a `tool_use` block, a JSON object: view, create, str_replace,
    insert, delete or rename. The answer is a JSON object with `content`, the text for the model,
    and `is_error`, both for the `tool_result` block. What the model did wrong is such an answer,
    and no failure of this command.

    /memories is the root of the group. Each change is one commit; delete moves to the archive.

    \b
    Examples:
      echo '{"command": "view", "path": "/memories"}' | gitmem memory-tool
      gitmem memory-tool -g research --agent claude < command.json
    """
    from gitmem.integrations.memory_tool.commands import MemoryCommands

    given = _object(read_stdin("memory command", EXAMPLE))
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
        raise BadInput(f"standard input is no JSON: {error}", hint=EXAMPLE) from error
    if not isinstance(found, dict):
        raise BadInput("standard input is JSON, but no object", hint=EXAMPLE)
    return found


def _line(answer: dict[str, object]) -> str:
    """The answer on one line; what a terminal would obey, and half a character, are escapes."""
    import json

    line = json.dumps(answer, ensure_ascii=False)
    return line if line.isprintable() else json.dumps(answer)
