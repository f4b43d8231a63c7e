"""How much work Python does, counted and not timed: the same on every machine."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(deed: Callable[[], object]) -> int:
    """The instructions that Python executes for DEED; what a function in C does is one of them."""
    count = 0

    def inside(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "opcode"
        return inside

    def called(frame: FrameType, event: str, arg: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return inside

    before = sys.gettrace()
    gc.collect()
    gc.disable()  # what other tests left would be finalised in the middle, and counted
    sys.settrace(called)
    try:
        deed()
    finally:
        sys.settrace(before)
        gc.enable()
    return count


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """How much more is done for four times as much: about 4 is linear, 16 is quadratic.

    WORK prepares the deed for a size; what it does for nothing at all is left out.
    """
    work(2 * size)()  # imports, and what is found out once; no other size may be remembered
    least, some, more = (steps(work(each)) for each in (0, size, 4 * size))
    return (more - least) / max(some - least, 1)
