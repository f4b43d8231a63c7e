"""Commits that left the branch: which, by what, and what becomes of them."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.messages import parse
from gitmem.errors import BadInput, Conflict, Damaged, NotFound
from gitmem.git.lock import last_published
from gitmem.git.objects import ObjectDamaged
from gitmem.operations.group import Group, is_where_left

if TYPE_CHECKING:
    from gitmem.git.lineage import Departure
    from gitmem.git.rejoining import Rejoined

__all__ = [
    "Dropped",
    "Kept",
    "Rejoined",
    "Restored",
    "is_where_left",
    "kept_drop",
    "kept_list",
    "kept_restore",
    "waiting",
]


class Kept(NamedTuple):
    """A commit that left the branch, with all that lies behind it alone."""

    commit: str
    subject: str
    agent: str
    time: datetime
    how: str
    """What the reflog says of the move that took it away; empty when it says nothing."""


class Restored(NamedTuple):
    """Kept commits that are part of the branch again."""

    kept: str
    commit: str
    """Where the branch is now."""


class Dropped(NamedTuple):
    """Kept commits that nothing leads to any more."""

    kept: str


def _departure(group: Group) -> Departure | None:
    """What left the branch since the last writer of ours, and nobody has dealt with yet."""
    if is_where_left(group):
        return None
    from gitmem.git.lineage import departure

    with suppress(ObjectDamaged):
        tip, published = group.repository.tip().commit, last_published(group.gitdir)
        objects = group.repository.objects
        with objects.probing():  # the reflog may name what a gc has taken: that is no damage
            return departure(group.gitdir, objects, published, tip)
    return None


def waiting(group: Group) -> str:
    """What left the branch though nobody meant it, in words, until a command puts it back."""
    left = _departure(group)
    if left is None or left.meant:
        return ""
    moved = f" by `{left.how}`" if left.how else ""
    names = ", ".join(head[:10] for head in left.heads)
    return f"{names} left the branch{moved}; put it back: gitmem capture"


def kept_list(group: Group) -> tuple[Kept, ...]:
    """What left the branch and is kept, newest first; also what the next command will keep."""
    from gitmem.git.checks.reffiles import read_log
    from gitmem.git.checks.rewound import moves_from
    from gitmem.git.kept import kept_refs
    from gitmem.git.repository import BRANCH

    left = _departure(group)
    oids = {*kept_refs(group.gitdir).values(), *(left.heads if left and left.meant else ())}
    said = moves_from(read_log(group.gitdir, BRANCH)[0]) if oids else {}
    found = []
    for oid in oids:
        with suppress(Damaged):
            commit = group.repository.commit(oid)
            note = parse(commit.message)
            agent = note.agent or commit.author
            found.append(Kept(oid, note.subject, agent, commit.time, said.get(oid, "")))
    return tuple(sorted(found, key=lambda each: (each.time, each.commit), reverse=True))


def kept_restore(group: Group, what: str) -> Restored:
    """Merge kept commits into the branch: what others did since stays."""
    with group.writing() as writer:
        oid = _find(group, what)
        landed = writer.bring_back(oid)
    if not landed:
        raise Conflict(
            f"commit {oid[:10]} does not go together with the branch: a file is in the way",
            hint=f"bring files back one by one with `gitmem restore PATH --at {oid[:10]}`",
            commit=oid,
        )
    return Restored(oid, landed)


def kept_drop(group: Group, what: str) -> Dropped:
    """Keep commits no longer: a `git gc` of a person's may remove them for good."""
    from gitmem.git.kept import note_let_go, release

    with group.writing() as writer:
        oid = _find(group, what)
        note_let_go(group.gitdir, oid)
        release(writer.repository, oid)
    return Dropped(oid)


def _find(group: Group, what: str) -> str:
    found = [each.commit for each in kept_list(group) if what and each.commit.startswith(what)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"{len(found)} kept commits begin with {what!r}", hint="give more digits")
    raise NotFound(f"no kept commit {what!r}", hint="list them with `gitmem kept`", kept=what)
