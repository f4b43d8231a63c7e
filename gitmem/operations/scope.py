"""What is memory in a folder elsewhere than in the store, by the layout of a commit."""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.layout import FILE
from gitmem.core.scope import NOTHING, Scope, scope_of
from gitmem.errors import Damaged, LayoutRefused
from gitmem.git.repository import Snapshot
from gitmem.git.scoped import Scoped
from gitmem.git.worktree import WorkTree
from gitmem.operations.group import Group
from gitmem.operations.layouts import checked, layout_at


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
    """By the layout that counts; where none can be read, a workspace is not captured by mistake."""
    with suppress(Damaged):
        loaded = layout_at(group, snapshot)
        if loaded.blob:
            return scope_of(loaded.layout)
        return NOTHING if loaded.problem else _standing(group)
    return NOTHING


def _standing(group: Group) -> Scope:
    """By the layout that stands in the folder and is about to be captured; else everything."""
    with suppress(Damaged):
        worktree = WorkTree(group.worktree)
        try:
            data = worktree.look(FILE).data
        finally:
            worktree.close()
        return layout_scope(data)
    return NOTHING


def layout_scope(data: bytes | None) -> Scope:
    """What is memory by a `gitmem.yaml` with the content DATA, or without one."""
    try:
        return scope_of(checked(data if data is not None else b"gitmem: 1\n", lenient=True))
    except LayoutRefused:
        return NOTHING
