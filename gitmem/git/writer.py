"""A writer: the holder of a group's lock, who finds things as they are and leaves none undone.

Before it writes a path it takes in what somebody else did to that file with ordinary tools. When
the writer before it died, it finishes that one's work first. Both end in the same question: is what
stands there the version we knew, or an edit? An edit is committed, merged where the branch moved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.core.guards import hold_rule, violations
from gitmem.core.merging import merge
from gitmem.core.messages import Note, parse, title_of
from gitmem.errors import Conflict
from gitmem.git.deadlocks import remove_dead_files
from gitmem.git.diffing import hunks
from gitmem.git.held import HeldFolder, SetAside
from gitmem.git.lock import WAIT, Item, Lock, Record, lock_path
from gitmem.git.objects import ObjectDamaged
from gitmem.git.publish import Plan, Planner, Published, Publisher, Step
from gitmem.git.repository import BRANCH, Repository, Snapshot
from gitmem.git.staging import entry
from gitmem.git.worktree import InTheWay, Seen, WorkTree, beside

ROUNDS = 50
GLANCE = 1e-9


class Captured(NamedTuple):
    """An edit, committed."""

    path: str
    commit: str
    bytes: int | None
    merged: bool
    violations: tuple[str, ...] = ()
    moved_from: str = ""


class Holding(NamedTuple):
    """An edit that may not enter git and stays where it is."""

    path: str
    rule: str


class Writer:
    """What an operation works with while it holds the lock."""

    def __init__(self, publisher: Publisher, held: HeldFolder, finder: Note) -> None:
        self.repository = publisher.repository
        self.worktree = publisher.worktree
        self.clock = publisher.clock
        self._publisher = publisher
        self._held = held
        self._finder = finder
        self.captured: list[Captured] = []  # edits found on the way
        self.set_aside: list[SetAside] = []

    @property
    def pending(self) -> bool:
        """True when something that has landed still waits to reach the work tree or the index."""
        return bool(self._publisher.unfinished)

    def publish(self, planner: Planner) -> Published | None:
        """Land what PLANNER wants; edits that came out of the work tree land right after."""
        published = self._publisher.publish(planner)
        self._tidy()
        return published

    def adopt(self, path: str, finder: Note | None = None) -> Captured | Holding | None:
        """Commit what somebody did to PATH with ordinary tools; None when nobody did anything."""
        seen = self.worktree.look(path)
        snapshot = self.repository.snapshot()
        if seen.oid == snapshot.oid(path) and not seen.obstacle:
            return None
        rule = hold_rule(path, seen.obstacle, seen.data, _sound(snapshot, path))
        if rule:
            return Holding(path, rule)
        return self._take_in(path, seen, snapshot.oid(path), seen.oid, finder)

    def adopt_move(self, source: str, target: str, finder: Note) -> Captured | Holding | None:
        """Commit a file that somebody renamed, as one commit, so that git sees the move."""
        seen = self.worktree.look(target)
        before = _sound(self.repository.snapshot(), source)
        rule = hold_rule(target, seen.obstacle, seen.data, before)
        if rule or seen.data is None:
            return Holding(target, rule) if rule else None
        data = seen.data

        def plan(snapshot: Snapshot) -> Plan:
            note = self._note(finder, target, data, ())
            extra = (*note.extra, ("Gitmem-From", source))
            step = Step({source: None, target: data}, note._replace(extra=extra))
            return Plan((step,), {source: None, target: seen.oid})

        published = self.publish(plan)
        if published is None:
            return None
        return Captured(target, published.commit, len(data), False, (), source)

    def _take_in(
        self, path: str, seen: Seen, base: str | None, standing: str | None, finder: Note | None
    ) -> Captured | None:
        """Commit the edit SEEN, which somebody made to the version BASE."""
        outcome: list[tuple[bytes | None, bool, tuple[str, ...]]] = []
        template = finder or self._finder

        def plan(snapshot: Snapshot) -> Plan | None:
            now = snapshot.oid(path)
            broken = violations(path, seen.data, _sound(snapshot, path))
            steps = [Step({path: seen.data}, self._note(template, path, seen.data, broken))]
            final, merged = seen.data, False
            if now != base and now is not None:
                final, clean = self._merged(path, base, snapshot, seen.data)
                merged = True
                if clean:
                    steps = [Step({path: final}, steps[0].note)]
                else:
                    steps.append(Step({path: final}, self._merge_note(path)))
            outcome[:] = [(final, merged, broken)]
            if final == _sound(snapshot, path) and len(steps) == 1:
                return None
            return Plan(tuple(steps), {path: standing})

        published = self._publisher.publish(plan)
        final, merged, broken = outcome[0]
        if published is None:
            if standing != self.repository.snapshot().oid(path):
                self._publisher.forward(path, standing)
            return None
        size = None if final is None else len(final)
        captured = Captured(path, published.commit, size, merged, broken)
        self.captured.append(captured)
        return captured

    def _merged(
        self, path: str, base: str | None, snapshot: Snapshot, theirs: bytes | None
    ) -> tuple[bytes | None, bool]:
        """The branch's version with the edit merged in, and whether that went without conflict."""
        ours = _sound(snapshot, path)
        if ours is None or theirs is None:
            return (theirs if ours is None else ours), True
        ancestor = None
        if base:
            with suppress(ObjectDamaged):
                ancestor = self.repository.objects.read_as("blob", base)
        merged = merge(ancestor, ours, theirs, hunks)
        return merged.data, not merged.conflicts

    def _note(
        self, template: Note, path: str, data: bytes | None, broken: tuple[str, ...]
    ) -> Note:
        title = "deleted" if data is None else title_of(data.decode("utf-8", "replace"))
        extra = tuple(("Gitmem-Violation", each) for each in broken)
        return template._replace(
            id=new_id(), title=title, paths=(path,), extra=(*template.extra, *extra)
        )

    def _merge_note(self, path: str) -> Note:
        title = "both versions of lines changed twice are kept"
        return Note(op="merge", id=new_id(), agent="gitmem", title=title, paths=(path,))

    def put_back(self) -> int:
        """Let every file of HEAD that is missing stand in the work tree again; count them."""
        missing = 0
        for path, _ in self.repository.snapshot().files():
            if self.worktree.look(path).absent:
                self._publisher.forward(path, None)
                missing += 1
        return missing

    def recover(self) -> None:
        """Finish what a dead writer had begun: its record says what that was."""
        record = self._publisher.lock.record()
        if record is None:
            return
        if not record.left:
            remove_dead_files(self.repository, record)
        landed = self._has_landed(record)
        self._publisher.resume([item for item in record.items if item.landed or landed])
        self._tidy(patience=GLANCE)

    def _has_landed(self, record: Record) -> bool:
        tip = self.repository.tip().commit
        if tip == record.base or not record.base:
            return False
        for commit in self.repository.history(tip):
            if commit.oid == record.base:
                return False
            if parse(commit.message).get("Gitmem-Id") == record.id:
                return True
        return False

    def _tidy(self, patience: float = 0.25) -> None:
        """Reconcile what is unfinished, until nothing is or it has to wait for somebody."""
        for _ in range(ROUNDS):
            items = list(self._publisher.unfinished)
            if not items:
                return
            progress = [self._reconciled(item, patience) for item in items]
            if not any(progress):
                return

    def _reconciled(self, item: Item, patience: float) -> bool:
        """Bring one path in order; False when it has to wait."""
        try:
            with suppress(FileNotFoundError), self.worktree.parent(item.path):
                pass  # raises InTheWay
            exchanged = False
            for temp in (item.temp, f"{item.temp}~"):
                state = self._judge_temp(item, beside(item.path, temp), patience)
                if state == "busy":
                    return False
                exchanged = exchanged or state == "exchanged"
            return self._judge_place(item, exchanged)
        except InTheWay as way:
            return self._clear_way(item, way.path)
        except OSError:
            return False

    def _judge_temp(self, item: Item, where: str, patience: float) -> str:
        """Look at what lies beside the path: our new version, the old one, or an edit."""
        seen = self.worktree.look(where, patience=patience)
        if seen.absent:
            return "absent"
        if seen.busy:
            return "busy"
        if seen.oid is not None and seen.oid == item.old:
            return "exchanged"
        if seen.data is not None and self._is_part_of(seen.data, item.new):
            self.worktree.drop(where)
            return "waiting"
        before = _sound(self.repository.snapshot(), item.path)
        rule = hold_rule(item.path, seen.obstacle, seen.data, before)
        if rule:
            kept = self._held.keep(self.worktree, where, item.path, rule, self.clock())
            self.set_aside.append(kept)
        else:
            standing = self.worktree.look(item.path).oid
            self._take_in(item.path, seen, item.old, standing, None)
            self.worktree.drop(where)
        return "exchanged"

    def _is_part_of(self, data: bytes, new: str | None) -> bool:
        """True for a new version, or the part of it that was written when its writer died."""
        return new is not None and self.repository.objects.read_as("blob", new).startswith(data)

    def _judge_place(self, item: Item, exchanged: bool) -> bool:
        """Look at the path itself: it may be right, behind, or edited."""
        snapshot = self.repository.snapshot()
        head = snapshot.oid(item.path)
        seen = self.worktree.look(item.path)
        if not seen.obstacle and seen.oid not in (head, item.old) and not seen.absent:
            known = exchanged or self.repository.staging.oid(item.path) == item.new
            self._take_in(item.path, seen, item.new if known else item.old, seen.oid, None)
            self._publisher.finish_items([item])
            return True
        forward = item._replace(old=seen.oid, new=head)
        expected, found = True, seen.stat
        if seen.oid != head and not seen.obstacle:
            self.worktree.drop(beside(item.path, item.temp))
            found, expected = self._publisher.place(forward, snapshot.read(item.path))
        new = entry(item.path, head, None if seen.obstacle else found) if head else None
        if not expected or not self._publisher.stage({item.path: new}):
            return not expected
        self._publisher.finish_items([item])
        return True

    def _clear_way(self, item: Item, way: str) -> bool:
        """A link or file stands where a folder of the path should be: set it aside."""
        try:
            kept = self._held.keep(self.worktree, way, way, "in the way", self.clock())
        except OSError:
            return False
        self.set_aside.append(kept)
        return True


