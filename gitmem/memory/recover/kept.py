"""Commits that left the branch: which, by what, and what becomes of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import BadInput, Conflict, Damaged, NotFound, SecretFound
from gitmem.memory.group import Group
from gitmem.memory.searched import is_where_left
from gitmem.model.access import check_access
from gitmem.model.commit_messages import parse
from gitmem.model.record import Record
from gitmem.store.lock import last_published
from gitmem.store.objects.database import ObjectDamaged

if TYPE_CHECKING:
    from gitmem.model.secrets.exposure import Exposed
    from gitmem.store.lost_commits.departures import Departure
    from gitmem.store.lost_commits.merge_back import Rejoined

NAMED = 5
"""KeptCommit commits that an error names."""

__all__ = [
    "KeptCommit",
    "KeptDropped",
    "KeptRestored",
    "Rejoined",
    "find_kept",
    "is_where_left",
    "kept_drop",
    "kept_list",
    "kept_restore",
    "waiting",
]


class KeptCommit(Record):
    """A commit that left the branch, with all that lies behind it alone."""

    commit: str
    subject: str
    agent: str
    time: datetime
    how: str
    """What the reflog says of the move that took it away; empty when it says nothing."""


class KeptRestored(Record):
    """KeptCommit commits that are part of the branch again."""

    kept: str
    commit: str
    """Where the branch is now."""
    changed: bool = True
    """False when they were part of the branch before."""


class KeptDropped(Record):
    """KeptCommit commits that nothing leads to any more."""

    kept: str


def _departure(group: Group) -> Departure | None:
    """What left the branch since the last writer of ours, and nobody has dealt with yet."""
    if is_where_left(group):
        return None
    from gitmem.store.lost_commits.departures import departure

    with suppress(ObjectDamaged):
        tip, published = group.repository.tip(), last_published(group.gitdir)
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


def kept_list(group: Group) -> tuple[KeptCommit, ...]:
    """What left the branch and is kept, newest first; also what the next command will keep."""
    from gitmem.store.lost_commits.kept import kept_refs, let_go, newest_copy, rebuilt
    from gitmem.store.lost_commits.reflog import moves_from
    from gitmem.store.refs.files import read_log
    from gitmem.store.repository import BRANCH

    left, oids = _departure(group), set(kept_refs(group.gitdir).values())
    if left and left.meant:
        heads = {newest_copy(group.gitdir, head) for head in left.heads}
        oids |= heads - let_go(group.gitdir)
    said = moves_from(read_log(group.gitdir, BRANCH).lines) if oids else {}
    said.update((new, said[old]) for old, new in rebuilt(group.gitdir).items() if old in said)
    found = []
    for oid in oids:
        with suppress(Damaged):
            commit = group.repository.commit(oid)
            note = parse(commit.message)
            agent = note.agent or commit.author
            found.append(KeptCommit(oid, note.subject, agent, commit.time, said.get(oid, "")))
    return tuple(sorted(found, key=lambda each: (each.time, each.commit), reverse=True))


def kept_restore(group: Group, what: str, *, allow_secret: Iterable[str] = ()) -> KeptRestored:
    """Merge kept commits into the branch: what others did since stays.

    All of them become history again, so that a credential in any of them is refused, unless
    nobody wants to hear of what the rules in ALLOW_SECRET have found.
    """
    from gitmem.memory.context.exposed import acknowledge_in_place

    check_access(group.acting, group.name, write=True)
    try:
        oid = find_kept(group, what)
    except NotFound:
        oid = _on_branch(group, what)
        if not oid:
            raise
        return KeptRestored(oid, group.repository.tip(), changed=False)
    permitted = frozenset(allow_secret)
    exposed = _permitted(group, oid, permitted)  # before the lock: nobody waits for a search
    with group.writing() as writer:
        copy = find_kept(group, oid)  # another, where this writer could not read all of it
        if copy != oid:
            oid, exposed = copy, _permitted(group, copy, permitted)
        landed = writer.bring_back(oid)
        if landed:
            acknowledge_in_place(group, exposed)
    if not landed:
        raise Conflict(
            f"commit {oid[:10]} cannot be merged into the branch: a file is in the way",
            hint=f"bring files back one by one with `gitmem restore PATH --at {oid[:10]}`",
            commit=oid,
        )
    return KeptRestored(oid, landed)


def _permitted(group: Group, oid: str, permitted: frozenset[str]) -> list[Exposed]:
    """What the branch would expose with the commit OID; refused unless its rules are PERMITTED."""
    from gitmem.memory.context.exposed import exposed_beside

    exposed = exposed_beside(group, oid)
    refused = [each for each in exposed if each.rule not in permitted]
    if refused:
        raise _exposing(oid, refused)
    return exposed


def _exposing(oid: str, found: list[Exposed]) -> SecretFound:
    first = found[0]
    where = f"{first.path} line {first.line}" if first.line else f"the name of {first.path}"
    where = where if first.path else "its message"
    return SecretFound(
        f"commit {first.commit[:10]} holds what looks like a credential ({first.rule}): {where}",
        hint=f"bring files back one by one with `gitmem restore PATH --at {oid[:10]}`; if it is no "
        f"secret, repeat with --allow-secret {first.rule}",
        commit=first.commit,
        path=first.path,
        rule=first.rule,
        line=first.line,
    )


def kept_drop(group: Group, what: str) -> KeptDropped:
    """Keep commits no longer: a `git gc` of a person's may remove them for good."""
    from gitmem.memory.context.exposed import scan_beside
    from gitmem.store.lost_commits.kept import note_let_go, release

    with suppress(NotFound, BadInput):
        # Once it is gone, nobody can tell what was found in it alone.
        scan_beside(group, also=[find_kept(group, what)])
    with group.writing() as writer:
        oid = find_kept(group, what)
        note_let_go(group.gitdir, [oid, *_copies_behind(group, oid)])
        release(writer.repository, oid)
        writer.rejoined[:] = [each for each in writer.rejoined if each.commit != oid]
    return KeptDropped(oid)


