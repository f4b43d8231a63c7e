"""Log every run of a job, also one that did nothing or failed, and why.

Jobs run unattended: rotations, snapshots, maintenance. The log is a file in the git directory;
`status` shows the last run of each job.
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

__all__ = ["Job", "JobOutcome", "last_jobs", "log_job", "run_job"]

Done = TypeVar("Done")


class JobOutcome(NamedTuple):
    """The outcome of a job, for its line in the log."""

    outcome: str
    """done, nothing, skipped or failed"""
    detail: str = ""
    found: int = 0
    hint: str = ""
    """The next step, for the caller; the log has no place for it."""


def log_job(
    group: Group, job: str, outcome: str, *, found: int = 0, detail: str = "", seconds: float = 0.0
) -> None:
    """Add a line for one run to the log, if the caller may write to the group."""
    try:
        check_access(group.acting, group.name, write=True)
    except GroupRefused:
        return
    if outcome == "failed":
        forget_quiet(group.gitdir)  # so that the next maintenance checks every task
    append_job(group.gitdir, Job(group.moment(), job, outcome, found, detail, seconds))


def last_jobs(group: Group) -> tuple[Job, ...]:
    """The last run of each job, by name."""
    last = last_runs(group.gitdir)
    return tuple(last[name] for name in sorted(last))


def run_job(
    group: Group,
    job: str,
    run: Callable[[], Done],
    outcome_of: Callable[[Done], JobOutcome],
    refusals: tuple[type[GitmemError], ...] = (),
) -> Done:
    """Call RUN, and log what OUTCOME_OF makes of its result, or why it failed.

    REFUSALS are errors that do not count as failures: the job cannot be done, or need not be.
    """
    began = perf_counter()

    def log(done: JobOutcome) -> None:
        took = perf_counter() - began
        log_job(group, job, done.outcome, found=done.found, detail=done.detail, seconds=took)

    try:
        done = run()
    except refusals as error:
        log(JobOutcome("nothing", why(error)))
        raise
    except BaseException as error:
        log(JobOutcome("failed", why(error)))
        raise
    log(outcome_of(done))
    return done


def why(error: BaseException) -> str:
    """An error in one line; a credential in it is masked."""
    from gitmem.model.secrets.find import redact  # only if something went wrong

    text = error.message if isinstance(error, GitmemError) else str(error)
    return redact(text)[0] or type(error).__name__
