"""The command `hook`."""

from __future__ import annotations

import os
import sys

from gitmem.cli.declare import CONTEXT, argument, option
from gitmem.cli.declare import command as declare
from gitmem.cli.invocation import Invocation
from gitmem.integrations.hosts.table import CLAUDE, HOSTS

SILENCE = 1.0
"""Seconds after which a host has said all, though it has not closed its end ..."""
PATIENCE = 5
"""... and so often while that is no whole object."""
PART = 1 << 20
"""Bytes that are asked for at a time: room for all of them would be made anew for each read."""


@declare(
    "hook",
    # A host may know more than we do: what makes no sense here is no reason to stop it.
    context_settings={**CONTEXT, "ignore_unknown_options": True, "allow_extra_args": True},
)
@argument("event", required=False, default="")
@option("--host", metavar="HOST", default=CLAUDE, help=f"{' or '.join(HOSTS)}")
def hook_command(call: Invocation, *, event: str, host: str) -> int:
    """Answer an event of an agent host

    Reads a JSON object from stdin, and prints nothing or exactly one JSON object. `gitmem install`
    makes a host call this; you need it only to see what a host would get. It exits with 0 or 1 and
    never stops a prompt. GITMEM_DISABLE=1 disables it. After 8 seconds (4 for a prompt) it gives up
    and prints nothing; GITMEM_HOOK_SECONDS changes that.

    Events: session-start, subagent-start, user-prompt-submit, post-tool-use, pre-compact,
    post-compact, stop, subagent-stop, session-end. Without one, the name in the JSON counts; others
    are ignored.

    \b
    Examples:
      echo '{"session_id": "s", "source": "startup"}' | gitmem hook session-start
      echo '{"prompt": "when do we deploy?"}' | gitmem hook user-prompt-submit --host codex
    """
    return _answer(call, event, host)


def _answer(call: Invocation, name: str, host: str) -> int:
    """Read what the host says, print the answer, and give the exit code."""
    from gitmem.integrations.hooks.answer import UNWATCHED, respond
    from gitmem.integrations.hooks.protocol import LARGEST, Event, read_payload

    settings = call.settings
    event = Event(
        name,
        host if host in HOSTS else CLAUDE,
        {},
        settings.folder,
        settings.group if settings.group_named else "",
        settings.acting,
        call.environ.get("GITMEM_AGENT") or "",
        call.environ,
        settings.now,
    )
    if name in UNWATCHED:
        UNWATCHED[name](event)
        return 0
    if sys.stdin is None or sys.stdin.isatty():
        print("gitmem hook reads the JSON object of a host on standard input", file=sys.stderr)
        return 1
    from gitmem.integrations.hooks.deadline import limited

    with limited(event):
        payload = read_payload(_heard(sys.stdin.fileno(), LARGEST + 1))
        reply = None if payload is None else respond(event._replace(payload=payload))
    if reply is None:
        print("gitmem hook: the input is not a JSON object", file=sys.stderr)
        return 1
    if reply.document is not None:
        import json

        print(json.dumps(reply.document))
    if reply.complaint:
        from gitmem.cli.style import text_lines

        for line in text_lines(reply.complaint):
            print(line, file=sys.stderr)
    return 1 if reply.complaint else 0


def _heard(source: int, most: int) -> bytes:
    """What a host says, to the end or until it is silent: a pipe may be left open for ever."""
    from select import select

    found, patience = bytearray(), PATIENCE
    while len(found) < most and patience:
        if not select([source], [], [], SILENCE)[0]:
            patience = 0 if found.rstrip().endswith(b"}") else patience - 1
            continue
        part = os.read(source, min(most - len(found), PART))
        if not part:
            break
        found += part
    return bytes(found)
