"""Capture: commit an edit that was made outside gitmem.

If the branch has moved since the edit was begun, the edit is merged. If both changed the same
lines, the edit is a commit of its own before the merge.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.model.commit_messages import RUN, Note, title_of_change
from gitmem.model.guards import MAX_FILE, violations
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.text.format import quoted
from gitmem.store.history.diff import hunks
from gitmem.store.index.file import IndexFile
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.repository import Snapshot, differences
from gitmem.store.transaction.git_operations import failed_merge, staged
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import Publisher
from gitmem.store.worktree.worktree import FileState

LATELY, MOST_COMMITS = 60, 16
"""Seconds that a git command takes at most, and the commits that others make meanwhile."""
MOMENT = 0.1
"""Seconds in which a git that has written the index has moved the branch, too."""


class Captured(Record):
    """An edit, committed."""

    path: str
    commit: str
    bytes: int | None
    merged: bool
    violations: tuple[str, ...] = ()
    moved_from: str = ""
    moved_to: str = ""
    """Where a deleted file stands now, outside memory, as far as that was found."""


class HeldEdit(Record):
    """An edit that may not enter git and stays where it is."""

    path: str
    rule: str


class PutForward(NamedTuple):
    """A file that a failed `git merge` had reset, and that is as last written again."""

    path: str
    before: str
    """The commit that `git merge` began on."""
    was_there: bool
    """Whether that commit has the file."""

    @property
    def message(self) -> Hint:
        """What became of it, with the way back for somebody who reset it on purpose."""
        at = self.before[:10]
        back = call("restore", self.path, at=at) if self.was_there else call("rm", self.path)
        text = "is as last written again: a failed `git merge` had reset it; if you meant that, run"
        return Hint(f"{quoted(self.path)} {text} ", back)


Policy = Callable[[Snapshot, str], str]
"""The write policy of the file at a path, by the layout of a commit."""


class Rules(NamedTuple):
    """What a group's layout and settings say about writes; the store itself knows no memory."""

    policy: Policy
    check: Callable[[Mapping[str, bytes | None]], None]
    """Refuses files that an operation may not publish; edits by others are not checked."""


NO_RULES = Rules(policy=lambda snapshot, path: "free", check=lambda files: None)
"""Where no layout counts: every file may be written freely."""


