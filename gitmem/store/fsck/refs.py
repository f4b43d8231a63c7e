"""Finding lost refs again, and healing all that refs need."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from gitmem.errors import GitmemError
from gitmem.model.transcripts.batches import REF
from gitmem.store.durable import write_durably
from gitmem.store.fsck.check import REPLACED, VERIFIED
from gitmem.store.fsck.lost_objects import Healer, Sources
from gitmem.store.fsck.lost_refs import LostRefs
from gitmem.store.fsck.mend_git_directory import Done
from gitmem.store.fsck.point_ref import point
from gitmem.store.fsck.reachable import Lack, Wholeness
from gitmem.store.fsck.reflogs import BROKEN_LOG, logged_ids, settled_ids
from gitmem.store.fsck.replace_lost import stand_in, whole_line
from gitmem.store.history.ancestry import reached
from gitmem.store.lost_commits.departures import logged_after, outermost
from gitmem.store.lost_commits.kept import keep, note_rebuilt, rebuilt
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.refs.files import (
    ZERO,
    all_refs,
    is_id,
    log_names,
    loose_refs,
    packed_refs,
    parse_log,
    read_log,
)
from gitmem.store.refs.move import delete_ref
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.setup import to_quarantine


class RefRepair:
    """The refs of a repository that opens. Needs the group's lock."""

    def __init__(
        self,
        repository: Repository,
        sources: Sources,
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

    def run(self) -> Iterator[Done]:
        """All of it."""
        yield from self._packed()
        yield from self._others()
        yield from self._behind()
        lacks = self._healer.heal(self._refs)
        if BRANCH not in self._refs or any(is_tip(lack) for lack in lacks):
            yield from self._branch()
            lacks = self._healer.heal(self._refs)
        while self._stand_ins(lacks):
            lacks += self._healer.heal(self._refs)
        for each in self._healer.healed:
            yield from _healed(each.lack, f"healed from {each.whence}")
        self._distrust(lacks)
        yield from self.mend_logs(dead=False)

    @property
    def _refs(self) -> dict[str, str]:
        return all_refs(self._gitdir)

    def _packed(self) -> Iterator[Done]:
        kept, bad = packed_refs(self._gitdir)
        if bad:
            path = self._gitdir / "packed-refs"
            to_quarantine(self._gitdir, path, "packed-refs")
            if kept:  # plain lines, which git reads without trusting anything said about them
                lines = (f"{oid} {name}\n" for name, oid in sorted(kept.items()))
                write_durably(path, "".join(lines).encode())
            for name, oid in self._lost.tags():
                if name not in self._refs:
                    point(self._repository, name, oid, "found again")
            yield Done("packed-refs-malformed", "what makes sense is kept", "packed-refs")

    def _others(self) -> Iterator[Done]:
        for ref in list(loose_refs(self._gitdir)):
            if ref.why and ref.name != BRANCH:
                target = self._lost.other(ref.name)
                to_quarantine(self._gitdir, self._gitdir / ref.name, os.path.basename(ref.name))
                text = "moved to quarantine: nothing tells where it was"
                if target and point(self._repository, ref.name, target, "found again"):
                    text = f"it is at {target[:10]} again"
                yield Done("ref-malformed", text, ref.name)
        yield from self._said()
        yield from self._astray()

    def _astray(self) -> Iterator[Done]:
        """Refs with one bit turned, which name an object that never was.

        Where the log confirms the value, the object is what was lost: to go back to the one before
        would drop what came with it.
        """
        for name, oid in sorted(self._refs.items()):
            if name in (BRANCH, VERIFIED) or name.startswith(REPLACED):
                continue
            if self._repository.objects.holds(oid):
                continue
            lines, _, torn = read_log(self._gitdir, name)
            if torn:
                continue
            target = lines[-1].new if lines else self._lost.other(name)
            if target in ("", oid) or not self._repository.objects.holds(target):
                continue
            if os.path.lexists(self._gitdir / name):
                to_quarantine(self._gitdir, self._gitdir / name, os.path.basename(name))
            if point(self._repository, name, target, "found again"):
                for code in ("object-missing", "object-damaged"):
                    yield Done(code, f"{name} is at {target[:10]} again", name, oid)

    def _said(self) -> Iterator[Done]:
        """The ref of what was said, where its file is lost and its log knows where it was."""
        if os.path.exists(self._gitdir / REF):
            return
        target = self._lost.other(REF)
        if target and point(self._repository, REF, target, "found again"):
            yield Done("ref-missing", f"it is at {target[:10]} again", REF)

    def _behind(self) -> Iterator[Done]:
        newer = logged_after(self._gitdir, self._repository.objects)
        if newer and not self._unfinished and point(self._repository, BRANCH, newer, "caught up"):
            yield Done("branch-behind", f"it is at {newer[:10]} again, from its reflog", BRANCH)

    def _branch(self) -> Iterator[Done]:
        found = self._lost.branch()
        if found is None:
            return
        before = self._refs.get(BRANCH, "")
        file = next((ref for ref in loose_refs(self._gitdir) if ref.name == BRANCH), None)
        if file and not is_id(file.target):
            to_quarantine(self._gitdir, self._gitdir / BRANCH, "main")
        why = f"recovered from {found.whence}"
        if not point(self._repository, BRANCH, found.commit, why):
            return
        self.moved_back = True
        text = f"it is at {found.commit[:10]} again, from {found.whence}"
        for code in ("branch-missing", "ref-malformed"):
            yield Done(code, text, BRANCH)
        for code in ("object-damaged", "object-missing"):
            yield Done(code, text, BRANCH, before)

    def _stand_ins(self, lacks: list[Lack]) -> bool:
        """Where a commit is lost for good, let another stand in for it, so that history goes on.

        A ref in `refs/replace` is git's own way to say so, and `git log` follows it.
        """
        refs, made = self._refs, False
        for lack in lacks:
            name = f"{REPLACED}/{lack.oid}"
            if lack.kind == "commit" and lack.commit and name not in refs:
                raw = stand_in(self._repository, self._lost, lack, self._clock())
                commit = self._repository.objects.write("commit", raw)
                made |= point(self._repository, name, commit, "lost")
        return made

    def _distrust(self, lacks: list[Lack]) -> None:
        """What lacks anything is not verified."""
        if not lacks or VERIFIED not in self._refs:
            return
        with suppress(GitmemError, OSError):
            delete_ref(self._gitdir, VERIFIED)

    def mend_logs(self, *, dead: bool) -> Iterator[Done]:
        """Drop the lines of reflogs that are torn; with DEAD, those of dead commits, too.

        They are the last to know what a damaged commit was built on, so they go when all that left
        the branch is kept. A commit of which there is a copy makes room for that: it lacks an
        object, and a reflog that leads to it makes every `git gc` fail. Where the copy was dropped
        and is gone, the line goes, too.
        """
        logs = log_names(self._gitdir)
        broken = self._broken(logged_ids(self._gitdir, *logs)) if dead else set[str]()
        copies = {old: new for old, new in rebuilt(self._gitdir).items() if old in broken}
        for name in logs:
            path = self._gitdir / "logs" / name
            lines = list(filter(None, path.read_bytes().split(b"\n"))) if path.is_file() else []
            sound = [_renamed(line, copies) for line in lines if parse_log(line)[0]]
            kept = [line for line in sound if not (dead and self._is_dead(line, broken))]
            if kept != lines:
                to_quarantine(self._gitdir, path, f"reflog-{path.name}")
                write_durably(path, b"".join(line + b"\n" for line in kept))
                for code in ("reflog-torn", BROKEN_LOG):
                    yield Done(code, "what makes sense is kept", f"logs/{name}")

    def keep_broken(self) -> None:
        """Keep what can be read of commits that no reflog of the branch names, as of others.

        A detached HEAD or another branch was at them, and `mend_logs` takes their lines away. A
        line that can be read whole is git's to keep.
        """
        objects = self._repository.objects
        named = logged_ids(self._gitdir, *log_names(self._gitdir)) - settled_ids(self._gitdir)
        broken = [oid for oid in sorted(named & self._broken(named)) if objects.holds(oid)]
        for oid in outermost(objects, broken, set(), {}):
            line = whole_line(self._repository, oid)
            if line.made:
                keep(self._repository, line.head)
                note_rebuilt(self._gitdir, line)

    def _broken(self, named: set[str]) -> set[str]:
        """Those of NAMED, and of what was rebuilt, that cannot be read whole."""
        objects, known = self._repository.objects, set[str]()
        for oid in self._refs.values():
            known |= reached(objects, oid, known)
        whole = Wholeness(objects, known.__contains__)
        return {oid for oid in named.union(*rebuilt(self._gitdir).items()) if not whole.of(oid)}

    def _is_dead(self, line: bytes, broken: set[str]) -> bool:
        for oid in line.decode("utf-8", "replace").split(" ")[:2]:
            try:
                if oid in broken:
                    return True
                if oid != ZERO:
                    self._repository.objects.read_as("commit", oid)
            except (ObjectDamaged, ValueError):
                return True
        return False


def _renamed(line: bytes, copies: Mapping[str, str]) -> bytes:
    """A line of a reflog in which copies stand for commits that cannot be read whole."""
    old, new, rest = line.split(b" ", 2)
    return b" ".join((_newest(old, copies), _newest(new, copies), rest))


def _newest(oid: bytes, copies: Mapping[str, str]) -> bytes:
    now = oid.decode("ascii")
    seen = set[str]()
    while now in copies and now not in seen:
        seen.add(now)
        now = copies[now]  # a copy may have been damaged since, and been copied
    return now.encode("ascii")


def is_tip(lack: Lack) -> bool:
    """True when it is the very commit that the branch names."""
    return lack.ref == BRANCH and lack.kind == "commit" and not lack.commit


def _healed(lack: Lack, text: str) -> Iterator[Done]:
    for code in ("object-damaged", "object-missing"):
        yield Done(code, text, lack.path or (lack.ref if lack.kind == "commit" else ""), lack.oid)
