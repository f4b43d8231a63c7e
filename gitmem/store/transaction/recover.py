"""Recover: bring work tree and index up to the branch where a writer died or met an edit.

For each path one question decides: does it hold the version that the writer expected, the new
version, or an edit?
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.model.commit_messages import Note, parse
from gitmem.model.guards import hold_rule
from gitmem.store.index.staging import entry
from gitmem.store.lock import Inflight, Item
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import BRANCH, parse_commit
from gitmem.store.transaction.capture import EditCapture, new_id, sound
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import PATIENCE, Publisher, swapped_paths
from gitmem.store.worktree.held import HeldFolder, SetAside
from gitmem.store.worktree.swap import SWAPPED, path_of, swapped
from gitmem.store.worktree.worktree import FileState, InTheWay

if TYPE_CHECKING:
    from gitmem.store.lost_commits.merge_back import Rejoiner

# What only recovery needs is imported there.

ROUNDS = 50
TIDYING = 1.0
"""Seconds after which others get their turn, though somebody goes on editing all the time."""
GLANCE = 1e-9
LOOKED_BACK = 1000
"""Commits in which a person may have undone what a dead writer had published."""


class Recovery:
    """Brings work tree and index up to published commits, also those of a dead writer."""

    def __init__(
        self,
        publisher: Publisher,
        capture: EditCapture,
        held: HeldFolder,
        rejoiner: Callable[[], Rejoiner],
    ) -> None:
        self._publisher = publisher
        self._rejoiner = rejoiner
        self._capture = capture
        self._held = held
        self._repository = publisher.repository
        self._worktree = publisher.worktree
        self.set_aside: list[SetAside] = []

    def recover(self) -> None:
        """Finish what a dead writer had begun: its record says what that was."""
        record = self._publisher.lock.record()
        if record is None:
            if not self._publisher.begin():
                self._rejoiner().compare(self._publisher.lock.tip())
        else:
            if record.left:
                self._repository.staging.clear_dead_lock()  # of one who died while finishing it
            else:
                from gitmem.store.transaction.stale_locks import remove_dead_files

                remove_dead_files(self._repository, record)
            self._resume(record)
        if self._publisher.unfinished:
            self.tidy(patience=GLANCE)
        if record or self._has_swapped_out():
            self.sweep()
        if record and not record.left:
            self._refresh_index()

    def _has_swapped_out(self) -> bool:
        """True when a file may have come out of the work tree that no record names.

        A writer empties the folder for such files before it blanks its record, so one that came
        later shows by the times of both: one system call. An earlier release, which leaves them
        there, and a record that was lost, leave no tip.
        """
        lock = self._publisher.lock
        return not lock.tip() or self._worktree.swapped_since(lock.left_at)

    def _refresh_index(self) -> None:
        """Tell the index what it forgot of writes before the one that died.

        It is never synced, since it is a cache. After a power cut it may be older than several
        commits, while the record names the files of the last one: a person's `git commit` would
        take the others back.
        """
        from gitmem.store.fsck.index_and_worktree import index_against_head  # only after a crash

        with suppress(GitmemError, OSError):
            index, _ = self._repository.staging.load()
            if index is None:
                return
            head = list(self._repository.snapshot().files())
            stale, _ = index_against_head(self._repository.gitdir, index, head)
            changes = dict.fromkeys(stale)
            for path, node in head:
                if path in changes:
                    changes[path] = entry(path, node.oid, self._worktree.look(path).stat)
            self._publisher.stage(changes)

    def _resume(self, record: Inflight) -> None:
        """Take over what is left to do, as far as the branch still has what it belongs to."""
        commit = self._published_commit(record)
        items = [item for item in record.items if item.published or commit]
        # Before the branch may be moved: whatever is noted then has to name them, too.
        self._publisher.resume(items)
        if not self._rejoiner().compare(commit or self._publisher.lock.tip() or record.base):
            self._publisher.resume(self._disowned(items))

    def _published_commit(self, record: Inflight) -> str:
        """The commit of a dead writer, if the branch was ever moved to it; or nothing."""
        if not record.base:
            return ""
        from gitmem.store.history.ancestry import split
        from gitmem.store.lost_commits.reflog import logged_commit

        tip, objects = self._repository.tip(), self._repository.objects

        def is_its(oid: str) -> bool:
            with suppress(ObjectDamaged):
                commit = parse_commit(oid, objects.read_as("commit", oid))
                return parse(commit.message).id == record.id
            return False

        with suppress(ObjectDamaged):
            found = next(filter(is_its, split(objects, tip, record.base).ours), "")
            if found:
                return found
        gitdir = self._repository.gitdir
        commit = logged_commit(gitdir, record.base, tip, is_its)
        if not commit:
            self._forget_logged(is_its)
        return commit

    def _forget_logged(self, is_its: Callable[[str], bool]) -> None:
        """Its writer died between the reflog and the branch, which never had it: nobody misses it.

        Else `check` would call the branch moved back.
        """
        from gitmem.store.lost_commits.kept import note_let_go
        from gitmem.store.refs.files import read_log

        gitdir = self._repository.gitdir
        lines = read_log(gitdir, BRANCH).lines
        if lines and is_its(lines[-1].new):
            with suppress(OSError):
                note_let_go(gitdir, [lines[-1].new])

    def _disowned(self, items: Iterable[Item]) -> list[Item]:
        """Somebody took the commits of ITEMS off the branch: their versions are known no more.

        What lies beside a path is kept with those commits. What stands at the path is an edit of
        what the branch has there, if it differs from it.
        """
        snapshot = self._repository.snapshot()
        found = []
        for item in items:
            for where in (f"{path}{end}" for path in swapped_paths(item) for end in ("", "~")):
                state = self._worktree.look(where)
                known = state.oid is not None and state.oid == item.old
                if known or (state.data is not None and self._is_part_of(state.data, item.new)):
                    self._publisher.let_go(item, where)
            head = snapshot.oid(item.path)
            found.append(item._replace(old=head, new=head))
        return found

    def sweep(self) -> None:
        """Capture what came out and no record names any more.

        An earlier release that recovers a writer of this one knows no `gitmem/swapped`, and a power
        cut may bring back what was removed.
        """
        awaited = {swapped(item.path, item.temp) for item in self._publisher.unfinished}
        for name in self._worktree.swapped_names():
            where = SWAPPED + name
            if where.removesuffix("~") not in awaited:
                with suppress(OSError, GitmemError):  # it can wait for a better day
                    self._sweep(where, path_of(name))

    def _sweep(self, where: str, path: str) -> None:
        state = self._worktree.look(where, patience=GLANCE)
        if state.busy:
            return
        if state.oid is None or not self._repository.has_stood(path, state.oid):
            rule = hold_rule(path, state.obstacle, state.data, None)
            if rule:
                self._keep(where, path or where.removeprefix(SWAPPED), rule)
                return
            self._capture.capture(path, state, None, None, elsewhere=True)
        self._worktree.drop(where)

    def tidy(self, patience: float = PATIENCE) -> None:
        """Reconcile what is unfinished, until nothing is or it has to wait for somebody."""
        until = time.monotonic() + TIDYING
        for _ in range(ROUNDS):
            progress = False
            for item in tuple(self._publisher.unfinished):
                if time.monotonic() > until:  # here, too: each may have to wait for an editor
                    return
                progress = self._reconciled(item, patience) or progress
            if not progress:
                return

    def _reconciled(self, item: Item, patience: float) -> bool:
        """Bring one path in order; False when it has to wait."""
        try:
            if self._publisher.is_claimed(item.path, self._repository.snapshot()):
                return False  # by a merge that a person has begun since
            with suppress(FileNotFoundError), self._worktree.parent(item.path):
                pass  # raises InTheWay
            exchanged = False
            for where in (f"{path}{end}" for path in swapped_paths(item) for end in ("", "~")):
                state = self._judge_temp(item, where, patience)
                if state == "busy":
                    return False
                exchanged = exchanged or state == "exchanged"
            return self._judge_place(item, exchanged)
        except InTheWay as way:
            return self._clear_way(way.path)
        except (OSError, GitmemError):
            return False  # the commit is published: the rest can wait

    def _judge_temp(self, item: Item, where: str, patience: float) -> str:
        """Look at what lies beside the path: our new version, the old one, or an edit."""
        state = self._worktree.look(where, patience=patience)
        if state.absent:
            return "absent"
        if state.busy:
            return "busy"
        if state.oid is not None and state.oid == item.old:
            if where.endswith("~"):  # of a swap in several steps, which nobody finishes any more
                self._publisher.let_go(item, where)
            return "exchanged"
        if state.data is not None and self._is_part_of(state.data, item.new):
            self._worktree.drop(where)
            return "waiting"
        before = sound(self._repository.snapshot(), item.path)
        rule = hold_rule(item.path, state.obstacle, state.data, before)
        if rule:
            self._keep(where, item.path, rule)
        else:
            self._capture.capture(item.path, state, item.old, None, elsewhere=True)
            self._worktree.drop(where)
        return "exchanged"

    def _is_part_of(self, data: bytes, new: str | None) -> bool:
        """True for a new version, or the part of it that was written when its writer died."""
        return new is not None and self._repository.objects.read_as("blob", new).startswith(data)

    def _judge_place(self, item: Item, exchanged: bool) -> bool:
        """Look at the path itself: it may be right, behind, or edited."""
        snapshot = self._repository.snapshot()
        head = snapshot.oid(item.path)
        state = self._worktree.look(item.path)
        never_staged = state.oid == (item.new if exchanged else item.old) and not state.obstacle
        if head == item.old and never_staged and self._was_taken_back(item):
            self._publish_again(item, state)
            return True
        stood = exchanged or item.new in (item.old, self._repository.staging.oid(item.path))
        edited = not state.obstacle and state.oid not in (head, item.old) and not state.absent
        held = edited and hold_rule(item.path, "", state.data, sound(snapshot, item.path))
        known = edited and self._capture.is_known(state.oid)
        if known and self._capture.let_git_finish(item.path, state):
            return True  # it was no edit, but git at work: look again
        if edited and not held:
            self._capture.capture(item.path, state, item.new if stood else item.old, None)
            self._publisher.finish_items([item])
            return True
        forward = item._replace(old=state.oid, new=head)
        expected, found = True, state.stat
        # An obstacle that came after our version is held where it is; one before it makes room.
        if (not stood) if state.obstacle else (state.oid != head and not held):
            self._publisher.drop_out(item)
            found, expected = self._publisher.install(forward, snapshot.read(item.path))
        standing = None if state.obstacle or held else found
        new = entry(item.path, head, standing) if head else None
        if not expected or not self._publisher.stage({item.path: new}):
            return not expected
        self._publisher.finish_items([item])
        return True

    def move_aside(self, path: str, rule: str) -> None:
        """Move what stands at PATH, which may not enter git, out of the work tree."""
        self._keep(path, path, rule)

    def _publish_again(self, item: Item, state: FileState) -> None:
        """Publish a version again that did not reach the index, and then left HEAD.

        A person has committed beside a dead writer: its index still had the version before.
        """
        new = None if item.new is None else self._repository.objects.read_as("blob", item.new)
        title = "a write that an older index had taken back"
        note = Note(op="merge", id=new_id(), agent="gitmem", title=title, paths=(item.path,))
        steps = (Step({item.path: new}, note),)
        self._publisher.publish(lambda _: Plan(steps, None, {item.path: state.oid}))
        self._publisher.finish_items([item])

    def _was_taken_back(self, item: Item) -> bool:
        """True when a commit of plain git is what put the old version in the new one's place."""
        if item.old == item.new:
            return False
        history = self._repository.history(self._repository.tip())
        for commit in islice(history, LOOKED_BACK):
            before = commit.parents[0] if commit.parents else None
            was = self._repository.snapshot(before).oid(item.path) if before else None
            if was != item.old:
                return was == item.new and not parse(commit.message).get("Gitmem-Op")
        return False

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
