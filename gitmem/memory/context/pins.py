"""Pin the commits that a call reads: one of the group, and one of `global` beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from datetime import time as time_of_day
from functools import cached_property
from typing import TYPE_CHECKING

from gitmem.errors import Damaged, GroupNotFound, MomentNotFound
from gitmem.memory.context.mask import Masks
from gitmem.memory.group import Group
from gitmem.memory.layouts import Loaded, layout_at, spelled_at, zone_then
from gitmem.memory.resolve import STEPS, WHOLE_ID, resolve
from gitmem.model.access import GLOBAL
from gitmem.model.layout.layout import Layout
from gitmem.model.record import Record
from gitmem.model.transcripts.batches import REF
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from gitmem.model.moments import Moment

HOUR = timedelta(hours=1)


class Pinned(Record):
    """A commit of the group, with the layout and the calendar that applied then."""

    snapshot: Snapshot
    loaded: Loaded
    instant: datetime | None
    """The time up to which `global` is read; None for now."""
    time: datetime
    """Date and time, in the zone of the group at that commit."""


def pin(group: Group, at: str | None) -> Pinned:
    """Pin the commit that AT names, or HEAD."""
    commit = resolve(group, at)
    snapshot = group.repository.snapshot(commit)
    loaded = layout_at(group, snapshot)
    zone = zone_then(group, loaded.layout)
    if at is None:
        return Pinned(snapshot, loaded, None, group.now().astimezone(zone))
    start, end = _interval(group, at, commit)
    if end - start > HOUR:
        # A day keeps its date even if the group was in another zone then.
        time = datetime.combine(end.astimezone(group.zone), time_of_day.max, zone)
    else:
        time = end.astimezone(zone)
    return Pinned(snapshot, loaded, end, time)


def _interval(group: Group, at: str, commit: str) -> Moment:
    """The interval that AT names: that of a date, or the time of COMMIT."""
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


class Sources:
    """The pinned commits by group name; the empty name is the group itself."""

    def __init__(
        self, pinned: Pinned, shared: Snapshot | None, trouble: list[str], other: Group | None
    ) -> None:
        self.own, self.shared = pinned.snapshot, shared
        self._loaded = pinned.loaded
        self.other = other
        """The group `global`, if it exists and is not the group itself."""
        self.trouble = trouble
        """Warnings: why `global` is not read, or that HEAD is not on the branch."""
        self.masks = Masks(self.by_group)
        """The masks over credentials in these commits."""

    @property
    def by_group(self) -> dict[str, Snapshot]:
        """The commits by group."""
        return {"": self.own, GLOBAL: self.shared} if self.shared else {"": self.own}

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """The layout of the group by group: each may spell file names in its own way."""
        own = {"": self._loaded.layout}
        return own | {GLOBAL: spelled_at(self._loaded.written, self.shared)} if self.shared else own


def has_transcripts(group: Group) -> bool:
    """Whether the group ever had transcripts; their reflog remains if the ref is lost."""
    return bool(group.repository.reference(REF)) or (group.gitdir / "logs" / REF).exists()


def has_shared(group: Group) -> bool:
    """Whether the store has a group `global` that is not GROUP."""
    return group.name != GLOBAL and group.store.gitdir(GLOBAL).is_dir()


@contextmanager
def sources_at(group: Group, pinned: Pinned, *, shared: bool) -> Iterator[Sources]:
    """The commits to read, with that of `global` if SHARED; `global` is not locked."""
    where = "" if pinned.instant else group.repository.head_elsewhere()
    trouble = [f"HEAD of this group is {where}; reading 'main'"] if where else []
    other: Group | None = None
    if shared and has_shared(group):
        try:
            other = group.other(GLOBAL)
        except (GroupNotFound, Damaged) as error:
            trouble.append(f"cannot read group {GLOBAL}: {error.message}")
    try:
        theirs = _shared_at(other, pinned, group.moment(), trouble) if other else None
        yield Sources(pinned, theirs, trouble, other)
    finally:
        if other:
            trouble += [f"group {GLOBAL}: {each}" for each in other.damage]
            other.close()


def _shared_at(shared: Group, pinned: Pinned, now: datetime, trouble: list[str]) -> Snapshot | None:
    """The commit of `global` at the pinned time, if it had one."""
    repository, instant = shared.repository, pinned.instant
    try:
        if instant is None:
            return repository.snapshot()
        from gitmem.store.history.timeline import at_time  # only to read the past

        return repository.snapshot(at_time(repository, instant, now).oid)
    except MomentNotFound:
        return None
    except Damaged as error:
        trouble.append(f"cannot read group {GLOBAL}: {error.message}")
        return None
