"""Scan commits that passed no guard for secrets, and acknowledge findings.

Commits made by plain git, fetched or pulled are scanned by the next write and by `status`,
`maintain` and `check`; these three also scan commits that only other refs reach. The recorded tip
says how far history was scanned; trailers do not count, because anybody can type one.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.cache.scanned import (
    Scanned,
    ScannedRefs,
    advanced,
    keep_scanned,
    keep_scanned_refs,
    read_scanned,
    read_scanned_refs,
)
from gitmem.errors import Damaged, NotFound
from gitmem.memory.admin.commit_search import MOST_COMMITS, CommitSearch
from gitmem.memory.group import Group
from gitmem.memory.searched import has_open, scanned_in
from gitmem.model.access import check_access
from gitmem.model.guards import is_allowed
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.secrets.exposure import Exposed, located_id
from gitmem.store.fsck.acknowledged import acknowledge as keep_acknowledged
from gitmem.store.fsck.acknowledged import read_acknowledged, salted
from gitmem.store.lost_commits.kept import KEPT
from gitmem.store.lost_commits.unreadable import unreadable
from gitmem.store.objects.database import ObjectMissing
from gitmem.store.refs.files import all_refs
from gitmem.store.refs.move import OURS
from gitmem.store.repository import BRANCH

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.store.transaction.writer import Writer

MOST_COUNTED = 1000
"""Unscanned commits are counted up to this number."""
UNREADABLE = -1
"""Stands for a number of commits that cannot be counted."""


_Brought = Iterable[tuple[Exposed, set[str]]]


class Acknowledgement(Record):
    """Findings that were acknowledged."""

    ids: tuple[str, ...]
    changed: bool
    """False if all of them were acknowledged before."""
    secrets: bool = True
    """True if a secret is among them: models see it unmasked from now on."""


def scan_commits(group: Group, *, bounded: bool = False) -> Scanned:
    """Scan the commits of the branch that were not scanned yet.

    BOUNDED: if there are too many, scan only what they changed in the files of HEAD.
    """
    known, tip = scanned_in(group.gitdir)[0], group.repository.tip()
    search = CommitSearch(group, MOST_COMMITS if bounded else None)
    if tip == known.tip or (bounded and tip == known.left):
        left = "" if tip == known.tip else known.left
        new = Scanned(known.tip, left, _kept(group, known.found))
    else:
        found = None if bounded else search.between(tip, known.tip)
        if found is None:
            new = _glanced(group, search, known, tip)
        else:
            new = Scanned(tip, "", _joined(_replaced(group, known, found), found))
    if group.keeps and new != known:
        keep_scanned(group.gitdir, new)
    return new


def scan_beside(group: Group, *, bounded: bool = False, also: Iterable[str] = ()) -> ScannedRefs:
    """Scan the commits that other refs reach and the branch does not: kept ones, tags, branches.

    BOUNDED: if there are too many, only count them. ALSO: commits that are about to be dropped.
    While the refs stay the same, this only reads them.
    """
    known, tips = read_scanned_refs(group.gitdir), tips_beside(group.gitdir).union(also)
    if tips == known.tips or not group.keeps:
        return known
    with suppress(Damaged):
        search = CommitSearch(group, MOST_COMMITS if bounded else None)
        ends = tips - known.tips, tips & known.tips
        steps = search.beside(*ends)
        found = None if steps is None else search.readable(steps)
        if steps is None or found is None:
            steps = CommitSearch(group, MOST_COUNTED).beside(*ends)
            return known._replace(left=MOST_COUNTED + 1 if steps is None else len(steps))
        if known.found and not known.tips <= tips:
            there = _led_to(group, search.commits(tips))
            known = known._replace(found=tuple(e for e in known.found if e.commit in there))
        known = ScannedRefs(tips, _joined(known.found, found))
        keep_scanned_refs(group.gitdir, known)
        _leave_branch(group, {each.oid for each in steps})
    return known


def waits_beside(group: Group) -> bool:
    """Whether `scan_beside` has anything to scan or to forget.

    A new snapshot of the branch needs neither, so its tag is recorded as scanned here.
    """
    known, tips = read_scanned_refs(group.gitdir), tips_beside(group.gitdir)
    if tips == known.tips:
        return False
    ends = tips - known.tips, tips & known.tips
    if (known.found and not known.tips <= tips) or CommitSearch(group, 0).beside(*ends) is None:
        return True
    keep_scanned_refs(group.gitdir, ScannedRefs(tips, known.found))
    return False


def tips_beside(gitdir: Path) -> frozenset[str]:
    """The objects that refs name, without the branch and gitmem's own refs except kept commits."""
    refs = all_refs(gitdir)
    ours = {name for name in refs if name.startswith(OURS) and not name.startswith(KEPT)}
    return frozenset(refs[name] for name in refs.keys() - ours - {BRANCH})


def _led_to(group: Group, commits: Iterable[str]) -> set[str]:
    """COMMITS and their ancestors; raises Damaged if one is unreadable."""
    search, found, queue = CommitSearch(group), set[str](), [*commits]
    while queue:
        oid = queue.pop()
        if oid not in found:
            found.add(oid)
            queue += search.step(oid).parents
    return found


def _leave_branch(group: Group, commits: set[str]) -> None:
    """Forget the branch's findings in COMMITS, which left it: they are recorded beside it now.

    Not while only the files of HEAD are scanned: such a row names HEAD instead of the commit that
    brought it.
    """
    known = read_scanned(group.gitdir)
    if known.left or commits.isdisjoint(each.commit for each in known.found):
        return
    gone = commits - _led_to(group, [group.repository.tip()])
    found = tuple(each for each in known.found if each.commit not in gone)
    keep_scanned(group.gitdir, known._replace(found=found))


