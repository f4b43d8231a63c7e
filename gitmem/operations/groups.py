"""The groups of a store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.core.access import GLOBAL, MAIN, check_access
from gitmem.core.guards import check_message_text
from gitmem.core.messages import parse
from gitmem.core.paths import check_group, find_twin
from gitmem.errors import Conflict, Damaged, GitmemError, GroupRefused, StorageFailed
from gitmem.git.lock import Lock, lock_path
from gitmem.git.moves import SUBMODULE
from gitmem.git.objects import sync_folder
from gitmem.git.setup import is_tied, name_worktree, tie, worktree_of
from gitmem.operations.clock import Clock, zone_of
from gitmem.operations.group import Group, Store, time_now
from gitmem.operations.spool import hand_over
from gitmem.operations.status import health_of


class GroupRow(NamedTuple):
    """One group, at a glance."""

    name: str
    last_write: datetime | None
    agent: str
    files: int
    bytes: int
    """The size of its files at HEAD, not of its history."""
    health: str
    worktree: str


class GroupRenamed(NamedTuple):
    """A group that has another name now."""

    old: str
    new: str
    worktree: str
    links: tuple[str, ...] = ()
    """The project folders that use it by its new name now."""


class GroupRemoved(NamedTuple):
    """A group that was moved to the store's trash."""

    name: str
    trash: str
    links: tuple[str, ...] = ()
    """The project folders that used it, and use none now."""


def groups(store: Store, *, acting: str | None = None) -> tuple[GroupRow, ...]:
    """Every group that the acting group may see."""
    rows = []
    for name in store.names():
        if acting in (None, MAIN) or name in (acting, GLOBAL):
            rows.append(_row(store, name, acting))
    return tuple(rows)


def _row(store: Store, name: str, acting: str | None) -> GroupRow:
    where = str(worktree_of(store.gitdir(name)) or "")
    try:
        group = Group(store, name, acting=acting)
    except GitmemError as error:
        return GroupRow(name, None, "", 0, 0, f"damaged: {error.message}", where)
    try:
        tip = group.repository.tip().commit
        commit = group.repository.commit(tip)
        found = group.repository.snapshot(tip).files()
        files = [node for _, node in found if node.mode != SUBMODULE]
        size = sum(len(group.repository.objects.read(node.oid)[1]) for node in files)
        agent = parse(commit.message).agent or commit.author
        when = commit.time.astimezone(group.zone)
        return GroupRow(name, when, agent, len(files), size, health_of(group), where)
    except Damaged as error:
        return GroupRow(name, None, "", 0, 0, f"damaged: {error.message}", where)
    finally:
        group.close()


def rename_group(store: Store, old: str, new: str, *, acting: str | None = None) -> GroupRenamed:
    """Give a group another name; its history and files go with it."""
    _check_may_manage(acting, old)
    check_message_text("group's name", check_group(new))
    Group(store, old).close()
    with _translated("renaming"), _both_locks(store, old):
        place = worktree_of(store.gitdir(old))
        inside = place is None or place == store.default_worktree(old)
        _check_free(store, old, new, inside)
        os.rename(store.gitdir(old), store.gitdir(new))
        if place is None or inside:
            place = _rename_worktree(store, old, new)
        elif place.is_dir():  # it may be on a disk that is not mounted
            tie(store.gitdir(new), place, relative=False)
        sync_folder(store.root / "repos")
    hand_over(str(store.root), old, new)
    return GroupRenamed(old, new, str(place), _relinked(store, old, new))


def _check_free(store: Store, old: str, new: str, inside: bool) -> None:
    others = [name for name in store.names() if name != old]
    taken = new if new in store.names() else find_twin(new, others)
    if taken:
        raise Conflict(f"there is a group {taken!r} already", hint="choose another name")
    place = store.default_worktree(new)
    if inside and os.path.lexists(place):
        raise Conflict(f"{place} is in the way", hint="move it elsewhere, or choose another name")


def _rename_worktree(store: Store, old: str, new: str) -> Path:
    """First the configuration, then the folder: in between a writer finds none and waits."""
    gitdir, place = store.gitdir(new), store.default_worktree(new)
    named = os.path.relpath(place, gitdir)
    name_worktree(gitdir, named)
    if store.default_worktree(old).is_dir():
        os.rename(store.default_worktree(old), place)
        tie(gitdir, place, relative=True)
        sync_folder(store.root / "groups")
    return place


def remove_group(
    store: Store, name: str, *, acting: str | None = None, now: Clock | None = None
) -> GroupRemoved:
    """Move a group's repository and work tree to the store's `trash/`, whole.

    There they lie as in a store, so that git, gitmem and a move back work as they always do.
    """
    _check_may_manage(acting, name)
    Group(store, name).close()
    stamp = time_now(now, zone_of(store.root)).strftime("%Y%m%dT%H%M%S")
    with _translated("removing"), _both_locks(store, name):
        trash = Store(_free(store.root / "trash" / f"{name}-{stamp}"))
        for folder in (trash.root.parent, trash.root, trash.root / "groups", trash.root / "repos"):
            folder.mkdir(mode=0o700, exist_ok=True)
        place, gitdir = worktree_of(store.gitdir(name)), store.gitdir(name)
        # The repository last: until then the group is there, and its files can be put back.
        if place == store.default_worktree(name) and place.is_dir():
            shutil.move(place, trash.default_worktree(name))
        elif place and is_tied(gitdir, place):
            (place / ".git").unlink()  # the folder itself is not ours to move
        shutil.move(gitdir, trash.gitdir(name))
        sync_folder(store.root / "repos")
    return GroupRemoved(name, str(trash.root), _relinked(store, name, ""))


def _relinked(store: Store, old: str, new: str) -> tuple[str, ...]:
    """What is done is done: settings that cannot be read are for `gitmem doctor` to tell."""
    from gitmem.operations.link import relink

    with suppress(GitmemError):
        return relink(store, old, new)
    return ()


@contextmanager
def _both_locks(store: Store, name: str) -> Iterator[None]:
    """Nobody makes a group, and nobody writes to this one."""
    with Lock(store.root / "lock"), Lock(lock_path(store.gitdir(name))):
        yield


@contextmanager
def _translated(doing: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(
            f"{doing} the group failed: {error.strerror} ({error.filename})",
            hint="see `gitmem groups` for how far it got",
        ) from error


def _free(folder: Path) -> Path:
    number, free = 1, folder
    while free.exists():
        number += 1
        free = folder.with_name(f"{folder.name}-{number}")
    return free


def _check_may_manage(acting: str | None, name: str) -> None:
    check_access(acting, check_group(name), write=True)
    if acting not in (None, MAIN):
        raise GroupRefused(
            "only main or a person may rename or remove groups", acting=acting, rule="access"
        )
