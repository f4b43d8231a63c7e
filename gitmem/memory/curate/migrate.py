"""Bring a group's files into the form its layout wants: an old name, and sections that stray.

Mechanical: every line that was there is there afterwards, plus the one note that says where the
sections went. The start of a session and maintenance do it unasked where it is safe: no such file
is held or in conflict, or a host's own, and nobody has taken the migration back.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise, takewhile

from gitmem.cache.progress import forget_refusal, is_refused, keep_refusal
from gitmem.errors import Busy, Damaged, GitmemError, GroupRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import check_place
from gitmem.memory.write.open_edits import Scan, scan_edits
from gitmem.model.commit_messages import PARTLY, UNDOES, Note, parse
from gitmem.model.entries.lines import INSTALLED, join_sections, split_sections
from gitmem.model.guards import check_size
from gitmem.model.layout.layout import Migration, lower_name
from gitmem.model.record import Record
from gitmem.model.text.format import counted
from gitmem.model.text.merge import conflicts
from gitmem.store.lock import WAIT
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Published, Step
from gitmem.store.worktree.held import SetAside

NOTE = "{what}: kept in {into}."
LOOKED_AT = 500
"""Commits among which the last change of a file is looked for, 0.4 ms each."""
FROM = "Gitmem-From"
WAYS_BACK = ("undo", "restore")
_REVERTS = r"This reverts commit ([0-9a-f]{40})"
"""What `git revert` writes."""


class Migrated(Record):
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
    commits: tuple[str, ...] = ()
    """What was committed, the newest first: one for the name, one for the sections."""
    is_refused: bool = False
    """Whether it is left because somebody took it back."""

    @property
    def changed(self) -> bool:
        """False when there was nothing to do."""
        return bool(self.renamed or self.sections)

    @property
    def told(self) -> str:
        """What was done, or is due, in a line."""
        words = [f"{old} becomes {new}" for old, new in self.renamed]
        if self.sections:
            many = counted(self.sections, "section")
            words.append(f"{many} of {self.source} {'move' if self.sections > 1 else 'moves'}")
            words[-1] += f" to {self.into}"
        return ", ".join(words)


def migrate(
    group: Group,
    *,
    dry_run: bool = False,
    reason: str = "",
    unasked: bool = False,
    wait: float = WAIT,
) -> Migrated:
    """Do what the layout's `migrate` says; a second call finds nothing to do.

    UNASKED: only if it is safe; what is not is left, and `left` says why.
    """
    note = group.note("migrate", reason=reason)
    if dry_run:
        snapshot = group.repository.snapshot()
        work = _Work(layout_of(group).migrate, note, unasked)
        work.plan(snapshot)
        return work.answer(snapshot.commit)._replace(dry_run=True)
    with group.writing(wait) as writer:
        found = layout_of(group).migrate
        named = (found.old, found.new, found.into)
        places = [*filter(None, (*named, *map(lower_name, named)))]
        scan = scan_edits(writer.repository, writer.worktree, places) if places else None
        if scan is not None:
            capture_edits(writer, scan)
        work = _Work(layout_of(group).migrate, note, unasked)
        if scan is not None:
            work.look_at(scan)
        published = writer.publish(work.plan)
        if not unasked:
            forget_refusal(group.gitdir)
        tip = writer.repository.tip()
        return work.answer(tip)._replace(
            commits=_since(writer.repository, published),
            captured=tuple(writer.captured),
            set_aside=tuple(writer.set_aside),
            pending=writer.pending,
        )


def due_migration(group: Group) -> Migrated:
    """What is due at the last commit, or why it is left; nothing is read where the layout has none.

    Raises Damaged.
    """
    if not any(layout_of(group).migrate):
        return Migrated("")
    return migrate(group, dry_run=True, unasked=True)


def migrate_due(group: Group, *, wait: float = WAIT) -> Migrated:
    """Do what is due and safe."""
    due = due_migration(group)
    if due.is_refused:
        keep_refusal(group.gitdir)  # else more commits than are looked at would end it
    return migrate(group, unasked=True, wait=wait) if due.changed else due


def _since(repository: Repository, published: Published[None]) -> tuple[str, ...]:
    line = repository.history(published.commit)
    return tuple(each.oid for each in takewhile(lambda each: each.oid != published.parent, line))


class _Work:
    """One migration; planned again when the branch moves in between."""

    def __init__(self, wanted: Migration, note: Note, unasked: bool) -> None:
        self._wanted, self._note, self._unasked = wanted, note, unasked
        self._busy = ""
        self._left = ""
        self._is_refused = False
        self._renamed: tuple[tuple[str, str], ...] = ()
        self._sections = 0

    def answer(self, commit: str) -> Migrated:
        """What the last plan amounts to."""
        moved = (self._wanted.new, self._wanted.into) if self._sections else ("", "")
        done = Migrated(commit, self._renamed, self._sections, *moved, self._left)
        return done._replace(is_refused=self._is_refused)

    def look_at(self, scan: Scan) -> None:
        """Leave files alone that may not enter git, or that somebody is merging."""
        for each in scan.held:
            self._busy = f"{each.path} is held ({each.rule})"
        for path in scan.claimed:
            self._busy = f"{path} belongs to an operation begun with git"

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The steps; unasked, none where one of them is not safe."""
        if not self._unasked:
            return self._planned(snapshot)
        try:
            plan = self._planned(snapshot)
            unsafe = (self._busy or self._unsafe(snapshot)) if plan.steps else ""
        except (Busy, Damaged, GroupRefused):
            raise
        except GitmemError as error:  # told by `status`; a session cannot do anything about it
            plan, unsafe = Plan((), None), error.message
        if unsafe:
            self._renamed, self._sections, self._left = (), 0, unsafe
            return Plan((), None)
        return plan

    def _unsafe(self, snapshot: Snapshot) -> str:
        """Why somebody should look at it first; nothing where all is well."""
        old, new, into = self._wanted.old, self._wanted.new, self._wanted.into
        for path in filter(None, (old if self._renamed else "", new, into)):
            if conflicts(snapshot.read(path) or b""):
                return f"{path} has conflict markers"
        if self._renamed and INSTALLED.encode() in (snapshot.read(old) or b""):
            return f"{old} has the section of `gitmem install`, so a host reads it"
        path = old if self._renamed else new
        self._is_refused = is_refused(snapshot.repository.gitdir) or _was_taken_back(
            snapshot, path, came_back=bool(self._renamed)
        )
        if self._is_refused:
            return f"somebody took the migration of {path} back"
        op = _last_op(snapshot, path)
        if op is None:
            return f"{path} has not changed for long"
        self._is_refused = op in WAYS_BACK
        return f"somebody took the migration of {path} back" if self._is_refused else ""

    def _planned(self, snapshot: Snapshot) -> Plan[None]:
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
        return Plan(tuple(steps), None)

    def _renaming(self, data: bytes) -> Step:
        old, new = self._wanted.old, self._wanted.new
        extra = ((FROM, old),)
        note = self._note._replace(title=f"{old} -> {new}", paths=(old,), extra=extra)
        return Step({old: None, new: data}, note)

    def _parting(self, snapshot: Snapshot, data: bytes) -> list[Step]:
        new, into = self._wanted.new, self._wanted.into
        parted = split_sections(data, self._wanted.sections)
        self._sections = len(parted.sections)
        if not parted.sections:
            return []
        check_place(snapshot, into, [new])
        line = NOTE.format(what=self._wanted.sections.strip("# "), into=into).encode()
        rest = parted.rest if line in parted.rest.splitlines() else join_sections(parted.rest, line)
        whole = join_sections(snapshot.read(into) or b"", *parted.sections)
        for path, each in ((new, rest), (into, whole)):
            check_size(path, len(each))
        many = "section" if self._sections == 1 else "sections"
        title = f"{self._sections} {many} of {new} -> {into}"
        extra = ((FROM, new),)
        note = self._note._replace(title=title, paths=(into, new), extra=extra)
        return [Step({new: rest, into: whole}, note)]


