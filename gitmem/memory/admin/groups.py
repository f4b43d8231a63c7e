"""List, rename and remove the groups of a store.

A rename is several steps that count as one. The order makes every state in between one that the
next command recognises and completes:

1. A note in the git directory names the old and the new group. Before step 3 it alone tells.
2. Links and the spool of sessions move to the new name.
3. The git directory is renamed: from here on the group is known by its new name alone.
4. The work tree is renamed, with a `.git` file that leads to the new git directory.
5. The configuration names the work tree. Until then it names a folder in `groups/` with another
   name than the group, which no other state does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, Damaged, GitmemError, GroupRefused, StorageFailed
from gitmem.memory.admin.link import relink
from gitmem.memory.clock import Clock, zone_of
from gitmem.memory.group import Group, Store, time_now
from gitmem.memory.read.status import health_of
from gitmem.memory.transcripts.spool import hand_over
from gitmem.model.access import GLOBAL, MAIN, check_access
from gitmem.model.commit_messages import parse
from gitmem.model.guards import check_message_text
from gitmem.model.hints import Hint, call
from gitmem.model.paths import check_group, find_twin
from gitmem.store.config import name_worktree, worktree_of
from gitmem.store.durable import make_folders, rename_durably, sync_folder, write_durably
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.setup import is_tied, tie
from gitmem.store.worktree.relocate import bring_back, holds_anything

NOTE = "gitmem/renaming"


class GroupRow(NamedTuple):
    """One group in a list."""

    name: str
    last_write: datetime | None
    agent: str
    files: int
    bytes: int
    """The size of its files at HEAD, not of its history."""
    health: str
    worktree: str


class GroupRenamed(NamedTuple):
    """A group that was renamed."""

    old: str
    new: str
    worktree: str
    links: tuple[str, ...] = ()
    """The project folders that are linked to it."""


class GroupRemoved(NamedTuple):
    """A group that was moved to the store's trash."""

    name: str
    trash: str
    links: tuple[str, ...] = ()
    """The project folders that were linked to it."""


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
    """Rename a group with its history, files and links."""
    _check_may_manage(acting, old)
    check_message_text("group's name", check_group(new))
    Group(store, old).close()
    with _translated("renaming"), _both_locks(store, old):
        place = worktree_of(store.gitdir(old))
        _check_free(store, old, new, place in (None, store.default_worktree(old)))
        _give_up(store, old)
        try:
            place, links = _carry_out(store, old, new)
        except OSError:
            if store.gitdir(old).is_dir():
                _take_back(store, old, new)
            raise
    return GroupRenamed(old, new, str(place), links)


def _check_free(store: Store, old: str, new: str, inside: bool) -> None:
    others = [name for name in store.names() if name != old]
    taken = new if new in store.names() else find_twin(new, others)
    if taken:
        raise Conflict(f"group {taken!r} exists already", hint="choose another name")
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

    The trash has the layout of a store, so that git, gitmem and a move back work there. BEFORE is
    called once the removal is allowed, while the group still works.
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
        # The repository last: until then the group exists, and `bring_back` finds its files.
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
    """Lock the store and the group; a work tree that was moved away is brought back first."""
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
            hint=Hint("see how far it got: ", call("groups")),
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


def _carry_out(store: Store, old: str, new: str) -> tuple[Path, tuple[str, ...]]:
    """Do the remaining steps of renaming OLD; the work tree and the linked folders.

    Needs the locks of the store and of the group.
    """
    if store.gitdir(old).is_dir():
        write_durably(store.gitdir(old) / NOTE, json.dumps([old, new]).encode())
    links = relinked(store, old, new)
    hand_over(str(store.root), old, new)
    if store.gitdir(old).is_dir():
        rename_durably(store.gitdir(old), store.gitdir(new))
    place = _move_worktree(store, old, new)
    (store.gitdir(new) / NOTE).unlink(missing_ok=True)
    return place, links


def _take_back(store: Store, old: str, new: str) -> None:
    """Undo steps 1 and 2 after renaming the git directory failed."""
    relinked(store, new, old)
    hand_over(str(store.root), new, old)
    with suppress(OSError):
        (store.gitdir(old) / NOTE).unlink(missing_ok=True)


def _give_up(store: Store, old: str) -> None:
    """Undo an interrupted rename of OLD, which gets another name now."""
    with suppress(OSError, ValueError):
        name, new = json.loads((store.gitdir(old) / NOTE).read_bytes())
        if name == old and not store.gitdir(new).is_dir():
            _take_back(store, old, new)


def _move_worktree(store: Store, old: str, new: str) -> Path:
    gitdir, place = store.gitdir(new), worktree_of(store.gitdir(new))
    before, after = store.default_worktree(old), store.default_worktree(new)
    if place not in (None, before, after):
        if place.is_dir():  # it may be on a disk that is not mounted
            tie(gitdir, place, relative=False)
        return place
    # A command that found the group without its folder may have made an empty one.
    if before.is_dir() and not store.gitdir(old).is_dir() and not holds_anything(after):
        rename_durably(before, after)
    if after.is_dir():
        tie(gitdir, after, relative=True)
    name_worktree(gitdir, os.path.relpath(after, gitdir))
    return after


def finish_rename(store: Store, new: str) -> bool:
    """Complete an interrupted rename to NEW; False where there is none."""
    if not _began_as(store, new):
        return False
    with Lock(store.root / "lock"):
        old = _began_as(store, new)  # again: the other process may be done by now
        if old:
            there = next(each for each in (new, old) if store.gitdir(each).is_dir())
            with Lock(lock_path(store.gitdir(there))):
                _carry_out(store, old, new)
    return True


def _began_as(store: Store, new: str) -> str:
    """The old name of the group whose rename to NEW was interrupted; or empty."""
    if store.gitdir(new).is_dir():
        place = worktree_of(store.gitdir(new))
        inside = place is not None and place.parent == store.root / "groups"
        old = place.name if place and inside and place.name != new else ""
        # Else it is a copy of that group's repository, and the folder belongs to the original.
        return old if old and not store.gitdir(old).is_dir() else ""
    for name in store.names():
        with suppress(OSError, ValueError):
            if json.loads((store.gitdir(name) / NOTE).read_bytes()) == [name, new]:
                return name
    return ""


def relinked(store: Store, old: str, new: str) -> tuple[str, ...]:
    """Relink the folders of OLD; settings that cannot be read are left to `doctor`."""
    with suppress(GitmemError):
        return relink(store, old, new)
    return ()
