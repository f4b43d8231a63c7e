"""The same jobs as tasks for an agent's own scheduler, and the one that only an agent can do.

Only the agent and its host know how full its context is, so no scheduler of the machine can do the
context check. A host that gives its agent tasks needs the text, the time, the priority, and whether
to wait until the agent is idle.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

from gitmem.integrations.schedule.plan import Plan, template
from gitmem.integrations.schedule.times import CONTEXT
from gitmem.model.transcripts.batches import with_sync_skill

EVERY = 30
"""Minutes between two looks at the context."""
_PRIORITIES = {CONTEXT: 1, "rotation": 2, "snapshot": 3, "consolidation": 2}
"""1 is memory, which comes before messages that wait; 2 is upkeep; 3 is everything else."""


class Task(NamedTuple):
    """One task that a host gives its agent."""

    name: str
    time: str
    """As people say it."""
    cron: tuple[str, ...]
    """The same for a crontab, by the clock of the machine."""
    priority: int
    """1 comes first."""
    require_idle: bool
    """Whether it waits until the agent is idle."""
    text: str


def schedule_tasks(plan: Plan, layout: str = "") -> tuple[Task, ...]:
    """Every task, with the text that the agent of a group with LAYOUT is given."""
    check = _task(CONTEXT, f"every {EVERY} minutes", (f"*/{EVERY} * * * *",), "")
    found = [check._replace(text=with_sync_skill(check.text, layout))]
    for job in plan.jobs:
        times = tuple(each.crontab for each in plan.machine_times(job))
        found.append(_task(job.name, job.time.words, times, shlex.join(plan.command(job))))
    return tuple(found)


def _task(name: str, time: str, cron: tuple[str, ...], command: str) -> Task:
    text = template(f"tasks/{name}.md").substitute(command=command).strip()
    return Task(name, time, cron, _PRIORITIES[name], True, text)
