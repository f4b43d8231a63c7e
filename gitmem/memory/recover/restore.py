"""Bring back files as they were."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice

from gitmem.errors import PathNotFound, PathRefused
from gitmem.memory.curate.archive import archive_places
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.log import Entry, iter_log
from gitmem.memory.recover.archived import arrival_of
from gitmem.memory.recover.restore_entry import is_address, restore_entry
from gitmem.memory.recover.versions import (
    SEARCHED,
    VERSIONS_SHOWN,
    ChooseVersion,
    Restored,
    command,
    version,
)
from gitmem.memory.resolve import resolve
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changeset, check_place
from gitmem.memory.write.open_edits import Scan, scan_edits
from gitmem.memory.write.write import Allowed, Change, describe
from gitmem.model.commit_messages import Note
from gitmem.model.entries.blocks import split_address
from gitmem.model.guards import allowance, check_secrets
from gitmem.model.layout.archives import is_archived
from gitmem.model.paths import check_path
from gitmem.store.lost_commits.unreadable import lost_files
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.plan import Plan, Published, Step

__all__ = ["WAY_BACK", "ChooseVersion", "Restored", "restore"]

WAY_BACK = Allowed(policy=True)
"""Bringing back what was is no breach of a policy, where a person does it."""


def restore(
    group: Group,
    path: str,
    *,
    at: str = "",
    previous: bool = False,
    reason: str = "",
    allowed: Allowed = WAY_BACK,
) -> Restored:
    """Bring PATH (a file, a folder, an entry's address, or all if empty) back, as a new commit.

    Without a moment: as it is at HEAD, where the work tree differs from it; a file or an entry that
    is gone comes out of the archive, an entry also as it last stood.
    """
    if is_address(group, path):
        return restore_entry(group, path, at=at, previous=previous, reason=reason, allowed=allowed)
    path = group.relative(path)
    home = "" if at or previous else archived_home(group, path)
    if home:
        return restore_archived(group, home, path, reason=reason, allowed=allowed)
    shelf = "" if at or previous else archived_file(group, path)
    if shelf:
        return restore_archived(group, path, shelf, reason=reason, allowed=allowed)
    note = group.note("restore", reason=reason)
    source = resolve(group, at) if at else ""
    with group.writing(late=not (at or previous)) as writer:
        head = group.repository.snapshot()
        scan = scan_edits(group.repository, writer.worktree, [path])
        held = {each.path for each in capture_edits(writer, scan)}
        if source or previous:
            then = group.repository.snapshot(source or _previous(group, path))
            work = _Work(group, then, _files(then, path), note, allowed, held=held)
            work.check_secrets(head)
        else:
            work = _Work(group, head, _damaged(group, head, path, scan), note, allowed, held=held)
        published = writer.publish(work.plan)
        return work.answer(published, path if source or previous else None)


class _Work:
    """Files on their way back from the moment THEN."""

    def __init__(
        self,
        group: Group,
        then: Snapshot,
        wanted: dict[str, bytes],
        note: Note,
        allowed: Allowed,
        *,
        held: set[str],
    ) -> None:
        self._group, self._allowed, self._held = group, allowed, held
        self._then, self._wanted, self._note = then, wanted, note

    def _unchanged(self, changed: Mapping[str, bytes]) -> tuple[str, ...]:
        """The files that HEAD has like this already, but for which something else stands there."""
        same = sorted(self._wanted.keys() - changed.keys())
        return tuple(path for path in same if self._held & {path, *_above(path)})

    def check_secrets(self, head: Snapshot) -> None:
        """Refuse to bring back a credential that the file no longer holds."""
        for path, data in self._wanted.items():
            if head.oid(path) != blob_id(data):
                check_secrets(path, data, _sound(head, path), self._allowed.secrets)

    def plan(self, now: Snapshot) -> Plan[tuple[Change, ...]]:
        """What to publish on top of NOW."""
        files = {
            path: data for path, data in self._wanted.items() if now.oid(path) != blob_id(data)
        }
        for path in files:
            _check_place(now, path)
        if not self._allowed.policy:
            Changeset(now, files).check_policies(layout_at(self._group, now).layout)
        changes = tuple(
            describe(each, _sound(now, each), files[each], existed=now.oid(each) is not None)
            for each in files
        )
        reinstated = self._unchanged(files)
        if not files:
            return Plan((), changes, reinstated=reinstated)
        made = self._then.repository.commit(self._then.commit).time
        note = self._note._replace(
            title=f"as of {made.astimezone(self._group.zone):%Y-%m-%d %H:%M}",
            paths=tuple(files),
            extra=(("Gitmem-Restores", self._then.commit), *allowance(self._allowed.secrets)),
        )
        return Plan((Step(files, note),), changes, reinstated=reinstated)

    def answer(self, published: Published[tuple[Change, ...]], folder: str | None) -> Restored:
        """What became of it; FOLDER is where newer files may have stayed."""
        now = self._group.repository.snapshot()
        newer = now.files(folder) if folder is not None else ()
        return Restored(
            published.commit,
            self._then.commit,
            published.result,
            published.captured,
            published.set_aside,
            tuple(path for path, _ in newer if path not in self._wanted),
            published.pending,
        )


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _check_place(now: Snapshot, path: str) -> None:
    try:
        check_place(now, path)
    except PathRefused as error:
        error.hint = "move what stands there now elsewhere with `gitmem mv`, then repeat"
        raise


def _files(then: Snapshot, path: str) -> dict[str, bytes]:
    """The files at or below PATH; what only plain git would put there is left out."""
    there = {**dict(then.files(path)), **lost_files(then, path)}
    found = {each: node for each, node in there.items() if _is_memory(each, node)}
    if not found:
        raise PathNotFound(
            f"there was no {path or 'file'} at {then.commit[:10]}",
            hint=f"see when it existed: `{command('log', path)}`",
            path=path,
        )
    return {each: then.repository.objects.read_as("blob", found[each].oid) for each in found}


def _is_memory(path: str, node: Node) -> bool:
    with suppress(PathRefused):
        return check_path(path) == path and stat.S_ISREG(node.mode)
    return False


def _damaged(group: Group, head: Snapshot, path: str, scan: Scan) -> dict[str, bytes]:
    """The versions of HEAD that the work tree no longer has."""
    edited = [edit.moved_from or edit.path for edit in scan.edits]
    places = [*edited, *(each.path for each in scan.held)]
    found = [each for place in places for each, node in head.files(place) if _is_memory(each, node)]
    if not found:
        raise _choose(group, path)
    return {each: head.read(each) or b"" for each in sorted(set(found))}


def _sound(snapshot: Snapshot, path: str) -> bytes | None:
    """A version as far as it can be read: bringing back a sound one must not need it."""
    with suppress(ObjectDamaged):
        return snapshot.read(path)
    return None


def _previous(group: Group, path: str) -> str:
    """The newest commit in which PATH was another version than now."""
    current = group.repository.snapshot().node(path)
    for entry in iter_log(group, path):
        node = group.repository.snapshot(entry.commit).node(path)
        if node is not None and node != current:
            return entry.commit
    raise PathNotFound(
        f"{path or 'this group'} has no earlier version",
        hint=f"see its history: `{command('log', path)}`",
        path=path,
    )


def _choose(group: Group, path: str) -> ChooseVersion | PathNotFound:
    """Say which versions there are, with the command for each."""
    entries = ((e, group.repository.snapshot(e.commit).node(path)) for e in iter_log(group, path))
    known = [(entry, node) for entry, node in islice(entries, SEARCHED) if node is not None]
    if not known:
        return PathNotFound(f"there never was a {path}", hint="see `gitmem list`", path=path)
    now = group.repository.snapshot().node(path)
    state = "is as it was last written" if now else "was removed"
    return ChooseVersion(
        f"{path or 'this group'} {state}; choose a version to bring back",
        hint=f"take the one before with `{command('restore', path or '.', '--previous')}`",
        path=path,
        versions=[_version(group, path, *each) for each in known[:VERSIONS_SHOWN]],
    )


def _version(group: Group, path: str, entry: Entry, node: Node) -> dict[str, object]:
    size = None
    if not node.is_folder:
        with suppress(ObjectDamaged):
            size = len(group.repository.objects.read(node.oid)[1])
    return version(path, entry, size)


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
    work = _ArchivedFile(group, path, shelf, group.note("restore", reason=reason), allowed)
    with group.writing() as writer:
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, [shelf, path]))
        published = writer.publish(work.plan)
        return work.done._replace(**published.completion)


class _ArchivedFile:
    """One file on its way back; planned again when the branch moves in between."""

    def __init__(self, group: Group, path: str, shelf: str, note: Note, allowed: Allowed) -> None:
        self._group, self._allowed = group, allowed
        self._path, self._shelf, self._note = path, shelf, note
        self.done = Restored("", "", ())

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The file at its path, and no longer in the archive."""
        draft = Changeset(snapshot)
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
        return Plan((Step(draft.changes, note),), None)
