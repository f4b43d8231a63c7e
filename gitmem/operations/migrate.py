"""Bring a group's files into the form its layout wants: an old name, and sections that stray.

Mechanical: every line that was there is there afterwards, plus the one note that says where the
sections went.
"""

from __future__ import annotations

from typing import NamedTuple

from gitmem.core.guards import check_size
from gitmem.core.layout import Migration, in_small_letters
from gitmem.core.messages import Note
from gitmem.core.sections import joined, part
from gitmem.git.held import SetAside
from gitmem.git.intake import Captured
from gitmem.git.publish import Plan, Step
from gitmem.git.repository import Snapshot
from gitmem.operations.capture import adopt_all
from gitmem.operations.group import Group
from gitmem.operations.layouts import layout_of
from gitmem.operations.pending import scan_edits
from gitmem.operations.place import check_place

NOTE = "{what}: kept in {into}."


class Migrated(NamedTuple):
    """What was brought into its present form, or would be."""

    commit: str
    renamed: tuple[tuple[str, str], ...] = ()
    """Old path and new path."""
    sections: int = 0
    """How many sections moved ..."""
    source: str = ""
    into: str = ""
    """... from where to where."""
    left: str = ""
    """What was left as it is, and why."""
    dry_run: bool = False
    captured: tuple[Captured, ...] = ()
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False

    @property
    def changed(self) -> bool:
        """False when there was nothing to do."""
        return bool(self.renamed or self.sections)


def migrate(group: Group, *, dry_run: bool = False, reason: str = "") -> Migrated:
    """Do what the layout's `migrate` says; a second call finds nothing to do."""
    note = group.note("migrate", reason=reason)
    if dry_run:
        found = layout_of(group).migrate
        snapshot = group.repository.snapshot()
        work = _Work(found, note)
        work.plan(snapshot)
        return work.answer(snapshot.commit)._replace(dry_run=True)
    with group.writing() as writer:
        found = layout_of(group).migrate
        named = (found.old, found.new, found.into)
        places = [*filter(None, (*named, *map(in_small_letters, named)))]
        if places:
            adopt_all(writer, scan_edits(writer.repository, writer.worktree, places))
        work = _Work(layout_of(group).migrate, note)
        writer.publish(work.plan)
        return work.answer(writer.repository.tip().commit)._replace(
            captured=tuple(writer.captured),
            set_aside=tuple(writer.set_aside),
            pending=writer.pending,
        )


class _Work:
    """One migration; planned again when the branch moves in between."""

    def __init__(self, wanted: Migration, note: Note) -> None:
        self._wanted, self._note = wanted, note
        self._left = ""
        self._renamed: tuple[tuple[str, str], ...] = ()
        self._sections = 0

    def answer(self, commit: str) -> Migrated:
        """What the last plan amounts to."""
        moved = (self._wanted.new, self._wanted.into) if self._sections else ("", "")
        return Migrated(commit, self._renamed, self._sections, *moved, self._left)

    def plan(self, snapshot: Snapshot) -> Plan | None:
        """First the name, then the sections: two commits, so that blame follows the rename."""
        old, new = self._wanted.old, self._wanted.new
        self._renamed, self._sections, self._left = (), 0, ""
        data = snapshot.read(new) if new else None
        steps: list[Step] = []
        before = snapshot.read(old) if old and new else None
        if before is not None and data is not None:
            self._left = f"{old} and {new} both exist; {old} was left as it is"
        elif before is not None:
            check_place(snapshot, new, leaving=[old])
            self._renamed, data = ((old, new),), before
            steps.append(self._renaming(before))
        if data is not None and self._wanted.sections and self._wanted.into not in ("", new):
            steps += self._parting(snapshot, data)
        return Plan(tuple(steps)) if steps else None

    def _renaming(self, data: bytes) -> Step:
        old, new = self._wanted.old, self._wanted.new
        extra = (("Gitmem-From", old),)
        note = self._note._replace(title=f"{old} -> {new}", paths=(old,), extra=extra)
        return Step({old: None, new: data}, note)

    def _parting(self, snapshot: Snapshot, data: bytes) -> list[Step]:
        new, into = self._wanted.new, self._wanted.into
        parted = part(data, self._wanted.sections)
        self._sections = len(parted.sections)
        if not parted.sections:
            return []
        check_place(snapshot, into, [new])
        line = NOTE.format(what=self._wanted.sections.strip("# "), into=into).encode()
        rest = parted.rest if line in parted.rest.splitlines() else joined(parted.rest, line)
        whole = joined(snapshot.read(into) or b"", *parted.sections)
        for path, each in ((new, rest), (into, whole)):
            check_size(path, len(each))
        many = "section" if self._sections == 1 else "sections"
        title = f"{self._sections} {many} of {new} -> {into}"
        extra = (("Gitmem-From", new),)
        note = self._note._replace(title=title, paths=(into, new), extra=extra)
        return [Step({new: rest, into: whole}, note)]
