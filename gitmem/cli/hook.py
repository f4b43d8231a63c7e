"""`gitmem hook` as hosts call it, answered without click.

Importing click takes four times as long as a bare Python, and a host runs hooks at every prompt.
Whatever is not a plain call (`--help`, an unknown option, a mistake) goes the way of all commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitmem.cli.settings import Flags, resolve
from gitmem.errors import GitmemError
from gitmem.integrations.hosts.table import CLAUDE, HOSTS

NAME = "hook"
SILENCE = 1.0
"""Seconds after which a host has said all, though it has not closed its end ..."""
PATIENCE = 5
"""... and so often while that is no whole object."""
PART = 1 << 20
"""Bytes that are asked for at a time: room for all of them would be made anew for each read."""
_OPTIONS = {"--store": "store", "-g": "group", "--group": "group", "--host": "host"}


class HookCall(NamedTuple):
    """What a plain call says."""

    event: str
    host: str
    flags: Flags


def plain_call(args: Sequence[str]) -> HookCall | None:
    """ARGS as a call of `gitmem hook`; None where click has to look at them."""
    given: dict[str, str] = {}
    words: list[str] = []
    left = iter(args)
    for each in left:
        if not each.startswith("-"):
            words.append(each)
            continue
        name, equals, value = each.partition("=")
        option = _OPTIONS.get(name)
        value = value if equals else next(left, "")
        if option is None or not value or (equals and not name.startswith("--")):
            return None
        if option == "host" and not words:
            return None  # an option of the command stands behind its name
        given[option] = value
    if words[:1] != [NAME] or len(words) > 2:  # noqa: PLR2004 - the command and its event
        return None
    flags = Flags(store=given.get("store", ""), group=given.get("group", ""))
    return HookCall("".join(words[1:]), given.get("host", CLAUDE), flags)


def run(args: Sequence[str], environ: Mapping[str, str]) -> int | None:
    """Answer a plain call and give the exit code, 0 or 1; None where it is no such call."""
    call = plain_call(args)
    if call is None:
        return None
    try:
        resolve(call.flags, environ)
    except GitmemError:
        return None  # told by the boundary
    try:
        code = answer(call, environ)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as raised:  # noqa: BLE001 - the boundary reports it
        return _reported(raised, args)
    return code


def _reported(raised: BaseException, args: Sequence[str]) -> int:
    from gitmem.cli import boundary
    from gitmem.cli.invocation import Invocation

    def again() -> None:
        raise raised

    return min(boundary.guarded(again, args, Invocation()), boundary.UNEXPECTED)


def answer(call: HookCall, environ: Mapping[str, str]) -> int:
    """Read what the host says, print the answer, and give the exit code."""
    from gitmem.integrations.hooks.answer import UNWATCHED, respond
    from gitmem.integrations.hooks.protocol import LARGEST, Event, read_payload

    settings = resolve(call.flags, environ)
    event = Event(
        call.event,
        call.host if call.host in HOSTS else CLAUDE,
        {},
        settings.folder,
        settings.group if settings.group_named else "",
        settings.acting,
        environ.get("GITMEM_AGENT") or "",
        environ,
        settings.now,
    )
    if call.event in UNWATCHED:
        UNWATCHED[call.event](event)
        return 0
    if sys.stdin is None or sys.stdin.isatty():
        print("gitmem hook reads the JSON object of a host on standard input", file=sys.stderr)
        return 1
    from gitmem.integrations.hooks.deadline import limited

    with limited(event):
        payload = read_payload(_heard(sys.stdin.fileno(), LARGEST + 1))
        reply = None if payload is None else respond(event._replace(payload=payload))
    if reply is None:
        print("gitmem hook: what the host said is no JSON object", file=sys.stderr)
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
