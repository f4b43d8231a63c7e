"""Standard input, where a command takes a text from it."""

from __future__ import annotations

import sys
from typing import BinaryIO

from gitmem.errors import BadInput

STDIN = "-"
"""What stands for it among the arguments."""


def read_stdin(what: str, hint: str) -> bytes:
    """Standard input to its end, but never what somebody would have to type first."""
    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput(f"there is no {what}: standard input is a terminal", hint=hint)
    source: BinaryIO = sys.stdin.buffer
    return source.read()


def text_or_stdin(given: str | None, what: str, example: str) -> str:
    """A text as it was GIVEN, or from standard input for `-` and for none."""
    if given is not None and given != STDIN:
        return given
    try:
        return read_stdin(what, example).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"the {what} is not UTF-8 at byte {error.start}", hint=example) from error