def _glanced(group: Group, search: CommitSearch, known: Scanned, tip: str) -> Scanned:
    """The findings after a bounded scan up to TIP, or of its files alone.

    Only the files are scanned if there are too many commits or one is unreadable: the files of HEAD
    are never skipped. While older commits are still unscanned, the files are scanned as well: a
    branch that was moved back brings versions that were never scanned.
    """
    base = known.left or known.tip
    found = search.between(tip, base)
    kept = _kept(group, known.found)
    if found is not None and not known.left:
        return Scanned(tip, "", _joined(kept, found))
    return Scanned(known.tip, tip, _joined(kept, found or (), search.standing(tip, base)))


def _joined(*rows: Iterable[Exposed]) -> tuple[Exposed, ...]:
    return tuple(dict.fromkeys(each for some in rows for each in some))


def _kept(group: Group, found: tuple[Exposed, ...]) -> tuple[Exposed, ...]:
    return tuple(each for each in found if _is_there(group, each))


def _replaced(group: Group, known: Scanned, found: Iterable[Exposed]) -> Iterable[Exposed]:
    """The known rows, without those that named HEAD and whose real commit is FOUND now.

    A scan of the files of HEAD cannot tell which commit brought a finding.
    """
    better = {each._replace(commit=each.location) for each in found} if known.left else ()
    kept = _kept(group, known.found)
    return (each for each in kept if each._replace(commit=each.location) not in better)


def unsearched(group: Group, known: Scanned) -> int:
    """The number of unscanned commits; MOST_COUNTED + 1 for more, UNREADABLE if one is damaged."""
    if not known.left:
        return 0
    with suppress(Damaged):
        steps = CommitSearch(group, MOST_COUNTED).unscanned(known.left, known.tip)
        return MOST_COUNTED + 1 if steps is None else max(len(steps), 1)
    return UNREADABLE


def _is_there(group: Group, found: Exposed) -> bool:
    """False once it was removed from history and git has pruned the object."""
    objects = group.repository.objects
    try:
        with objects.probing():  # otherwise it would be healed from a held or trashed copy
            objects.read(found.blob or found.commit)
    except ObjectMissing:
        return False
    except Damaged:
        return True
    return True


def count_as_scanned(group: Group, writer: Writer) -> None:
    """Record that the commits of WRITER, and those before them in its run, were scanned.

    Secrets that were allowed, by `allow_secret` or `held accept`, are acknowledged in the file that
    they came to, and nowhere else. The next version of a file with a credential still holds it, so
    such commits are scanned.

    Nothing is written if the record in the lock already says the same.
    """
    stored = read_scanned(group.gitdir)
    goes_on = not has_open(group.gitdir, stored)
    known = advanced(stored, *writer.run_before) if goes_on else stored
    found = known.found
    touched = not writer.replaced.isdisjoint({each.blob for each in found})
    for parent, commit in writer.ranges:
        allowed = is_allowed(group.repository.commit(commit).message)
        if allowed or touched:
            search = CommitSearch(group)
            steps = search.unscanned(commit, parent) or []
            acknowledge_in_place(group, _allowed(group, search.brought(steps), allowed))
            found = _joined(found, search.exposed(steps) or ())
        tip, left = (commit if each == parent else each for each in (known.tip, known.left))
        known = Scanned(tip, left, found)
    if known != (advanced(stored, *writer.run) if goes_on else stored):
        keep_scanned(group.gitdir, known)


def _allowed(group: Group, brought: _Brought, allowed: bool) -> list[Exposed]:
    """Those of BROUGHT that were allowed in this commit, or in all files that they left.

    The guards refuse everything else, so a secret that comes to a file without leave was moved
    there, by `mv`, `archive` or `rotate`. If its old location was not allowed, it stays a finding.
    """
    if allowed:
        return [each for each, _ in brought]
    done = read_acknowledged(group.gitdir)
    return [
        each
        for each, left in brought
        if left and each.id not in done.ids and all(done.covers(each.id, at) for at in left)
    ]


def acknowledge_in_place(group: Group, found: Iterable[Exposed]) -> None:
    """Acknowledge each value of FOUND in its own file only; elsewhere it is still reported."""
    ids = [(each.id, each.location) for each in found]
    salt = salted(group.gitdir).salt if ids else ""
    keep_acknowledged(group.gitdir, [located_id(salt, *each) for each in ids])


def exposed_beside(group: Group, commit: str) -> list[Exposed]:
    """The findings without acknowledgement that COMMIT would bring to the branch."""
    search = CommitSearch(group)
    steps = search.unscanned(commit, group.repository.tip()) or []
    done = read_acknowledged(group.gitdir)
    return [each for each in search.exposed(steps) or () if not done.covers(each.id, each.location)]


def acknowledge(group: Group, ids: Iterable[str]) -> Acknowledgement:
    """Acknowledge the findings IDS, so that they are not reported any more."""
    check_access(group.acting, group.name, write=True)
    given = tuple(dict.fromkeys(ids))
    found = (*scan_beside(group).found, *scan_commits(group).found)
    secrets = {each.id for each in found}
    known = {*secrets, *(each.id for each in unreadable(group.gitdir, group.repository.objects))}
    done = read_acknowledged(group.gitdir).ids
    if not known | done >= set(given):  # only then: it reads all of history
        from gitmem.store.fsck.check import losses

        known |= set(losses(group.gitdir).open.values()) - {""}
    for each in given:
        if each not in known | done:
            raise NotFound(
                f"no finding {each!r} in group {group.name}",
                hint=Hint(call("check"), " lists them with their ids"),
            )
    keep_acknowledged(group.gitdir, given)
    return Acknowledgement(given, not set(given) <= done, not secrets.isdisjoint(given))
