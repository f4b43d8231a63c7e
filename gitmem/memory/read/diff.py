"""Compare two commits, or HEAD with the work tree."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.read.read import known_path, missing
from gitmem.memory.read.show import FileChange, describe_change, file_changes
from gitmem.memory.resolve import resolve
from gitmem.memory.write.open_edits import Scan, pending_edits
from gitmem.model.record import Record
from gitmem.store.history.moves import compare, content
from gitmem.store.lost_commits.unreadable import Unreadable, lacking_between
from gitmem.store.repository import Snapshot
from gitmem.store.worktree.worktree import WorkTree


class Diffed(Record):
    """The files that differ."""

    a: str
    b: str
    """Empty for the work tree."""
    files: tuple[FileChange, ...]
    unreadable: tuple[Unreadable, ...] = ()
    """Files that a rebuilt commit at either end lacks: their changes are missing."""


def diff(group: Group, a: str = "", b: str = "", path: str = "") -> Diffed:
    """Changes from A to B, from A to HEAD, or without either the uncommitted edits."""
    if b and not a:
        raise BadInput("the older end of the diff is missing", hint="name the older moment first")
    if not a:
        return _uncommitted(group, path)
    repository = group.repository
    older = repository.snapshot(resolve(group, a))
    newer = repository.snapshot(resolve(group, b or None))
    path = known_path(group, newer if _has(newer, path) else older, path)
    ends = (repository.commit(older.commit), repository.commit(newer.commit))
    lacks = lacking_between(*ends, path)
    if not (lacks or _has(older, path) or _has(newer, path)):
        raise missing(group, newer, path)
    files = file_changes(repository, compare(repository, older.root, newer.root), path)
    return Diffed(older.commit, newer.commit, tuple(files), lacks)


def _has(snapshot: Snapshot, path: str) -> bool:
    return snapshot.node(path) is not None


def _uncommitted(group: Group, path: str) -> Diffed:
    """What `capture` would commit; held edits are not shown."""
    path = known_path(group, group.repository.snapshot(), path)
    scan = pending_edits(group, [path] if path else [])
    snapshot = group.repository.snapshot(scan.commit)
    if path and not (scan.edits or scan.held or _has(snapshot, path)):
        raise missing(group, snapshot, path)
    return Diffed(snapshot.commit, "", tuple(_edits(group, snapshot, scan)))


def _edits(group: Group, snapshot: Snapshot, scan: Scan) -> Iterator[FileChange]:
    if not scan.edits:
        return
    worktree = WorkTree(group.worktree)
    try:
        for edit in sorted(scan.edits, key=lambda each: each.path):
            old = content(group.repository, snapshot.node(edit.moved_from or edit.path))
            new = None if edit.change == "deleted" else worktree.look(edit.path).data
            yield describe_change(edit.path, old, new, edit.moved_from)
    finally:
        worktree.close()
