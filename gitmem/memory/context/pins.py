"""The moment that a question is about: a commit, the layout that counts there, the calendar."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from typing import TYPE_CHECKING

from gitmem.memory.group import Group
from gitmem.memory.layouts import Loaded, layout_at, zone_then
from gitmem.memory.resolve import STEPS, WHOLE_ID, resolve
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from gitmem.model.moments import Moment

HOUR = timedelta(hours=1)


class Pinned(Record):
    """A moment, pinned to a commit."""

    snapshot: Snapshot
    loaded: Loaded
    instant: datetime | None
    """Up to when `global` counts; None for now."""
    time: datetime
    """The calendar and the clock, in the zone of then."""


def moment_at(group: Group, at: str | None) -> Pinned:
    """The commit, its layout, and the time there and then."""
    commit = resolve(group, at)
    snapshot = group.repository.snapshot(commit)
    loaded = layout_at(group, snapshot)
    zone = zone_then(group, loaded.layout)
    if at is None:
        return Pinned(snapshot, loaded, None, group.now().astimezone(zone))
    start, end = _interval(group, at, commit)
    if end - start > HOUR:
        # A day: it keeps its date, also when the zone of the group was another one then.
        time = datetime.combine(end.astimezone(group.zone), time_of_day.max, zone)
    else:
        time = end.astimezone(zone)
    return Pinned(snapshot, loaded, end, time)


def _interval(group: Group, at: str, commit: str) -> Moment:
    """The time that AT names: a date is one itself, a commit has its own."""
    from gitmem.model.moments import Moment, parse_moment

    name = at.strip()
    is_plain = re.sub(STEPS, "", name) == name
    is_id = len(name) == WHOLE_ID and re.fullmatch(r"[0-9a-fA-F]+", name)
    moment = parse_moment(name, group.now(), group.zone) if is_plain and not is_id else None
    if moment:
        return moment
    from gitmem.store.history.timeline import time_of

    made = datetime.fromtimestamp(time_of(group.repository, commit, group.now()), UTC)
    return Moment(made, made)
