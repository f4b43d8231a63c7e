"""The command `hook`."""

from __future__ import annotations

import click

from gitmem.cli.declare import CONTEXT
from gitmem.cli.declare import command as declare
from gitmem.cli.hook import HookCall, answer
from gitmem.cli.invocation import Invocation
from gitmem.integrations.hosts.table import CLAUDE, HOSTS


@declare(
    "hook",
    # A host may know more than we do: what makes no sense here is no reason to stop it.
    context_settings={**CONTEXT, "ignore_unknown_options": True, "allow_extra_args": True},
)
@click.argument("event", required=False, default="")
@click.option("--host", metavar="HOST", default=CLAUDE, help=f"{' or '.join(HOSTS)}")
def hook_command(call: Invocation, *, event: str, host: str) -> int:
    """Answer an event of an agent host

    Reads what the host says, a JSON object on stdin, and prints nothing or exactly one JSON object.
    `gitmem install` lets a host call this; you need it only to see what a host would get. It exits
    with 0 or 1 and never stops a prompt, whatever happens. GITMEM_DISABLE=1 makes it do nothing.
    An event that takes longer than 8 seconds (4 for a prompt) is answered with nothing, so that no
    host has to wait; GITMEM_HOOK_SECONDS changes that.

    Events: session-start, subagent-start, user-prompt-submit, post-tool-use, pre-compact,
    post-compact, stop, subagent-stop, session-end. Without one, the name in the JSON counts; others
    are ignored.

    \b
    Examples:
      echo '{"session_id": "s", "source": "startup"}' | gitmem hook session-start
      echo '{"prompt": "when do we deploy?"}' | gitmem hook user-prompt-submit --host codex
    """
    return answer(HookCall(event, host, call.flags), call.environ)
