"""Check that a folder can be adopted into a group: it is empty, and no folders overlap."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, GroupRefused
from gitmem.memory.admin.init import overlap
from gitmem.memory.admin.worktrees import find_again
from gitmem.memory.adopt.history import ADOPTED
from gitmem.memory.clock import Clock
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.access import MAIN
from gitmem.model.commit_messages import parse
from gitmem.model.hints import Hint, Option, call
from gitmem.model.secrets.find import redact
from gitmem.store.config import worktree_of
from gitmem.store.foreign.repository import is_repository
from gitmem.store.setup import is_tied


class AdoptionTarget(NamedTuple):
    """A folder, the group that adopts it, and the author."""

    store: Store
    name: str
    root: Path
    in_place: bool
    who: Who = Who()
    acting: str | None = None
    now: Clock | None = None

    @property
    def worktree(self) -> Path:
        """The folder of the files after the adoption."""
        return self.root if self.in_place else self.store.default_worktree(self.name)

    def opened(self) -> Group:
        """The group, which must exist."""
        return Group(self.store, self.name, who=self.who, acting=self.acting, now=self.now)


def check_target(target: AdoptionTarget) -> None:
    """Refuse a folder that overlaps with a group or the store, and a repository in place."""
    store, root = target.store, target.root
    if overlap(root, store.root):
        raise Conflict(
            f"{root} and the store {store.root} lie within each other",
            hint=Hint(
                "adopt a folder apart from the store; a group's own edits: ", call("capture")
            ),
        )
    for other in store.names():
        taken = worktree_of(store.gitdir(other))
        if other != target.name and taken and overlap(root, taken):
            # Other groups must not see the name.
            whose = repr(other) if target.acting in (None, MAIN) else "another group"
            raise GroupRefused(
                f"{root} and the work tree of {whose} lie within each other",
                hint="adopt a folder that belongs to no group",
                rule="overlap",
            )
    own = is_repository(root) and not is_tied(store.gitdir(target.name), root)
    if target.in_place and own:
        raise Conflict(
            f"{root} is a git repository, and a work tree of a group must not be one",
            hint=Hint(
                "leave out ",
                Option("in_place"),
                " to adopt a copy with its history, or name a folder inside it",
            ),
        )


def is_adopted(target: AdoptionTarget) -> bool:
    """True when the folder was adopted before; Conflict where the group has other files."""
    if not target.store.gitdir(target.name).is_dir():
        if not target.in_place and _holds_files(target.worktree):
            raise has_content(target)
        return False
    if target.in_place:  # the folder may have been moved
        find_again(target.store, target.name, target.root)
    group = target.opened()
    try:
        here = group.worktree.resolve() == target.root
        if target.in_place and not here:
            raise Conflict(
                f"the group {target.name!r} has its files in {group.worktree}",
                hint="adopt it into a new group",
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


def has_content(target: AdoptionTarget) -> Conflict:
    """The error for a group with files."""
    return Conflict(
        f"the group {target.name!r} has files; a folder is adopted into a new or empty group",
        hint=Hint("name another group: ", call("adopt", str(target.root), group="NAME")),
        group=target.name,
    )


def _came_from(group: Group, root: Path) -> bool:
    line = group.repository.history(group.repository.tip())
    origin = redact(str(root))[0]
    return any(parse(each.message).get(ADOPTED) == origin for each in line)
