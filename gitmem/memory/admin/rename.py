"""Giving a group another name: several renames that count as one.

The order makes every state in between one that the next command recognises and goes on from:

1. A note in the git directory says from which name to which. Before step 3 it is what tells.
2. Links and what sessions left are for the new name.
3. The git directory gets it: from here on the group is known by its new name alone.
4. The work tree gets it, with a `.git` file that leads to the new place.
5. The configuration names the work tree. Until then it names a folder in `groups/` that has another
   name than the group, which no other state does.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.memory.transcripts.spool import hand_over
from gitmem.store.config import name_worktree, worktree_of
from gitmem.store.durable import rename_durably, write_durably
from gitmem.store.lock import Lock, lock_path
from gitmem.store.setup import tie
from gitmem.store.worktree.relocate import holds_anything

if TYPE_CHECKING:
    from gitmem.memory.group import Store

NOTE = "gitmem/renaming"


def carry_out(store: Store, old: str, new: str) -> tuple[Path, tuple[str, ...]]:
    """Do what is not done yet of renaming OLD; tell its work tree and the folders linked to it.

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


def take_back(store: Store, old: str, new: str) -> None:
    """The git directory could not be renamed: let everything be as before."""
    relinked(store, new, old)
    hand_over(str(store.root), new, old)
    with suppress(OSError):
        (store.gitdir(old) / NOTE).unlink(missing_ok=True)


def give_up(store: Store, old: str) -> None:
    """Forget that OLD was to get a name, if that was interrupted: it gets another one now."""
    with suppress(OSError, ValueError):
        name, wanted = json.loads((store.gitdir(old) / NOTE).read_bytes())
        if name == old and not store.gitdir(wanted).is_dir():
            take_back(store, old, wanted)


def _move_worktree(store: Store, old: str, new: str) -> Path:
    gitdir, place = store.gitdir(new), worktree_of(store.gitdir(new))
    before, after = store.default_worktree(old), store.default_worktree(new)
    if place not in (None, before, after):
        if place.is_dir():  # it may be on a disk that is not mounted
            tie(gitdir, place, relative=False)
        return place
    # Whoever found the group without its folder may have made an empty one: that is no obstacle.
    if before.is_dir() and not store.gitdir(old).is_dir() and not holds_anything(after):
        rename_durably(before, after)
    if after.is_dir():
        tie(gitdir, after, relative=True)
    name_worktree(gitdir, os.path.relpath(after, gitdir))
    return after


def finish_rename(store: Store, new: str) -> bool:
    """Finish a renaming to NEW that was interrupted; False where there is none."""
    if not _began_as(store, new):
        return False
    with Lock(store.root / "lock"):
        old = _began_as(store, new)  # again: its writer may be alive, and done by now
        if old:
            there = next(each for each in (new, old) if store.gitdir(each).is_dir())
            with Lock(lock_path(store.gitdir(there))):
                carry_out(store, old, new)
    return True


def _began_as(store: Store, new: str) -> str:
    """The name that a group has or had that is being renamed to NEW."""
    if store.gitdir(new).is_dir():
        place = worktree_of(store.gitdir(new))
        inside = place is not None and place.parent == store.root / "groups"
        old = place.name if place and inside and place.name != new else ""
        # Else it is a copy of that group's repository, and the folder is not its own.
        return old if old and not store.gitdir(old).is_dir() else ""
    for name in store.names():
        with suppress(OSError, ValueError):
            if json.loads((store.gitdir(name) / NOTE).read_bytes()) == [name, new]:
                return name
    return ""


def relinked(store: Store, old: str, new: str) -> tuple[str, ...]:
    """What is done is done: settings that cannot be read are for `gitmem doctor` to tell."""
    from gitmem.memory.admin.link import relink

    with suppress(GitmemError):
        return relink(store, old, new)
    return ()
