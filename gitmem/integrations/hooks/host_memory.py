"""The host's own memory, as hooks meet it: adopted when it is first written, captured at each turn.

It is adopted only where `gitmem install` has been told to, which its record says.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from gitmem.integrations.hooks.answer import Asked
from gitmem.integrations.hooks.sessions import asking
from gitmem.integrations.hooks.tool_use import group_at
from gitmem.integrations.host_memory.folders import own_folder_at, used_for
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.write.quiet import quiet_group
from gitmem.model.access import MAIN
from gitmem.model.context.escape import NOTHING, ForModel

if TYPE_CHECKING:
    from gitmem.integrations.hooks.limits import Room
    from gitmem.integrations.host_memory.adopt import OwnAdopted


APART = (
    "gitmem: the memory of {host} in {folder} is under history now, as group {group!r}. Sessions "
    "in {project} do not use it: `{link}` links them, `gitmem link {quoted} --remove` leaves it so"
)
UNLINKED = "gitmem: the memory of {host} in {folder} is under history now, as group {group!r}"


def adopted_at(asked: Asked, path: str, known: str, tell: Callable[[str], None]) -> str:
    """The group that the host's own memory at PATH becomes; the one that is KNOWN elsewhere.

    The user is to be TOLD of a group that no session uses: nothing else shows it.
    """
    folder = own_folder_at(HOSTS[asked.host], asked.environ, path)
    return _adopted(asked, folder, known, tell) if folder else known


def take_in_own(asked: Asked, group: str, room: Room, news: list[str]) -> ForModel:
    """Commit what happened in the host's own memory, where that is not the session's GROUP.

    NEWS gets what the user is to be told.
    """
    host = HOSTS[asked.host]
    folder = used_for(host, asked.environ, asked.project).folder if host.own_memory else ""
    if not folder or not os.path.isdir(folder):
        return NOTHING
    inside = os.path.join(folder, "x")
    known = group_at(inside, asked.store)
    name = known if known == group else adopted_at(asked, inside, known, news.append)
    if not name or name == group or asked.acting not in (None, MAIN, name):
        return NOTHING
    from gitmem.integrations.hooks.groups import opened, take_in

    with opened(asked, name) as own:
        return take_in(asked._replace(group=name), own, room)


def is_own_quiet(asked: Asked, group: str) -> bool:
    """Whether nothing waits in the host's own memory, where that is not the session's GROUP."""
    folder = used_for(HOSTS[asked.host], asked.environ, asked.project).folder
    if not folder or not os.path.isdir(folder):
        return True
    known = group_at(os.path.join(folder, "x"), asked.store)
    if not known:
        return not os.listdir(folder)
    return known == group or quiet_group(asking(asked._replace(group=known))) == known


def _adopted(asked: Asked, folder: str, known: str, tell: Callable[[str], None]) -> str:
    """The group that FOLDER becomes, once, however many hooks see it at the same time."""
    if known and not _is_unfinished(asked.store, known):
        return known
    if not known and os.path.lexists(os.path.join(folder, ".git")):
        return ""  # a repository of the user's own, for the doctor to name
    from gitmem.integrations.host_memory.setting import is_moved, is_wanted

    if asked.acting not in (None, MAIN) or not is_wanted(asked.store, asked.host, asked.project):
        return known
    if not known and is_moved(asked.store, asked.host, folder):
        return ""  # the session began before the host was told; `install` copies what it wrote
    from pathlib import Path

    from gitmem.integrations.host_memory.adopt import adopt_own
    from gitmem.integrations.host_memory.projects import has_memory
    from gitmem.integrations.install.record import alone
    from gitmem.memory.group import Store, Who, isolate

    isolate()
    with alone(Path(asked.store)):
        found = group_at(os.path.join(folder, "x"), asked.store)
        is_done = found and not _is_unfinished(asked.store, found)
        if is_done or not has_memory(Path(folder)):
            return found
        done = adopt_own(
            Store(Path(asked.store)),
            HOSTS[asked.host],
            Path(folder),
            environ=asked.environ,
            near=asked.project,
            name=found,
            who=Who(asked.agent or asked.host, asked.session, asked.host),
        )
    if done.linked:
        from gitmem.integrations.install.rewire import rewire

        rewire(Store(Path(asked.store)), asked.environ)
    else:
        tell(_news(asked, done))
    return done.group


def _news(asked: Asked, done: OwnAdopted) -> str:
    from gitmem.model.text.quoting import quoted

    facts = {"host": HOSTS[asked.host].title, "folder": done.folder, "group": done.group}
    if not done.next:
        return UNLINKED.format(**facts)
    way = {"project": done.project, "link": done.next, "quoted": quoted(done.project)}
    return APART.format(**facts, **way)


def _is_unfinished(store: str, name: str) -> bool:
    """Whether an adoption died: a hook that takes too long is ended."""
    from pathlib import Path

    from gitmem.memory.group import Store

    return Store(Path(store)).is_unfinished(name)
