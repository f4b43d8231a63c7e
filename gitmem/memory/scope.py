"""What is memory in a folder elsewhere than in the store, by the layout of a commit."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged, LayoutRefused, PathRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import checked, layout_at
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE, Layout, fits
from gitmem.model.scope import EVERYTHING, NOTHING, Scope, fixed_part, scope_of
from gitmem.model.secrets.find import redact
from gitmem.model.text.format import quoted
from gitmem.store.objects.database import blob_id
from gitmem.store.repository import Snapshot
from gitmem.store.worktree.ignored import Ignored
from gitmem.store.worktree.scope import Scoped
from gitmem.store.worktree.worktree import WorkTree

MOST_SEEN, MOST_NAMED = 10_000, 5
"""How many files are looked at, and how many are named, where a layout changed."""


def scope_at(group: Group, snapshot: Snapshot) -> Scoped | None:
    """What is memory in the work tree of GROUP beside the files of SNAPSHOT; None for all of it.

    A group of an earlier release goes on with all files, until its layout says `include` or
    `ignore`: somebody may rely on it, and what is left out is not captured.
    """
    scope = _scope(group, snapshot)
    if not (group.is_scoped or scope.included or scope.ignored):
        return None
    return Scoped(group.worktree, scope, snapshot)


def _scope(group: Group, snapshot: Snapshot) -> Scope:
    """By the layout that counts; where none can be read, a workspace is not captured by mistake.

    A layout that was edited counts before it is captured: else the capture that brings a new
    `ignore` would also commit the very file that it names.
    """
    with suppress(Damaged):
        standing = _standing(group)
        if standing is not None and blob_id(standing) != snapshot.oid(FILE):
            with suppress(LayoutRefused):
                return scope_of(checked(standing, lenient=True))
        loaded = layout_at(group, snapshot)
        if loaded.blob:
            return scope_of(loaded.layout)
        return NOTHING if loaded.problem else layout_scope(standing)
    return NOTHING


def _standing(group: Group) -> bytes | None:
    """The layout that stands in the folder."""
    worktree = WorkTree(group.worktree)
    try:
        return worktree.look(FILE).data
    finally:
        worktree.close()


def layout_scope(data: bytes | None) -> Scope:
    """What is memory by a `gitmem.yaml` with the content DATA, or without one."""
    try:
        return scope_of(checked(data if data is not None else b"gitmem: 1\n", lenient=True))
    except LayoutRefused:
        return NOTHING


def check_writable(group: Group, paths: Iterable[str]) -> None:
    """Refuse to write or move what somebody has beside memory, or to let it make room."""
    scope = group.scope(group.repository.snapshot())
    for path in paths if scope else ():
        beside = scope.other_work(path) if scope else ""
        if scope and beside:
            raise outside_memory(scope.scope, beside) if beside == path else _in_the_way(beside)


def _in_the_way(path: str) -> PathRefused:
    return PathRefused(
        f"{path!r} is outside the memory of this group, and not a folder",
        hint="move it away, or choose another path",
        path=path,
        rule="outside-memory",
    )


def outside_memory(scope: Scope, path: str) -> PathRefused:
    """The error for a file in the folder of a group that SCOPE does not count as memory."""
    key = "take it out of `ignore:`" if scope.ignores(path) else "add it to `include:`"
    return PathRefused(
        f"{path!r} is outside the memory of this group",
        hint=Hint(f"{key} with ", call("edit", FILE), " to make it memory, or choose another path"),
        path=path,
        rule="outside-memory",
    )


class LeftOutside(NamedTuple):
    """New files that waited to be captured, and that a changed layout no longer names."""

    paths: tuple[str, ...]
    more: int = 0

    @property
    def message(self) -> Hint:
        """What became of them, with the way to have them captured."""
        names = ", ".join(quoted(redact(each)[0]) for each in self.paths)
        names += f" and {self.more:,} more" if self.more else ""
        return Hint(
            f"not captured, and outside memory since {FILE} changed: {names}; "
            "to capture new files there, add `include:` with ",
            call("edit", FILE),
        )


def left_outside(group: Group, since: str) -> LeftOutside | None:
    """The new files that were memory by the layout of SINCE, and are not by the one of now.

    What `ignore` names is left out: somebody has just said so.
    """
    before, now = group.repository.snapshot(since), group.repository.snapshot()
    scope = group.scope(now)
    if scope is None or before.oid(FILE) == now.oid(FILE) or not before.folder(""):
        return None
    old = Scoped(group.worktree, _scope_then(group, before), now)

    def is_left(path: str) -> bool:
        return now.node(path) is None and not (
            scope.keeps(path, False) or scope.scope.ignores(path)
        )

    worktree = WorkTree(group.worktree)
    try:
        found = islice(worktree.scan(keeps=old.keeps), MOST_SEEN)
        left = [path for path, _ in found if is_left(path)]
    finally:
        worktree.close()
    ignored = Ignored(group.gitdir)
    left = [path for path in left if not ignored.fits(path)]
    return LeftOutside(tuple(left[:MOST_NAMED]), len(left[MOST_NAMED:])) if left else None


def _scope_then(group: Group, snapshot: Snapshot) -> Scope:
    """What was memory by the layout of a commit, whatever stands in the folder now."""
    loaded = layout_at(group, snapshot)
    scope = scope_of(loaded.layout) if loaded.blob else NOTHING if loaded.problem else EVERYTHING
    return scope if group.is_scoped or scope.included or scope.ignored else EVERYTHING


def ignored_memory(group: Group, snapshot: Snapshot) -> tuple[str, ...]:
    """Files that fit `ignore` and are memory all the same, because SNAPSHOT has them."""
    scope = group.scope(snapshot)
    if scope is None or not scope.scope.ignored:
        return ()
    return tuple(path for path, _ in snapshot.files() if path != FILE and scope.scope.ignores(path))


def gitignored_layers(root: Path, layout: Layout, tracked: Container[str]) -> tuple[str, ...]:
    """What to `include` where a `.gitignore` in ROOT hides all that a layer of LAYOUT could have.

    A rule that hides some files of a layer is the owner's statement, and nothing to report.
    """
    found: dict[str, None] = {}
    for layer in layout.layers:
        folder = fixed_part(layer.path)
        scoped = Scoped(root, Scope((layer.path,), layout.include, layout.ignore))
        if folder and _is_hidden(root, scoped, layer.path, folder, tracked):
            found[folder + "/" * (folder != layer.path)] = None
    return tuple(found)


def _is_hidden(
    root: Path, scoped: Scoped, pattern: str, folder: str, tracked: Container[str]
) -> bool:
    """Whether files of a layer at PLACE are ignored, and no other new one can become memory."""
    if folder == pattern:
        there = folder not in tracked and os.path.lexists(root / folder)
        return there and scoped.is_gitignored(folder, False)
    worktree = WorkTree(root)
    try:
        paths = [path for path, _ in worktree.scan(folder, scoped.names) if fits(pattern, path)]
    finally:
        worktree.close()
    hidden = [path for path in paths if path not in tracked and scoped.is_gitignored(path, False)]
    return bool(hidden) and (len(hidden) == len(paths) or scoped.is_gitignored(folder, True))


def include_fix(paths: Iterable[str]) -> Hint:
    """How to make PLACES memory, whatever a `.gitignore` says."""
    return Hint(f"add `include: [{', '.join(paths)}]` with ", call("edit", FILE))
