"""A schedule as timers and services of the user's systemd; other files stay as they are."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from stat import S_ISREG
from typing import NamedTuple

from gitmem.errors import Conflict, ProgramFailed, ProgramMissing
from gitmem.integrations.schedule.plan import (
    Altered,
    JobEntry,
    Scheduled,
    ScheduledJob,
    SchedulePlan,
    template,
    unified_diff,
)
from gitmem.integrations.schedule.programs import run, run_well
from gitmem.model.hints import Hint, Option

SYSTEMCTL = ("systemctl", "--user")
ASK = (*SYSTEMCTL, "show-environment")
RELOAD = (*SYSTEMCTL, "daemon-reload")
MARK = "# Made by `gitmem schedule install`"
"""The first line of our files; `schedule print` puts the path before it."""
READABLE = 0o644
"""systemd complains about unit files that are not world-readable."""
Commands = tuple[tuple[str, ...], ...]
BY_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')
"""For a program whose path has quotes or backslashes, which systemd cannot run itself."""
LINGER = Path("/var/lib/systemd/linger")
LOGGED_IN = (
    "timers of a user run only while that user is logged in; "
    "`loginctl enable-linger` lets them run always"
)


class Unit(NamedTuple):
    """A unit file as it should be, and as it is."""

    path: str
    text: str
    before: str | None
    """None for a missing file."""

    @property
    def is_foreign(self) -> bool:
        """Whether gitmem did not write it."""
        first = (self.before or "").splitlines()[:2]
        return self.before is not None and not any(each.startswith(MARK) for each in first)


def works(environ: Mapping[str, str]) -> bool:
    """Whether this user has a running systemd."""
    with suppress(ProgramMissing, ProgramFailed):
        return run(ASK, environ).returncode == 0
    return False


def place(plan: SchedulePlan) -> str:
    """The folder of the user's units."""
    config = plan.environ.get("XDG_CONFIG_HOME", "")
    home = plan.environ.get("HOME") or os.path.expanduser("~")
    return f"{config if config.startswith('/') else f'{home}/.config'}/systemd/user"


def printed(plan: SchedulePlan) -> tuple[tuple[str, str], ...]:
    """The unit files with their paths."""
    return tuple((each.path, each.text) for each in _units(plan))


def by_hand(plan: SchedulePlan) -> str:
    """How to install the units by hand."""
    commands = " && ".join(" ".join(each) for each in (RELOAD, _enable(plan)))
    return f"put each part into the file it names, then run `{commands}`; {LOGGED_IN}"


