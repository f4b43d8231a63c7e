"""The plan of a schedule: its jobs, their times and zones, and the same jobs as tasks of agents.

A time is in the zone of a group, and a group is due when its own clock has passed that time since
the job last ran there. So a timer may fire too often, too late or in another zone: no job runs
twice for it, and none at a wrong time.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import NamedTuple

from gitmem.errors import BadInput, GitmemError, GroupRefused
from gitmem.memory.clock import named_zone, zone_of
from gitmem.memory.group import Caller, Store, open_group
from gitmem.model.access import MAIN
from gitmem.model.transcripts.batches import with_sync_skill
from gitmem.resources import templates

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SUNDAY = DAYS.index("Sun")
HOURS, MINUTES, WEEK, YEAR = 24, 60, 7, 366
FORM = 'write "23:00" for every day, or "Sun 02:00" for once a week'
DIGITS = 8
DELETE = "\x7f"


class Time(NamedTuple):
    """A time of day, on every day or on one of the week."""

    hour: int
    minute: int
    weekday: int | None = None
    """0 is Monday; None is every day."""

    @property
    def words(self) -> str:
        """The time for people: daily 23:00, Sun 02:00."""
        return f"{self._day or 'daily'} {self.hour:02}:{self.minute:02}"

    @property
    def crontab(self) -> str:
        """The five fields of a crontab, by the clock of the machine."""
        day = "*" if self.weekday is None else str((self.weekday + 1) % WEEK)
        return f"{self.minute} {self.hour} * * {day}"

    def calendar(self, zone: str) -> str:
        """The calendar event of systemd, in ZONE or in that of the machine."""
        words = (self._day, "*-*-*", f"{self.hour:02}:{self.minute:02}:00", zone)
        return " ".join(filter(None, words))

    @property
    def _day(self) -> str:
        return "" if self.weekday is None else DAYS[self.weekday]

    def on(self, day: date, zone: tzinfo | None) -> datetime | None:
        """The moment on DAY; None for another day of the week."""
        if self.weekday not in (None, day.weekday()):
            return None
        return datetime.combine(day, time(self.hour, self.minute), zone)

    def last(self, now: datetime) -> datetime:
        """The last such moment up to NOW, in the zone of NOW."""
        days = (now.date() - timedelta(days=back) for back in range(WEEK + 1))
        moments = filter(None, (self.on(day, now.tzinfo) for day in days))
        # By timestamp: within one zone Python compares wall clock times.
        return next(each for each in moments if each.timestamp() <= now.timestamp())


class ScheduledJob(NamedTuple):
    """A job of a schedule."""

    name: str
    time: Time
    trace: str
    """Its name in the log of jobs."""
    about: str


JOBS = (
    ScheduledJob("rotation", Time(0, 0), "rotate", "begin the log of a new day"),
    ScheduledJob(
        "snapshot", Time(23, 0), "maintain", "make the snapshot of the day, and all else due"
    ),
    ScheduledJob(
        "consolidation", Time(2, 0, SUNDAY), "report", "report what is too big, faded or past"
    ),
)
"""With their default times. The last text is in installed units: a change outdates them all."""
NAMES = tuple(each.name for each in JOBS)
CONTEXT = "context-check"
"""Only an agent can do this, because it alone knows how full its context is."""
TASKS = (CONTEXT, *NAMES)
EVERY = 30
"""Minutes between two context checks."""
_PRIORITIES = {CONTEXT: 1, "rotation": 2, "snapshot": 3, "consolidation": 2}
"""1 is memory, which comes before waiting messages; 2 is upkeep; 3 everything else."""


def timetable(settings: Mapping[str, object]) -> tuple[ScheduledJob, ...]:
    """The jobs at the times under `schedule:` in SETTINGS, the store's `config.yaml`."""
    given = settings.get("schedule") or {}
    if not isinstance(given, dict) or not set(given) <= set(NAMES):
        raise BadInput(
            "config.yaml: `schedule` must map names of jobs to times",
            hint=f"name {', '.join(NAMES)}, each with a time: {FORM}",
        )
    return tuple(each._replace(time=_time(each, given.get(each.name))) for each in JOBS)


def _time(job: ScheduledJob, given: object) -> Time:
    if given is None:
        return job.time
    if isinstance(given, int) and not isinstance(given, bool):
        given = f"{given // MINUTES}:{given % MINUTES:02}"  # for YAML a bare 23:00 is a number
    found = re.fullmatch(rf"(?:({'|'.join(DAYS)}) )?(\d\d?):(\d\d)", str(given))
    if not found or int(found[2]) >= HOURS or int(found[3]) >= MINUTES:
        raise BadInput(f"config.yaml: bad time {given!r} for {job.name}", hint=FORM)
    return Time(int(found[2]), int(found[3]), DAYS.index(found[1]) if found[1] else None)


def by_machine(when: Time, zone: tzinfo | None, machine: tzinfo, today: date) -> list[Time]:
    """WHEN in ZONE by the clock of MACHINE; several times where summer time differs."""
    if zone is None:
        return [when]
    found = set()
    for ahead in range(YEAR):
        moment = when.on(today + timedelta(days=ahead), zone)
        if moment is None or not _exists(moment):
            continue
        local = moment.astimezone(machine)
        weekday = None if when.weekday is None else local.weekday()
        found.add(Time(local.hour, local.minute, weekday))
    return sorted(found, key=lambda each: (each.weekday or 0, each.hour, each.minute))


