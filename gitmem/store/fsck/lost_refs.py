"""Find where a lost ref was, and point it there.

A lost branch is never begun anew: a new root commit would hide its whole history.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.model.commit_messages import parse
from gitmem.model.transcripts.batches import OP, REF
from gitmem.store.fsck.lost_objects import Healer
from gitmem.store.fsck.reachable import loose_names
from gitmem.store.gc.prune_list import dropped
from gitmem.store.history.ancestry import readable_commit
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import VERIFIED, ZERO, all_refs, is_id, packed_refs, read_log
from gitmem.store.refs.move import Move, move_ref, ref_tip
from gitmem.store.repository import BRANCH, Commit, Repository

TAGS = "refs/tags/"
MOST_CANDIDATES = 50
GLANCE = 0.05
"""Seconds to wait for the lock where the move may be skipped."""


class Candidate(NamedTuple):
    """A commit that the branch may have been at."""

    commit: str
    whence: str
    is_last: bool = False
    """True when no commit came after it."""


class LostRefs:
    """Finds the last known target of refs."""

    def __init__(self, gitdir: Path, objects: Objects, healer: Healer) -> None:
        self._gitdir = gitdir
        self._objects = objects
        self._healer = healer

    def branch(self) -> Candidate | None:
        """The newest commit of the branch whose files can all be read.

        Its history does not count: a hole in the past must not cost the present.
        """
        tried: dict[str, Candidate] = {}
        for each in (more for one in self._candidates() for more in self._extended(one)):
            if each.commit in tried or not readable_commit(self._objects, each.commit):
                continue
            tried[each.commit] = each
            if self._healer.makes_whole(each.commit):
                return each
            if len(tried) >= MOST_CANDIDATES:
                break
        # None is whole: take the newest, whose lost files earlier versions will replace.
        return next(iter(tried.values()), None)

    def _candidates(self) -> Iterator[Candidate]:
        for name in (BRANCH, "HEAD"):
            log = read_log(self._gitdir, name)
            for line in reversed(log.lines):
                if line.new != ZERO:
                    yield Candidate(line.new, f"the reflog of {name}", not log.ends_torn)
        refs = {**packed_refs(self._gitdir)[0], **all_refs(self._gitdir)}
        for name in (BRANCH, VERIFIED):
            if name in refs:
                yield Candidate(refs[name], "packed-refs" if name == BRANCH else name)
        tagged = [(self._peeled(oid), name) for name, oid in refs.items() if name.startswith(TAGS)]
        dated = [(commit.committed, commit.oid, name) for commit, name in tagged if commit]
        for _, oid, name in sorted(dated, reverse=True):
            yield Candidate(oid, f"the tag {name.removeprefix(TAGS)}")
        for commit in self._ends:
            yield Candidate(commit.oid, "a commit found in the object database")

    def _extended(self, candidate: Candidate) -> Iterator[Candidate]:
        """Newer commits on top of CANDIDATE, unless it is the last one."""
        if not candidate.is_last:
            for commit in self._ends:
                if candidate.commit != commit.oid and self._leads_to(commit, candidate.commit):
                    yield Candidate(commit.oid, f"a commit on top of that of {candidate.whence}")
        yield candidate

    def _names(self) -> Iterator[str]:
        """The id of every object, reachable or not."""
        yield from loose_names(self._gitdir)
        yield from (oid for pack in self._objects.packs for oid in pack.names())

    @cached_property
    def _commits(self) -> dict[str, Commit]:
        """Every commit that can be read, reachable or not."""
        read = ((oid, readable_commit(self._objects, oid)) for oid in self._names())
        return {oid: commit for oid, commit in read if commit}

    @cached_property
    def _ends(self) -> list[Commit]:
        """The commits of memory without children, newest first."""
        return [commit for commit in self._all_ends if not _is_transcript(commit)]

    @cached_property
    def _all_ends(self) -> list[Commit]:
        parents = {parent for commit in self._commits.values() for parent in commit.parents}
        ends = [commit for oid, commit in self._commits.items() if oid not in parents]
        return sorted(ends, key=lambda commit: -commit.committed)

    def _leads_to(self, commit: Commit, *ancestors: str) -> bool:
        waiting, known = [commit.oid], set[str]()
        while waiting:
            oid = waiting.pop()
            if oid in ancestors:
                return True
            found = None if oid in known else self._commit(oid)
            known.add(oid)
            waiting += found.parents if found else ()
        return False

    def _commit(self, oid: str) -> Commit | None:
        """A commit, or the one that stands in for it."""
        return self._commits.get(oid) or readable_commit(self._objects, oid)

    def _peeled(self, oid: str) -> Commit | None:
        with suppress(ObjectDamaged):
            kind, data = self._objects.read(oid)
            if kind == "tag":
                oid = data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace")
        return readable_commit(self._objects, oid) if is_id(oid) else None

    def other(self, name: str) -> str:
        """The last known target of a ref other than the branch; empty where none is known."""
        for line in reversed(read_log(self._gitdir, name).lines):  # newer than packed-refs
            if readable_commit(self._objects, line.new):
                return line.new
        packed, _ = packed_refs(self._gitdir)
        if name in packed and self._objects.holds(packed[name]):
            return packed[name]
        if name == REF:
            gone = dropped(self._gitdir)
            ends = (each.oid for each in self._all_ends if _is_transcript(each))
            return next((oid for oid in ends if oid not in gone), "")
        return next((oid for tag, oid in self.tags() if tag == name), "")

    def tags(self) -> Iterator[tuple[str, str]]:
        """Every annotated tag in the object database, by the name in it."""
        for oid in self._names():
            with suppress(ObjectDamaged):
                kind, data = self._objects.read(oid)
                named = re.search(rb"^tag (\S+)$", data.partition(b"\n\n")[0], re.MULTILINE)
                if kind == "tag" and named:
                    yield TAGS + named[1].decode("utf-8", "replace"), oid

    def parent_of(self, commit: str, child: Commit) -> str:
        """The parent of a lost commit: by the reflog, else the newest commit without children."""
        lines = read_log(self._gitdir, BRANCH).lines
        found = next((line.old for line in lines if line.new == commit), "")
        if found and found != ZERO and readable_commit(self._objects, found):
            return found
        older = (end for end in self._ends if end.committed <= child.committed)
        # No descendant of the lost commit: history must not become a circle.
        return next((end.oid for end in older if not self._leads_to(end, commit, child.oid)), "")


def _is_transcript(commit: Commit) -> bool:
    """True for a commit of transcripts, which is no memory."""
    return parse(commit.message).op == OP


def point(repository: Repository, name: str, target: str, why: str) -> bool:
    """Point the ref NAME at TARGET, wherever it was; False on failure. Needs the group's lock.

    For check and repair alone: every other move of a ref compares with the value it is based on.
    """
    try:
        logged = name == BRANCH or (repository.gitdir / "logs" / name).exists()
        message = f"check: {why}" if logged else ""
        old = ref_tip(repository.gitdir, name)
        move_ref(repository.gitdir, name, Move(old, target, message, int(time.time())))
    except (GitmemError, OSError):
        return False
    return True


def point_if_free(gitdir: Path, name: str, target: str, why: str) -> bool:
    """The same, taking the lock; False while another process holds it."""
    if all_refs(gitdir).get(name) == target:
        return True
    with (
        suppress(GitmemError),
        Lock(lock_path(gitdir), GLANCE),
        closing(Repository(gitdir)) as repository,
    ):
        return point(repository, name, target, why)
    return False
