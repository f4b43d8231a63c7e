"""Check refs and their reflogs; point lost refs at their last known target."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from time import sleep

from gitmem.errors import GitmemError
from gitmem.model.commit_messages import Note
from gitmem.model.transcripts.batches import REF
from gitmem.store.durable import write_durably
from gitmem.store.fsck.findings import CheckFinding, Repaired, error, warning
from gitmem.store.fsck.leftovers import is_held, record_findings
from gitmem.store.fsck.lost_objects import Healer, ObjectSources
from gitmem.store.fsck.lost_refs import LostRefs, point
from gitmem.store.fsck.reachable import Lack, loose_names
from gitmem.store.lost_commits.reflog import logged_after
from gitmem.store.objects.commits import commit_bytes
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import (
    REPLACED,
    VERIFIED,
    ZERO,
    all_refs,
    is_id,
    loose_refs,
    packed_refs,
    read_log,
)
from gitmem.store.refs.move import delete_ref, ref_tip
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.setup import to_quarantine
from gitmem.store.transaction.capture import new_id

PAUSE = 0.05
"""Seconds in which a running process moves a branch."""
BROKEN = ("object-damaged", "object-missing")


def ref_findings(gitdir: Path, knows: Callable[[str], bool]) -> Iterator[CheckFinding]:
    """Malformed, missing and outdated refs; torn reflogs. KNOWS: objects that were read."""
    loose = list(loose_refs(gitdir))  # first: `git pack-refs` removes them after packing
    packed, bad = packed_refs(gitdir)
    for ref in loose:
        what = "the branch" if ref.name == BRANCH else f"the ref {ref.name}"
        if ref.why:
            yield error("ref-malformed", f"{what} cannot be read: {ref.why}", path=ref.name)
        elif ref.name == BRANCH and not is_id(ref.target):
            text = f"the branch is a symbolic ref to {ref.target}"
            yield error("ref-malformed", text, path=ref.name)
    if bad:
        text = f"packed-refs has {len(bad)} malformed lines"
        yield error("packed-refs-malformed", text, path="packed-refs")
    if BRANCH not in {*packed, *(ref.name for ref in loose)}:
        history = ", though the group has a history" if _had_history(gitdir) else ""
        yield error("branch-missing", f"the branch is missing{history}", path=BRANCH)
    yield from _behind(gitdir)
    yield from _transcripts(gitdir)
    yield from _torn_logs(gitdir, knows)


def _had_history(gitdir: Path) -> bool:
    logged = any(read_log(gitdir, name).lines for name in (BRANCH, "HEAD"))
    return logged or bool(all_refs(gitdir)) or any(True for _ in loose_names(gitdir))


def _behind(gitdir: Path) -> Iterator[CheckFinding]:
    """A branch that is older than its reflog; a writer may be between the two steps, so wait."""
    objects = Objects(gitdir)
    newer = logged_after(gitdir, objects)
    for _ in range(2 if newer else 0):
        sleep(PAUSE)
        busy = is_held(gitdir) or any(record_findings(gitdir))
        newer = "" if busy else logged_after(gitdir, objects)
    objects.close()
    if newer:
        text = f"the branch is older than its reflog, which ends at {newer[:10]}"
        yield error("branch-behind", text, path=BRANCH)


def _transcripts(gitdir: Path) -> Iterator[CheckFinding]:
    """A ref of transcripts whose file is lost and whose reflog has its last commit."""
    if os.path.exists(gitdir / REF):
        return
    packed, last = packed_refs(gitdir)[0].get(REF), ref_tip(gitdir, REF)
    if last != packed and not is_held(gitdir):
        what = "older than its reflog, which" if packed else "missing, and its reflog"
        text = f"{REF} is {what} ends at {(last or '')[:10]}"
        yield warning("ref-missing", text, path=REF)


def _torn_logs(gitdir: Path, knows: Callable[[str], bool]) -> Iterator[CheckFinding]:
    """Reflogs with torn lines, or with commits that do not exist."""
    objects = Objects(gitdir)
    for name in ("HEAD", BRANCH):
        log = read_log(gitdir, name)
        dead = [
            line
            for line in log.lines
            if not all(knows(oid) or _exists(objects, oid) for oid in (line.old, line.new))
        ]
        count = len(log.torn) + len(dead)
        if count:
            text = f"the reflog of {name} has {count} lines that are torn or name a missing commit"
            yield warning("reflog-torn", text, path=f"logs/{name}")
    objects.close()


def _exists(objects: Objects, oid: str) -> bool:
    try:
        return oid == ZERO or bool(objects.read(oid))
    except ObjectDamaged:
        return False


class RefRepair:
    """Repairs the refs of a repository that opens. Needs the group's lock."""

    def __init__(
        self,
        repository: Repository,
        sources: ObjectSources,
        clock: Callable[[], datetime],
        *,
        unfinished: bool,
    ) -> None:
        self._repository, self._gitdir = repository, repository.gitdir
        self._clock, self._unfinished = clock, unfinished
        self._healer = Healer(repository.objects, sources)
        self._lost = LostRefs(self._gitdir, repository.objects, self._healer)
        self.moved_back = False
        """True when the branch is at another commit than it was at last."""

    def run(self) -> Iterator[Repaired]:
        """Repair refs, restore the objects they need, and write stand-ins for lost commits."""
        yield from self._packed()
        yield from self._malformed()
        yield from self._transcripts()
        yield from self._dangling()
        yield from self._behind()
        lacks = self._healer.heal(self._refs)
        if BRANCH not in self._refs or any(is_tip(lack) for lack in lacks):
            yield from self._branch()
            lacks = self._healer.heal(self._refs)
        while self._stand_ins(lacks):
            lacks += self._healer.heal(self._refs)
        for lack, whence in self._healer.healed:
            path = lack.path or (lack.ref if lack.kind == "commit" else "")
            for code in BROKEN:
                yield Repaired(code, f"restored from {whence}", path, lack.oid)
        self._distrust(lacks)

    @property
    def _refs(self) -> dict[str, str]:
        return all_refs(self._gitdir)

    def _point(self, name: str, target: str) -> bool:
        return point(self._repository, name, target, "found again")

    def _aside(self, name: str) -> None:
        to_quarantine(self._gitdir, self._gitdir / name, os.path.basename(name))

    def _packed(self) -> Iterator[Repaired]:
        kept, bad = packed_refs(self._gitdir)
        if bad:
            self._aside("packed-refs")
            if kept:  # without a header, so that git trusts none of its claims
                lines = (f"{oid} {name}\n" for name, oid in sorted(kept.items()))
                write_durably(self._gitdir / "packed-refs", "".join(lines).encode())
            for name, oid in self._lost.tags():
                if name not in self._refs:
                    self._point(name, oid)
            yield Repaired("packed-refs-malformed", "sound lines are kept", "packed-refs")

    def _malformed(self) -> Iterator[Repaired]:
        for ref in list(loose_refs(self._gitdir)):
            if ref.why and ref.name != BRANCH:
                target = self._lost.other(ref.name)
                self._aside(ref.name)
                text = "moved to quarantine: its last target is unknown"
                if target and self._point(ref.name, target):
                    text = f"it is at {target[:10]} again"
                yield Repaired("ref-malformed", text, ref.name)

    def _transcripts(self) -> Iterator[Repaired]:
        """The ref of transcripts, where its file is lost and its last target is known."""
        if os.path.exists(self._gitdir / REF):
            return
        target = self._lost.other(REF)
        if target and self._point(REF, target):
            yield Repaired("ref-missing", f"it is at {target[:10]} again", REF)

    def _dangling(self) -> Iterator[Repaired]:
        """Refs with a flipped bit, which name an object that never existed.

        Where the reflog confirms the value, the object was lost: going back to the value before
        would drop the commits that came with it.
        """
        holds = self._repository.objects.holds
        for name, oid in sorted(self._refs.items()):
            if name in (BRANCH, VERIFIED) or name.startswith(REPLACED) or holds(oid):
                continue
            log = read_log(self._gitdir, name)
            target = log.lines[-1].new if log.lines else self._lost.other(name)
            if log.ends_torn or target in ("", oid) or not holds(target):
                continue
            if os.path.lexists(self._gitdir / name):
                self._aside(name)
            if self._point(name, target):
                for code in BROKEN:
                    yield Repaired(code, f"{name} is at {target[:10]} again", name, oid)

    def _behind(self) -> Iterator[Repaired]:
        newer = logged_after(self._gitdir, self._repository.objects)
        if newer and not self._unfinished and point(self._repository, BRANCH, newer, "caught up"):
            yield Repaired("branch-behind", f"it is at {newer[:10]} again, from its reflog", BRANCH)

    def _branch(self) -> Iterator[Repaired]:
        found = self._lost.branch()
        if found is None:
            return
        before = self._refs.get(BRANCH, "")
        file = next((ref for ref in loose_refs(self._gitdir) if ref.name == BRANCH), None)
        if file and not is_id(file.target):
            self._aside(BRANCH)
        why = f"recovered from {found.whence}"
        if not point(self._repository, BRANCH, found.commit, why):
            return
        self.moved_back = True
        text = f"it is at {found.commit[:10]} again, from {found.whence}"
        for code in ("branch-missing", "ref-malformed"):
            yield Repaired(code, text, BRANCH)
        for code in BROKEN:
            yield Repaired(code, text, BRANCH, before)

    def _stand_ins(self, lacks: list[Lack]) -> bool:
        """Write a stand-in for each commit that is lost for good, so that history goes on.

        A ref in `refs/replace` is git's own way to say so, and `git log` follows it.
        """
        refs, made = self._refs, False
        for lack in lacks:
            name = f"{REPLACED}/{lack.oid}"
            if lack.kind == "commit" and lack.commit and name not in refs:
                commit = self._repository.objects.write("commit", self._stand_in(lack))
                made |= point(self._repository, name, commit, "lost")
        return made

    def _stand_in(self, lack: Lack) -> bytes:
        """A commit that changes nothing and says what it stands in for."""
        repository = self._repository
        child = repository.commit(lack.commit)
        parent = self._lost.parent_of(lack.oid, child)
        tree = repository.commit(parent).tree if parent else child.tree
        title = f"stands in for the commit {lack.oid[:10]}, which is lost"
        note = Note("restore", new_id(), "gitmem", title)
        return commit_bytes(tree, parent or None, note, self._clock(), child.committed)

    def _distrust(self, lacks: list[Lack]) -> None:
        """Remove the mark of a verified history where objects are lost."""
        if lacks and VERIFIED in self._refs:
            with suppress(GitmemError, OSError):
                delete_ref(self._gitdir, VERIFIED)


def is_tip(lack: Lack) -> bool:
    """True for the very commit that the branch names."""
    return lack.ref == BRANCH and lack.kind == "commit" and not lack.commit
