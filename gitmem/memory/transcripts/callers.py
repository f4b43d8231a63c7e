"""Who asks, where no session is named: a process, and how long it can be asked back.

A host gives each command to a shell of its own, which ends with it: there the host counts. A script
lives as long as the work that it does, and so does a shell before which somebody sits: two scripts
of one host are two.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SHELLS = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "fish", "ash", "ksh", "csh", "tcsh"),
        *("mksh", "rbash", "yash"),
    )
)
PASSING = frozenset(
    (
        *("env", "timeout", "sudo", "doas", "nice", "nohup", "setsid", "stdbuf", "xargs"),
        *("uv", "uvx"),
    )
)
"""Programs that end with the command they run, and so say nothing about who asked."""
ADOPTING = frozenset(
    (
        *("systemd", "init", "launchd", "tini", "dumb-init", "docker-init", "catatonit"),
        *("runit", "s6-svscan"),
    )
)
"""Programs that take in what others have left behind: they ask for nothing themselves."""
MANY = ("busybox", "toybox")
"""Programs that are what they are called by."""
FOLLOWED = ("--rcfile", "--init-file")
"""Long options of shells behind which another word belongs to them."""


class Holder(NamedTuple):
    """A process, so that it can be told from a later one with the same number."""

    pid: int
    started: str
    place: str
    """The machine, since it was started, and the namespace in which the number counts."""
    through: str = ""
    """The shell to which it gave the command, as long as that lives: it may run several at once."""

    def is_asked_by(self, other: Holder) -> bool:
        """Whether who asks now is who asked then."""
        same = (self.pid, self.started, self.place) == (other.pid, other.started, other.place)
        return same and (self.through == other.through or not _is_there(self.through))


class _Process(NamedTuple):
    pid: int
    program: str
    args: tuple[str, ...]
    parent: int

    @property
    def is_given_a_command(self) -> bool:
        return self.program in SHELLS and _has_command(self.args)

    @property
    def passes(self) -> bool:
        """Whether it ends with the command that it runs."""
        return self.program in PASSING or self.is_given_a_command


def this_process() -> Holder:
    """The process that we are."""
    return _holder(os.getpid())


def calling_process() -> Holder:
    """Who called us: the nearest process above that does not end with this command."""
    top, through = os.getppid(), ""
    for each in _above(top):
        if each.program in ADOPTING:
            break
        if not each.passes:
            return _holder(each.pid)._replace(through=through)
        top = each.pid
        if each.is_given_a_command:
            through = _mark(top)
    return _holder(top)


def is_alive(holder: Holder) -> bool:
    """Whether a process lives; of one that cannot be seen from here nobody knows, so it does."""
    here = _holder(holder.pid)
    if here.place != holder.place:
        return True
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return here.started == holder.started and not _is_zombie(holder.pid)


def _above(pid: int) -> Iterator[_Process]:
    """The process PID and those above it, without the halves into which a shell parts itself.

    `x=$(a | b)` runs in a copy of the shell, which has its words and ends before it.
    """
    here = _process(pid)
    while here:
        above = _process(here.parent)
        if above is None or (here.program, here.args) != (above.program, above.args):
            yield here
        here = above


def _process(pid: int) -> _Process | None:
    """What can be seen of a process; None where that is nothing."""
    with suppress(OSError, ValueError, IndexError):
        parent = int(_fields(pid)[1])
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        args = tuple(each.decode("utf-8", "replace") for each in words)
        if args and _plain(args[0]) in MANY:
            args = args[1:]
        return _Process(pid, _program(pid, args), args, parent)
    return None


def _program(pid: int, args: Sequence[str]) -> str:
    """Which program a process runs: for a script that is its shell, whatever its own name."""
    try:
        found = _plain(os.readlink(f"/proc/{pid}/exe").removesuffix(" (deleted)"))
    except OSError:  # it is somebody else's
        found = _plain(Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip())
    return _plain(args[0]) if found in MANY and args else found


def _plain(path: str) -> str:
    """The name of a program without its place and its version."""
    return re.sub(r"[-.0-9]+$", "", os.path.basename(path).lstrip("-"))


def _has_command(args: Sequence[str]) -> bool:
    """Whether a shell was given its command as a word: it has no script, and nobody types."""
    rest = iter(args[1:])
    for each in rest:
        if not each.startswith(("-", "+")) or each in ("-", "--"):
            return False
        if each.startswith("--"):
            if each.partition("=")[0] == "--command":
                return True
            if each in FOLLOWED:
                next(rest, "")
        elif each[0] == "-" and "c" in each:
            return True
        elif each[-1] in "oO":
            next(rest, "")
    return False


def _holder(pid: int) -> Holder:
    return Holder(pid, _started(pid), _place())


def _mark(pid: int) -> str:
    return f"{pid} {_started(pid)}"


def _is_there(mark: str) -> bool:
    """Whether the process with this mark still runs."""
    pid = mark.partition(" ")[0]
    return pid.isdecimal() and _mark(int(pid)) == mark and not _is_zombie(int(pid))


def _is_zombie(pid: int) -> bool:
    """Whether a process has ended, and only its parent has not taken note yet."""
    return _fields(pid)[:1] in (["Z"], ["X"])


def _place() -> str:
    """Where a number of a process counts.

    The kernel gives the number of a namespace that has ended to the next one, and a sandbox has one
    for each command. There every command is run by process 1, so a later command would pass for the
    end of an earlier one: only with the start of process 1 is the name of a namespace its own.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')} {_started(1)}"
    except OSError:
        return os.uname().nodename


def _started(pid: int) -> str:
    """When a process began, in the ticks of its machine; nothing where that cannot be seen."""
    fields = _fields(pid)
    return fields[19] if len(fields) > 19 else ""  # noqa: PLR2004 - see proc(5)


def _fields(pid: int) -> list[str]:
    """What stands behind the name in the status of a process."""
    with suppress(OSError):
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        return text.rpartition(")")[2].split()
    return []
