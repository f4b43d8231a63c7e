"""The deadline of a hook, and work that goes on in the background.

A host kills a hook that is late, discards its output and may show an error. So a timer ends the
process first, as SIGKILL would, which every write survives; but with exit code 0, no output and a
line for `gitmem doctor`. Python handles signals only between bytecodes and inside `re`. For a
longer step in C a thread that needs no interpreter ends the process a little later, with exit
code 1.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from types import FrameType

from gitmem.integrations.hooks.protocol import Event

SECONDS = {"UserPromptSubmit": 4.0, "SessionEnd": 4.0}
"""`gitmem install` gives these events 5 seconds ..."""
USUAL = 8.0
"""... and all others 10."""
GRACE = 0.5
"""Seconds after which a process that cannot handle a signal is ended without being event."""
VARIABLE = "GITMEM_HOOK_SECONDS"
"""Overrides the seconds of all events, for hosts configured to wait longer; 0 for no deadline."""
NAME = "late-hooks.jsonl"
"""The file in the store with a line for each late hook."""
LARGEST = 64 * 1024
A_WEEK = 7 * 86_400.0
_STARTED = 19
"""The field of the start time in /proc/self/stat, counted after the name."""
_instead: list[Callable[[], None]] = []
"""What a late hook still does, last added first."""


@contextmanager
def limited(event: Event) -> Iterator[None]:
    """End this process if the block takes longer than EVENT has time for."""
    seconds = _seconds(event)
    if not seconds:
        yield
        return
    seconds = max(seconds - _age(), seconds / 2)
    import faulthandler

    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        _end(event)

    before = signal.signal(signal.SIGALRM, ring)
    with open(os.devnull, "wb") as nowhere:
        faulthandler.dump_traceback_later(seconds + GRACE, exit=True, file=nowhere)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            faulthandler.cancel_dump_traceback_later()


@contextmanager
def instead(action: Callable[[], None]) -> Iterator[None]:
    """Do ACTION, which must be short, if the deadline comes during the block."""
    _instead.append(action)
    try:
        yield
    finally:
        _instead.pop()


def time_left() -> float:
    """Seconds until the deadline; infinite without one."""
    return signal.getitimer(signal.ITIMER_REAL)[0] or inf


def late_hooks(store: str, now: float) -> list[tuple[str, float]]:
    """The late hooks of the last week by event and time, oldest first."""
    found = []
    with suppress(OSError), open(os.path.join(store, NAME), "rb") as file:
        for line in file.read(2 * LARGEST).splitlines():
            with suppress(ValueError, KeyError, TypeError):
                row = json.loads(line)
                found.append((str(row["event"]), float(row["time"])))
    return [each for each in found if now - each[1] < A_WEEK]


def _seconds(event: Event) -> float:
    with suppress(ValueError):
        given = float(event.environ.get(VARIABLE) or "none")
        return given if 0 <= given < A_WEEK else USUAL
    return SECONDS.get(event.name, USUAL)


def _age() -> float:
    """Seconds since this process started, which is when its host began to count.

    A busy machine may take one second to start Python. 0 where the system does not tell.
    """
    with suppress(OSError, ValueError, IndexError, AttributeError):
        with open("/proc/self/stat", "rb", buffering=0) as file:
            started = int(file.read().rpartition(b")")[2].split()[_STARTED])
        now = time.clock_gettime(time.CLOCK_BOOTTIME)
        return max(0.0, now - started / os.sysconf("SC_CLK_TCK"))
    return 0.0


def _end(event: Event) -> None:
    for action in reversed(_instead):
        with suppress(Exception):
            action()
    with suppress(Exception):
        _note(event)
    os._exit(0)


def _note(event: Event) -> None:
    """Add a line to the file of late hooks; a file that is too large starts anew."""
    path = os.path.join(event.store, NAME)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, 0o600)
    if os.fstat(fd).st_size > LARGEST:
        os.ftruncate(fd, 0)
    os.write(fd, json.dumps({"event": event.name, "time": round(time.time(), 3)}).encode() + b"\n")


def detach(event: Event, work: str, group: str = "") -> None:
    """Start `gitmem hook WORK` in the background."""
    import subprocess  # only where something is left to do
    import sys

    from gitmem.integrations.hosts.program import own_program

    program = own_program(sys.argv[0], sys.executable)
    named = ("-g", group) if group else ()
    with suppress(OSError):
        subprocess.Popen(
            [*program, "--store", event.store, *named, "hook", work],
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