def _sound(snapshot: Snapshot, path: str) -> bytes | None:
    """HEAD's version, as far as it can be read: one damaged blob must not stop a group."""
    with suppress(ObjectDamaged):
        return snapshot.read(path)
    return None


def new_id() -> str:
    """A fresh operation id."""
    return os.urandom(8).hex()


@contextmanager
def writing(
    repository: Repository,
    root: Path,
    clock: Callable[[], datetime],
    finder: Note,
    wait: float = WAIT,
) -> Iterator[Writer]:
    """Hold the group's lock, with everything that a dead writer left behind put in order."""
    lock = Lock(lock_path(repository.gitdir))
    lock.acquire(wait)
    try:
        _check_head(repository)
        worktree = WorkTree(root)
        publisher = Publisher(repository, worktree, lock, clock)
        try:
            writer = Writer(publisher, HeldFolder(repository.gitdir), finder)
            writer.recover()
            yield writer
        finally:
            with suppress(OSError):
                publisher.leave()
            worktree.close()
    finally:
        lock.release()


def _check_head(repository: Repository) -> None:
    branch = repository.head_branch()
    if branch != BRANCH:
        where = f"on the branch {branch.removeprefix('refs/heads/')!r}" if branch else "detached"
        raise Conflict(
            f"HEAD of this group is {where}, put there by hand; gitmem writes to 'main' only",
            hint="finish what you are doing there, then run `git switch main` in the group",
            head=branch or "",
        )
