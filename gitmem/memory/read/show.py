"""Show one commit: its message and its changes."""

from __future__ import annotations

from collections.abc import Iterator

from gitmem.memory.group import Group
from gitmem.memory.read.log import LogEntry, entry_of
from gitmem.memory.resolve import resolve
from gitmem.model.commit_messages import visible
from gitmem.model.record import Record
from gitmem.store.history.diff import hunks, unified
from gitmem.store.history.moves import Comparison, compare_commit, content
from gitmem.store.lost_commits.unreadable import Unreadable, lacking_between
from gitmem.store.repository import Repository

__all__ = [
    "FileChange",
    "Shown",
    "Unreadable",
    "describe_change",
    "file_changes",
    "is_within",
    "show",
]

NOWHERE = "/dev/null"


class FileChange(Record):
    """The change of one file."""

    path: str
    change: str
    """created, changed, deleted or moved"""
    moved_from: str
    added: int
    """Lines."""
    removed: int
    before_bytes: int | None
    """None if the file did not exist."""
    after_bytes: int | None
    diff: str
    """The changed lines as a unified diff; empty if only the name changed."""


class Shown(Record):
    """One commit."""

    entry: LogEntry
    files: tuple[FileChange, ...]
    unreadable: tuple[Unreadable, ...] = ()
    """Files that a rebuilt commit or its parent lacks: their changes are missing."""


def show(group: Group, commit: str) -> Shown:
    """The commit that COMMIT names, with its changes against its first parent."""
    repository = group.repository
    found = repository.commit(resolve(group, commit))
    parent = repository.commit(found.parents[0]) if found.parents else None
    comparison = compare_commit(repository, found, parent)
    changes = tuple(file_changes(repository, comparison))
    return Shown(entry_of(repository, found), changes, lacking_between(parent, found))


def file_changes(
    repository: Repository, comparison: Comparison, under: str = ""
) -> Iterator[FileChange]:
    """The changed files, lazily: all, or those now or formerly at or below UNDER."""
    before = {path: old for path, old, _ in comparison.differences}
    sources = set(comparison.moves.values())
    for path, _, new in comparison.differences:
        source = comparison.moves.get(path, "")
        if path in sources or not (is_within(under, path) or is_within(under, source)):
            continue
        old = content(repository, before[source or path])
        yield describe_change(path, old, content(repository, new), source)


def is_within(folder: str, path: str) -> bool:
    """Whether PATH is FOLDER or below it; always True for an empty FOLDER."""
    return not folder or path == folder or path.startswith(f"{folder}/")


def describe_change(
    path: str, old: bytes | None, new: bytes | None, moved_from: str = ""
) -> FileChange:
    """The change from OLD to NEW at PATH."""
    before, after = old or b"", new or b""
    ranges = hunks(before, after)
    names = (
        NOWHERE if old is None else visible(moved_from or path),
        NOWHERE if new is None else visible(path),
    )
    return FileChange(
        path,
        _kind(old, new, moved_from),
        moved_from,
        sum(each.b1 - each.b0 for each in ranges),
        sum(each.a1 - each.a0 for each in ranges),
        None if old is None else len(old),
        None if new is None else len(new),
        unified(before, after, *names),
    )


def _kind(old: bytes | None, new: bytes | None, moved_from: str) -> str:
    if moved_from:
        return "moved"
    if old is None:
        return "created"
    return "deleted" if new is None else "changed"
