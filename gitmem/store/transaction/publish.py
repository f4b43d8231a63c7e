"""The write protocol: how files become a commit, and a commit becomes files.

Order: inflight record, objects, branch (**acknowledged here**), work tree, index, record cleared.
docs/concurrency.md explains why each step stands where it stands; `tests/faults` kills the process
at each of them.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

from gitmem.errors import Busy, Damaged, StorageFailed
from gitmem.model.commit_messages import subject
from gitmem.model.hints import Hint, Option, call
from gitmem.store import fault_points
from gitmem.store.index.file import IndexEntry, Stat
from gitmem.store.index.staging import IndexBusy, entry
from gitmem.store.lock import NO_INDEX, UNSEEN, WAIT, Inflight, Item, Lock
from gitmem.store.objects.commits import commit_bytes, write_tree
from gitmem.store.objects.database import blob_id
from gitmem.store.refs.move import Move, RefMoved, move_ref
from gitmem.store.repository import BRANCH, GIT_AT_WORK, Repository, Snapshot, branch_file
from gitmem.store.transaction.plan import Plan, Planner, Published, Step, T
from gitmem.store.worktree.swap import SWAPPED, TEMP_PREFIX, swapped
from gitmem.store.worktree.worktree import FileState, InTheWay, WorkTree, beside

if TYPE_CHECKING:
    from gitmem.store.index.file import IndexFile
    from gitmem.store.transaction.git_operations import GitClaims


PATIENCE = 0.25
"""Seconds to wait for somebody who still has a swapped-out file open for writing."""

PACKED_LOCK = "packed-refs.lock"


class Publisher:
    """Moves the branch, then brings work tree and index after it. Needs the repository's lock."""

    def __init__(
        self,
        repository: Repository,
        worktree: WorkTree,
        lock: Lock,
        clock: Callable[[], datetime],
        wait: float = WAIT,
    ) -> None:
        self.wait = wait
        self.repository = repository
        self.worktree = worktree
        self.clock = clock
        self.lock = lock
        self.unfinished: list[Item] = []
        self.ranges: list[tuple[str, str]] = []
        """What was written here, each as the commit it began on and the one it ends with."""
        self.replaced: set[str | None] = set()
        """The blobs that stood in the branch in the place of what was written here."""
        self.run_before = self.run = lock.run()
        """Where we found the branch, and since when nobody but us had moved it."""
        self.run_broken = False
        """Somebody else had moved the branch, or the published commits are not ours."""
        self.published = ""
        """The commit that the branch is known to be at; empty before anybody has looked."""
        self.rejoin: Callable[[str], bool] = lambda tip: False
        """Asked where the branch is not where we left it; True when it was moved, by the answer."""
        self._remark = self._index = lock.remark()
        self._noted = False
        self._moving = False
        self._out: dict[str, str] = {}
        self._conflicted: frozenset[str] = frozenset()
        self._unseen = False
        self.unseen: tuple[IndexFile | None, int] | None = None
        """An index that git wrote beside us and that we have patched, and its mtime."""
        self._claims = self._look_around()

    def _look_around(self) -> GitClaims | None:
        """What git has begun; and the lock of one of us who died while it deleted a ref goes."""
        names = self.repository.names()
        if PACKED_LOCK in names:
            from gitmem.store.refs.move import PACKED, clear_dead_lock  # hardly ever

            clear_dead_lock(self.repository.gitdir, PACKED)
        return None if GIT_AT_WORK.isdisjoint(names) else self._claimed()

    def begin(self) -> bool:
        """See where the branch is: three system calls; False where it is not where it was left."""
        known, now = self.lock.tip(), branch_file(self.repository.gitdir)
        if not now or known not in ("", now):
            return False
        self.published = now
        return True

    def publish(self, planner: Planner[T], *, known: bool = False) -> Published[T]:
        """Carry out what PLANNER plans on top of the branch.

        A person's `git commit` may move the branch in between: then it is planned anew. KNOWN:
        the branch counts as where it was when we last looked; moving it compares all the same.
        """
        if not known or not self.published:
            self.look_again()
        while True:
            tip = self.published
            snapshot = self.repository.snapshot(tip)
            plan = planner(snapshot)
            if not plan.steps:
                return Published(plan, tip, tip)
            if not self.check_claims({x for step in plan.steps for x in step.files}, snapshot):
                published = self.publish_on(tip, snapshot, plan)
                if published is not None:
                    return published
            self.look_again()

    def look_again(self) -> bool:
        """See where the branch is: a git at work may have moved it; True when commits came back."""
        came_back = False
        while (tip := self.repository.tip()) != self.published and self.rejoin(tip):
            came_back = True
        self.published = tip
        return came_back

    def check_claims(self, paths: Iterable[str], snapshot: Snapshot) -> bool:
        """Refuse what belongs to a merge of a person's: it would end as half of each.

        A `git commit` that is just ending one is waited for; True when there was such a wait.
        """
        deadline = time.monotonic() + PATIENCE
        waited = False
        for path in paths:
            while self.is_claimed(path, snapshot):
                if time.monotonic() >= deadline:
                    raise self._claimed().refusal(path)
                time.sleep(0.01)
                self._claims, waited = self._claimed(), True
        return waited

    def _claimed(self) -> GitClaims:
        from gitmem.store.transaction.git_operations import GitClaims  # only where git is at work

        return GitClaims(self.repository, self.worktree)

    def is_claimed(self, path: str, snapshot: Snapshot) -> bool:
        """Whether PATH belongs to an operation that a person has begun with plain git."""
        if self._claims is None:
            if not self.repository.staging.is_in_conflict(path):
                return False
            self._claims = self._claimed()
        known = [blob for each in self.unfinished if each.path == path for blob in each[1:3]]
        return self._claims.hold(path, snapshot, known)

    def publish_on(self, tip: str, snapshot: Snapshot, plan: Plan[T]) -> Published[T] | None:
        """Land PLAN on the branch as it was read; None when somebody else moved it first."""
        final: dict[str, bytes | None] = {}
        for step in plan.steps:
            final.update(step.files)
        items = self._items(plan.standing, snapshot, final)
        with translated("writing the commit"):
            self._note(plan.steps[-1].note.id, tip, items)
            fault_points.reached("recorded")
            commit = plan.commit or self._write_commits(tip, snapshot, plan.steps)
            fault_points.reached("objects")
            self._moving = True
            moved = self._move(tip, commit, subject(plan.steps[-1].note))
        if not moved:
            self._moving = False
            return None
        self.published = commit
        items = [item._replace(published=True) for item in items]
        self.unfinished += items
        self._moving = False
        fault_points.reached("branch")
        self.replaced.update(map(snapshot.oid, final))
        self._go_on(tip, commit, theirs=bool(plan.commit))
        self.update_worktree(items, final)
        blobs = {item.path: item.new for item in items}
        return Published(plan, commit, tip, blobs, changed=True)

    def begin_run(self) -> None:
        """Count from here the commits that nobody but us put on the branch."""
        self.run = self.published, self.published

    @property
    def strayed(self) -> bool:
        """True where the lock stops telling of the run that we found: others moved the branch."""
        return self.run_broken or self.run[1] != self.published

    def _go_on(self, parent: str, commit: str, *, theirs: bool) -> None:
        """Remember what was published: a commit of ours on PARENT, or a line written before."""
        if not theirs:
            self.ranges.append((parent, commit))
        since, tip = self.run
        follows = tip == parent and not theirs
        self.run_broken = self.run_broken or not follows
        self.run = since if follows else commit if theirs else parent, commit

    def _items(
        self,
        standing: Mapping[str, str | None],
        snapshot: Snapshot,
        final: Mapping[str, bytes | None],
    ) -> list[Item]:
        stem = TEMP_PREFIX + os.urandom(8).hex()  # not the operation's id, which may hold anything
        items = []
        # Removals first: a file may have to make room for a folder of its name.
        ordered = sorted(final.items(), key=lambda each: each[1] is not None)
        for number, (path, data) in enumerate(ordered):
            old = standing[path] if path in standing else self._standing(path, snapshot)
            new = None if data is None else blob_id(data)
            items.append(Item(path, old, new, f"{stem}-{number}", False))
        return items

    def _standing(self, path: str, snapshot: Snapshot) -> str | None:
        """What is believed to stand at PATH: HEAD's version, or one that could not be replaced."""
        if any(item.path == path for item in self.unfinished):
            state = self.worktree.look(path)
            if self.is_behind(path, state):
                return state.oid
        return snapshot.oid(path)

    def is_behind(self, path: str, state: FileState) -> bool:
        """True for a version that a published write could not replace in the work tree yet."""
        known = [item.old for item in self.unfinished if item.path == path]
        return not state.obstacle and state.oid in known

    def _note(self, name: str, base: str, items: Iterable[Item], *, left: bool = False) -> None:
        self._noted = True
        record = Inflight(name, base, os.getpid(), left, (*self.unfinished, *items))
        self.lock.note(record, self.published, self._since())

    def _since(self) -> str:
        since, tip = self.run
        return since if tip == self.published else ""

    def _write_commits(self, tip: str, snapshot: Snapshot, steps: Iterable[Step]) -> str:
        objects = self.repository.objects
        commit, root = tip, snapshot.root
        when = self.clock()
        committed = max(int(when.timestamp()), self.repository.commit(commit).committed)
        for step in steps:
            root = write_tree(self.repository, root, step.files)
            raw = commit_bytes(root, commit, step.note, when, committed)
            commit = objects.stage("commit", raw)
            self.repository.remember_commit(commit, raw)
        objects.flush()
        return commit

    def _move(self, tip: str, commit: str, subject: str) -> bool:
        """Compare and swap the branch; False when somebody else moved it first."""
        move = Move(tip, commit, subject, int(time.time()))
        try:
            move_ref(self.repository.gitdir, BRANCH, move, wait=self.wait, now=self.repository.tip)
        except RefMoved:
            return False
        except Busy:
            self._moving = False  # it did not: no record may make that lock look ours
            raise
        except OSError as error:
            if self._tip_after(error) != commit:  # an exception is not "not written"
                raise
        return True

    def _tip_after(self, error: Exception) -> str:
        try:
            return self.repository.tip()
        except Damaged as lost:
            raise StorageFailed(
                f"moving the branch failed ({error}), and then it could not be read",
                hint=Hint(
                    "it may be written or not: see ",
                    call("log"),
                    ", or repeat with the same ",
                    Option("id", "ID"),
                ),
                unsure=True,
            ) from lost

    def update_worktree(self, items: Iterable[Item], contents: Mapping[str, bytes | None]) -> None:
        """Bring work tree and index up to the commit. Never fails: what cannot be done waits."""
        expected: list[Item] = []
        changes: dict[str, IndexEntry | None] = {}
        for item in items:
            try:
                found, as_believed = self.install(item, contents[item.path])
            except (OSError, InTheWay):
                continue
            changes[item.path] = entry(item.path, item.new, found) if item.new else None
            if as_believed:
                expected.append(item)
        if self.stage(changes):
            fault_points.reached("staged")
            with suppress(OSError):
                self.finish_items(item for item in expected if self._is_in_place(item))

    def _is_in_place(self, item: Item) -> bool:
        """True unless ITEM is part of a conflict, or git has removed the file that it made.

        Between the file and its entry in the index, the file is untracked: a `git clean` or
        `git stash -u` at that moment takes it away, and it would count as deleted by hand.
        """
        if item.path in self._conflicted:
            return False
        is_new_file = item.old is None and item.new is not None
        return not (is_new_file and self.worktree.look(item.path).absent)

    def forward(self, standing: Mapping[str, str | None]) -> None:
        """Let HEAD's versions stand in the work tree instead of the known ones, by path."""
        snapshot, stem = self.repository.snapshot(), TEMP_PREFIX + os.urandom(8).hex()
        items = [
            Item(path, old, snapshot.oid(path), f"{stem}-{number}", True)
            for number, (path, old) in enumerate(standing.items())
        ]
        self.unfinished += items
        self._note("", "", ())  # all of them: after a death the rest would look like edits
        self.update_worktree(items, {path: snapshot.read(path) for path in standing})

    def resume(self, items: Iterable[Item]) -> None:
        """Take over what a dead writer had not finished."""
        self.unfinished = [item._replace(published=True) for item in items]
        self._noted = True

    def install(self, item: Item, data: bytes | None) -> tuple[os.stat_result | None, bool]:
        """Put one version in; tell its stat, and whether what came out is what was expected."""
        found = None
        if item.old == item.new:
            state = self.worktree.look(item.path)
            return (state.stat if state.oid == item.new else None), True
        if data is None:
            where = self.worktree.take(item.path, item.temp)
        else:
            found, where = self.worktree.put(
                item.path, item.temp, data, expect_file=item.old is not None
            )
        fault_points.reached("placed")
        self._out[item.temp] = where
        if not where:
            return found, True
        out = self.worktree.look(where, patience=PATIENCE)
        return found, is_expected(out, item)

    def stage(self, changes: Mapping[str, IndexEntry | None]) -> bool:
        """Tell the index; False when that has to wait."""
        if not changes:
            return True
        try:
            self._conflicted = self.repository.staging.update(
                changes, self._head_entries, self._holds, self.wait
            )
        except (OSError, IndexBusy, Damaged):
            return False
        if self._index not in (b"", NO_INDEX, self.repository.staging.replaced):
            self._unseen = True  # git wrote it since we looked: our own patch must not hide that
            self.unseen = self.repository.staging.patched
        self._index = self.repository.staging.known()
        return True

    def restage(self) -> None:
        """Tell the index of writes that a git at work has taken out of it."""
        changes: dict[str, IndexEntry | None] = {}
        for path, state in self._claimed().late(self.repository.snapshot()):
            changes[path] = entry(path, state.oid, state.stat) if state.oid else None
        self.stage(changes)

    def _head_entries(self) -> Iterator[IndexEntry]:
        for path, node in self.repository.snapshot().files():
            yield entry(path, node.oid, None)

    def _holds(self, known: IndexEntry) -> bool:
        """True when a file still is what the index says of it."""
        state = self.worktree.look(known.path.decode("utf-8", "surrogateescape"))
        same = state.stat is not None and Stat.of(state.stat) == known.stat
        return same and state.oid == known.oid.hex()

    def finish_items(self, items: Iterable[Item]) -> None:
        """What came out is in git already: let it go, and remember no more."""
        finished = list(items)
        folders: dict[str, str] = {}
        for item in finished:
            if item.old != item.new:
                self.drop_out(item)
                folders[item.path.rpartition("/")[0]] = item.path
            if item.new is None:
                self.worktree.prune(item.path)
        for path in folders.values():
            self.worktree.sync(path)
        for item in finished:  # only now: a file whose name is not durable is not finished
            self.unfinished.remove(item)
        fault_points.reached("dropped")

    def drop_out(self, item: Item) -> None:
        """Remove what came out for ITEM. Only for what is kept in git."""
        known = self._out.pop(item.temp, None)
        for where in swapped_paths(item) if known is None else (known,):
            if where:
                self.let_go(item, where)

    def let_go(self, item: Item, where: str) -> None:
        """Remove the old version of ITEM at WHERE, which is in git already.

        Where git's copy is damaged this is the last sound one: it is put back first. Where it may
        not come back, it stays where it is, and the next writer judges it as it would any edit.
        """
        objects = self.repository.objects
        if item.old is not None and not objects.holds(item.old):
            state = self.worktree.look(where)
            if state.data is not None and state.oid == item.old:
                from gitmem.store.fsck.acknowledged import (
                    is_removed,  # only where something is damaged
                )

                if is_removed(self.repository, item.path, state.data):
                    return
                objects.write("blob", state.data)
        self.worktree.drop(where)

    def leave(self) -> None:
        """Clear the record, or leave in it what the next writer has to finish."""
        self.repository.objects.discard()
        if self._moving:
            return  # interrupted between the branch and our knowing it: recovery will look
        if not self._noted:
            if self.published != self.lock.tip():  # a person moved the branch on
                self.lock.mark(self.published)
        elif self.unfinished:
            self.worktree.sync(SWAPPED)  # what waits there may be an edit that git does not have
            self._note("", "", (), left=True)
        else:
            state = UNSEEN if self._unseen else self.repository.staging.signature()
            self.lock.clear(state, self.published, self._since())

    def index_changed(self) -> bool:
        """True when somebody else wrote the index since we did: a person used plain git."""
        known = self._remark
        now = self.repository.staging.signature() or NO_INDEX
        if not known or known == now:
            return False
        self._noted = True  # so that it is noticed once
        self._index = now
        return True


