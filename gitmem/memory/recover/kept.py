"""Kept commits: they left the branch, and gitmem keeps them. List, restore or drop them."""

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
from gitmem.model.hints import Hint, Option, call
from gitmem.model.record import Record
from gitmem.store.lock import last_published
from gitmem.store.objects.database import ObjectDamaged

if TYPE_CHECKING:
    from gitmem.model.secrets.exposure import Exposed
    from gitmem.store.lost_commits.departures import Departure
    from gitmem.store.lost_commits.merge_back import Rejoined

NAMED = 5
"""Kept commits that an error names."""

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
    """A commit that left the branch, with the commits that only it leads to."""

    commit: str
    subject: str
    agent: str
    time: datetime
    how: str
    """The reflog's line about the move that removed it; empty if it has none."""


class KeptRestored(Record):
    """Kept commits that were merged into the branch."""

    kept: str
    commit: str
    """Where the branch is now."""
    changed: bool = True
    """False if they were part of the branch before."""


class KeptDropped(Record):
    """Kept commits that gitmem no longer keeps."""

    kept: str


def _departure(group: Group) -> Departure | None:
    """What left the branch since gitmem last wrote, and is neither put back nor kept yet."""
    if is_where_left(group):
        return None
    from gitmem.store.lost_commits.departures import departure

    with suppress(ObjectDamaged):
        tip, published = group.repository.tip(), last_published(group.gitdir)
        objects = group.repository.objects
        with objects.probing():  # the reflog may name objects that a gc removed: that is not damage
            return departure(group.gitdir, objects, published, tip)
    return None


def waiting(group: Group) -> str:
    """What left the branch by accident, as a sentence, until a command puts it back."""
    left = _departure(group)
    if left is None or left.meant:
        return ""
    moved = f" by `{left.how}`" if left.how else ""
    names = ", ".join(head[:10] for head in left.heads)
    return Hint(f"{names} left the branch{moved}; to put it back: ", call("capture"))


def kept_list(group: Group) -> tuple[KeptCommit, ...]:
    """The kept commits, newest first, also those that the next command will keep."""
    from gitmem.store.lost_commits.kept import kept_refs, let_go, newest_copy, rebuilt
    from gitmem.store.lost_commits.reflog import moves_from
    from gitmem.store.refs.files import read_log
    from gitmem.store.repository import BRANCH

    left, oids = _departure(group), set(kept_refs(group.gitdir).values())
    if left and left.meant:
        heads = {newest_copy(group.gitdir, head) for head in left.heads}
        oids |= heads - let_go(group.gitdir)
    moves = moves_from(read_log(group.gitdir, BRANCH).lines) if oids else {}
    moves.update((new, moves[old]) for old, new in rebuilt(group.gitdir).items() if old in moves)
    found = []
    for oid in oids:
        with suppress(Damaged):
            commit = group.repository.commit(oid)
            note = parse(commit.message)
            agent = note.agent or commit.author
            found.append(KeptCommit(oid, note.subject, agent, commit.time, moves.get(oid, "")))
    return tuple(sorted(found, key=lambda each: (each.time, each.commit), reverse=True))


def kept_restore(group: Group, what: str, *, allow_secret: Iterable[str] = ()) -> KeptRestored:
    """Merge kept commits into the branch: what others did since stays.

    All of them become history again, so a credential in any of them is refused, except those that
    the rules in ALLOW_SECRET find.
    """
    from gitmem.memory.admin.committed_secrets import acknowledge_in_place

    check_access(group.acting, group.name, write=True)
    try:
        oid = find_kept(group, what)
    except NotFound:
        oid = _on_branch(group, what)
        if not oid:
            raise
        return KeptRestored(oid, group.repository.tip(), changed=False)
    permitted = frozenset(allow_secret)
    exposed = _permitted(group, oid, permitted)  # before the lock, because the search is slow
    with group.writing() as writer:
        copy = find_kept(group, oid)  # another, if this writer could not read all of it
        if copy != oid:
            oid, exposed = copy, _permitted(group, copy, permitted)
        landed = writer.bring_back(oid)
        if landed:
            acknowledge_in_place(group, exposed)
    if not landed:
        raise Conflict(
            f"merging commit {oid[:10]} into the branch failed: a file is in the way",
            hint=_one_by_one(oid),
            commit=oid,
        )
    return KeptRestored(oid, landed)


def _permitted(group: Group, oid: str, permitted: frozenset[str]) -> list[Exposed]:
    """The credentials that the branch would expose with the commit OID, if all are PERMITTED."""
    from gitmem.memory.admin.committed_secrets import exposed_beside

    exposed = exposed_beside(group, oid)
    refused = [each for each in exposed if each.rule not in permitted]
    if refused:
        raise _exposing(oid, refused)
    return exposed


def _one_by_one(oid: str) -> Hint:
    return Hint("restore files one by one: ", call("restore", "PATH", at=oid[:10]))


def _exposing(oid: str, found: list[Exposed]) -> SecretFound:
    first = found[0]
    where = f"{first.path} line {first.line}" if first.line else f"the name of {first.path}"
    where = where if first.path else "its message"
    return SecretFound(
        f"commit {first.commit[:10]} holds what looks like a credential ({first.rule}): {where}",
        hint=_one_by_one(oid)
        + "; if it is not a secret, repeat with "
        + Hint(Option("allow_secret", first.rule)),
        commit=first.commit,
        path=first.path,
        rule=first.rule,
        line=first.line,
    )


def kept_drop(group: Group, what: str) -> KeptDropped:
    """Stop keeping commits: a `git gc` may then remove them for good."""
    from gitmem.memory.admin.committed_secrets import scan_beside
    from gitmem.store.lost_commits.kept import note_let_go, release

    with suppress(NotFound, BadInput):
        # Once it is gone, its credentials can no longer be found.
        scan_beside(group, also=[find_kept(group, what)])
    with group.writing() as writer:
        oid = find_kept(group, what)
        note_let_go(group.gitdir, [oid, *_copies_behind(group, oid)])
        release(writer.repository, oid)
        writer.rejoined[:] = [each for each in writer.rejoined if each.commit != oid]
    return KeptDropped(oid)


def _copies_behind(group: Group, oid: str) -> set[str]:
    """The rebuilt commits that only the kept commit OID leads to."""
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
    """The kept commit that WHAT names: its id, the first digits of its id, or its ref."""
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
            f"{len(found)} kept commits begin with {what!r}",
            hint=f"give more digits: {names}{more}",
            kept=found,
        )
    listed = Hint(call("kept"), " lists the kept commits")
    hint = listed if known else "this group has no kept commits"
    raise NotFound(f"no kept commit {what!r} in group {group.name}", hint=hint, kept=what)


def _copies(group: Group, start: str, among: set[str]) -> list[str]:
    """Those AMONG some commits that replace one whose id begins with START."""
    from gitmem.store.lost_commits.kept import newest_copy, rebuilt

    olds = [old for old in rebuilt(group.gitdir) if start and old.startswith(start)]
    return sorted({newest_copy(group.gitdir, old) for old in olds} & among)


def _digits(what: str) -> str:
    """WHAT in lower case, without the prefix of the refs of kept commits."""
    from gitmem.store.lost_commits.kept import KEPT

    return what.removeprefix(KEPT).lower()


def _on_branch(group: Group, what: str) -> str:
    """The commit WHAT, if it is part of the branch already; else empty."""
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
