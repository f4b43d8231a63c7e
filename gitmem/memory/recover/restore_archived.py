"""Bring back a file out of the archive: it moves to the path it had."""

from __future__ import annotations

import os
from contextlib import suppress

from gitmem.memory.curate.archive import archive_places
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.recover.archived import arrival_of
from gitmem.memory.recover.versions import Restored
from gitmem.memory.write.capture import adopt_all
from gitmem.memory.write.draft import Draft
from gitmem.memory.write.landing import landing
from gitmem.memory.write.open_edits import scan_edits
from gitmem.memory.write.write import Allowed, describe
from gitmem.model.commit_messages import Note
from gitmem.model.entries.blocks import split_address
from gitmem.model.layout.archives import is_archived
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.publish import Plan, Step


def archived_file(group: Group, path: str) -> str:
    """The file of the archive that once was at PATH, where nothing stands now; the newest of them.

    Empty when there is none.
    """
    snapshot = group.repository.snapshot()
    if not path or snapshot.node(path) or os.path.lexists(group.worktree / path):
        return ""
    found = [each for each in _shelves(group, snapshot, path) if snapshot.oid(each)]
    arrivals = [(arrival_of(snapshot, each), each) for each in found]
    known = [(when.time, each) for when, each in arrivals if when and when.source == path]
    return max(known)[1] if known else ""


def archived_home(group: Group, path: str) -> str:
    """Where the file at PATH was, if that is in the archive, sound, and its old place is free."""
    snapshot = group.repository.snapshot()
    data = snapshot.read(path) if path and snapshot.oid(path) else None
    if data is None or not is_archived(layout_at(group, snapshot).layout, path):
        return ""
    with suppress(OSError):
        if (group.worktree / path).read_bytes() != data:
            return ""  # damaged: it shall come back where it stands
        arrival = arrival_of(snapshot, path)
        home = arrival.source if arrival and not split_address(arrival.source)[1] else ""
        free = home and not snapshot.node(home) and not os.path.lexists(group.worktree / home)
        return home if free else ""
    return ""


def _shelves(group: Group, snapshot: Snapshot, path: str) -> list[str]:
    layout = layout_at(group, snapshot).layout
    return [each for each in archive_places(snapshot, layout, path) if each != path]


def restore_archived(
    group: Group, path: str, shelf: str, *, reason: str, allowed: Allowed
) -> Restored:
    """Move the archived file at SHELF back to PATH, as one commit."""
    work = _Work(group, path, shelf, group.note("restore", reason=reason), allowed)
    with group.writing() as writer:
        adopt_all(writer, scan_edits(writer.repository, writer.worktree, [shelf, path]))
        published = writer.publish(work.plan)
        return work.done._replace(**landing(writer, published))


class _Work:
    """One file on its way back; planned again when the branch moves in between."""

    def __init__(self, group: Group, path: str, shelf: str, note: Note, allowed: Allowed) -> None:
        self._group, self._allowed = group, allowed
        self._path, self._shelf, self._note = path, shelf, note
        self.done = Restored("", "", ())

    def plan(self, snapshot: Snapshot) -> Plan:
        """The file at its path, and no longer in the archive."""
        draft = Draft(snapshot)
        draft.move(self._shelf, self._path)
        if not self._allowed.policy:
            draft.check_policies(layout_at(self._group, snapshot).layout)
        changes = [describe(x, snapshot.read(x), data) for x, data in draft.changes.items()]
        self.done = Restored(
            "", snapshot.commit, tuple(changes), address=self._path, source=self._shelf
        )
        note = self._note._replace(
            title=f"{self._shelf} -> {self._path}",
            paths=(self._path,),
            extra=(("Gitmem-From", self._shelf),),
        )
        return Plan((Step(draft.changes, note),))
