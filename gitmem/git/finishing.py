"""Bringing work tree and index after the branch: what a dead writer left, and what came out.

For each path the question is the same: does the version stand there that was believed to, the one
that shall, or an edit?
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress

from gitmem.core.guards import hold_rule
from gitmem.core.messages import parse
from gitmem.errors import GitmemError
from gitmem.git.ancestry import split
from gitmem.git.deadlocks import remove_dead_files
from gitmem.git.held import HeldFolder, SetAside
from gitmem.git.intake import Intake, sound
from gitmem.git.lineage import logged_commit
from gitmem.git.lock import Item, Record
from gitmem.git.objects import ObjectDamaged
from gitmem.git.publish import PATIENCE, Publisher
from gitmem.git.rejoining import Rejoiner
from gitmem.git.repository import parse_commit
from gitmem.git.staging import entry
from gitmem.git.worktree import InTheWay, beside

ROUNDS = 50
TIDYING = 1.0
"""Seconds after which others get their turn, though somebody goes on editing all the time."""
GLANCE = 1e-9


class Finisher:
    """Finishes what has landed."""

    def __init__(
        self, publisher: Publisher, intake: Intake, held: HeldFolder, rejoiner: Rejoiner
    ) -> None:
        self._publisher = publisher
        self._rejoiner = rejoiner
        self._intake = intake
        self._held = held
        self._repository = publisher.repository
        self._worktree = publisher.worktree
        self.set_aside: list[SetAside] = []

    def recover(self) -> None:
        """Finish what a dead writer had begun: its record says what that was."""
        record = self._publisher.lock.record()
        if record is None:
            self._rejoiner.begin()
        else:
            if record.left:
                self._repository.staging.clear_dead_lock()  # of one who died while finishing it
            else:
                remove_dead_files(self._repository, record)
            self._resume(record)
        if self._publisher.unfinished:
            self.tidy(patience=GLANCE)

    def _resume(self, record: Record) -> None:
        """Take over what is left to do, as far as the branch still has what it belongs to."""
        landed = self._landed(record)
        items = [item for item in record.items if item.landed or landed]
        # Before the branch may be moved: whatever is noted then has to name them, too.
        self._publisher.resume(items)
        if not self._rejoiner.compare(landed or self._publisher.lock.tip() or record.base):
            self._publisher.resume(self._let_go(items))

    def _landed(self, record: Record) -> str:
        """The commit of a dead writer, if the branch was ever moved to it; or nothing."""
        if not record.base:
            return ""
        tip, objects = self._repository.tip().commit, self._repository.objects

        def is_its(oid: str) -> bool:
            with suppress(ObjectDamaged):
                commit = parse_commit(oid, objects.read_as("commit", oid))
                return parse(commit.message).id == record.id
            return False

        with suppress(ObjectDamaged):
            found = next(filter(is_its, split(objects, tip, record.base).ours), "")
            if found:
                return found
        return logged_commit(self._repository.gitdir, record.base, tip, is_its)

    def _let_go(self, items: Iterable[Item]) -> list[Item]:
        """Somebody took the commits of ITEMS off the branch: their versions are known no more.

        What lies beside a path is kept with those commits. What stands at the path is an edit of
        what the branch has there, if it differs from it.
        """
        snapshot = self._repository.snapshot()
        found = []
        for item in items:
            for temp in (item.temp, f"{item.temp}~"):
                where = beside(item.path, temp)
                seen = self._worktree.look(where)
                known = seen.oid is not None and seen.oid == item.old
                if known or (seen.data is not None and self._is_part_of(seen.data, item.new)):
                    self._worktree.drop(where)
            head = snapshot.oid(item.path)
            found.append(item._replace(old=head, new=head))
        return found

    def tidy(self, patience: float = PATIENCE) -> None:
        """Reconcile what is unfinished, until nothing is or it has to wait for somebody."""
        until = time.monotonic() + TIDYING
        for _ in range(ROUNDS):
            items = list(self._publisher.unfinished)
            if not items or time.monotonic() > until:
                return
            progress = [self._reconciled(item, patience) for item in items]
            if not any(progress):
                return

    def _reconciled(self, item: Item, patience: float) -> bool:
        """Bring one path in order; False when it has to wait."""
        try:
            with suppress(FileNotFoundError), self._worktree.parent(item.path):
                pass  # raises InTheWay
            exchanged = False
            for temp in (item.temp, f"{item.temp}~"):
                state = self._judge_temp(item, beside(item.path, temp), patience)
                if state == "busy":
                    return False
                exchanged = exchanged or state == "exchanged"
            return self._judge_place(item, exchanged)
        except InTheWay as way:
            return self._clear_way(way.path)
        except (OSError, GitmemError):
            return False  # what has landed has landed: the rest can wait for a better day

    def _judge_temp(self, item: Item, where: str, patience: float) -> str:
        """Look at what lies beside the path: our new version, the old one, or an edit."""
        seen = self._worktree.look(where, patience=patience)
        if seen.absent:
            return "absent"
        if seen.busy:
            return "busy"
        if seen.oid is not None and seen.oid == item.old:
            if where.endswith("~"):  # of a swap in several steps, which nobody finishes any more
                self._worktree.drop(where)
            return "exchanged"
        if seen.data is not None and self._is_part_of(seen.data, item.new):
            self._worktree.drop(where)
            return "waiting"
        before = sound(self._repository.snapshot(), item.path)
        rule = hold_rule(item.path, seen.obstacle, seen.data, before)
        if rule:
            self._keep(where, item.path, rule)
        else:
            self._intake.take_in(item.path, seen, item.old, None, elsewhere=True)
            self._worktree.drop(where)
        return "exchanged"

    def _is_part_of(self, data: bytes, new: str | None) -> bool:
        """True for a new version, or the part of it that was written when its writer died."""
        return new is not None and self._repository.objects.read_as("blob", new).startswith(data)

    def _judge_place(self, item: Item, exchanged: bool) -> bool:
        """Look at the path itself: it may be right, behind, or edited."""
        snapshot = self._repository.snapshot()
        head = snapshot.oid(item.path)
        seen = self._worktree.look(item.path)
        stood = exchanged or item.new in (item.old, self._repository.staging.oid(item.path))
        edited = not seen.obstacle and seen.oid not in (head, item.old) and not seen.absent
        held = edited and hold_rule(item.path, "", seen.data, sound(snapshot, item.path))
        if edited and not held:
            self._intake.take_in(item.path, seen, item.new if stood else item.old, None)
            self._publisher.finish_items([item])
            return True
        forward = item._replace(old=seen.oid, new=head)
        expected, found = True, seen.stat
        # An obstacle that came after our version is held where it is; one before it makes room.
        if (not stood) if seen.obstacle else (seen.oid != head and not held):
            self._worktree.drop(beside(item.path, item.temp))
            found, expected = self._publisher.place(forward, snapshot.read(item.path))
        known = None if seen.obstacle or held else found
        new = entry(item.path, head, known) if head else None
        if not expected or not self._publisher.stage({item.path: new}):
            return not expected
        self._publisher.finish_items([item])
        return True

    def set_out(self, path: str, rule: str) -> None:
        """Move what stands at PATH, which may not enter git, out of the work tree."""
        self._keep(path, path, rule)

    def _clear_way(self, way: str) -> bool:
        """A link or file stands where a folder of the path should be: set it aside."""
        try:
            self._keep(way, way, "in the way")
        except OSError:
            return False
        return True

    def _keep(self, where: str, path: str, rule: str) -> None:
        now = self._publisher.clock()
        self.set_aside.append(self._held.keep(self._worktree, where, path, rule=rule, now=now))
