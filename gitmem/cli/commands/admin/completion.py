"""The command `completion`."""

from __future__ import annotations

import click

from gitmem.cli.declare import argument
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import text_lines

SHELLS = ("bash", "zsh", "fish")


@declare("completion")
@argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion_command(context: click.Context, call: Invocation, shell: str) -> None:
    """Print the completion script for a shell

    \b
    Examples:
      gitmem completion bash >> ~/.bashrc
      gitmem completion zsh > "${fpath[1]}/_gitmem"
      gitmem completion fish > ~/.config/fish/completions/gitmem.fish
    """
    from click.shell_completion import get_completion_class

    from gitmem.cli.plain import COMPLETE

    made_by = get_completion_class(shell)
    if made_by is None:
        raise LookupError(shell)
    script = made_by(context.find_root().command, {}, "gitmem", COMPLETE)
    # Not source(): that of bash runs bash, to see how old it is.
    text = script.source_template % script.source_vars()
    call.answer({"shell": shell, "script": text}, text_lines(text.strip("\n")), data=True)
