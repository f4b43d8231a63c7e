"""A writer holds a group's lock, and publishes, captures and recovers under it.

It captures edits that others made to a file before it writes the file. Where the writer before it
died, it recovers that one's transaction first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Busy, Conflict, Damaged, GitmemError, GitOperationUnderway
from gitmem.model.commit_messages import Note
from gitmem.model.guards import hold_rule, violations
from gitmem.model.hints import Call, Hint, call
from gitmem.store.lock import WAIT, Lock, Run, lock_path
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.transaction.capture import (
    NO_RULES,
    Captured,
    EditCapture,
    HeldEdit,
    PutForward,
    Rules,
    edit_note,
    sound,
)
from gitmem.store.transaction.plan import Plan, Planner, Published, Step, T
from gitmem.store.transaction.publish import PATIENCE, Publisher, translated
from gitmem.store.transaction.recover import Recovery
from gitmem.store.worktree.held import HeldFolder, SetAside
from gitmem.store.worktree.worktree import ABSENT, FileState, WorkTree

if TYPE_CHECKING:
    from gitmem.store.lost_commits.merge_back import Rejoined, Rejoiner

GONE_OBSTACLES = ("file", "folder")
"""Obstacles that took a file's place: the file itself is no longer there."""


class Writer:
    """What an operation uses while it holds the lock."""

    def __init__(
        self, publisher: Publisher, held: HeldFolder, finder: Note, rules: Rules = NO_RULES
    ) -> None:
        self.repository = publisher.repository
        self.worktree = publisher.worktree
        self.clock = publisher.clock
        self._publisher = publisher
        self._rules = rules
        self._capture = EditCapture(publisher, finder, rules.policy)
        self._rejoiner: Rejoiner | None = None
        publisher.rejoin = self._rejoin
        self._recovery = Recovery(publisher, self._capture, held, self._rejoining)

    def _rejoin(self, tip: str) -> bool:
        return self._rejoining()(tip)

    def _rejoining(self) -> Rejoiner:
        if self._rejoiner is None:
            from gitmem.store.lost_commits.merge_back import (
                Rejoiner,
            )  # only where the branch is not where we left it

            self._rejoiner = Rejoiner(self._publisher)
        return self._rejoiner

    @property
    def captured(self) -> list[Captured]:
        """Edits by others that were found on the way, and committed."""
        return self._capture.captured

    @property
    def rejoined(self) -> list[Rejoined]:
        """Commits that had left the branch, and are back or kept."""
        return self._rejoiner.found if self._rejoiner else []

    @property
    def put_forward(self) -> list[PutForward]:
        """Files that a failed `git merge` had reset, and that are as last written again."""
        return self._capture.put_forward

    @property
    def set_aside(self) -> list[SetAside]:
        """Versions that may not enter git and had to make room."""
        return self._recovery.set_aside

    @property
    def pending(self) -> bool:
        """True while a published file still waits to reach the work tree or the index."""
        return bool(self._publisher.unfinished)

    @property
    def ranges(self) -> list[tuple[str, str]]:
        """What this writer put on the branch: the commit each began on, and its last one."""
        return self._publisher.ranges

    @property
    def replaced(self) -> set[str | None]:
        """The blobs that stood in the branch in the place of what this writer put there."""
        return self._publisher.replaced

    @property
    def published(self) -> str:
        """The commit that the branch is known to be at."""
        return self._publisher.published

    @property
    def run_before(self) -> Run:
        """Where we found the branch, and since when nobody but us had moved it."""
        return self._publisher.run_before

    @property
    def run(self) -> Run:
        """The same as the lock tells it from now on."""
        return self._publisher.run

    @property
    def strayed(self) -> bool:
        """True where that does not continue what we found."""
        return self._publisher.strayed

    def snapshot(self) -> Snapshot:
        """The files of the commit that the branch is known to be at."""
        return self.repository.snapshot(self.published)

    def begin_run(self) -> None:
        """Count from here the commits that nobody but us put on the branch."""
        self._publisher.begin_run()

    def recover(self) -> None:
        """Finish what a dead writer had begun."""
        self._recovery.recover()

    def sweep(self) -> None:
        """Capture what came out of the work tree and no record names any more."""
        self._recovery.sweep()

    def index_changed(self) -> bool:
        """True when a person used plain git here since the last writer; True once only."""
        changed = self._publisher.index_changed()
        if changed:
            self._capture.roll_forward()  # before our own write to the index hides what git did
        return changed

    def look_back(self) -> None:
        """Deal with a `git merge` that failed beside us, after we had looked for plain git."""
        if self._publisher.unseen:
            known = self._capture.edited_before()
            self._capture.roll_forward()
            self._recovery.tidy()
            self._capture_edited(known, None)

    def restage(self) -> None:
        """Tell the index of writes that a git at work has taken out of it."""
        self._publisher.restage()
        _exclude_temps(self.repository)  # whoever uses plain git may have changed its rules

    def publish(self, planner: Planner[T], *, checked: bool = True) -> Published[T]:
        """Carry out what PLANNER plans; edits that came out of the work tree are committed after.

        CHECKED: the rules of the group judge each step; False for files that somebody had elsewhere
        and brings along as they are.
        """

        def checked_plan(snapshot: Snapshot) -> Plan[T]:
            plan = planner(snapshot)
            for step in plan.steps:
                self._rules.check(step.files)
            return plan

        published = self._published(checked_plan if checked else planner, known=True)
        for path in published.plan.reinstated:
            self.reinstate(path)
        return published._replace(
            captured=tuple(self.captured), set_aside=tuple(self.set_aside), pending=self.pending
        )

    def _published(self, planner: Planner[T], *, known: bool = False) -> Published[T]:
        published = self._publisher.publish(planner, known=known)
        self._recovery.tidy()
        return published

    def capture(self, path: str, finder: Note | None = None) -> Captured | HeldEdit | None:
        """Commit what somebody did to PATH with ordinary tools; None when nobody did anything."""
        state = self.worktree.look(path)
        if self._is_ours(path, state, self.snapshot()):
            return None
        # Differs, so somebody may be in the middle of it: half an edit is no good version.
        self._let_git_finish(path, state, finder)
        state, snapshot = self.worktree.look(path, patience=PATIENCE), self.repository.snapshot()
        if self._is_ours(path, state, snapshot):
            return None
        if self._publisher.check_claims([path], snapshot):
            return self.capture(path, finder)
        if state.obstacle in GONE_OBSTACLES and snapshot.oid(path):
            state = ABSENT
        rule = self._left_alone(path, snapshot)
        rule = rule or hold_rule(path, state.obstacle, state.data, sound(snapshot, path))
        if rule:
            return HeldEdit(path, rule)
        return self._capture.capture(path, state, snapshot.oid(path), finder)

    def _let_git_finish(self, path: str, state: FileState, finder: Note | None) -> None:
        known = self._capture.edited_before()
        self._capture.let_git_finish(path, state)
        self._recovery.tidy()
        self._capture_edited([*known, path], finder)

    def _capture_edited(self, known: list[str], finder: Note | None) -> None:
        """Capture edits of files that a merge had reset: no later writer knows their base."""
        for path in self._capture.edited_before():
            if path not in known:
                self.capture(path, finder)

    def _left_alone(self, path: str, snapshot: Snapshot) -> str:
        """Why a file that somebody made stays as it is, and a write to it is refused."""
        if snapshot.oid(path) is not None:
            return ""
        from gitmem.store.worktree.ignored import Ignored  # only where somebody made a file

        if Ignored(self.repository.gitdir).fits(path):
            return "ignored"
        scope = self.repository.scope(snapshot)
        return "outside-memory" if scope and not scope.keeps(path, False) else ""

    def _is_ours(self, path: str, state: FileState, snapshot: Snapshot) -> bool:
        """True for HEAD's version, and for one of ours that still waits to be replaced by it."""
        same = state.oid == snapshot.oid(path) and not state.obstacle
        return same or self._publisher.is_behind(path, state)

    def capture_move(self, source: str, target: str, finder: Note) -> Captured | HeldEdit | None:
        """Commit a file that somebody renamed, as one commit, so that git sees the move."""
        self._let_git_finish(target, self.worktree.look(target), finder)
        state, before = self.worktree.look(target), self.worktree.look(source)
        snapshot = self.repository.snapshot()
        left = before.absent or before.obstacle in GONE_OBSTACLES
        if state.absent or not left or snapshot.node(target):
            return self.capture(target, finder)
        rule = hold_rule(target, state.obstacle, state.data, sound(snapshot, source))
        if rule or not snapshot.oid(source):
            return HeldEdit(target, rule) if rule else self.capture(target, finder)
        gone = violations(
            source, None, sound(snapshot, source), self._rules.policy(snapshot, source)
        )
        finder = self._capture.in_run(finder)
        note = edit_note(finder, target, sound(snapshot, source), state.data, gone)
        note = note._replace(extra=(*note.extra, ("Gitmem-From", source)))
        step = Step({source: None, target: state.data}, note)
        standing = {source: None, target: state.oid}
        published = self._published(lambda _: Plan((step,), None, standing))
        size = len(state.data or b"")
        moved = Captured(target, published.commit, size, False, gone, source)
        self.captured.append(moved)
        return moved

    def accept(self, path: str, state: FileState, finder: Note) -> Captured | None:
        """Commit a version of PATH that a guard would hold: somebody has decided."""
        base = self.repository.snapshot().oid(path)
        elsewhere = self.worktree.look(path).oid != state.oid
        captured = self._capture.capture(path, state, base, finder, elsewhere=elsewhere)
        self._recovery.tidy()
        return captured

    def reinstate(self, path: str) -> None:
        """Let HEAD's version of PATH stand; what stands there now is judged, and set aside."""
        with suppress(OSError, GitmemError):  # the write before it is published: this can wait
            self._publisher.forward({path: None})
            self._recovery.tidy()

    def check_closed(self, path: str, again: Call) -> None:
        """Refuse to move a file to which another program is writing; AGAIN repeats the call."""
        if self.worktree.look(path, patience=PATIENCE).busy:
            raise Busy(
                f"another program is writing to {path!r}",
                hint=Hint("let it finish, then repeat ", again),
            )

    def move_aside(self, path: str, rule: str) -> SetAside | None:
        """Move what is held at PATH out of the work tree; what HEAD has there stands there then.

        HEAD's files are noted in the inflight record before anything moves: else, after a crash,
        their absence would look like a deletion.
        """
        known = len(self.set_aside)
        files = [name for name, _ in self.repository.snapshot().files(path)]
        for each in files:
            self._publisher.forward({each: None})
        if files:
            self._recovery.tidy()
        else:
            self._recovery.move_aside(path, rule)
        return next((each for each in self.set_aside[known:] if each.path == path), None)

    def bring_back(self, commit: str) -> str:
        """Merge a kept line of commits into the branch; tell where that is now, or nothing."""
        merged = self._rejoining().land(commit)
        self._recovery.tidy()
        return merged

    def put_back(self, under: str = "") -> int:
        """Let every file of HEAD that is missing stand in the work tree again; count them."""
        missing, snapshot = 0, self.repository.snapshot()
        for path, _ in snapshot.files(under):
            claimed = self._publisher.is_claimed(path, snapshot)
            if not claimed and self.worktree.look(path).absent:
                self._publisher.forward({path: None})
                missing += 1
        return missing


