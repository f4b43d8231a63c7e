"""The groups that a server opens, and in whose name it acts."""

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
"""The most groups that are open at a time."""

Stamp = tuple[int, ...]


class Endpoint(NamedTuple):
    """The store and group that a server works on, and its identity."""

    kept: OpenGroups
    store: Store
    group: str
    """The group of a call that names none."""
    acting: str
    """The acting group: only `main` may name another one."""
    who: Who = Who("", "", SOURCE)
    """Without an agent, commits name the client."""
    clock: Clock | None = None


def called(endpoint: Endpoint, client: str) -> Endpoint:
    """ENDPOINT whose commits name CLIENT, unless it has an agent already."""
    if endpoint.who.agent:
        return endpoint
    try:
        name = check_agent(agent_of_client(client))
    except BadInput:
        name = NAMELESS
    return endpoint._replace(who=endpoint.who._replace(agent=name))


class OpenGroups:
    """Groups that stay open between calls, so that objects in memory are not read again.

    Writes of others are visible all the same, since every operation starts from the branch. A group
    that was removed, renamed or moved is opened again.
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
        """The git directories of the open groups."""
        return [group.gitdir for _, group in self._groups.values()]

    def damage(self) -> list[str]:
        """Messages about damage that was found since the last call."""
        found: list[str] = []
        for _, group in self._groups.values():
            found += group.damage
            group.forget_damage()
        return found

    def close(self) -> None:
        """Close all groups."""
        for _, group in self._groups.values():
            group.close()
        self._groups.clear()


def _stamp(gitdir: Path) -> Stamp | None:
    """What changes when another repository or configuration replaces the one at GITDIR."""
    try:
        folder, config = os.stat(gitdir), os.stat(gitdir / "config")
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, config.st_ino, config.st_mtime_ns, config.st_size


@contextmanager
def opened(endpoint: Endpoint, name: str = "") -> Iterator[Group]:
    """The group NAME, or the endpoint's own, for one call."""
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
        endpoint.kept.drop(endpoint, name)  # after an error the next call opens it again
        raise
