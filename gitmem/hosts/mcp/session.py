"""A server from its first line to its last: answers from a file, then the SDK takes over.

The SDK is imported when a request needs it, or when the client has its list of tools and nothing
comes for a while: a host asks for the tools at once, and calls one when its model says so.
"""

from __future__ import annotations

import asyncio
import re
import signal
from importlib.util import find_spec
from pathlib import Path

from gitmem.hosts.mcp.desk import Desk
from gitmem.hosts.mcp.handshake import Handshake
from gitmem.hosts.mcp.stdio import Lines, Words, claimed

QUIET = 1.0
"""Seconds without a line, after which the SDK is imported ahead of the first call."""
SDK = 2
"""The major version of the SDK that `handshake.json` speaks for."""


def serve(desk: Desk) -> None:
    """Answer calls on stdin until it is closed."""
    from_file = is_known_sdk()
    if not from_file:
        import gitmem.hosts.mcp.server  # noqa: F401 - where the SDK is missing, this says so
    try:
        with claimed() as (source, target):
            number = asyncio.run(talk(desk, source, target, from_file=from_file))
    finally:
        desk.kept.close()
    if number == signal.SIGINT:
        raise KeyboardInterrupt


def is_known_sdk() -> bool:
    """Whether the SDK is installed, in a version whose answers we know.

    Told by the folder that every installer leaves beside the package: importing takes too long.
    """
    found = find_spec("mcp")
    places = found.submodule_search_locations if found else None
    beside = [each.name for at in places or () for each in Path(at).parent.glob("mcp-*.dist-info")]
    return any(re.match(rf"mcp-{SDK}\.", each) for each in beside)


async def talk(desk: Desk, source: int, target: int, *, from_file: bool) -> int:
    """Answer what comes from SOURCE on TARGET until it ends; the signal that ended it, or 0.

    FROM_FILE: answer without the SDK for as long as that is possible.
    """
    lines, words, handshake = Lines(source), Words(target), Handshake(desk.group)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, lines.interrupt, number)
    if from_file:
        await _greet(lines, words, handshake)
    if not lines.has_ended:
        from gitmem.hosts.mcp.server import converse

        await converse(desk, lines, words, handshake.opening)
    return lines.interrupted


async def _greet(lines: Lines, words: Words, handshake: Handshake) -> None:
    """Answer lines from the file, up to one that it has no answer for; that one stays the next."""
    while not (handshake.has_listed and await lines.is_quiet(QUIET)):
        line = await anext(lines, None)
        said = None if line is None else handshake.answer(line)
        if said is None:
            lines.put_back(line)
            return
        await words.write(said)