class EditCapture:
    """Commits edits, in the name of FINDER unless somebody else is named."""

    def __init__(self, publisher: Publisher, finder: Note, policy: Policy) -> None:
        self._publisher = publisher
        self._repository = publisher.repository
        self._finder = finder
        self._run = ""
        self._policy = policy
        self.captured: list[Captured] = []
        self._paused = False
        self.put_forward: list[PutForward] = []
        self._bases: dict[str, str | None] = {}
        self._judged = b""

    def capture(
        self,
        path: str,
        state: FileState,
        base: str | None,
        finder: Note | None,
        *,
        elsewhere: bool = False,
    ) -> Captured | None:
        """Commit the edit STATE, which somebody made to the version BASE.

        It stands at its path, or ELSEWHERE: then what stands at the path may be yet another edit,
        which must not be taken for a version that is known.
        """
        base = base if elsewhere else self._bases.pop(path, base)
        template = self.in_run(finder)

        def plan(snapshot: Snapshot) -> Plan[Captured]:
            now, before = snapshot.oid(path), sound(snapshot, path)
            # What somebody did is judged by the version it was done to, not by one made since.
            base_text = before if now == base else self._known(base)
            policy = self._policy(snapshot, path)
            broken = violations(path, state.data, base_text, policy)
            if base and base_text is None:
                broken = (f"damage: the version of {path} before this one cannot be read", *broken)
            note = edit_note(template, path, before, state.data, broken)
            steps = [Step({path: state.data}, note)]
            final, merged = state.data, False
            if now != base and now is not None:
                final, clean = self._merged(path, base, snapshot, state.data)
                merged = True
                if clean:
                    steps = [Step({path: final}, note)]
                else:
                    kept = _blob(final) != now
                    steps.append(Step({path: final}, _merge_note(path, kept)))
            # By id: a version that cannot be read must not pass for a file that is gone.
            if _blob(final) == now and len(steps) == 1:
                steps = []
            size = None if final is None else len(final)
            captured = Captured(path, "", size, merged, broken)
            return Plan(tuple(steps), captured, {} if elsewhere else {path: state.oid})

        published = self._publisher.publish(plan)
        if not published.changed:
            if not elsewhere and state.oid != self._repository.snapshot().oid(path):
                self._publisher.forward({path: state.oid})
            return None
        captured = published.result._replace(commit=published.commit)
        self.captured.append(captured)
        return captured

    def in_run(self, finder: Note | None) -> Note:
        """What captures say of themselves, with the run to which they belong.

        What one holder of the lock finds stood there at the same time; `capture`, which gives the
        lock away between two files, names its own run.
        """
        note = finder or self._finder
        if any(name == RUN for name, _ in note.extra):
            return note
        self._run = self._run or new_id()
        return note._replace(extra=(*note.extra, (RUN, self._run)))

    def let_git_finish(self, path: str, state: FileState) -> bool:
        """Give a `git reset` that has put an older version at PATH the time to move the branch.

        Git writes the files first, under the lock of the index, then the index, and sets the branch
        at the end. In between its version of a file that was published meanwhile looks like an edit
        that takes the write back. True when commits or files came back because of that.
        """
        self._repository.staging.wait_for_git(self._publisher.wait)
        if not self._paused and self.is_known(state.oid) and state.oid in self._stood_lately(path):
            self._paused = True  # once: somebody may have put it there for good
            time.sleep(MOMENT)
        moved = self._publisher.look_again()
        return self.roll_forward() or moved

    def roll_forward(self) -> bool:
        """Let HEAD's files stand again where a `git merge` that failed put older ones back.

        The index tells, until we write it; so each one is looked up once, before that.
        """
        staging, unseen = self._repository.staging, self._publisher.unseen
        index, written = unseen or staging.load()
        if unseen is None and staging.known() == self._judged:
            return False
        self._judged, self._publisher.unseen = staging.known(), None
        before = failed_merge(self._repository, index, written)
        return before is not None and self._forward_from(before, index)

    def _forward_from(self, before: Snapshot, index: IndexFile | None) -> bool:
        """Bring files to HEAD that stand as in BEFORE, and of which the INDEX of git says so.

        A writer may have put a file in place just before git reset it, and told the index since.
        """
        head, standing = self._repository.snapshot(), dict[str, str | None]()
        for path, _, _ in differences(self._repository, "", before.root, head.root):
            old, state = before.oid(path), self._publisher.worktree.look(path)
            if self._publisher.is_claimed(path, head) or staged(index, path) != old:
                continue
            if state.oid == old and not state.obstacle:
                standing[path] = old
            elif state.oid != head.oid(path) and self._repository.staging.oid(path) == old:
                self._bases[path] = old  # its editor has not read what was written since
        if standing:
            self._publisher.forward(standing)
        found = (PutForward(path, before.commit, bool(old)) for path, old in standing.items())
        self.put_forward += found
        return bool(standing)

    def edited_before(self) -> list[str]:
        """Files with an edit to a version that a failed merge brought back, not captured yet."""
        return list(self._bases)

    def is_known(self, oid: str | None) -> bool:
        """False for a text that git does not have, as almost every edit is.

        An edit is not looked for elsewhere, as a lost object is: it would be put into git unjudged.
        """
        return oid is None or self._repository.objects.holds(oid)

    def _stood_lately(self, path: str) -> Iterator[str | None]:
        """The versions of PATH that commits of the last minute have replaced."""
        since = self._publisher.clock().timestamp() - LATELY
        line = self._repository.history(self._repository.tip())
        with suppress(Damaged):
            for commit in islice(line, MOST_COMMITS):
                if commit.committed < since or not commit.parents:
                    return
                yield self._repository.snapshot(commit.parents[0]).oid(path)

    def _merged(
        self, path: str, base: str | None, snapshot: Snapshot, theirs: bytes | None
    ) -> tuple[bytes | None, bool]:
        """The branch's version with the edit merged in, and whether that went without conflict."""
        return joined(self._known(base), sound(snapshot, path), theirs)

    def _known(self, blob: str | None) -> bytes | None:
        """The version BLOB, as far as there is one and it can be read."""
        if blob:
            with suppress(ObjectDamaged):
                return self._repository.objects.read_as("blob", blob)
        return None


def _blob(data: bytes | None) -> str | None:
    return None if data is None else blob_id(data)


def joined(
    base: bytes | None, ours: bytes | None, theirs: bytes | None
) -> tuple[bytes | None, bool]:
    """What OURS and THEIRS made of BASE, in one; and whether that went without conflict."""
    if ours is None or theirs is None:
        return (theirs if ours is None else ours), True
    from gitmem.model.text.merge import merge  # most edits meet no other

    merged = merge(base, ours, theirs, hunks)
    if len(merged.data) > MAX_FILE:
        return ours, False  # no file may be that big: the other one stands in history before it
    return merged.data, not merged.conflicts


def edit_note(
    template: Note,
    path: str,
    before: bytes | None,
    after: bytes | None,
    broken: tuple[str, ...] = (),
) -> Note:
    """What the commit of an edit says of itself, as TEMPLATE has it."""
    title = title_of_change(before, after)
    extra = tuple(("Gitmem-Violation", each) for each in broken)
    return template._replace(
        id=new_id(), title=title, paths=(path,), extra=(*template.extra, *extra)
    )


def _merge_note(path: str, kept: bool) -> Note:
    title = "both versions of lines changed twice are kept"
    if not kept:
        title = "the edit before this one is too big to be merged"
    return Note(op="merge", id=new_id(), agent="gitmem", title=title, paths=(path,))


def sound(snapshot: Snapshot, path: str) -> bytes | None:
    """HEAD's version, as far as it can be read: one damaged blob must not stop a group."""
    with suppress(ObjectDamaged):
        return snapshot.read(path)
    return None


def new_id() -> str:
    """A fresh operation id."""
    return os.urandom(8).hex()
