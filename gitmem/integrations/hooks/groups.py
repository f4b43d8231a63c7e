"""The group that a session works with, opened for a hook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gitmem.errors import BadInput

if TYPE_CHECKING:
    from gitmem.integrations.hooks.protocol import Event
    from gitmem.memory.group import Group, Store

WAIT = 2.0
"""Seconds that a hook waits for the lock."""
GITFILE = b"gitdir: "
LONGEST_GITFILE = 4096


@contextmanager
def opened(event: Event, name: str = "", *, as_subagent: bool = False) -> Iterator[Group]:
    """The group NAME, or the one of the session; AS_SUBAGENT: commits name the subagent."""
    from pathlib import Path

    from gitmem.memory.group import Caller, Store, Who, isolate, open_group

    isolate()
    store = Store(Path(event.store))
    aside = event.subagent if as_subagent else ""
    who = Who(event.agent or event.host, event.session, event.host, event.turn, aside)
    fixed = event.now
    now = None if fixed is None else lambda: fixed
    name = name or event.group or group_of(store, event.project)
    group = open_group(store, name, Caller(who, event.acting, now, event.project))
    try:
        yield group
    finally:
        group.close()


def group_of(store: Store, folder: str) -> str:
    """The group of a project FOLDER; BadInput where the store requires a link."""
    linked = store.linked(folder)
    if not linked and store.requires_group:
        from gitmem.model.hints import Hint, call  # only where something is wrong

        raise BadInput(
            f"no group for the folder '{folder}', and this store has no default group",
            hint=Hint("link the folder to one: ", call("link", folder, group="NAME")),
        )
    return linked or "main"


def successor_of(event: Event) -> str:
    """The group that the folder uses now, where the group of EVENT is gone; else empty."""
    from pathlib import Path

    from gitmem.memory.group import Store

    store = Store(Path(event.store))
    is_gone = event.group and not store.gitdir(event.group).is_dir()
    return store.linked(event.project) if is_gone else ""


def underway(group: Group) -> list[str]:
    """A notice about a merge or rebase that a person has begun with git and not finished."""
    found = group.underway()
    if found is None:
        return []
    from gitmem.integrations.hooks.answer import notice_of
    from gitmem.model.hints import Hint

    begun = f"{found.title} begun with git in {group.name!r} is not finished"
    return [notice_of(Hint(begun, ": its files are not captured (", found.way_on, ")"))]


def group_at(path: str, store: str) -> str:
    """The group of STORE whose work tree contains PATH; empty where none does."""
    repos = os.path.join(os.path.realpath(store), "repos")
    folder = os.path.realpath(os.path.dirname(path))
    while True:
        found = _gitdir_of(folder)
        if found is not None:
            home, name = os.path.split(found)
            return name.removesuffix(".git") if home == repos and name.endswith(".git") else ""
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _gitdir_of(folder: str) -> str | None:
    """The git directory that the `.git` file of FOLDER names; None without such a file."""
    with (
        suppress(OSError),
        open(os.path.join(folder, ".git"), "rb", opener=_without_waiting) as file,
    ):
        data = file.read(LONGEST_GITFILE) or b""
        if data.startswith(GITFILE):
            target = os.fsdecode(data[len(GITFILE) :].strip())
            return os.path.realpath(os.path.join(folder, target))
    return None


def _without_waiting(path: str, flags: int) -> int:
    """Open even a pipe that nobody writes to."""
    return os.open(path, flags | os.O_NONBLOCK)