def _exists(moment: datetime) -> bool:
    """False for a time that is skipped when summer time begins."""
    back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return back.replace(tzinfo=None) == moment.replace(tzinfo=None)


class SchedulePlan(NamedTuple):
    """The schedule of a store."""

    program: tuple[str, ...]
    store: str
    label: str
    """Distinguishes it from the schedules of other stores; empty for the default store."""
    jobs: tuple[ScheduledJob, ...]
    zones: tuple[str, ...]
    """The zones of the groups; an empty name is the zone of the machine."""
    groups: tuple[str, ...]
    now: datetime
    """In the zone of the machine."""
    environ: Mapping[str, str]

    def command(self, job: ScheduledJob) -> tuple[str, ...]:
        """The command that a scheduler runs."""
        return (*self.program, "--store", self.store, "schedule", "run", job.name, "--quiet")

    def machine_times(self, job: ScheduledJob) -> list[Time]:
        """The times of JOB in all zones, by the clock of the machine."""
        machine, today = self.now.tzinfo, self.now.date()
        assert machine is not None
        zones = [named_zone(each) if each else None for each in self.zones]
        found = [by_machine(job.time, each, machine, today) for each in zones]
        return list(dict.fromkeys(each for times in found for each in times))


class Altered(NamedTuple):
    """A file of a schedule and its change."""

    path: str
    change: str
    """created, changed, removed or kept"""


class Scheduled(NamedTuple):
    """The changes in one scheduler."""

    backend: str
    changed: bool
    dry_run: bool
    files: tuple[Altered, ...]
    commands: tuple[tuple[str, ...], ...]
    """The commands that were run, or would be."""
    diff: str
    notes: tuple[str, ...] = ()


class JobEntry(NamedTuple):
    """The state of one job in a scheduler."""

    job: str
    time: str
    state: str
    """present, outdated (for another time, program or store), missing, or foreign (a file with its
    name that gitmem did not write)"""
    active: bool | None = None
    """Whether the timer runs; None for cron."""


def planned(
    store: Store,
    *,
    program: tuple[str, ...],
    default: Path,
    acting: str | None,
    now: datetime,
    environ: Mapping[str, str],
) -> SchedulePlan:
    """The schedule for STORE; DEFAULT is the store that needs no label."""
    check_may(acting)
    root = str(store.root)
    for each in (root, *program):
        _check_printable(each)
    label = "" if store.root == default else sha256(root.encode()).hexdigest()[:DIGITS]
    groups = tuple(store.names())
    jobs, zones = timetable(store.settings), _zones(store, groups)
    return SchedulePlan(program, root, label, jobs, zones, groups, now, environ)


def check_may(acting: str | None) -> None:
    """Refuse a group that may not act on all others, as a schedule does."""
    if acting not in (None, MAIN):
        raise GroupRefused(
            f"group {acting!r} may not schedule jobs for all groups",
            hint="run it as the group main",
            acting=acting,
            rule="access",
        )


def _check_printable(path: str) -> None:
    """Refuse a path that a crontab or unit file cannot contain."""
    if any(each < " " or each == DELETE or "\ud800" <= each <= "\udfff" for each in path):
        raise BadInput(
            f"the path {path!r} has a control character, which a crontab cannot contain",
            hint="move it to a path without control characters",
        )


def _zones(store: Store, groups: Sequence[str]) -> tuple[str, ...]:
    found = {_zone(store, each) for each in groups} or {_key(zone_of(store.root))}
    return tuple(sorted(found))


def _zone(store: Store, name: str) -> str:
    try:
        with closing(open_group(store, name, Caller())) as group:
            return _key(group.zone)
    except (GitmemError, OSError):  # damage is reported by other commands
        return _key(zone_of(store.root))


def _key(zone: tzinfo) -> str:
    """The name of a zone; empty for that of the machine."""
    return str(getattr(zone, "key", ""))


def template(name: str) -> Template:
    """One of the files in templates/schedule."""
    return Template((templates() / "schedule" / name).read_text("utf-8"))


def unified_diff(path: str, before: str | None, after: str | None) -> str:
    """The diff of one file; None stands for a missing file."""
    from difflib import unified_diff as diff

    old, new = ((each or "").splitlines(keepends=True) for each in (before, after))
    old_path, new_path = ("/dev/null" if each is None else path for each in (before, after))
    lines = diff(old, new, old_path, new_path)
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


class Task(NamedTuple):
    """A task that a host gives its agent."""

    name: str
    time: str
    """For people."""
    cron: tuple[str, ...]
    """As lines of a crontab, by the clock of the machine."""
    priority: int
    """1 comes first."""
    require_idle: bool
    """Whether to wait until the agent is idle."""
    text: str


def schedule_tasks(plan: SchedulePlan, layout: str = "") -> tuple[Task, ...]:
    """All tasks with their texts, for an agent of a group with LAYOUT."""
    check = _task(CONTEXT, f"every {EVERY} minutes", (f"*/{EVERY} * * * *",), "")
    found = [check._replace(text=with_sync_skill(check.text, layout))]
    for job in plan.jobs:
        times = tuple(each.crontab for each in plan.machine_times(job))
        found.append(_task(job.name, job.time.words, times, shlex.join(plan.command(job))))
    return tuple(found)


def _task(name: str, time: str, cron: tuple[str, ...], command: str) -> Task:
    text = template(f"tasks/{name}.md").substitute(command=command).strip()
    return Task(name, time, cron, _PRIORITIES[name], True, text)
