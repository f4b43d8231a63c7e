"""The trash of a group: held versions that somebody dropped, and the way back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import GitmemError, NotFound, Refused, StorageFailed
from gitmem.memory.group import Group
from gitmem.memory.read.log import start_of
from gitmem.memory.recover.held import HeldThing, find_held
from gitmem.model.commit_messages import revealed
from gitmem.model.guards import check_message_text
from gitmem.model.text.quoting import quoted
from gitmem.store.transaction.writer import Writer
from gitmem.store.worktree.held import HeldFolder, SetAside, size_of
from gitmem.store.worktree.trash import Dropping, Trash, Trashed


class HeldDropped(NamedTuple):
    """A held version that lies in the trash now."""

    path: str
    put_back: bool
    """True when HEAD's version stands in its place again."""
    id: str
    """By which `held restore` brings it back."""
    location: str


class Dropped(NamedTuple):
    """A version in the trash."""

    id: str
    path: str
    rule: str
    dropped: str
    agent: str
    reason: str
    location: str
    bytes: int | None


class HeldRestored(NamedTuple):
    """A version that came back from the trash."""

    path: str
    id: str
    """Empty when it stands in the work tree again; else it is set aside, by this id."""
    location: str


class HeldEmptied(NamedTuple):
    """Versions that were deleted from the trash for good, or would be."""

    deleted: tuple[Dropped, ...]
    kept: int
    dry_run: bool = False

    @property
    def bytes(self) -> int:
        """The size of all that is deleted."""
        return sum(each.bytes or 0 for each in self.deleted)


def held_drop(group: Group, what: str, *, reason: str = "") -> HeldDropped:
    """Move a held version to the trash; `held_restore` brings it back."""
    check_message_text("reason", reason)
    find_held(group, what)
    with group.writing() as writer:
        thing = find_held(group, what)  # again: until now somebody may have mended it
        back = not thing.set_aside and any(writer.repository.snapshot().files(thing.path))
        aside = _set_out(writer, thing, back) if not thing.set_aside else None
        aside = aside or HeldFolder(group.gitdir).find(thing.id or thing.path)
        if aside is None:
            raise _not_moved(thing, writer.pending)
        why = Dropping(group.who.agent, group.now(), reason, not thing.set_aside)
        done = Trash(group.gitdir).take(aside, why)
        return HeldDropped(thing.path, back, done.id, str(done.content))


def _not_moved(thing: HeldThing, pending: bool) -> GitmemError:
    if pending:
        return StorageFailed(
            f"moving {thing.path!r} to the trash failed; nothing is lost",
            hint="check the disk of the store, then see where the file is: `gitmem held`",
        )
    return NotFound(
        f"nothing is held for {thing.path!r} any more", hint="list what is held: `gitmem held`"
    )


def _set_out(writer: Writer, thing: HeldThing, in_git: bool) -> SetAside | None:
    writer.check_closed(thing.path, f"held drop {quoted(thing.path)} --yes")
    try:
        return writer.set_out(thing.path, thing.rule)
    except OSError as error:
        raise Refused(
            f"{thing.path!r} cannot be moved to the trash: {error.strerror}",
            hint=""
            if in_git
            else f"to leave it on disk: `gitmem held ignore {quoted(thing.path)}`",
            rule=thing.rule,
        ) from error


def held_trash(group: Group) -> tuple[Dropped, ...]:
    """What lies in the trash, oldest first."""
    return tuple(map(_dropped, Trash(group.gitdir)))


def _dropped(each: Trashed) -> Dropped:
    location = str(each.content)
    return Dropped(
        each.id,
        each.path,
        each.rule,
        each.dropped,
        each.agent,
        each.reason,
        location,
        size_of(location),
    )


def held_restore(group: Group, what: str) -> HeldRestored:
    """Bring a version back from the trash, to its place or, where that is taken, under held."""
    with group.writing() as writer:
        trash = Trash(group.gitdir)
        each = trash.find(what) or trash.find(group.inside(revealed(what)))
        if each is None:
            raise NotFound(
                f"no version {what!r} in the trash", hint="list them: `gitmem held list --trash`"
            )
        if trash.put_back(each, writer.worktree):
            return HeldRestored(each.path, "", str(group.worktree / each.path))
        aside = trash.hold(each)
        return HeldRestored(each.path, aside.id, str(aside.content))


def held_empty(
    group: Group, ids: Sequence[str] = (), *, before: str = "", dry_run: bool = False
) -> HeldEmptied:
    """Delete from the trash for good: those of IDS, or those dropped BEFORE a moment, or all."""
    if dry_run:
        return _emptied(group, ids, before)[0]
    with group.writing():
        done, going = _emptied(group, ids, before)
        for row in going:
            Trash(group.gitdir).remove(row)
        return done._replace(dry_run=False)


def _emptied(
    group: Group, ids: Sequence[str], before: str
) -> tuple[HeldEmptied, Sequence[Trashed]]:
    """What would be deleted."""
    until = start_of(group, before) if before else math.inf
    known = list(Trash(group.gitdir))
    missing = [each for each in ids if each not in {row.id for row in known}]
    if missing:
        raise NotFound(
            f"no version {missing[0]!r} in the trash", hint="list them: `gitmem held list --trash`"
        )
    going = [row for row in known if (row.id in ids or not ids) and _older(row, until)]
    return HeldEmptied(tuple(map(_dropped, going)), len(known) - len(going), True), going


def _older(row: Trashed, until: float) -> bool:
    """Whether a version was dropped before that; of one without a sound time nobody knows."""
    if until == math.inf:
        return True
    with suppress(ValueError):
        return datetime.fromisoformat(row.dropped).timestamp() < until
    return False
