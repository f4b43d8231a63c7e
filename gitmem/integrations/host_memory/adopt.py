"""Adopt the memory that a host writes by itself: its folder becomes a group in place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.folders import (
    LONGEST_NAME,
    folder_names,
    home_of,
    main_checkout,
    usual_folder,
)
from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.memory.group import Group, Store, Who
from gitmem.model.access import GLOBAL, MAIN
from gitmem.model.hints import Hint, call
from gitmem.model.paths import MAX_GROUP_BYTES, find_twin

SESSIONS = 20
"""Transcripts of one project that are searched for its folder ..."""
LINES = 50
"""... and lines of each: nearly every line names the folder."""
LONGEST = 1 << 20
RESERVED = (MAIN, GLOBAL)


class OwnAdopted(NamedTuple):
    """A folder of the host's own memory that was adopted, or would be."""

    folder: str
    group: str
    project: str
    """The project whose memory it is; empty where it is unknown."""
    files: int
    held: tuple[str, ...] = ()
    """Files that git may not get; they stay where they are."""
    linked: bool = False
    """Whether the project uses that group now."""
    next: str = ""
    """The call that links it, where that is left to the user."""


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
    """Make FOLDER a group in place, and link its project to that group if nothing is in the way.

    NAME is that of an interrupted adoption. The caller holds the lock of the record of
    installations, so that two processes do not name the group twice.
    """
    from gitmem.memory.adopt.adopt import adopt

    assert host.own_memory is not None
    store = Store(store.root)  # with the links as they are now
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
        return adopted._replace(next=Hint(call("link", project, group=name)))
    if not dry_run:
        from gitmem.memory.admin.link import link

        link(store, Path(project), name, acting=acting)
    return adopted._replace(linked=True)


def own_group(store: Store, environ: Mapping[str, str], project: Path) -> str:
    """The group that a host's own memory of PROJECT became in place; empty for none."""
    root = main_checkout(str(project))
    for host in HOSTS.values():
        folder = usual_folder(host, environ, root)
        if folder and os.path.lexists(os.path.join(folder, ".git")):
            name = group_at(os.path.join(folder, "x"), str(store.root))
            if name:
                return name
    return ""


def is_home(project: str, environ: Mapping[str, str]) -> bool:
    """Whether PROJECT is the home folder, which contains all others and is never linked."""
    home = environ.get("HOME") or os.path.expanduser("~")
    return os.path.realpath(project) in (os.path.realpath(home), "/")


def is_unused(store: Store, name: str) -> bool:
    """Whether the group NAME is missing, or has only its starter files."""
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
    except (GitmemError, OSError):  # an unreadable group counts as used
        return False


def own_folders(host: Host, environ: Mapping[str, str]) -> list[Path]:
    """The folders of the host's own memory with a Markdown file, sorted."""
    own = host.own_memory
    if own is None:
        return []
    found = Path(home_of(host, environ), own.projects).glob(f"*/{own.folder}")
    return sorted(each for each in found if has_memory(each))


def has_memory(folder: Path) -> bool:
    """Whether FOLDER has a Markdown file; a link belongs to its author and has none."""
    return not folder.is_symlink() and any(each.is_file() for each in folder.rglob("*.md"))


def project_of(folder: Path, near: str = "") -> str:
    """The project whose memory FOLDER is; empty where it is unknown or gone.

    The name of FOLDER does not determine a path. So the project is the folder NEAR, one above it,
    or one in a transcript, if its path gives that very name.
    """
    name = folder.parent.name
    for start in (near, *_working_folders(folder.parent)):
        for each in (start, main_checkout(start)) if start else ():
            for above in (each, *map(str, Path(each).parents)):
                if _is_called(above, name) and os.path.isdir(above):
                    return os.path.realpath(above)
    return ""


def _is_called(directory: str, name: str) -> bool:
    made = folder_names(os.path.realpath(directory))
    return any(
        each == name or (len(each) > LONGEST_NAME and name.startswith(f"{each[:LONGEST_NAME]}-"))
        for each in made
    )


def _working_folders(folder: Path) -> Iterator[str]:
    """The working directories in transcripts of a project, or of folders below it."""
    import json
    from glob import escape

    folders = (folder, *sorted(folder.parent.glob(f"{escape(folder.name)}-*")))
    files = (file for each in folders for file in sorted(each.glob("*.jsonl")))
    for path in islice(files, SESSIONS):
        try:
            with path.open("rb") as file:
                lines = [file.readline(LONGEST) for _ in range(LINES)]
        except OSError:
            continue
        for line in lines:
            if b'"cwd"' in line:
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                cwd = row.get("cwd") if isinstance(row, dict) else None
                if isinstance(cwd, str) and cwd.startswith("/") and "\0" not in cwd:
                    yield cwd


def group_name(
    store: Store, folder: Path, project: str, host: Host, environ: Mapping[str, str]
) -> str:
    """A free name for the group of FOLDER, after its project."""
    taken = {*store.names(), *RESERVED}
    names = [each for each in _names(folder, project, host, environ) if each] or [host.name]
    numbered = (f"{names[0]}-{number}" for number in count(2))
    for each in (*names, *islice(numbered, len(taken) + 1)):
        if each not in taken and find_twin(each, taken) is None:
            return each
    raise AssertionError  # one more name than there are groups


def _names(folder: Path, project: str, host: Host, environ: Mapping[str, str]) -> Iterator[str]:
    """Possible names of the group, the best first."""
    if project:
        path = Path(project)
        yield _plain(path.name)
        yield _plain(f"{path.parent.name}-{path.name}")
        return
    name, home = folder.parent.name, environ.get("HOME") or os.path.expanduser("~")
    for each in folder_names(os.path.realpath(home)):
        if name.startswith(f"{each}-"):
            yield _plain(name.removeprefix(each))
            return
    yield _plain(name.rstrip("-").rpartition("-")[2])


def _plain(name: str) -> str:
    """NAME without characters that are invalid in a group's name or special in a shell."""
    kept = re.sub(r"[^\w.-]+", "-", name).strip("-._")
    return kept.encode()[: MAX_GROUP_BYTES - 10].decode("utf-8", "ignore")
