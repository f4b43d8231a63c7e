"""Taking in what somebody did with ordinary tools: an edit becomes a commit.

Where the branch moved meanwhile the edit is merged. Where both changed the same lines it stands in
history whole, before the merge.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from gitmem.core.guards import MAX_FILE, violations
from gitmem.core.messages import Note, title_of_change
from gitmem.git.diffing import hunks
from gitmem.git.objects import ObjectDamaged, blob_id
from gitmem.git.publish import Plan, Publisher, Step
from gitmem.git.repository import Snapshot
from gitmem.git.worktree import Seen


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


Policies = Callable[[Snapshot, str], str]
"""How the file at a path may be written, by the layout of a commit."""


def no_policy(snapshot: Snapshot, path: str) -> str:
    """Where no layout counts, every file may be written freely."""
    return "free"


class Intake:
    """Commits edits, in the name of FINDER unless somebody else is named."""

    def __init__(self, publisher: Publisher, finder: Note, policies: Policies) -> None:
        self._publisher = publisher
        self._repository = publisher.repository
        self._finder = finder
        self._policies = policies
        self.captured: list[Captured] = []

    def take_in(
        self,
        path: str,
        seen: Seen,
        base: str | None,
        finder: Note | None,
        *,
        elsewhere: bool = False,
    ) -> Captured | None:
        """Commit the edit SEEN, which somebody made to the version BASE.

        It stands at its path, or ELSEWHERE: then what stands at the path may be yet another edit,
        which must not be taken for a version that is known.
        """
        outcome: list[tuple[bytes | None, bool, tuple[str, ...]]] = []
        template = finder or self._finder

        def plan(snapshot: Snapshot) -> Plan | None:
            now, before = snapshot.oid(path), sound(snapshot, path)
            # What somebody did is judged by the version it was done to, not by one made since.
            seen_by_editor = before if now == base else self._known(base)
            policy = self._policies(snapshot, path)
            broken = violations(path, seen.data, seen_by_editor, policy)
            if base and seen_by_editor is None:
                broken = (f"damage: what {path} was before cannot be read, nor compared", *broken)
            note = edit_note(template, path, before, seen.data, broken)
            steps = [Step({path: seen.data}, note)]
            final, merged = seen.data, False
            if now != base and now is not None:
                final, clean = self._merged(path, base, snapshot, seen.data)
                merged = True
                if clean:
                    steps = [Step({path: final}, note)]
                else:
                    kept = _blob(final) != now
                    steps.append(Step({path: final}, _merge_note(path, kept)))
            outcome[:] = [(final, merged, broken)]
            # By id: a version that cannot be read must not pass for a file that is gone.
            if _blob(final) == now and len(steps) == 1:
                return None
            return Plan(tuple(steps), {} if elsewhere else {path: seen.oid})

        published = self._publisher.publish(plan)
        final, merged, broken = outcome[0]
        if published is None:
            if not elsewhere and seen.oid != self._repository.snapshot().oid(path):
                self._publisher.forward(path, seen.oid)
            return None
        size = None if final is None else len(final)
        captured = Captured(path, published.commit, size, merged, broken)
        self.captured.append(captured)
        return captured

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
    from gitmem.core.merging import merge  # most edits meet no other

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
