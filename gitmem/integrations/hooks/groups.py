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
"""Seconds that a hook waits for another writer."""
GITFILE = b"gitdir: "
LONGEST_GITFILE = 4096


@contextmanager
def opened(event: Event, name: str = "", *, as_subagent: bool = False) -> Iterator[Group]:
    """The group NAME, or the one that the session works with; AS_SUBAGENT: in its name, too."""
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
    """The group that a project folder uses."""
    linked = store.linked(folder)
    if not linked and store.requires_group:
        from gitmem.model.hints import Hint, call  # only where something is wrong

        raise BadInput(
            f"no group for the folder '{folder}', and this store has no default group",
            hint=Hint("link the folder to one: ", call("link", folder, group="NAME")),
        )
    return linked or "main"


def heir_of(event: Event) -> str:
    """The group that has what was left for one that is gone: the one its folder uses by now."""
    from pathlib import Path

    from gitmem.memory.group import Store

    store = Store(Path(event.store))
    is_gone = event.group and not store.gitdir(event.group).is_dir()
    return store.linked(event.project) if is_gone else ""


def underway(group: Group) -> list[str]:
    """What a person has begun with git in a group and not finished, in a word to the user."""
    found = group.underway()
    if found is None:
        return []
    from gitmem.integrations.hooks.answer import notice_of
    from gitmem.model.hints import Hint

    begun = f"{found.title} begun with git in {group.name!r} is not finished"
    return [notice_of(Hint(begun, ": its files are not captured (", found.way_on, ")"))]


def group_at(path: str, store: str) -> str:
    """The group of STORE in whose work tree PATH is; nothing where it is in none."""
    repos = os.path.join(os.path.realpath(store), "repos")
    place = os.path.realpath(os.path.dirname(path))
    while True:
        found = _leads_to(place)
        if found is not None:
            home, name = os.path.split(found)
            return name.removesuffix(".git") if home == repos and name.endswith(".git") else ""
        above = os.path.dirname(place)
        if above == place:
            return ""
        place = above


def _leads_to(folder: str) -> str | None:
    """Where the `.git` file of a folder leads; None where there is no such file."""
    with suppress(OSError), open(os.path.join(folder, ".git"), "rb", opener=_at_once) as file:
        data = file.read(LONGEST_GITFILE) or b""
        if data.startswith(GITFILE):
            target = os.fsdecode(data[len(GITFILE) :].strip())
            return os.path.realpath(os.path.join(folder, target))
    return None


def _at_once(path: str, flags: int) -> int:
    """Open without waiting: it may be a pipe that nobody writes to."""
    return os.open(path, flags | os.O_NONBLOCK)
