"""Every run of a job leaves a trace, also one that did nothing, and why.

Jobs are what runs without anybody watching: rotations, snapshots, maintenance. Their traces are
lines of a log in the git directory; `status` shows the last of each.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple, TypeVar

from gitmem.cache.progress import forget_quiet
from gitmem.errors import GitmemError, GroupRefused
from gitmem.memory.group import Group
from gitmem.model.access import check_access
from gitmem.store.job_log import Job, append_job, last_runs

__all__ = ["Job", "JobOutcome", "last_jobs", "log_job", "traced"]

Done = TypeVar("Done")


class JobOutcome(NamedTuple):
    """What a run has to say of itself."""

    outcome: str
    """done, nothing, skipped or failed"""
    detail: str = ""
    found: int = 0


def log_job(
    group: Group, job: str, outcome: str, *, found: int = 0, detail: str = "", seconds: float = 0.0
) -> None:
    """Leave a trace of one run; who may not write to the group leaves none."""
    try:
        check_access(group.acting, group.name, write=True)
    except GroupRefused:
        return
    if outcome == "failed":
        forget_quiet(group.gitdir)  # so that the next maintenance looks at everything
    append_job(group.gitdir, Job(group.moment(), job, outcome, found, detail, seconds))


def last_jobs(group: Group) -> tuple[Job, ...]:
    """The last run of each job, by name."""
    last = last_runs(group.gitdir)
    return tuple(last[name] for name in sorted(last))


def traced(
    group: Group,
    job: str,
    run: Callable[[], Done],
    tell: Callable[[Done], JobOutcome],
    refusals: tuple[type[GitmemError], ...] = (),
) -> Done:
    """Call RUN and leave a trace of what TELL says of its result, or of why it failed.

    REFUSALS are answers and no failures: what was asked for cannot be, or need not.
    """
    began = perf_counter()

    def log(told: JobOutcome) -> None:
        took = perf_counter() - began
        log_job(group, job, told.outcome, found=told.found, detail=told.detail, seconds=took)

    try:
        done = run()
    except refusals as error:
        log(JobOutcome("nothing", why(error)))
        raise
    except BaseException as error:
        log(JobOutcome("failed", why(error)))
        raise
    log(tell(done))
    return done


def why(error: BaseException) -> str:
    """An error in a line; a credential that somebody mistyped into it is blanked out."""
    from gitmem.model.secrets.find import redact  # only where something went wrong

    said = error.message if isinstance(error, GitmemError) else str(error)
    return redact(said)[0] or type(error).__name__
