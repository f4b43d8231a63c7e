"""Print, install and remove a schedule, show its state, and run its jobs.

At midnight only the logs rotate: maintenance would take the snapshot of a day that has just begun,
and there is one snapshot for each day. For the same reason the weekly report runs alone. Everything
else waits for the evening.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import datetime
from typing import NamedTuple, Protocol

from gitmem.errors import GitmemError, NotFound, ProgramMissing, StorageFailed
from gitmem.integrations.schedule import cron as schedule_cron
from gitmem.integrations.schedule import systemd as schedule_systemd
from gitmem.integrations.schedule.plan import (
    JobEntry,
    Scheduled,
    ScheduledJob,
    SchedulePlan,
    check_may,
    timetable,
)
from gitmem.integrations.schedule.programs import PRINT, find
from gitmem.memory.clock import Clock
from gitmem.memory.group import Caller, Group, Store, Who, open_group
from gitmem.memory.upkeep.jobs import JobOutcome, last_jobs, why
from gitmem.model.hints import Hint, Option, call


class Backend(Protocol):
    """The interface of the modules `systemd` and `cron`."""

    def works(self, environ: Mapping[str, str]) -> bool:
        """Whether this user has the scheduler."""

    def place(self, plan: SchedulePlan) -> str:
        """Where its entries are."""

    def printed(self, plan: SchedulePlan) -> tuple[tuple[str, str], ...]:
        """The files of the schedule with their paths."""

    def by_hand(self, plan: SchedulePlan) -> str:
        """How to install what is printed by hand."""

    def install(self, plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
        """Install the schedule."""

    def remove(self, plan: SchedulePlan, *, dry_run: bool) -> Scheduled:
        """Remove the schedule."""

    def is_there(self, plan: SchedulePlan) -> bool:
        """Whether it has entries of gitmem."""

    def entries(self, plan: SchedulePlan) -> tuple[JobEntry, ...]:
        """The state of each job."""


DRY_RUN = Option("dry_run")
BACKENDS: dict[str, Backend] = {"systemd": schedule_systemd, "cron": schedule_cron}


class SchedulePart(NamedTuple):
    """One file of a schedule."""

    path: str
    """`crontab` for the table of cron, which is not a file of the user."""
    text: str


class SchedulePrinted(NamedTuple):
    """A schedule to read or to install by hand."""

    backend: str
    parts: tuple[SchedulePart, ...]
    by_hand: str
    notes: tuple[str, ...]


class Scheduler(NamedTuple):
    """The entries of one scheduler."""

    backend: str
    works: bool
    place: str
    entries: tuple[JobEntry, ...]

    @property
    def is_used(self) -> bool:
        """Whether it has entries of gitmem."""
        return any(each.state in ("present", "outdated") for each in self.entries)


class LastRun(NamedTuple):
    """The last run of a job in one group."""

    group: str
    job: str
    time: datetime
    outcome: str
    detail: str


class ScheduleStatus(NamedTuple):
    """The state of a schedule."""

    store: str
    schedulers: tuple[Scheduler, ...]
    lingers: bool
    """Whether timers of the user also run while nobody is logged in."""
    runs: tuple[LastRun, ...]
    notes: tuple[str, ...]


def chosen(backend: str | None, environ: Mapping[str, str]) -> str:
    """BACKEND, else systemd where the user has one, else cron."""
    return backend or ("systemd" if schedule_systemd.works(environ) else "cron")


def schedule_print(plan: SchedulePlan, backend: str | None) -> SchedulePrinted:
    """What `schedule_install` would install; needs no scheduler."""
    name = chosen(backend, plan.environ)
    parts = tuple(SchedulePart(*each) for each in BACKENDS[name].printed(plan))
    return SchedulePrinted(name, parts, BACKENDS[name].by_hand(plan), tuple(_warnings(plan)))


def schedule_install(
    plan: SchedulePlan, backend: str | None, *, dry_run: bool = False
) -> Scheduled:
    """Install the schedule; entries that are up to date stay."""
    if not plan.groups:
        raise NotFound(
            f"the store {plan.store} has no groups", hint=Hint("run ", call("init"), " first")
        )
    name = chosen(backend, plan.environ)
    if not (backend or name == "systemd" or find(schedule_cron.TABLE, plan.environ)):
        raise ProgramMissing(
            "neither a systemd of this user nor crontab was found; nothing was changed",
            hint="install cron; " + PRINT,
            program=schedule_cron.TABLE,
        )
    done = BACKENDS[name].install(plan, dry_run=dry_run)
    return done._replace(notes=(*_warnings(plan), *_afterwards(plan, name)))


def schedule_remove(
    plan: SchedulePlan, backend: str | None, *, dry_run: bool = False
) -> tuple[Scheduled, ...]:
    """Remove the schedule from BACKEND, or from every scheduler that has it."""
    names = [backend] if backend else [each for each in BACKENDS if BACKENDS[each].is_there(plan)]
    return tuple(BACKENDS[each].remove(plan, dry_run=dry_run) for each in names)


def schedule_status(plan: SchedulePlan, store: Store, backend: str | None) -> ScheduleStatus:
    """The state of all entries, and the last run of each job."""
    schedulers = tuple(
        Scheduler(name, each.works(plan.environ), each.place(plan), each.entries(plan))
        for name, each in BACKENDS.items()
        if backend in (None, name)
    )
    runs = tuple(run for group in plan.groups for run in _runs(plan, store, group))
    notes = [*_warnings(plan), *_state_notes(schedulers)]
    return ScheduleStatus(plan.store, schedulers, schedule_systemd.lingers(), runs, tuple(notes))


def _runs(plan: SchedulePlan, store: Store, name: str) -> Iterator[LastRun]:
    try:
        with closing(open_group(store, name, Caller())) as group:
            last = {each.job: each for each in last_jobs(group)}
    except (GitmemError, OSError):  # a damaged group is reported by its own commands
        return
    for job in plan.jobs:
        run = last.get(job.trace)
        if run:
            yield LastRun(name, job.name, run.time, run.outcome, run.detail)


def _warnings(plan: SchedulePlan) -> Iterator[str]:
    if plan.environ.get("TZ") and "" in plan.zones:
        yield f"TZ is set here, but no scheduler sees it: write it into {plan.store}/.env as well"


def _afterwards(plan: SchedulePlan, name: str) -> Iterator[str]:
    if name == "systemd" and not schedule_systemd.lingers():
        yield schedule_systemd.LOGGED_IN
    other = "cron" if name == "systemd" else "systemd"
    if BACKENDS[other].is_there(plan):
        yield Hint(f"{other} has this schedule as well: ", call("schedule remove", backend=other))
    yield Hint("only your agent can check its context; for that task, see ", call("schedule tasks"))


def _state_notes(schedulers: tuple[Scheduler, ...]) -> Iterator[str]:
    used = [each for each in schedulers if each.is_used]
    for each in used:
        sound = all(x.state == "present" and x.active is not False for x in each.entries)
        if not sound:
            yield Hint("bring it up to date: ", call("schedule install", backend=each.backend))
    if any(each.backend == "systemd" for each in used) and not schedule_systemd.lingers():
        yield schedule_systemd.LOGGED_IN
    if len(used) > 1:
        yield Hint("both have it: ", call("schedule remove", backend="cron"))
    if not used:
        install = call("schedule install")
        yield Hint("to schedule it, run ", install, "; to see what that does, add ", DRY_RUN)


class Ran(NamedTuple):
    """The outcome of a job in one group."""

    group: str
    outcome: str
    """done, nothing (nothing to do, or not due), skipped or failed"""
    detail: str
    code: str = ""
    """The slug of the error of a failed run ..."""
    hint: str = ""
    """... and its hint."""


def schedule_run(
    store: Store, name: str, *, who: Who, acting: str | None = None, now: Clock | None = None
) -> tuple[Ran, ...]:
    """Run the job NAME in every group where it is due; a failure stops no other group."""
    check_may(acting)
    job = next(each for each in timetable(store.settings) if each.name == name)
    who = who._replace(source=who.source or "schedule")
    caller = Caller(who, acting, now)
    return tuple(_ran(store, each, caller, job) for each in store.names())


def _ran(store: Store, name: str, caller: Caller, job: ScheduledJob) -> Ran:
    try:
        with closing(open_group(store, name, caller)) as group:
            return _ran_in(group, job)
    except GitmemError as error:
        return Ran(name, "failed", error.message, error.code, error.hint)
    except OSError as error:
        return Ran(name, "failed", why(error), StorageFailed.code, Hint("run ", call("check")))


def _ran_in(group: Group, job: ScheduledJob) -> Ran:
    if not is_due(group, job):
        return Ran(group.name, "nothing", "not due")
    if job.name == "snapshot":
        return _maintained(group)
    done = _rotated(group) if job.name == "rotation" else _reported(group)
    return Ran(group.name, done.outcome, done.detail)


def is_due(group: Group, job: ScheduledJob) -> bool:
    """Whether the time of JOB, by the group's clock, has passed since its last complete run."""
    now = group.now()
    last = next((each for each in last_jobs(group) if each.job == job.trace), None)
    if last is None or last.outcome == "failed":
        return True
    came = job.time.last(now).timestamp()
    # A run in the future comes from a wrong clock.
    return not came <= last.time.timestamp() <= now.timestamp()


def _rotated(group: Group) -> JobOutcome:
    from gitmem.memory.upkeep.rotate import job_outcome, rotate

    return job_outcome(rotate(group))


def _reported(group: Group) -> JobOutcome:
    from gitmem.memory.curate.report import job_outcome, made_report

    return job_outcome(made_report(group))


def _maintained(group: Group) -> Ran:
    from gitmem.memory.upkeep.maintain import maintain
    from gitmem.memory.upkeep.snapshot import has_grown, snapshot

    done = maintain(group)
    outcome = done.outcome
    details = [f"{each.step}: {each.detail}" for each in done.steps if each.outcome != "nothing"]
    if has_grown(group):  # a sync took the snapshot before the day was over
        details.append(f"snapshot: {snapshot(group, force=True).name} made again")
        outcome = "done" if outcome == "nothing" else outcome
    ran = Ran(group.name, outcome, "; ".join(details) or "nothing was due")
    for each in done.failed[:1]:
        ran = ran._replace(code=each.code, hint=each.hint)
    return ran