def _was_taken_back(snapshot: Snapshot, path: str, *, came_back: bool) -> bool:
    """Whether a migration was undone or the file at PATH restored, and none was made after that.

    Edits since then do not count: a refusal lasts until somebody asks for the migration.
    CAME_BACK: the file is there under its old name, so who migrated it before was overruled, in
    whichever way: by `mv`, with git or with an editor.
    """
    repository, undone = snapshot.repository, set[str]()
    restored = asked = False
    line = [*islice(repository.history(snapshot.commit), LOOKED_AT)]
    for commit, parent in pairwise([*line, None]):
        note = parse(commit.message) if commit else None
        if commit is None or note is None or (asked and not undone and not came_back):
            break
        if note.op == "migrate":
            if restored or commit.oid in undone or (came_back and note.get(FROM) == path):
                return True
            asked = True
        elif not asked and commit.oid not in undone:  # an undo that was undone takes nothing back
            undone |= {*note.all(UNDOES), *note.all(PARTLY), *re.findall(_REVERTS, commit.message)}
            if note.op == "restore" and parent:
                before = repository.snapshot(parent.oid).oid(path)
                restored |= before != repository.snapshot(commit.oid).oid(path)
    return False


def _last_op(snapshot: Snapshot, path: str) -> str | None:
    """The operation that last changed the file at PATH; None where that was long ago."""
    repository, blob = snapshot.repository, snapshot.oid(path)
    line = repository.history(snapshot.commit)
    for commit, parent in pairwise([*islice(line, LOOKED_AT), None]):
        if commit and parent is None and commit.parents:
            return None
        before = repository.snapshot(parent.oid).oid(path) if parent else None
        if commit and before != blob:
            return parse(commit.message).op
    return None
