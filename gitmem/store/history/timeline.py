"""When commits came to the branch, also where a clock was wrong.

Committer time never runs backwards along the branch, so one commit by a clock that was ahead gives
its date to all that follow. Two facts remain: no commit was made in the future, and none after its
children. Author time, which gitmem reads from the clock for each commit, then dates the followers;
of the first commit it is only known that it is not later than the next.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from itertools import chain, pairwise

from gitmem.errors import MomentNotFound
from gitmem.model.commit_messages import parse
from gitmem.store.repository import Commit, Repository


def at_time(repository: Repository, moment: datetime, now: datetime) -> Commit:
    """The commit that was the branch's tip at MOMENT, as of NOW."""
    then, bound = moment.timestamp(), now.timestamp()
    first, begins = None, _Begins(repository)
    for commit, latest in _dated(repository, repository.tip()):
        first = commit
        if min(latest, bound) <= then:
            return commit
        bound = min(bound, _judged(begins, commit, latest, bound))
        if bound <= then:
            return commit
    began = min((each for each in (first, _first_adopted(repository)) if each), key=_made)
    raise MomentNotFound(
        f"no commit at {moment.isoformat(' ', 'minutes')} or before",
        hint=f"the history of this group begins at {began.time.isoformat(' ', 'minutes')}",
    )


def adopted_at(repository: Repository, moment: datetime) -> Commit | None:
    """The last commit of an adopted history at MOMENT, by its own dates."""
    then, newest, found = moment.timestamp(), -math.inf, None
    for commit in _adopted(repository):
        newest = max(newest, _made(commit))  # no commit was made before its parents
        if newest > then:
            break
        found = commit
    return found


def time_of(repository: Repository, oid: str, now: datetime) -> float:
    """When a commit came to the branch, in seconds."""
    commit, present = repository.commit(oid), now.timestamp()
    made = commit.time.timestamp()
    if commit.committed <= present:
        here = made < commit.committed and not _is_adopted(commit)
        pushed = here and _Begins(repository).of(commit) <= made
        return made if pushed else commit.committed
    if made <= present and not _is_adopted(commit):
        return made
    return _bound_of(repository, oid, present)


def made_by(commit: Commit, now: float, bound: float) -> float:
    """When a commit was made: by its date, unless that is later than NOW.

    Then at the latest at BOUND, when a commit on top of it was.
    """
    if commit.committed <= now:
        return commit.committed
    made = commit.time.timestamp()
    return made if made <= bound and not _is_adopted(commit) else bound


def _dated(repository: Repository, start: str) -> Iterator[tuple[Commit, int]]:
    """The branch back to its root, each commit with its date: no earlier than its parent's."""
    for commit, parent in pairwise(chain(repository.history(start), [None])):
        if commit:
            yield commit, max(commit.committed, parent.committed if parent else 0)


def _judged(begins: _Begins, commit: Commit, latest: int, bound: float) -> float:
    """When a commit was made that is dated LATEST; what came after it, at the earliest at BOUND."""
    made = commit.time.timestamp()
    if _is_adopted(commit):
        return min(latest, bound)
    if latest > bound:
        return made if made <= bound else bound
    return made if made < latest and begins.of(commit, latest) <= made else latest


class _Begins:
    """For each date, the one before it, where a commit ahead of its time brought it.

    Endless where none did: then the clock of the commit's author was behind, or the commit was made
    elsewhere and came here later.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._known: dict[int, float] = {}

    def of(self, commit: Commit, latest: int = 0) -> float:
        """The date before the one that COMMIT has from its parents."""
        latest = latest or commit.committed
        if latest not in self._known:
            self._known[latest] = self._found(commit, latest)
        return self._known[latest]

    def _found(self, commit: Commit, latest: int) -> float:
        line = chain(self._repository.history(commit.oid), [None])
        for each, before in pairwise(line):
            if each and (before is None or before.committed < latest):
                was_ahead = each.oid != commit.oid and each.time.timestamp() >= latest
                return before.committed if before and was_ahead else math.inf
        return math.inf


def _bound_of(repository: Repository, oid: str, present: float) -> float:
    """The latest time at which a commit was made, by its descendants."""
    bound, begins = present, _Begins(repository)
    for commit, latest in _dated(repository, repository.tip()):
        if commit.oid == oid:
            break
        bound = min(bound, _judged(begins, commit, latest, bound))
    return bound


def _adopted(repository: Repository) -> list[Commit]:
    """The adopted commits, oldest first."""
    line = repository.history(repository.tip())
    return [each for each in line if _is_adopted(each)][::-1]


def _first_adopted(repository: Repository) -> Commit | None:
    return min(_adopted(repository), key=_made, default=None)


def _made(commit: Commit) -> float:
    return commit.time.timestamp()


def _is_adopted(commit: Commit) -> bool:
    """True for an adopted commit, which came to the branch with the adoption."""
    return "Gitmem-Op: adopt" in commit.message and parse(commit.message).op == "adopt"
