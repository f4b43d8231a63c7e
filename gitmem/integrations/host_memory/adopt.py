"""Put the memory that a host writes by itself under history, in the very folder it uses."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.folders import main_checkout, usual_folder
from gitmem.integrations.host_memory.projects import group_name, project_of
from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.memory.group import Group, Store, Who
from gitmem.model.access import MAIN
from gitmem.model.text.format import quoted


class OwnAdopted(NamedTuple):
    """A folder of the host's own memory that is under history now, or would be."""

    folder: str
    group: str
    project: str
    """The project whose memory it is; nothing where nobody knows."""
    files: int
    held: tuple[str, ...] = ()
    """Files that may not enter git; they stay where they are."""
    linked: bool = False
    """Whether the project uses that group now."""
    next: str = ""
    """The command that links it, where that is left to a person."""


def adopt_own(
    store: Store,
    host: Host,
    folder: Path,
    *,
    environ: Mapping[str, str],
    near: str = "",
    name: str = "",
    who: Who | None = None,
    acting: str | None = None,
    dry_run: bool = False,
) -> OwnAdopted:
    """Make FOLDER a group in place, and let its project use that group where it is free to.

    NAME is that of an adoption that was interrupted. Whoever calls this holds the lock of the
    record of installs, so that two do not name it twice.
    """
    from gitmem.memory.adopt.adopt import adopt

    assert host.own_memory is not None
    store = Store(store.root)  # with the links as they are by now
    project = project_of(folder, near)
    name = name or group_name(store, folder, project, host, environ)
    layout = "" if (folder / "gitmem.yaml").exists() else host.own_memory.layout
    done = adopt(
        store,
        name,
        folder,
        layout=layout,
        in_place=True,
        dry_run=dry_run,
        who=who or Who(host.name, source=host.name),
        acting=acting,
    )
    held = tuple(each.path for each in done.left if each.path not in done.taken)
    adopted = OwnAdopted(str(folder), name, project, len(done.taken), held)
    if not project or is_home(project, environ) or project in store.declined:
        return adopted
    if store.linked(project) or not is_unused(store, MAIN):
        return adopted._replace(next=f"gitmem link {quoted(project)} -g {quoted(name)}")
    if not dry_run:
        from gitmem.memory.admin.link import link

        link(store, Path(project), name, acting=acting)
    return adopted._replace(linked=True)


def own_group(store: Store, environ: Mapping[str, str], project: Path) -> str:
    """The group that a host's own memory of PROJECT became in place; nothing where none did."""
    root = main_checkout(str(project))
    for host in HOSTS.values():
        folder = usual_folder(host, environ, root)
        if folder and os.path.lexists(os.path.join(folder, ".git")):
            name = group_at(os.path.join(folder, "x"), str(store.root))
            if name:
                return name
    return ""


def is_home(project: str, environ: Mapping[str, str]) -> bool:
    """Whether PROJECT is the home folder, in which all others are, and which is never linked."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.realpath(project) in (os.path.realpath(home), "/")


def is_unused(store: Store, name: str) -> bool:
    """Whether the group NAME is missing, or holds nothing but the files it began with."""
    from gitmem.memory.layouts import layout_of, shipped, starter_files
    from gitmem.memory.write.open_edits import pending_edits

    if name not in store.names():
        return True
    try:
        with closing(Group(store, name)) as group:
            layout = layout_of(group).name
            known = starter_files(layout) if layout in shipped() else {}
            snapshot = group.repository.snapshot()
            same = all(snapshot.read(path) == known.get(path) for path, _ in snapshot.files())
            return same and not any(pending_edits(group)[:2])
    except (GitmemError, OSError):  # who cannot say leaves everything as it is
        return False
