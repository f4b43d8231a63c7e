"""Where a server stands: its store and group, and in whose name it acts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, PathNotFound
from gitmem.integrations.hosts.table import agent_of_client
from gitmem.memory.group import Group, Store, Who
from gitmem.model.commit_messages import check_agent
from gitmem.model.paths import check_group

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.memory.clock import Clock

SOURCE = "mcp"
NAMELESS = "agent"
KEPT = 4
"""Groups that are open at a time."""

Stamp = tuple[int, ...]


class Desk(NamedTuple):
    """What every call of a tool begins with."""

    kept: Kept
    store: Store
    group: str
    """The group that is meant where a call names none."""
    acting: str
    """The group in whose name we act: `main` may name another one, every other group may not."""
    who: Who = Who("", "", SOURCE)
    """An agent without a name is called as the client calls itself."""
    clock: Clock | None = None


def called(desk: Desk, client: str) -> Desk:
    """The desk when CLIENT sits at it: commits bear its name, unless they have one already."""
    if desk.who.agent:
        return desk
    try:
        name = check_agent(agent_of_client(client))
    except BadInput:
        name = NAMELESS
    return desk._replace(who=desk.who._replace(agent=name))


class Kept:
    """Groups that stay open from one call to the next: what is in memory need not be read again.

    Whatever others write is seen all the same, since every operation begins with the branch. A
    group that was removed, renamed or moved meanwhile is noticed and opened anew.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, Who], tuple[Stamp | None, Group]] = {}

    def take(self, desk: Desk, name: str) -> Group:
        """The group NAME, opened if it is not."""
        key, stamp = (name, desk.who), _stamp(desk.store.gitdir(check_group(name)))
        known = self._groups.get(key)
        if known is None or known[0] != stamp:
            self.drop(desk, name)
            opened = Group(desk.store, name, who=desk.who, acting=desk.acting, now=desk.clock)
            known = stamp, opened
        self._groups.pop(key, None)
        self._groups[key] = known  # the last one in order is the last one used
        while len(self._groups) > KEPT:
            self._groups.pop(next(iter(self._groups)))[1].close()
        return known[1]

    def drop(self, desk: Desk, name: str) -> None:
        """Close a group, if it is open."""
        known = self._groups.pop((name, desk.who), None)
        if known:
            known[1].close()

    def gitdirs(self) -> list[Path]:
        """Where the repositories lie."""
        return [group.gitdir for _, group in self._groups.values()]

    def damage(self) -> list[str]:
        """What was damaged since somebody asked, in words."""
        found: list[str] = []
        for _, group in self._groups.values():
            found += group.damage
            group.forget_damage()
        return found

    def close(self) -> None:
        """Give back file handles, all of them."""
        for _, group in self._groups.values():
            group.close()
        self._groups.clear()


def _stamp(gitdir: Path) -> Stamp | None:
    """What tells one repository from another that came to its place; its settings included."""
    try:
        folder, config = os.stat(gitdir), os.stat(gitdir / "config")
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, config.st_ino, config.st_mtime_ns, config.st_size


@contextmanager
def opened(desk: Desk, name: str = "") -> Iterator[Group]:
    """The group called NAME, or the desk's own, for one call."""
    name = name or desk.group
    group = desk.kept.take(desk, name)
    try:
        yield group
    except BaseException as error:
        if isinstance(error, PathNotFound):
            from gitmem.integrations.mcp.calls import (
                hush,  # with all that it imports, for a call only
            )

            hush(group, error)
        desk.kept.drop(desk, name)  # whatever went wrong, the next call begins afresh
        raise
