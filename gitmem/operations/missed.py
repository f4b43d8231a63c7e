"""Snapshots of days that are over and have none: nobody ran `gitmem maintain` on their evening.

Cheap where nothing is missing: a start looks once a day, and reads one small file otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.messages import parse
from gitmem.errors import Busy, Damaged
from gitmem.git.lock import WAIT
from gitmem.index.maintained import keep_look, looked_on
from gitmem.operations.group import Group
from gitmem.operations.jobs import Told, traced

if TYPE_CHECKING:
    from gitmem.git.repository import Commit
    from gitmem.git.tags import Tag

MOST = 500
"""Commits that a start looks at: so many take 200 ms, and somebody waits for them."""
ALL = 20_000
"""Commits that maintenance looks at."""


class Missed(NamedTuple):
    """A day without a snapshot, and the last commit of it."""

    date: date
    commit: str
    time: datetime


def missed_days(group: Group, *, most: int = MOST) -> tuple[Missed, ...]:
    """Days since the newest snapshot on which memory changed, oldest first; today is not over."""
    from gitmem.git.tags import TAGS
    from gitmem.operations.snapshot import PREFIX, latest

    repository = group.repository
    last = latest(repository, group.now().date())
    tree = repository.commit(last.commit).tree if last else None
    found = []
    for each, commit in reversed(list(_ends(group, last, most))):
        is_new = commit.tree != tree if tree else bool(repository.tree(commit.tree))
        if is_new and not repository.reference(f"{TAGS}{PREFIX}{each.date}"):
            found.append(each)
        tree = commit.tree if is_new else tree
    return tuple(found)


def _ends(group: Group, last: Tag | None, most: int) -> Iterator[tuple[Missed, Commit]]:
    """The last commit of each day after the snapshot LAST and before today, newest first."""
    from gitmem.git.timeline import made_by
    from gitmem.operations.snapshot import day_of

    now = group.now()
    present = made = now.timestamp()
    day, known = now.date(), day_of(last.name) if last else ""
    with suppress(Damaged):  # `check` tells of it; the days on top of it are known
        for commit in islice(group.repository.history(group.repository.tip().commit), most):
            made = min(made, made_by(commit, present, made))
            then = datetime.fromtimestamp(made, group.zone)
            if f"{then.date()}" <= known or parse(commit.message).op == "init":
                return  # the files that a group begins with are in its layout
            if then.date() < day:
                day = then.date()
                yield Missed(day, commit.oid, then), commit


def snapshot_missed(group: Group, *, wait: float = WAIT, most: int = ALL) -> tuple[str, ...]:
    """Make the snapshots that are missing; tell their names. No other one moves."""
    missed = missed_days(group, most=most)
    if not missed:
        return ()
    refusals = () if wait else (Busy,)
    return traced(group, "snapshot", lambda: _made(group, missed, wait), told, refusals)


def told(names: tuple[str, ...]) -> Told:
    """What this leaves as its trace."""
    return Told("done" if names else "nothing", f"{', '.join(names)} made late", len(names))


def _made(group: Group, missed: Sequence[Missed], wait: float) -> tuple[str, ...]:
    from gitmem.git.tags import TAGS, Tag, write_tag
    from gitmem.operations.snapshot import MESSAGE, PREFIX

    agent, names = group.note("snapshot").agent, []
    with group.writing(wait) as writer:
        for day, commit, time in missed:
            name = f"{PREFIX}{day}"
            if not writer.repository.reference(TAGS + name):  # nobody else made it meanwhile
                message = MESSAGE.format(date=day)
                write_tag(writer.repository, Tag(name, commit, agent, time, message))
                names.append(name)
    return tuple(names)


def catch_up(group: Group) -> tuple[str, ...]:
    """The same, once a day, for a session that starts: it waits for no other writer."""
    today = f"{group.now().date()}"
    if looked_on(group.gitdir) == today:
        return ()
    try:
        names = snapshot_missed(group, wait=0.0, most=MOST)
    except Busy:
        return ()  # the next start looks again
    keep_look(group.gitdir, today)
    return names
