"""Take the snapshots of past days that have none, because no maintenance ran on their evening.

Cheap if none is missing: the start of a session searches once a day, and otherwise reads one small
file. It takes the newest few; maintenance takes all. The days before a newer snapshot that still
have none are remembered (`snapshot_gap`), because a search ends at the newest snapshot.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from gitmem.cache.progress import (
    forget_snapshot_gap,
    keep_snapshot_check,
    keep_snapshot_gap,
    last_snapshot_check,
    snapshot_gap,
)
from gitmem.errors import Busy, Damaged, GroupRefused
from gitmem.memory.group import Group
from gitmem.memory.upkeep.jobs import JobOutcome, run_job
from gitmem.model.commit_messages import parse
from gitmem.store.lock import WAIT

if TYPE_CHECKING:
    from gitmem.store.repository import Commit

MOST = 500
"""Commits that the start of a session searches: 200 ms, and somebody waits for them ..."""
TAGS_AT_ONCE = 3
"""... snapshots that it takes, 16 ms each ..."""
SECONDS = 0.3
"""... and its time limit for both, after a few commits and one snapshot."""
LEAST = 50
"""Commits that every search reads: a slow machine must not miss yesterday every day."""
ALL = 20_000
"""Commits that maintenance searches; days before those never get a snapshot."""


class Missed(NamedTuple):
    """A day without a snapshot, and the last commit of it."""

    date: date
    commit: str
    time: datetime


class MissedDays(NamedTuple):
    """The days without a snapshot that a search found."""

    days: tuple[Missed, ...]
    """The oldest first."""
    settled: str
    """The day after which it searched; empty for the beginning of history."""
    is_whole: bool
    """False if it ended before that day."""
    reached: date
    """The oldest day that it reached."""


def missed_days(group: Group, *, most: int = MOST) -> tuple[Missed, ...]:
    """The past days since the newest snapshot on which memory changed, oldest first.

    Also the days before it, if a search has left some of them.
    """
    return find_missed(group, most=most).days


def find_missed(group: Group, *, most: int = MOST, until: float = inf) -> MissedDays:
    """Search the MOST newest commits for days without a snapshot, UNTIL a moment."""
    from gitmem.memory.upkeep.snapshot import PREFIX, day_of, latest_of
    from gitmem.store.refs.tags import TAGS

    repository, today = group.repository, group.now().date()
    settled = snapshot_gap(group.gitdir)
    last = latest_of(repository, f"{today}" if settled is None else settled)
    if settled is None:
        settled = day_of(last.name) if last else ""
    tree = repository.commit(last.commit).tree if last else None
    ends, is_whole = _ends(group, settled, most, until)
    found = []
    for each, commit in reversed(ends):
        is_new = commit.tree != tree if tree else bool(repository.tree(commit.tree))
        if is_new and not repository.reference(f"{TAGS}{PREFIX}{each.date}"):
            found.append(each)
        tree = commit.tree if is_new else tree
    return MissedDays(tuple(found), settled, is_whole, ends[-1][0].date if ends else today)


def _ends(
    group: Group, settled: str, most: int, until: float
) -> tuple[list[tuple[Missed, Commit]], bool]:
    """The last commit of each day after SETTLED and before today, newest first; whether of all."""
    from gitmem.store.history.timeline import made_by

    now = group.now()
    present = made = now.timestamp()
    day = now.date()
    found: list[tuple[Missed, Commit]] = []
    with suppress(Damaged):  # `check` reports it; the days after it are known
        for count, commit in enumerate(group.repository.history(group.repository.tip())):
            if count == most or (count >= LEAST and perf_counter() > until):
                return found, False
            made = min(made, made_by(commit, present, made))
            then = datetime.fromtimestamp(made, group.zone)
            if f"{then.date()}" <= settled or parse(commit.message).op == "init":
                break  # the files that a group begins with are in its layout
            if then.date() < day:
                day = then.date()
                found.append((Missed(day, commit.oid, then), commit))
    return found, True


def snapshot_missed(
    group: Group,
    *,
    wait: float = WAIT,
    most: int = ALL,
    tags: int | None = None,
    seconds: float = inf,
) -> tuple[str, ...]:
    """Take the missing snapshots, and return their names; existing ones stay.

    TAGS: only so many, the newest; SECONDS: the time limit. A later call takes the rest.
    """
    until = perf_counter() + seconds
    found = find_missed(group, most=most, until=until)
    chosen = found.days[-tags:] if tags else found.days
    is_all = chosen == found.days and (found.is_whole or most >= ALL)
    names: tuple[str, ...] = ()
    if chosen:
        refusals = (GroupRefused,) if wait else (Busy, GroupRefused)
        left = None if is_all else found.settled
        made = lambda: _made(group, chosen, wait, left, until)  # noqa: E731
        names = run_job(group, "snapshot", made, job_outcome, refusals)
    if is_all and perf_counter() <= until:
        forget_snapshot_gap(group.gitdir)
    return names


def note_gap(group: Group) -> None:
    """Before a snapshot of today is taken: remember earlier days that have none."""
    from gitmem.memory.upkeep.snapshot import RECENT

    if snapshot_gap(group.gitdir) is None:
        found = find_missed(group, most=RECENT)
        if found.days or not found.is_whole:
            keep_snapshot_gap(group.gitdir, found.settled)


def job_outcome(names: tuple[str, ...]) -> JobOutcome:
    """The line of late snapshots in the job log."""
    return JobOutcome("done" if names else "nothing", f"{', '.join(names)} made late", len(names))


def _made(
    group: Group, missed: Sequence[Missed], wait: float, settled: str | None, until: float
) -> tuple[str, ...]:
    """Tag the days MISSED, the oldest first, UNTIL a moment; SETTLED is kept if days are left."""
    from gitmem.memory.upkeep.snapshot import MESSAGE, PREFIX
    from gitmem.store.refs.tags import TAGS, Tag, write_tag

    agent = group.note("snapshot").agent
    names: list[str] = []
    with group.writing(wait) as writer:
        if settled is not None:
            keep_snapshot_gap(group.gitdir, settled)
        for day, commit, time in missed:
            if names and perf_counter() > until:
                break
            name = f"{PREFIX}{day}"
            if not writer.repository.reference(TAGS + name):  # nobody else made it meanwhile
                message = MESSAGE.format(date=day)
                write_tag(writer.repository, Tag(name, commit, agent, time, message))
                names.append(name)
    return tuple(names)


def catch_up(group: Group) -> tuple[str, ...]:
    """At the start of a session: a few snapshots, once a day, without waiting for a writer."""
    today = f"{group.now().date()}"
    if last_snapshot_check(group.gitdir) == today:
        return ()
    try:
        made = snapshot_missed(group, wait=0.0, most=MOST, tags=TAGS_AT_ONCE, seconds=SECONDS)
    except (Busy, GroupRefused):
        return ()  # the next start tries again, or one that may write
    except Exception:
        keep_snapshot_check(group.gitdir, today)  # report a failure once a day, not at every start
        raise
    keep_snapshot_check(group.gitdir, today)
    return made
