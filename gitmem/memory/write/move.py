"""Move files: to another name, or to the archive, which is what removing means here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.targets import Thing, movable
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.capture import adopt_all
from gitmem.memory.write.draft import Draft
from gitmem.memory.write.free_path import check_no_archive
from gitmem.memory.write.landing import landing
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note
from gitmem.model.guards import check_message_text
from gitmem.model.paths import check_path
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.publish import Plan, Step
from gitmem.store.worktree.held import SetAside

Aim = Callable[[Snapshot], str]


class Moved(NamedTuple):
    """Files that stand elsewhere now."""

    commit: str
    moved: tuple[tuple[str, str], ...]
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


def move(
    group: Group, source: str, target: str, *, reason: str = "", allow_policy: bool = False
) -> Moved:
    """Move a file or a folder; into TARGET when that is a folder."""
    source, into = movable(group, source), target.endswith("/")
    wanted = group.relative(target)

    def aim(snapshot: Snapshot) -> str:
        node = snapshot.node(wanted)
        if into or (node is not None and node.is_folder):
            return f"{wanted}/{source.rpartition('/')[2]}".removeprefix("/")
        return wanted

    return _Move(group, source, aim, group.note("move", reason=reason), allow_policy).done()


def remove(group: Group, path: str, *, reason: str = "", allow_policy: bool = False) -> Moved:
    """Move a file or a folder to the archive: nothing is ever deleted."""
    thing = Thing(movable(group, path))
    done = archive(group, [thing], reason=reason, allow_policy=allow_policy)
    moved = tuple((each.source, each.address) for each in done.archived)
    return Moved(done.commit, moved, done.captured, done.pending, done.set_aside)


class _Move:
    """One move, planned again when the branch moves in between."""

    def __init__(self, group: Group, source: str, aim: Aim, note: Note, allow_policy: bool) -> None:
        self._group, self._source, self._aim = group, source, aim
        self._note, self._allow_policy = note, allow_policy
        self._moved: tuple[tuple[str, str], ...] = ()

    def done(self) -> Moved:
        """Carry it out."""
        with self._group.writing() as writer:
            target = self._target(writer.repository.snapshot())
            # What somebody did to the files comes along, and so does what stands in their way.
            places = [self._source, target]
            adopt_all(writer, scan_edits(writer.repository, writer.worktree, places))
            published = writer.publish(self._plan)
            return Moved(moved=self._moved, **landing(writer, published))

    def _target(self, snapshot: Snapshot) -> str:
        target = check_path(self._aim(snapshot))
        check_message_text("path", target)
        return target

    def _plan(self, snapshot: Snapshot) -> Plan:
        source, target = self._source, self._target(snapshot)
        draft = Draft(snapshot)
        self._moved = draft.move(source, target)
        layout = layout_at(self._group, snapshot).layout
        for _, new in self._moved:
            check_no_archive(snapshot, layout, new)
        if not self._allow_policy:
            draft.check_policies(layout)
        note = self._note._replace(
            title=f"{source} -> {target}",
            paths=(source,) if len(self._moved) == 1 else tuple(old for old, _ in self._moved),
            extra=tuple(("Gitmem-From", old) for old, _ in self._moved),
        )
        return Plan((Step(draft.changes, note),))
