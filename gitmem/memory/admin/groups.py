"""The groups of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, Damaged, GitmemError, GroupRefused, StorageFailed
from gitmem.memory.admin.rename import carry_out, give_up, relinked, take_back
from gitmem.memory.clock import Clock, zone_of
from gitmem.memory.group import Group, Store, time_now
from gitmem.memory.read.status import health_of
from gitmem.model.access import GLOBAL, MAIN, check_access
from gitmem.model.commit_messages import parse
from gitmem.model.guards import check_message_text
from gitmem.model.paths import check_group, find_twin
from gitmem.store.config import worktree_of
from gitmem.store.durable import make_folders, rename_durably, sync_folder
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.setup import is_tied
from gitmem.store.worktree.relocate import bring_back, holds_anything


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
        tip = group.repository.tip()
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
        _check_free(store, old, new, place in (None, store.default_worktree(old)))
        give_up(store, old)
        try:
            place, links = carry_out(store, old, new)
        except OSError:
            if store.gitdir(old).is_dir():
                take_back(store, old, new)
            raise
    return GroupRenamed(old, new, str(place), links)


def _check_free(store: Store, old: str, new: str, inside: bool) -> None:
    others = [name for name in store.names() if name != old]
    taken = new if new in store.names() else find_twin(new, others)
    if taken:
        raise Conflict(f"there is a group {taken!r} already", hint="choose another name")
    place = store.default_worktree(new)
    if inside and holds_anything(place):
        raise Conflict(f"{place} is in the way", hint="move it elsewhere, or choose another name")


def remove_group(
    store: Store,
    name: str,
    *,
    acting: str | None = None,
    now: Clock | None = None,
    before: Callable[[], None] | None = None,
) -> GroupRemoved:
    """Move a group's repository and work tree to the store's `trash/`, whole.

    There they lie as in a store, so that git, gitmem and a move back work as they always do.
    BEFORE is called once the removal is allowed, while the group still works.
    """
    _check_may_manage(acting, name)
    Group(store, name).close()
    if before:
        before()
    stamp = time_now(now, zone_of(store.root)).strftime("%Y%m%dT%H%M%S")
    with _translated("removing"), _both_locks(store, name):
        trash = Store(_free(store.root / "trash" / f"{name}-{stamp}"))
        for folder in (trash.root / "groups", trash.root / "repos"):
            make_folders(folder)
        place, gitdir = worktree_of(store.gitdir(name)), store.gitdir(name)
        # The repository last: until then the group is there, and `bring_back` finds its files.
        if place == store.default_worktree(name) and place.is_dir():
            rename_durably(place, trash.default_worktree(name))
        tied = place is not None and is_tied(gitdir, place)
        rename_durably(gitdir, trash.gitdir(name))
        if place and tied:
            (place / ".git").unlink()  # the folder itself is not ours to move
            sync_folder(place)
    return GroupRemoved(name, str(trash.root), relinked(store, name, ""))


@contextmanager
def _both_locks(store: Store, name: str) -> Iterator[None]:
    """Nobody makes a group, and nobody writes to this one; its work tree is where it belongs."""
    with Lock(store.root / "lock"), Lock(lock_path(store.gitdir(name))):
        if worktree_of(store.gitdir(name)) == store.default_worktree(name):
            bring_back(store.gitdir(name))
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
