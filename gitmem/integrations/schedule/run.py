"""What a scheduler calls: one job in each group of the store in which it is due.

At midnight logs rotate and nothing else is done: maintenance would make the snapshot of a day that
has just begun, and there is one snapshot for each day. For the same reason the report of the week
is made alone. Everything else waits for the evening.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from gitmem.errors import GitmemError, StorageFailed
from gitmem.integrations.schedule.plan import check_may
from gitmem.integrations.schedule.times import Job, timetable
from gitmem.memory.clock import Clock
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.upkeep.jobs import JobOutcome, last_jobs, why


class Ran(NamedTuple):
    """What became of a job in one group."""

    group: str
    outcome: str
    """done, nothing (was to be done, or it was not due), skipped or failed"""
    detail: str
    code: str = ""
    """Of a run that failed, the slug of the error ..."""
    hint: str = ""
    """... and what to type next."""


def schedule_run(
    store: Store, name: str, *, who: Who, acting: str | None = None, now: Clock | None = None
) -> tuple[Ran, ...]:
    """Do the job NAME in every group in which it is due; one that fails stops no other."""
    check_may(acting)
    job = next(each for each in timetable(store.settings) if each.name == name)
    who = who._replace(source=who.source or "schedule")
    opened = partial(Group, store, who=who, acting=acting, now=now)
    return tuple(_ran(opened, each, job) for each in store.names())


def _ran(opened: Callable[[str], Group], name: str, job: Job) -> Ran:
    try:
        group = opened(name)
        try:
            return _ran_in(group, job)
        finally:
            group.close()
    except GitmemError as error:
        return Ran(name, "failed", error.message, error.code, error.hint)
    except OSError as error:
        return Ran(name, "failed", why(error), StorageFailed.code, "run `gitmem check`")


def _ran_in(group: Group, job: Job) -> Ran:
    if not is_due(group, job):
        return Ran(group.name, "nothing", "it is not time")
    if job.name == "snapshot":
        return _maintained(group)
    told = _rotated(group) if job.name == "rotation" else _reported(group)
    return Ran(group.name, told.outcome, told.detail)


def is_due(group: Group, job: Job) -> bool:
    """True when the job's time has come, by the group's clock, since it last ran to its end."""
    now = group.now()
    last = next((each for each in last_jobs(group) if each.job == job.trace), None)
    if last is None or last.outcome == "failed":
        return True
    came = job.time.last(now).timestamp()
    # A run in the future was made by a clock that was wrong.
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
    told = [f"{each.step}: {each.detail}" for each in done.steps if each.outcome != "nothing"]
    if has_grown(group):  # a sync tagged the day before it was over
        told.append(f"snapshot: {snapshot(group, force=True).name} made again")
        outcome = "done" if outcome == "nothing" else outcome
    ran = Ran(group.name, outcome, "; ".join(told) or "nothing was due")
    for each in done.failed[:1]:
        ran = ran._replace(code=each.code, hint=each.hint)
    return ran
