"""What the log of jobs says, line by line."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

from gitmem.store.job_log import Job, jobs_path


def read_jobs(gitdir: Path) -> list[Job]:
    """Every run that stands in the log, oldest first; a torn line is passed over."""
    found = []
    for line in Path(jobs_path(gitdir)).read_bytes().split(b"\n"):
        try:
            facts = json.loads(line)
            found.append(Job(**{**facts, "time": datetime.fromisoformat(facts["time"])}))
        except (ValueError, TypeError, KeyError):
            continue
    return found
