"""Which jobs a schedule has, and when it is time for each.

A time is one of the group's zone, and a group is due when its own clock has passed that time since
the job last ran there. So a timer may fire too often, too late or in another zone: no job is done
twice for it, and none at a wrong time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import NamedTuple

from gitmem.errors import BadInput

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SUNDAY = DAYS.index("Sun")
HOURS, MINUTES, WEEK, YEAR = 24, 60, 7, 366
FORM = "write it as 23:00, or as Sun 02:00"


class Time(NamedTuple):
    """A time of day, on every day or on one of the week."""

    hour: int
    minute: int
    weekday: int | None = None
    """0 is Monday; None is every day."""

    @property
    def words(self) -> str:
        """As people say it: daily 23:00, Sun 02:00."""
        return f"{self._day or 'daily'} {self.hour:02}:{self.minute:02}"

    @property
    def crontab(self) -> str:
        """The five fields of a crontab, by the clock of the machine."""
        day = "*" if self.weekday is None else str((self.weekday + 1) % WEEK)
        return f"{self.minute} {self.hour} * * {day}"

    def calendar(self, zone: str) -> str:
        """What systemd calls a calendar event, in ZONE or in that of the machine."""
        words = (self._day, "*-*-*", f"{self.hour:02}:{self.minute:02}:00", zone)
        return " ".join(filter(None, words))

    @property
    def _day(self) -> str:
        return "" if self.weekday is None else DAYS[self.weekday]

    def on(self, day: date, zone: tzinfo | None) -> datetime | None:
        """The moment of that DAY; None where the day is another one of the week."""
        if self.weekday not in (None, day.weekday()):
            return None
        return datetime.combine(day, time(self.hour, self.minute), zone)

    def last(self, now: datetime) -> datetime:
        """The last such moment that is not after NOW, in the zone of NOW."""
        days = (now.date() - timedelta(days=back) for back in range(WEEK + 1))
        moments = filter(None, (self.on(day, now.tzinfo) for day in days))
        # By the second since 1970: with one zone, Python compares what the clocks show.
        return next(each for each in moments if each.timestamp() <= now.timestamp())


class Job(NamedTuple):
    """One thing that a schedule does."""

    name: str
    time: Time
    trace: str
    """What it is called in the log of jobs."""
    about: str


JOBS = (
    Job("rotation", Time(0, 0), "rotate", "begin the log of a new day"),
    Job("snapshot", Time(23, 0), "maintain", "make the snapshot of the day, and all else due"),
    Job("consolidation", Time(2, 0, SUNDAY), "report", "report what is too big, faded or past"),
)
"""With the times that count where the store says nothing else."""
NAMES = tuple(each.name for each in JOBS)
CONTEXT = "context-check"
"""What only an agent can do, because it alone knows how full its context is."""
TASKS = (CONTEXT, *NAMES)


def timetable(settings: Mapping[str, object]) -> tuple[Job, ...]:
    """The jobs, at the times under `schedule:` in SETTINGS, those of the store's `config.yaml`."""
    said = settings.get("schedule") or {}
    if not isinstance(said, dict) or not set(said) <= set(NAMES):
        raise BadInput(
            "config.yaml of the store has a `schedule` that is no list of jobs and times",
            hint=f"name there {', '.join(NAMES)}, each with a time such as 23:00",
        )
    return tuple(each._replace(time=_time(each, said.get(each.name))) for each in JOBS)


def _time(job: Job, said: object) -> Time:
    if said is None:
        return job.time
    if isinstance(said, int) and not isinstance(said, bool):
        said = f"{said // MINUTES}:{said % MINUTES:02}"  # for YAML a bare 23:00 is a number
    found = re.fullmatch(rf"(?:({'|'.join(DAYS)}) )?(\d\d?):(\d\d)", str(said))
    if not found or int(found[2]) >= HOURS or int(found[3]) >= MINUTES:
        raise BadInput(f"config.yaml: {said!r} is no time for the {job.name}", hint=FORM)
    return Time(int(found[2]), int(found[3]), DAYS.index(found[1]) if found[1] else None)


def by_machine(when: Time, zone: tzinfo | None, machine: tzinfo, today: date) -> list[Time]:
    """When it is WHEN in ZONE, by the clock of MACHINE; more than one where summer time differs."""
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
    """False for a time that is left out on the day on which summer time begins."""
    back = moment.astimezone(UTC).astimezone(moment.tzinfo)
    return back.replace(tzinfo=None) == moment.replace(tzinfo=None)
