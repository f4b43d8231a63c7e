"""Find, reconnect or recreate a work tree that is not where its group expects it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Conflict, Damaged, GroupNotFound
from gitmem.model.access import check_access
from gitmem.model.hints import Hint, Option
from gitmem.store.config import name_worktree, worktree_of
from gitmem.store.durable import make_folders
from gitmem.store.lock import Lock, last_run
from gitmem.store.setup import is_tied, leads_nowhere, relocation_hint, tie
from gitmem.store.worktree.relocate import bring_back, is_moved_here

if TYPE_CHECKING:
    from gitmem.memory.group import Group, Store


def tie_outside(group: Group) -> None:
    """Write the `.git` file of a work tree outside the store; Damaged where it leads elsewhere."""
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
    """True where `init` died before it wrote the `.git` file."""
    place = group.worktree
    if os.path.lexists(place / ".git") or not place.is_dir():
        return False
    return not group.repository.snapshot().folder("")


def revive(group: Group) -> int:
    """Find the work tree of GROUP or create it, and restore its files; their number."""
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
            f"creating the missing work tree {group.worktree} failed: {error.strerror}",
            hint="move away the file in its place",
            path=str(group.worktree),
        ) from error
    try:
        with open_writer(group.repository, group.worktree, group.now, FINDER) as writer:
            count = writer.put_back()
            tie(group.gitdir, group.worktree, relative=not group.is_outside)
    except GroupNotFound:
        with suppress(OSError):
            os.rmdir(group.worktree)  # the group was renamed, and its folder with it
        raise
    return count


def repoint(store: Store, name: str, place: Path) -> None:
    """Point the group at PLACE, where its work tree was moved with its `.git` file."""
    gitdir = store.gitdir(name)
    known = worktree_of(gitdir) or store.default_worktree(name)
    if os.path.lexists(known) or not is_tied(gitdir, place):
        raise Conflict(
            f"the group {name!r} has its work tree in {known}",
            hint=Hint("leave out ", Option("worktree"), ", or name another group for that folder"),
            worktree=str(known),
        )
    name_worktree(gitdir, str(place))


def find_again(store: Store, name: str, place: Path) -> bool:
    """The same if PLACE leads to the group and its work tree is missing; False otherwise."""
    known = worktree_of(store.gitdir(name))
    gone = known is not None and not os.path.lexists(known)
    if not gone or not is_tied(store.gitdir(name), place):
        return False
    with Lock(store.root / "lock"):
        repoint(store, name, place)
    return True


def relink_from(store: Store, name: str, folder: str) -> bool:
    """Point a group without a work tree at the moved one around FOLDER; False for none.

    The `.git` file and the inodes of the files prove the move; for a copy a person has to decide.
    """
    here = Path(os.path.realpath(folder))
    for place in (here, *here.parents):
        if os.path.lexists(place / ".git"):
            return is_moved_here(store.gitdir(name), place) and find_again(store, name, place)
    return False
