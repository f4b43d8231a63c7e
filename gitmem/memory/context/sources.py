"""The commits that a question is answered from: that of the group, and that of `global` then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property

from gitmem.errors import Damaged, GroupNotFound, MomentNotFound
from gitmem.memory.context.mask import Masks
from gitmem.memory.context.pins import Pinned
from gitmem.memory.group import Group
from gitmem.memory.layouts import spelled_at
from gitmem.model.access import GLOBAL
from gitmem.model.layout.layout import Layout
from gitmem.model.transcripts.batches import REF
from gitmem.store.repository import Snapshot


class Sources:
    """What can be read, by the name of the group it belongs to; nothing for the group itself."""

    def __init__(
        self, moment: Pinned, shared: Snapshot | None, trouble: list[str], other: Group | None
    ) -> None:
        self.own, self.shared = moment.snapshot, shared
        self._loaded = moment.loaded
        self.other = other
        """The group `global`, where it is there and not the group itself."""
        self.trouble = trouble
        """What somebody should know: why `global` is not among them, or that HEAD is elsewhere."""
        self.masks = Masks(self.by_group)
        """Over the credentials in what is read from them."""

    @property
    def by_group(self) -> dict[str, Snapshot]:
        """The commits by group."""
        return {"": self.own, GLOBAL: self.shared} if self.shared else {"": self.own}

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """The layout of the group by group: each may spell the names of files in its own way."""
        own = {"": self._loaded.layout}
        return own | {GLOBAL: spelled_at(self._loaded.written, self.shared)} if self.shared else own


def has_transcripts(group: Group) -> bool:
    """Whether anything was ever said: the log knows of it also where the ref is lost."""
    return bool(group.repository.reference(REF)) or (group.gitdir / "logs" / REF).exists()


def has_shared(group: Group) -> bool:
    """Whether there is a group `global` beside this one."""
    return group.name != GLOBAL and group.store.gitdir(GLOBAL).is_dir()


@contextmanager
def sources_at(group: Group, moment: Pinned, *, shared: bool) -> Iterator[Sources]:
    """The commits of a moment; that of `global` where it is SHARED. It is never locked."""
    where = "" if moment.instant else group.repository.head_elsewhere()
    trouble = [f"HEAD of this group is {where}: what is read is 'main'"] if where else []
    other: Group | None = None
    if shared and has_shared(group):
        try:
            other = group.other(GLOBAL)
        except (GroupNotFound, Damaged) as error:
            trouble.append(f"the group {GLOBAL} cannot be read: {error.message}")
    try:
        theirs = _shared_at(other, moment, group.moment(), trouble) if other else None
        yield Sources(moment, theirs, trouble, other)
    finally:
        if other:
            trouble += [f"group {GLOBAL}: {each}" for each in other.damage]
            other.close()


def _shared_at(shared: Group, moment: Pinned, now: datetime, trouble: list[str]) -> Snapshot | None:
    """The commit of `global` at that moment, if there was one."""
    repository, instant = shared.repository, moment.instant
    try:
        if instant is None:
            return repository.snapshot()
        from gitmem.store.history.timeline import at_time  # only where the past is asked for

        return repository.snapshot(at_time(repository, instant, now).oid)
    except MomentNotFound:
        return None
    except Damaged as error:
        trouble.append(f"the group {GLOBAL} cannot be read: {error.message}")
        return None
