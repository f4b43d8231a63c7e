"""A work tree that is not where its group expects it: found again, tied again, or made again."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Conflict, Damaged, GroupNotFound
from gitmem.model.access import check_access
from gitmem.store.config import name_worktree, worktree_of
from gitmem.store.durable import make_folders
from gitmem.store.lock import Lock, last_run
from gitmem.store.setup import is_tied, leads_nowhere, relocation_hint, tie
from gitmem.store.worktree.relocate import bring_back, is_moved_here

if TYPE_CHECKING:
    from gitmem.memory.group import Group, Store


def tie_outside(group: Group) -> None:
    """The `.git` file of a folder elsewhere must lead to us, or to where the store once was."""
    if not leads_nowhere(group.worktree) and not _is_untouched(group):
        raise Damaged(
            f"the work tree {group.worktree} is not there, or not ours: "
            "its .git file does not lead to this group",
            hint="if it is on another disk, mount it; "
            + relocation_hint(group.name, group.worktree),
            path=str(group.worktree),
        )
    tie(group.gitdir, group.worktree, relative=False)


def _is_untouched(group: Group) -> bool:
    """True where `init` died before it wrote the `.git` file: there is nothing to lose yet."""
    place = group.worktree
    if os.path.lexists(place / ".git") or not place.is_dir():
        return False
    return not group.repository.snapshot().folder("")


def revive(group: Group) -> int:
    """Find the work tree of GROUP, or make it anew, and put back its files; count them."""
    from gitmem.memory.searched import keep_run
    from gitmem.memory.writing import FINDER
    from gitmem.store.transaction.writer import open_writer

    check_access(group.acting, group.name, write=True)
    keep_run(group.gitdir, last_run(group.gitdir))  # this writer may find that the branch has moved
    try:
        found = not group.is_outside and bring_back(group.gitdir)
        if found and os.path.lexists(group.worktree / ".git"):
            return 0
        make_folders(group.worktree)
    except OSError as error:
        raise Damaged(
            f"the work tree {group.worktree} is gone and cannot be made: {error.strerror}",
            hint="move away what is in its place",
            path=str(group.worktree),
        ) from error
    try:
        with open_writer(group.repository, group.worktree, group.now, FINDER) as writer:
            count = writer.put_back()
            tie(group.gitdir, group.worktree, relative=not group.is_outside)
    except GroupNotFound:
        with suppress(OSError):
            os.rmdir(group.worktree)  # the group got another name, and its folder with it
        raise
    return count


def repoint(store: Store, name: str, place: Path) -> None:
    """A work tree that was moved, `.git` file and all, is found again at PLACE."""
    gitdir = store.gitdir(name)
    known = worktree_of(gitdir) or store.default_worktree(name)
    if os.path.lexists(known) or not is_tied(gitdir, place):
        raise Conflict(
            f"the group {name!r} has its work tree in {known}",
            hint="leave out --worktree, or make another group there with -g NAME",
            worktree=str(known),
        )
    name_worktree(gitdir, str(place))


def find_again(store: Store, name: str, place: Path) -> bool:
    """The same where PLACE leads to the group and its work tree is gone; False elsewhere."""
    known = worktree_of(store.gitdir(name))
    gone = known is not None and not os.path.lexists(known)
    if not gone or not is_tied(store.gitdir(name), place):
        return False
    with Lock(store.root / "lock"):
        repoint(store, name, place)
    return True


def relink_from(store: Store, name: str, folder: str) -> bool:
    """Where the work tree of a group is gone and FOLDER lies in it, moved: that is it from now on.

    Its `.git` file and the inodes of its files say so; for a copy a person has to.
    """
    here = Path(os.path.realpath(folder))
    for place in (here, *here.parents):
        if os.path.lexists(place / ".git"):
            return is_moved_here(store.gitdir(name), place) and find_again(store, name, place)
    return False
