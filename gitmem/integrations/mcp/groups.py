"""Where a server stands: its store and group, and in whose name it acts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, PathNotFound
from gitmem.integrations.hosts.table import agent_of_client
from gitmem.memory.group import Caller, Group, Store, Who, open_group
from gitmem.model.commit_messages import check_agent
from gitmem.model.paths import check_group

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.memory.clock import Clock

SOURCE = "mcp"
NAMELESS = "agent"
MOST_OPEN = 4
"""Groups that are open at a time."""

Stamp = tuple[int, ...]


class Endpoint(NamedTuple):
    """What every call of a tool begins with."""

    kept: OpenGroups
    store: Store
    group: str
    """The group that is meant where a call names none."""
    acting: str
    """The group in whose name we act: `main` may name another one, every other group may not."""
    who: Who = Who("", "", SOURCE)
    """An agent without a name is called as the client calls itself."""
    clock: Clock | None = None


def called(endpoint: Endpoint, client: str) -> Endpoint:
    """The endpoint when CLIENT sits at it: commits bear its name, unless they have one already."""
    if endpoint.who.agent:
        return endpoint
    try:
        name = check_agent(agent_of_client(client))
    except BadInput:
        name = NAMELESS
    return endpoint._replace(who=endpoint.who._replace(agent=name))


class OpenGroups:
    """Groups that stay open from one call to the next: what is in memory need not be read again.

    Whatever others write is seen all the same, since every operation begins with the branch. A
    group that was removed, renamed or moved meanwhile is noticed and opened anew.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, Who], tuple[Stamp | None, Group]] = {}

    def take(self, endpoint: Endpoint, name: str) -> Group:
        """The group NAME, opened if it is not."""
        key, stamp = (name, endpoint.who), _stamp(endpoint.store.gitdir(check_group(name)))
        known = self._groups.get(key)
        if known is None or known[0] != stamp:
            self.drop(endpoint, name)
            caller = Caller(endpoint.who, endpoint.acting, endpoint.clock)
            known = stamp, open_group(endpoint.store, name, caller)
        self._groups.pop(key, None)
        self._groups[key] = known  # the last one in order is the last one used
        while len(self._groups) > MOST_OPEN:
            self._groups.pop(next(iter(self._groups)))[1].close()
        return known[1]

    def drop(self, endpoint: Endpoint, name: str) -> None:
        """Close a group, if it is open."""
        known = self._groups.pop((name, endpoint.who), None)
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
def opened(endpoint: Endpoint, name: str = "") -> Iterator[Group]:
    """The group called NAME, or the endpoint's own, for one call."""
    name = name or endpoint.group
    group = endpoint.kept.take(endpoint, name)
    try:
        yield group
    except BaseException as error:
        if isinstance(error, PathNotFound):
            from gitmem.integrations.mcp.calls import (
                hush,  # with all that it imports, for a call only
            )

            hush(group, error)
        endpoint.kept.drop(endpoint, name)  # whatever went wrong, the next call begins afresh
        raise
