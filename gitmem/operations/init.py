"""Make a store and a group."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from gitmem.core.access import check_access
from gitmem.core.paths import check_group, find_twin
from gitmem.errors import Conflict, GroupRefused, StorageFailed
from gitmem.git.lock import Lock
from gitmem.git.setup import create, exclude_from_parent, remove_drafts, tie, worktree_of
from gitmem.operations.clock import Clock, zone_of
from gitmem.operations.group import Group, Store, Who, make_note, time_now


class Initialised(NamedTuple):
    """A group that is ready."""

    group: str
    store: str
    worktree: str
    created: bool
    commit: str
    excluded_in: str = ""
    """The exclude file of a repository around the work tree, where there is one."""


def init(
    store: Store,
    name: str,
    *,
    worktree: Path | None = None,
    who: Who | None = None,
    acting: str | None = None,
    now: Clock | None = None,
) -> Initialised:
    """Create the store and the group NAME where they are missing; nothing changes otherwise."""
    check_access(acting, check_group(name), write=True)
    _make_folders(store)
    with Lock(store.root / "lock"):
        gitdir = store.gitdir(name)
        fresh = not gitdir.is_dir()
        place = _place(store, name, worktree, fresh)
        excluded = _create(store, name, place, who, now) if fresh else ""
    group = Group(store, name, who=who, acting=acting, now=now)
    try:
        group.ensure_worktree()
        tip = group.repository.tip().commit
    finally:
        group.close()
    return Initialised(name, str(store.root), str(place), fresh, tip, excluded)


def _make_folders(store: Store) -> None:
    try:
        for folder in (store.root, store.root / "groups", store.root / "repos"):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailed(
            f"the store {store.root} cannot be made: {error.strerror}",
            hint="name another folder with --store or GITMEM_HOME",
        ) from error


def _place(store: Store, name: str, worktree: Path | None, fresh: bool) -> Path:
    """Where the work tree is or shall be."""
    asked = worktree.resolve() if worktree else None
    if fresh:
        if asked and os.path.lexists(asked / ".git"):
            raise Conflict(
                f"{asked} is a git repository of its own", hint="choose a folder inside it"
            )
        return asked or store.default_worktree(name)
    known = worktree_of(store.gitdir(name)) or store.default_worktree(name)
    if asked and asked != known:
        raise Conflict(f"the group {name!r} has its work tree in {known}", worktree=str(known))
    return known


def _create(store: Store, name: str, place: Path, who: Who | None, now: Clock | None) -> str:
    twin = find_twin(name, store.names())
    if twin:
        raise GroupRefused(
            f"{name!r} differs from the group {twin!r} only in case or Unicode form",
            hint="choose another name",
            rule="twin",
        )
    gitdir = store.gitdir(name)
    remove_drafts(gitdir.parent)
    inside = place == store.default_worktree(name)
    named = os.path.relpath(place, gitdir) if inside else str(place)
    note = make_note(who or Who(), "init")._replace(title=f"the memory of {name}")
    create(gitdir, named, note, time_now(now, zone_of(store.root)))
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    tie(gitdir, place, relative=inside)
    return "" if inside else str(exclude_from_parent(place) or "")
