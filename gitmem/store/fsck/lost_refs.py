"""Finding a lost branch again. It is never begun anew: a new root would hide all that was."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gitmem.model.commit_messages import parse
from gitmem.model.transcripts.batches import OP, REF
from gitmem.store.fsck.lost_objects import Healer
from gitmem.store.fsck.reachable import loose_names
from gitmem.store.gc.prune_list import dropped
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import ZERO, all_refs, is_id, packed_refs, read_log
from gitmem.store.repository import BRANCH, Commit, parse_commit

TAGS = "refs/tags/"
MOST_CANDIDATES = 50


class Candidate(NamedTuple):
    """A commit that the branch may have been at."""

    commit: str
    whence: str
    is_last: bool = False
    """True when it is known that nothing came after it."""


class LostRefs:
    """What is left that tells where a ref was."""

    def __init__(self, gitdir: Path, objects: Objects, healer: Healer) -> None:
        self._gitdir = gitdir
        self._objects = objects
        self._healer = healer

    def branch(self) -> Candidate | None:
        """Where the branch was: the newest commit whose files can all be read.

        Only the files of that commit count. A hole in the past must not cost the present.
        """
        seen: dict[str, Candidate] = {}
        for each in (more for one in self._candidates() for more in self._extended(one)):
            if each.commit in seen or not self._commit(each.commit):
                continue
            seen[each.commit] = each
            if self._healer.makes_whole(each.commit):
                return each
            if len(seen) >= MOST_CANDIDATES:
                break
        # None is whole, so the newest it is: what it lacks will be replaced by earlier versions.
        return next(iter(seen.values()), None)

    def _candidates(self) -> Iterator[Candidate]:
        for name in (BRANCH, "HEAD"):
            lines, _, torn = read_log(self._gitdir, name)
            for line in reversed(lines):
                if line.new != ZERO:
                    yield Candidate(line.new, f"the reflog of {name}", not torn)
        refs = {**packed_refs(self._gitdir)[0], **all_refs(self._gitdir)}
        for name in (BRANCH, "refs/gitmem/verified"):
            if name in refs:
                yield Candidate(refs[name], "packed-refs" if name == BRANCH else name)
        tagged = [(self._peeled(oid), name) for name, oid in refs.items() if name.startswith(TAGS)]
        dated = [(commit.committed, commit.oid, name) for commit, name in tagged if commit]
        for _, oid, name in sorted(dated, reverse=True):
            yield Candidate(oid, f"the tag {name.removeprefix(TAGS)}")
        for commit in self._ends:
            yield Candidate(commit.oid, "a commit that was found among the objects")

    def _extended(self, candidate: Candidate) -> Iterator[Candidate]:
        """Newer commits that were built on CANDIDATE, where more may have come after it."""
        if not candidate.is_last:
            for commit in self._ends:
                if candidate.commit != commit.oid and self._leads_to(commit, candidate.commit):
                    yield Candidate(commit.oid, f"a commit after that of {candidate.whence}")
        yield candidate

    @cached_property
    def _commits(self) -> dict[str, Commit]:
        """Every commit that can be read, reachable or not."""
        found: dict[str, Commit] = {}
        packed = (oid for pack in self._objects.packs for oid in pack.names())
        for oid in (*loose_names(self._gitdir), *packed):
            commit = self._commit(oid)
            if commit:
                found[oid] = commit
        return found

    @cached_property
    def _ends(self) -> list[Commit]:
        """The commits of memory that no other is built on, newest first."""
        return [commit for commit in self._all_ends if not _is_said(commit)]

    @cached_property
    def _all_ends(self) -> list[Commit]:
        parents = {parent for commit in self._commits.values() for parent in commit.parents}
        ends = [commit for oid, commit in self._commits.items() if oid not in parents]
        return sorted(ends, key=lambda commit: -commit.committed)

    def _leads_to(self, commit: Commit, *ancestors: str) -> bool:
        waiting, seen = [commit.oid], set()
        while waiting:
            oid = waiting.pop()
            if oid in ancestors:
                return True
            found = None if oid in seen else self._commits.get(oid) or self._commit(oid)
            seen.add(oid)
            waiting += found.parents if found else ()
        return False

    def _commit(self, oid: str) -> Commit | None:
        with suppress(ObjectDamaged):
            kind, data = self._objects.read(oid)
            return parse_commit(oid, data) if kind == "commit" else None
        return None

    def _peeled(self, oid: str) -> Commit | None:
        with suppress(ObjectDamaged):
            kind, data = self._objects.read(oid)
            if kind == "tag":
                oid = data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace")
        return self._commit(oid) if is_id(oid) else None

    def other(self, name: str) -> str:
        """Where another ref was: by its log, what was packed of it, or by what there is."""
        for line in reversed(read_log(self._gitdir, name)[0]):  # newer than what was packed
            if self._commit(line.new):
                return line.new
        packed, _ = packed_refs(self._gitdir)
        if name in packed and self._objects.holds(packed[name]):
            return packed[name]
        if name == REF:
            gone = dropped(self._gitdir)
            return next((e.oid for e in self._all_ends if _is_said(e) and e.oid not in gone), "")
        return self._tag_object(name.removeprefix(TAGS)) if name.startswith(TAGS) else ""

    def _tag_object(self, short: str) -> str:
        return next((oid for name, oid in self.tags() if name == TAGS + short), "")

    def tags(self) -> Iterator[tuple[str, str]]:
        """Every annotated tag that can be found, by the name that stands in it."""
        packed = (oid for pack in self._objects.packs for oid in pack.names())
        for oid in (*loose_names(self._gitdir), *packed):
            with suppress(ObjectDamaged):
                kind, data = self._objects.read(oid)
                named = re.search(rb"^tag (\S+)$", data.partition(b"\n\n")[0], re.MULTILINE)
                if kind == "tag" and named:
                    yield TAGS + named[1].decode("utf-8", "replace"), oid

    def parent_of(self, commit: str, child: Commit) -> str:
        """What a lost commit was built on: by the reflog, else the newest that nobody builds on."""
        lines, _, _ = read_log(self._gitdir, BRANCH)
        found = next((line.old for line in lines if line.new == commit), "")
        if found and found != ZERO and self._commit(found):
            return found
        older = (end for end in self._ends if end.committed <= child.committed)
        # Not one of those that came after: history must never lead back to where it began.
        return next((end.oid for end in older if not self._leads_to(end, commit, child.oid)), "")


def _is_said(commit: Commit) -> bool:
    """True for a commit of what was said, which is no memory."""
    return parse(commit.message).op == OP
