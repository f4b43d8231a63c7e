"""The group that a folder is adopted into: it must be free, and apart from every other."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, GroupRefused
from gitmem.memory.admin.init import overlap
from gitmem.memory.admin.worktrees import find_again
from gitmem.memory.adopt.commits import ADOPTED
from gitmem.memory.clock import Clock
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.access import MAIN
from gitmem.model.commit_messages import parse
from gitmem.model.secrets.find import redact
from gitmem.model.text.format import quoted
from gitmem.store.config import worktree_of
from gitmem.store.foreign.repository import is_repository
from gitmem.store.setup import is_tied


class Target(NamedTuple):
    """What shall be adopted, into which group, in whose name."""

    store: Store
    name: str
    root: Path
    in_place: bool
    who: Who = Who()
    acting: str | None = None
    now: Clock | None = None

    @property
    def worktree(self) -> Path:
        """Where the files stand afterwards."""
        return self.root if self.in_place else self.store.default_worktree(self.name)

    def opened(self) -> Group:
        """The group, which must be there."""
        return Group(self.store, self.name, who=self.who, acting=self.acting, now=self.now)


def check_target(target: Target) -> None:
    """Refuse a folder that holds a group's files already, the store, or a repository in place."""
    store, root = target.store, target.root
    if overlap(root, store.root):
        raise Conflict(
            f"{root} and the store {store.root} lie within each other",
            hint="adopt a folder apart from the store; a group's own edits: `gitmem capture`",
        )
    for other in store.names():
        place = worktree_of(store.gitdir(other))
        if other != target.name and place and overlap(root, place):
            # Only who may see the others is told of them.
            whose = repr(other) if target.acting in (None, MAIN) else "another group"
            raise GroupRefused(
                f"{root} and the work tree of {whose} lie within each other",
                hint="adopt a folder that belongs to no group",
                rule="overlap",
            )
    own = is_repository(root) and not is_tied(store.gitdir(target.name), root)
    if target.in_place and own:
        raise Conflict(
            f"{root} is a git repository of its own, so it cannot be a group's work tree",
            hint="leave out --in-place to adopt a copy with its history, "
            "or name a folder inside it",
        )


def is_adopted(target: Target) -> bool:
    """Whether it is done already; Conflict where the group is not free."""
    if not target.store.gitdir(target.name).is_dir():
        if not target.in_place and _holds_files(target.worktree):
            raise has_content(target)
        return False
    if target.in_place:  # where it was moved, this is the way to say so
        find_again(target.store, target.name, target.root)
    group = target.opened()
    try:
        here = group.worktree.resolve() == target.root
        if target.in_place and not here:
            raise Conflict(
                f"the group {target.name!r} has its files in {group.worktree}",
                hint="adopt into a new group: add -g NAME",
                worktree=str(group.worktree),
            )
        if not group.repository.snapshot().folder(""):
            if not target.in_place and any(pending_edits(group)[:2]):
                raise has_content(target)
            return False
        if here == target.in_place and _came_from(group, target.root):
            return True
        raise has_content(target)
    finally:
        group.close()


def _holds_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def has_content(target: Target) -> Conflict:
    """The error for a group that is not free."""
    return Conflict(
        f"the group {target.name!r} has files already, and a folder is adopted into a new one",
        hint=f"name another group: `gitmem adopt {quoted(str(target.root))} -g NAME`",
        group=target.name,
    )


def _came_from(group: Group, root: Path) -> bool:
    line = group.repository.history(group.repository.tip())
    place = redact(str(root))[0]
    return any(parse(each.message).get(ADOPTED) == place for each in line)
