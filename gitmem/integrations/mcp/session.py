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
from typing import Any

from gitmem.integrations.mcp.desk import Desk
from gitmem.integrations.mcp.handshake import Handshake
from gitmem.integrations.mcp.stdio import Lines, Words, claimed

QUIET = 1.0
"""Seconds without a line, after which the SDK is imported ahead of the first call."""
TOGETHER = 0.05
"""Seconds within which requests that a host sends at once have arrived."""
SDK = 2
"""The major version of the SDK that `handshake.json` speaks for."""


def serve(desk: Desk) -> None:
    """Answer calls on stdin until it is closed."""
    from_file = is_known_sdk()
    if not from_file:
        import gitmem.integrations.mcp.server  # noqa: F401 - where the SDK is missing, this says so
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
        await _greet(desk, lines, words, handshake)
    if not lines.has_ended:
        from gitmem.integrations.mcp.server import converse

        await converse(desk, lines, words, handshake.opening)
    return lines.interrupted


async def _greet(desk: Desk, lines: Lines, words: Words, handshake: Handshake) -> None:
    """Answer lines without the SDK, up to one that only it can answer; that one stays the next."""
    while True:
        left = await _greet_from_file(lines, words, handshake)
        is_over = not left
        while left and (said := handshake.answer(left[0], lambda: _first_page(desk))) is not None:
            await words.write(said)
            left.pop(0)
        desk.kept.close()
        lines.put_back(left)
        if left or is_over:
            return


async def _greet_from_file(lines: Lines, words: Words, handshake: Handshake) -> list[bytes]:
    """Answer from the file what it has; the lines that it has no answer for, or none at the end.

    Claude Code sends three requests at once, the one for the tools last, and offers no tool to its
    model before all are answered. So a list behind a request that takes longer is answered first.
    """
    left: list[bytes] = []
    while not (handshake.has_listed and (left or await lines.is_quiet(QUIET))):
        if left and await lines.is_quiet(TOGETHER):
            break
        line = await anext(lines, None)
        if line is None:
            break
        said = None if left and not handshake.opening else handshake.answer(line)
        if said is None:
            left.append(line)
        else:
            await words.write(said)
    return left


def _first_page(desk: Desk) -> dict[str, Any] | None:
    from gitmem.integrations.mcp.resources import first_page  # with all that reads memory

    return first_page(desk)