def install(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Write the units and start their timers."""
    units = _units(plan)
    _refuse_foreign(units)
    stale = [each for each in units if each.text != each.before]
    commands: Commands = (RELOAD, _enable(plan)) if stale or not all(_active(plan)) else ()
    if not dry_run and commands:
        run_well(ASK, plan.environ)  # before a file is written
        for each in stale:
            _write(each)
        for command in commands:
            run_well(command, plan.environ, so_far=f"the units are written to {place(plan)}")
    return _scheduled([(each, each.text) for each in units], commands, dry_run)


def remove(plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
    """Stop the timers and remove the units of gitmem."""
    units = [each for each in _units(plan) if each.before is not None and not each.is_foreign]
    timers = [os.path.basename(each.path) for each in units if each.path.endswith(".timer")]
    disable = [(*SYSTEMCTL, "disable", "--now", *timers)] if timers else []
    commands: Commands = (*disable, RELOAD) if units else ()
    if not dry_run:
        for command in disable:
            run_well(command, plan.environ)
        for each in units:
            with suppress(FileNotFoundError):
                os.unlink(each.path)
        if units:
            run_well(RELOAD, plan.environ, so_far="the units are removed")
    return _scheduled([(each, None) for each in units], commands, dry_run)


def is_there(plan: SchedulePlan) -> bool:
    """Whether there is a unit of gitmem for this store."""
    return any(each.before is not None and not each.is_foreign for each in _units(plan))


def entries(plan: SchedulePlan) -> tuple[JobEntry, ...]:
    """The state of each job."""
    units, active = _units(plan), _active(plan)
    return tuple(
        JobEntry(job.name, job.time.words, _state(units[2 * at : 2 * at + 2]), active[at])
        for at, job in enumerate(plan.jobs)
    )


def _state(pair: Sequence[Unit]) -> str:
    if any(each.is_foreign for each in pair):
        return "foreign"
    if all(each.before is None for each in pair):
        return "missing"
    return "present" if all(each.before == each.text for each in pair) else "outdated"


def lingers() -> bool:
    """Whether the timers of this user also run while nobody is logged in."""
    from pwd import getpwuid

    with suppress(KeyError, OSError):
        return (LINGER / getpwuid(os.getuid()).pw_name).exists()
    return False


def _units(plan: SchedulePlan) -> list[Unit]:
    """The service and the timer of each job, in this order."""
    folder = place(plan)
    changes = [
        (f"{folder}/{_name(plan, job)}.{kind}", made(plan, job))
        for job in plan.jobs
        for kind, made in (("service", _service), ("timer", _timer))
    ]
    return [Unit(path, text, _standing(path)) for path, text in changes]


def _name(plan: SchedulePlan, job: ScheduledJob) -> str:
    return "-".join(filter(None, ("gitmem", job.name, plan.label)))


def _service(plan: SchedulePlan, job: ScheduledJob) -> str:
    words = plan.command(job)
    if re.search(r"[\"'\\]", words[0]):
        words = (*BY_SHELL, *words)
    program, *rest = words
    command = " ".join((unit_word(program), *(unit_word(each, is_program=False) for each in rest)))
    return template("gitmem.service").substitute(
        about=job.about, store=_plain(plan.store), command=command
    )


def _timer(plan: SchedulePlan, job: ScheduledJob) -> str:
    times = "\n".join(f"OnCalendar={job.time.calendar(each)}" for each in plan.zones)
    return template("gitmem.timer").substitute(
        about=job.about, store=_plain(plan.store), times=times
    )


def _plain(text: str) -> str:
    """TEXT with specifiers escaped."""
    return text.replace("%", "%%")


def unit_word(text: str, *, is_program: bool = True) -> str:
    """TEXT as one word of `ExecStart=`; systemd expands variables in all words but the program."""
    word = _plain(text if is_program else text.replace("$", "$$"))
    if re.fullmatch(r"[\w/.,:@%+=-]+", word, re.ASCII):
        return word
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _standing(path: str) -> str | None:
    """The content of a file; None if missing, empty for anything but a regular file."""
    try:
        if not S_ISREG(os.lstat(path).st_mode):
            return ""
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None


def _refuse_foreign(units: Sequence[Unit]) -> None:
    foreign = [each.path for each in units if each.is_foreign]
    if foreign:
        raise Conflict(
            f"{', '.join(foreign)}: not written by gitmem; nothing was changed",
            hint=Hint("move it away, or repeat with ", Option("backend", "cron")),
            paths=foreign,
        )


def _write(unit: Unit) -> None:
    os.makedirs(os.path.dirname(unit.path), exist_ok=True)
    temp = f"{unit.path}.new"
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW), "wb") as file:
        os.fchmod(file.fileno(), READABLE)
        file.write(unit.text.encode())
    os.replace(temp, unit.path)


def _enable(plan: SchedulePlan) -> tuple[str, ...]:
    timers = [f"{_name(plan, each)}.timer" for each in plan.jobs]
    return (*SYSTEMCTL, "enable", "--now", *timers)


def _active(plan: SchedulePlan) -> list[bool]:
    """For each job, whether its timer is active and enabled."""
    timers = [f"{_name(plan, each)}.timer" for each in plan.jobs]
    if not works(plan.environ):
        return [False for _ in timers]
    properties = "--property=Id,ActiveState,UnitFileState"
    output = run_well((*SYSTEMCTL, "show", properties, *timers), plan.environ)
    running = {"ActiveState=active", "UnitFileState=enabled"}
    states = [set(each.splitlines()) for each in output.split("\n\n")]
    return [any({f"Id={each}", *running} <= state for state in states) for each in timers]


def _scheduled(
    changes: Sequence[tuple[Unit, str | None]], commands: Commands, dry_run: bool
) -> Scheduled:
    files = tuple(Altered(each.path, _change(each, text)) for each, text in changes)
    diff = "".join(unified_diff(each.path, each.before, text) for each, text in changes)
    return Scheduled("systemd", bool(commands), dry_run, files, commands, diff)


def _change(unit: Unit, text: str | None) -> str:
    if text is None:
        return "removed"
    if unit.before is None:
        return "created"
    return "kept" if unit.before == text else "changed"
