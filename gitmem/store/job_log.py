"""The log of jobs: one line for each run in the git directory, also for a run that did nothing.

It is a plain file and never a commit, so that a job can run every minute without history growing.
Each line is one JSON object. What a dead process left of a line is passed over by readers.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from gitmem.model.record import Record

MOST_BYTES = 256 * 1024
"""Beyond this the log is cut to its newer half."""
LONGEST = 300
"""Characters of a detail; the rest is cut."""
PATIENCE = 1.0
"""Seconds to wait for another who writes a line."""


class Job(Record):
    """One run of a job."""

    time: datetime
    job: str
    outcome: str
    """done, nothing (was to be done), skipped (though it was) or failed"""
    found: int = 0
    """How many items there were to work on."""
    detail: str = ""
    """What was done, or why it was not."""
    seconds: float = 0.0


def jobs_path(gitdir: Path) -> str:
    """Where the log of a group lies."""
    return f"{gitdir}/gitmem/jobs.jsonl"


def append_job(gitdir: Path, job: Job) -> None:
    """Add a line; a disk that cannot take it is no reason for the job to fail."""
    with suppress(OSError), _opened(jobs_path(gitdir)) as fd:
        size = os.fstat(fd).st_size
        torn = size and os.pread(fd, 1, size - 1) != b"\n"
        data = (b"\n" if torn else b"") + _encoded(job)
        os.write(fd, data)
        if size + len(data) > MOST_BYTES:
            _shorten(jobs_path(gitdir))


def last_runs(gitdir: Path) -> dict[str, Job]:
    """The last run of each job, by name; only these lines are read to the end."""
    found: dict[str, Job] = {}
    for line in reversed(_lines(gitdir)):
        name = line.partition(b'"job": "')[2].partition(b'"')[0].decode("utf-8", "replace")
        job = None if name in found else _decoded(line)
        if job:
            found.setdefault(job.job, job)
    return found


def _lines(gitdir: Path) -> list[bytes]:
    try:
        return Path(jobs_path(gitdir)).read_bytes().split(b"\n")
    except OSError:
        return []


def _encoded(job: Job) -> bytes:
    import json  # only where there is a line to write

    detail = " ".join(job.detail.split())[:LONGEST]
    plain = job._replace(detail=detail, seconds=round(job.seconds, 4))._asdict()
    return json.dumps({**plain, "time": job.time.isoformat()}).encode() + b"\n"


def _decoded(line: bytes) -> Job | None:
    """The run in one line; None where the line is torn, or of another form."""
    if not line:
        return None
    import json  # only where there is a line to read

    try:
        facts = json.loads(line)
        moment = datetime.fromisoformat(facts["time"])
        return Job(
            moment if moment.tzinfo else moment.astimezone(),
            str(facts["job"]),
            str(facts["outcome"]),
            int(facts.get("found", 0)),
            str(facts.get("detail", "")),
            float(facts.get("seconds", 0.0)),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """The log, open and ours alone: else a line could go into a file that was just replaced."""
    deadline = time.monotonic() + PATIENCE
    while True:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            # Who has waited too long writes all the same: a line at risk is better than none.
            if _locked(fd, path) or time.monotonic() > deadline:
                yield fd
                return
        finally:
            os.close(fd)
        time.sleep(0.002)


def _locked(fd: int, path: str) -> bool:
    """True when we have the lock, and it is that of the file which has the name."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(fd), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def _shorten(path: str) -> None:
    """Keep the newer half, and the last run of each job by its outcome. Needs the log's lock."""
    lines = Path(path).read_bytes().split(b"\n")
    kept = _worth_keeping([(line, job) for line in lines if (job := _decoded(line))])
    temp = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(temp)  # of one who died here
    with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(b"".join(line + b"\n" for line in kept))
    os.replace(temp, path)


def _worth_keeping(pairs: Sequence[tuple[bytes, Job]]) -> list[bytes]:
    """So that a job which runs once a week is not forgotten for one that runs every minute."""
    last = {(job.job, job.outcome): line for line, job in pairs}
    size, first = 0, len(pairs)
    while first and size < MOST_BYTES // 2:
        first -= 1
        size += len(pairs[first][0]) + 1
    newest = set(last.values())
    return [line for at, (line, _) in enumerate(pairs) if at >= first or line in newest]