def _copies_behind(group: Group, oid: str) -> set[str]:
    """The rebuilt commits that only the kept commit OID leads to: what they lack is let go, too."""
    from gitmem.store.history.ancestry import reached
    from gitmem.store.lost_commits.kept import kept_refs, rebuilt

    copies = set(rebuilt(group.gitdir).values())
    if not copies:
        return set()
    objects = group.repository.objects
    others = reached(objects, group.repository.tip())
    for each in set(kept_refs(group.gitdir).values()) - {oid}:
        others = others | reached(objects, each, others)
    return copies & set(reached(objects, oid, others))


def find_kept(group: Group, what: str) -> str:
    """The one kept commit that WHAT names: its id, the first digits of that, or its ref."""
    start = _digits(what)
    known = kept_list(group)
    commits = {each.commit for each in known if start}
    found = [each for each in commits if each.startswith(start)] or _copies(group, start, commits)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(oid[: len(start) + 4] for oid in found[:NAMED])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        raise BadInput(
            f"{what!r} is the start of {len(found)} kept commits",
            hint=f"give more digits: {names}{more}",
            kept=found,
        )
    hint = "list them: `gitmem kept`" if known else "no commits are kept in this group"
    raise NotFound(f"no kept commit {what!r} in group {group.name}", hint=hint, kept=what)


def _copies(group: Group, start: str, among: set[str]) -> list[str]:
    """Those AMONG some commits that stand for one whose id begins with START."""
    from gitmem.store.lost_commits.kept import newest_copy, rebuilt

    olds = [old for old in rebuilt(group.gitdir) if start and old.startswith(start)]
    return sorted({newest_copy(group.gitdir, old) for old in olds} & among)


def _digits(what: str) -> str:
    """WHAT as ids are written; the ref of a kept commit ends with the first digits of its id."""
    from gitmem.store.lost_commits.kept import KEPT

    return what.removeprefix(KEPT).lower()


def _on_branch(group: Group, what: str) -> str:
    """The commit WHAT, if it is part of the branch: somebody has brought it back before."""
    from gitmem.store.history.ancestry import is_behind
    from gitmem.store.history.log import commits_like
    from gitmem.store.lost_commits.kept import newest_copy, rebuilt

    start = _digits(what)
    if re.fullmatch(r"[0-9a-f]{4,40}", start) is None:
        return ""
    tip, objects = group.repository.tip(), group.repository.objects
    alike = [old for old in rebuilt(group.gitdir) if old.startswith(start)]
    with suppress(Damaged):
        alike += commits_like(group.repository, start)
    with suppress(Damaged):
        known = {newest_copy(group.gitdir, each) for each in alike}
        found = [each for each in known if is_behind(objects, each, tip)]
        return found[0] if len(found) == 1 else ""
    return ""
