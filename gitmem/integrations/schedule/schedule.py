"""Let the machine call gitmem: print a schedule, install it, remove it, say how it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from gitmem.errors import GitmemError, NotFound, ProgramMissing
from gitmem.integrations.schedule import cron as schedule_cron
from gitmem.integrations.schedule import systemd as schedule_systemd
from gitmem.integrations.schedule.plan import Entry, Plan, Scheduled
from gitmem.integrations.schedule.programs import PRINT, find
from gitmem.memory.group import Group, Store
from gitmem.memory.upkeep.jobs import last_jobs


class Backend(Protocol):
    """What a module for a scheduler has."""

    def works(self, environ: Mapping[str, str]) -> bool:
        """True where there is such a scheduler for this user."""

    def place(self, plan: Plan) -> str:
        """Where its entries stand."""

    def printed(self, plan: Plan) -> tuple[tuple[str, str], ...]:
        """What to put where."""

    def by_hand(self, plan: Plan) -> str:
        """What to do with what is printed."""

    def install(self, plan: Plan, *, dry_run: bool) -> Scheduled:
        """Put the schedule in place."""

    def remove(self, plan: Plan, *, dry_run: bool) -> Scheduled:
        """Take it away."""

    def is_there(self, plan: Plan) -> bool:
        """True where it has anything of ours."""

    def entries(self, plan: Plan) -> tuple[Entry, ...]:
        """Each job, as it has it."""


BACKENDS: dict[str, Backend] = {"systemd": schedule_systemd, "cron": schedule_cron}


class Part(NamedTuple):
    """One file of a schedule."""

    path: str
    """`crontab` for the table of cron, which is no file of the user's."""
    text: str


class SchedulePrinted(NamedTuple):
    """A schedule to look at, or to put in place by hand."""

    backend: str
    parts: tuple[Part, ...]
    by_hand: str
    notes: tuple[str, ...]


class Scheduler(NamedTuple):
    """What one scheduler has of a schedule."""

    backend: str
    works: bool
    place: str
    entries: tuple[Entry, ...]

    @property
    def is_used(self) -> bool:
        """True where it has anything of ours."""
        return any(each.state in ("present", "outdated") for each in self.entries)


class LastRun(NamedTuple):
    """When a job last ran in one group, whoever called it."""

    group: str
    job: str
    time: datetime
    outcome: str
    detail: str


class ScheduleStatus(NamedTuple):
    """How a schedule is."""

    store: str
    schedulers: tuple[Scheduler, ...]
    lingers: bool
    """Whether timers of the user's systemd run also while nobody is logged in."""
    runs: tuple[LastRun, ...]
    notes: tuple[str, ...]


def chosen(backend: str | None, environ: Mapping[str, str]) -> str:
    """BACKEND, else systemd where it runs things for this user, else cron."""
    return backend or ("systemd" if schedule_systemd.works(environ) else "cron")


def schedule_print(plan: Plan, backend: str | None) -> SchedulePrinted:
    """What `schedule_install` would put where; needs no scheduler."""
    name = chosen(backend, plan.environ)
    parts = tuple(Part(*each) for each in BACKENDS[name].printed(plan))
    return SchedulePrinted(name, parts, BACKENDS[name].by_hand(plan), tuple(_warnings(plan)))


def schedule_install(plan: Plan, backend: str | None, *, dry_run: bool = False) -> Scheduled:
    """Put the schedule in place; what is there and right stays."""
    if not plan.groups:
        raise NotFound(f"{plan.store} has no groups to look after", hint="run `gitmem init` first")
    name = chosen(backend, plan.environ)
    if not (backend or name == "systemd" or find(schedule_cron.TABLE, plan.environ)):
        raise ProgramMissing(
            "no systemd runs things for this user, and there is no crontab; nothing was changed",
            hint=f"install cron; {PRINT}",
            program=schedule_cron.TABLE,
        )
    done = BACKENDS[name].install(plan, dry_run=dry_run)
    return done._replace(notes=(*_warnings(plan), *_afterwards(plan, name)))


def schedule_remove(
    plan: Plan, backend: str | None, *, dry_run: bool = False
) -> tuple[Scheduled, ...]:
    """Take the schedule away, from wherever it is."""
    names = [backend] if backend else [each for each in BACKENDS if BACKENDS[each].is_there(plan)]
    return tuple(BACKENDS[each].remove(plan, dry_run=dry_run) for each in names)


def schedule_status(plan: Plan, store: Store, backend: str | None) -> ScheduleStatus:
    """Which entries there are, whether they are as they should be, and when each job last ran."""
    schedulers = tuple(
        Scheduler(name, each.works(plan.environ), each.place(plan), each.entries(plan))
        for name, each in BACKENDS.items()
        if backend in (None, name)
    )
    runs = tuple(run for group in plan.groups for run in _runs(plan, store, group))
    notes = [*_warnings(plan), *_state_notes(schedulers)]
    return ScheduleStatus(plan.store, schedulers, schedule_systemd.lingers(), runs, tuple(notes))


def _runs(plan: Plan, store: Store, name: str) -> Iterator[LastRun]:
    try:
        group = Group(store, name)
    except (GitmemError, OSError):  # a damaged group is told by who works on it
        return
    last = {each.job: each for each in last_jobs(group)}
    group.close()
    for job in plan.jobs:
        run = last.get(job.trace)
        if run:
            yield LastRun(name, job.name, run.time, run.outcome, run.detail)


def _warnings(plan: Plan) -> Iterator[str]:
    if plan.environ.get("TZ") and "" in plan.zones:
        yield f"TZ is set here, and no scheduler sees it: write it into {plan.store}/.env as well"


def _afterwards(plan: Plan, name: str) -> Iterator[str]:
    if name == "systemd" and not schedule_systemd.lingers():
        yield schedule_systemd.LOGGED_IN
    other = "cron" if name == "systemd" else "systemd"
    if BACKENDS[other].is_there(plan):
        yield f"{other} has this schedule, too: `gitmem schedule remove --backend {other}`"
    yield "only your agent can check its context: `gitmem schedule tasks` has that task"


def _state_notes(schedulers: tuple[Scheduler, ...]) -> Iterator[str]:
    used = [each for each in schedulers if each.is_used]
    for each in used:
        sound = all(x.state == "present" and x.active is not False for x in each.entries)
        if not sound:
            yield f"bring it up to date: `gitmem schedule install --backend {each.backend}`"
    if any(each.backend == "systemd" for each in used) and not schedule_systemd.lingers():
        yield schedule_systemd.LOGGED_IN
    if len(used) > 1:
        yield "both have it: `gitmem schedule remove --backend cron`"
    if not used:
        yield "to schedule it, run `gitmem schedule install`; to see what that does, add --dry-run"