def is_expected(out: FileState, item: Item) -> bool:
    """True when what came out of the work tree is what was believed to be there."""
    return out.absent or (out.oid is not None and out.oid == item.old and not out.busy)


def swapped_paths(item: Item) -> tuple[str, str]:
    """Where what came out for ITEM can be; the second is where earlier releases always put it."""
    return swapped(item.path, item.temp), beside(item.path, item.temp)


_SANDBOXED = Hint(
    "nothing was written. In an agent's sandbox: ",
    call("install", "codex"),
    " opens the one of Codex for memory, and the tools of ",
    call("mcp"),
    " write outside of it. Elsewhere: check the owner, mode and mount of the store",
)


@contextmanager
def translated(doing: str) -> Iterator[None]:
    """Turn what libgit2 and the system raise into StorageFailed, keeping the cause."""
    try:
        yield
    except OSError as error:
        text, code = str(error), getattr(error, "errno", None)
        why, hint = text, Hint("nothing was written; see ", call("check"))
        if code == errno.ENOSPC or "No space left" in text:
            why, hint = "the disk is full", Hint("free some space and repeat")
        elif code == errno.EROFS or "Read-only file system" in text:
            why, hint = f"the store is read-only here: {text}", _SANDBOXED
        elif code in (errno.EACCES, errno.EPERM) or "Permission denied" in text:
            hint = _SANDBOXED
        raise StorageFailed(f"{doing} failed: {why}", hint=hint) from error
