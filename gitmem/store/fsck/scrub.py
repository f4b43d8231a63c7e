"""Reading what is new: every object that came since the last commit that was found sound.

The cost is that of the new commits, however long the history before them is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from time import sleep
from typing import NamedTuple

from gitmem.store.fsck.reachable import GITLINK
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import Commit, Repository, differences

NEW, OLD = 1, 2
PAUSE = 0.2
"""Seconds in which `git gc` has put an object that it moves into its new place."""


class Scrubbed(NamedTuple):
    """What was read, and what could not be."""

    commits: int
    files: int
    """Versions of files; folders are read on the way."""
    lacks: tuple[str, ...] = ()
    """In words, each object once."""
    rewound: bool = False
    """True when the last sound commit is no longer part of the history."""
    lost: frozenset[str] = frozenset()
    """The objects that could not be read."""


def scrub(repository: Repository, tip: str, verified: str | None) -> Scrubbed:
    """Read and hash everything that TIP reaches and VERIFIED does not.

    What cannot be read is read again after a moment: a `git gc` may be moving it.
    """
    found = _scrubbed(repository, tip, verified)
    if found.lacks:
        sleep(PAUSE)
        repository.objects.close()
        found = _scrubbed(repository, tip, verified)
    return found


def _scrubbed(repository: Repository, tip: str, verified: str | None) -> Scrubbed:
    lacks: dict[str, str] = {}
    seen: set[str] = set()
    try:
        commits, joined = _new_commits(repository, tip, verified)
    except ObjectDamaged as damage:
        return Scrubbed(0, 0, (damage.message,), lost=frozenset((damage.oid,)))
    for commit in commits:
        try:
            for oid in _new_files(repository, commit):
                if oid not in seen and oid not in lacks:
                    seen.add(oid)
                    _read(repository, oid, lacks)
        except ObjectDamaged as damage:  # a folder
            lacks[damage.oid] = damage.message
    read, lost = len(seen - lacks.keys()), frozenset(lacks)
    return Scrubbed(len(commits), read, tuple(lacks.values()), not joined, lost)


def _read(repository: Repository, oid: str, lacks: dict[str, str]) -> None:
    try:
        repository.objects.read_as("blob", oid)
    except ObjectDamaged as damage:
        lacks[oid] = damage.message


def _new_files(repository: Repository, commit: Commit) -> Iterator[str]:
    """The blobs that a commit brought; folders are read, and so judged, on the way."""
    before = repository.commit(commit.parents[0]).tree if commit.parents else None
    for _, _, node in differences(repository, "", before, commit.tree):
        if node and node.mode != GITLINK:
            yield node.oid


def _new_commits(
    repository: Repository, tip: str, verified: str | None
) -> tuple[list[Commit], bool]:
    """The commits behind TIP and not behind VERIFIED; whether the one is behind the other."""
    sides = {tip: NEW}
    if verified:
        sides[verified] = sides.get(verified, 0) | OLD
    queue = [_waiting(repository, oid) for oid in sides]
    heapq.heapify(queue)
    found: dict[str, Commit] = {}
    while any(sides[oid] == NEW for _, oid, _ in queue):
        _, oid, commit = heapq.heappop(queue)
        if sides[oid] == NEW:
            found[oid] = commit
        for parent in commit.parents:
            side = sides.get(parent, 0)
            if side | sides[oid] != side:
                sides[parent] = side | sides[oid]
                heapq.heappush(queue, _waiting(repository, parent))
    fresh = [commit for oid, commit in found.items() if sides[oid] == NEW]
    return fresh, not verified or sides[verified] == NEW | OLD


def _waiting(repository: Repository, oid: str) -> tuple[int, str, Commit]:
    """A commit in the queue: the newest comes out first."""
    commit = repository.commit(oid)
    return -commit.committed, oid, commit
