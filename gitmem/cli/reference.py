"""The page docs/cli.md, made from the commands themselves: `python -m gitmem.cli.reference`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gitmem.cli.app import app
from gitmem.cli.boundary import MEANINGS
from gitmem.cli.settings import VARIABLES

WIDTH = 90
INTRODUCTION = """\
# The command line

Made by `make docs` from the commands themselves; do not edit it by hand.

The global options may stand before or after a command's name. With `--json` every command prints
one document with a `schema_version`; an error is `{"schema_version": 1, "error": {"code": ...,
"message": ..., "hint": ...}}` with the facts of the case beside them. Remarks go to standard error.
A `warning:` there, and a list `damage` in the document, tell what was damaged: it was healed on the
way, or is missing from the answer.
A moment (`--at`, `--since`) is a commit, a tag, or a date: `2026-02-08`, `2026-02-08T14:30`,
`yesterday`, `3 days ago`, in the group's time zone.
"""


def reference() -> str:
    """The whole page."""
    root = _context(app, "gitmem", None)
    return "\n".join([INTRODUCTION, *_exit_codes(), *_variables(), *_sections(root)])


def _exit_codes() -> Iterator[str]:
    yield "## Exit codes\n"
    yield from _table(("code", "meaning"), {str(code): line for code, line in MEANINGS.items()})


def _variables() -> Iterator[str]:
    yield "## Environment variables\n"
    yield from _table(("variable", "meaning"), {f"`{name}`": VARIABLES[name] for name in VARIABLES})


def _table(heading: tuple[str, str], rows: dict[str, str]) -> Iterator[str]:
    yield f"| {heading[0]} | {heading[1]} |\n| --- | --- |"
    yield from (f"| {name} | {meaning} |" for name, meaning in rows.items())
    yield ""


def _sections(context: click.Context) -> Iterator[str]:
    """The help of a command, then of the commands below it."""
    command = context.command
    yield f"## {context.command_path}\n\n```text\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _sections(_context(below, name, context))


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    # Not as wide as the terminal this happens to run in.
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    return click.Context(command, parent, name, **settings)


if __name__ == "__main__":
    click.echo(reference(), nl=False)
