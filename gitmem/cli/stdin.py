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