@contextmanager
def open_writer(
    repository: Repository,
    root: Path,
    clock: Callable[[], datetime],
    finder: Note,
    *,
    wait: float = WAIT,
    rules: Rules = NO_RULES,
    lock: Lock | None = None,
) -> Iterator[Writer]:
    """A writer that holds the group's lock, with everything that a dead one left put in order.

    LOCK: one that is held already, and stays held. WAIT so long for the lock, and then for a git
    that moves the branch.
    """
    with translated("working on this group"), ExitStack() as stack:
        held = lock or stack.enter_context(Lock(lock_path(repository.gitdir), wait))
        _check_head(repository)
        if not held.tip():  # a group of an earlier release has no such rule
            _exclude_temps(repository)
        worktree = WorkTree(root, repository.gitdir)
        stack.callback(worktree.close)
        publisher = Publisher(repository, worktree, held, clock, wait)
        try:
            writer = Writer(publisher, HeldFolder(repository.gitdir), finder, rules)
            writer.recover()
            yield writer
        finally:
            with suppress(OSError):
                publisher.leave()


def _exclude_temps(repository: Repository) -> None:
    from gitmem.store.setup import exclude_temps

    with suppress(OSError):  # a rule that cannot be written stops nobody
        exclude_temps(repository.gitdir)


def _check_head(repository: Repository) -> None:
    where = repository.head_elsewhere()
    if not where:
        return
    from gitmem.store.fsck.git_directory import heal_head
    from gitmem.store.transaction.git_operations import git_operation

    operation = git_operation(repository.gitdir)
    branch = repository.head_branch()
    if operation:
        raise GitOperationUnderway(
            f"{operation.title} begun with git is not finished: HEAD of this group is {where}, "
            "and gitmem writes to 'main' only",
            hint=operation.way_on,
            head=branch or "",
            operation=operation.name,
        )
    if branch is None and not repository.is_detached():
        if heal_head(repository.gitdir):
            return
        hint = Hint("run ", call("check", repair=True))
        raise Damaged("HEAD of this group cannot be read", hint=hint)
    raise Conflict(
        f"HEAD of this group is {where}, put there by hand; gitmem writes to 'main' only",
        hint="finish what you are doing there, then run `git switch main` in the group's folder",
        head=branch or "",
    )
