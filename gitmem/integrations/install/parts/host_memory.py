"""A linked folder whose host keeps its own memory in the folder's group: one setting says so.

A link in place of the host's own folder would not do: Claude Code then denies every write there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import GitmemError, JsonRefused
from gitmem.integrations.host_memory.folders import (
    has_own,
    settings_files,
    turned_off,
    usual_folder,
)
from gitmem.integrations.host_memory.setting import CHOICE
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.shared_files import Shared
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_of
from gitmem.model.text import json_edit

KIND = CHOICE
"""The name under which the record keeps what of a file is ours, too."""
DIRECTORY, OWN, GROUP = "directory", "own", "group"
INSIDE = "memory"
"""The folder of a group of another layout that the host gets."""


class Moved(NamedTuple):
    """A linked folder, and where its host shall keep memory."""

    settings: Path
    directory: str
    """In the group's work tree; nothing where that cannot be told."""
    own: str
    """The folder that the host would use."""
    group: str
    problem: str = ""
    """Why it stays as it is."""

    @property
    def given(self) -> dict[str, str]:
        """What to remember of it."""
        return {DIRECTORY: self.directory, OWN: self.own, GROUP: self.group}


def moved_for(
    store: Store, host: Host, environ: Mapping[str, str], folder: Path, group: str
) -> Moved | None:
    """Where HOST shall keep memory for sessions in FOLDER; None where it does so by itself.

    A worktree or a subfolder has no memory of its own: its host uses that of the repository,
    whatever group its sessions are shown.
    """
    own = host.own_memory
    if own is None or not host.project.local or not has_own(str(folder)):
        return None
    usual = usual_folder(host, environ, str(folder))
    settings = folder / host.project.local
    try:
        return _moved(store, host, environ, folder, Moved(settings, "", usual, group))
    except GitmemError as error:
        return Moved(settings, "", usual, group, error.message)


def linked_memory(store: Store, host: Host, environ: Mapping[str, str]) -> dict[str, Moved]:
    """For each folder of HOST that belongs to a link, by its real path: where its notes go.

    A link alone tells that: transcripts, which name the project too, may be gone.
    """
    names, found = store.names(), {}
    for folder, group in Store(store.root).links.items():
        moved = moved_for(store, host, environ, Path(folder), group) if group in names else None
        if moved:
            found[os.path.realpath(moved.own)] = moved
    return found


def _moved(
    store: Store, host: Host, environ: Mapping[str, str], folder: Path, moved: Moved
) -> Moved | None:
    own, group = host.own_memory, moved.group
    assert own is not None
    with closing(Group(store, group, heals=False)) as opened:
        if os.path.realpath(moved.own) == os.path.realpath(opened.worktree):
            return None
        is_own_layout = layout_of(opened).name == own.layout
        inside = own.page if is_own_layout else f"{INSIDE}/{own.page}"
        directory = str((opened.worktree / inside).parent)
        moved = moved._replace(directory=directory)
        if not opened.is_memory(inside):
            return moved._replace(problem=f"{INSIDE}/ is no memory by the layout of group {group}")
        return moved._replace(problem=_users_own(host, environ, folder, directory))


def _users_own(host: Host, environ: Mapping[str, str], folder: Path, directory: str) -> str:
    """What the user has set, and what therefore stays."""
    own = host.own_memory
    assert own is not None
    off = turned_off(host, environ, str(folder))
    if off:
        return f"the memory of {host.title} is off by {off}"
    for path, said in settings_files(host, environ, str(folder)):
        named = said.get(own.directory)
        if named and path != str(folder / host.project.local) and named != directory:
            return f"{path} sets {own.directory} already"
    return ""


def memory_part(host: Host, moved: Moved, ours: Mapping[str, str]) -> Shared:
    """The file that tells the host where to keep memory; what a user put there stays."""
    own = host.own_memory
    assert own is not None
    key = own.directory

    def put(text: str) -> Merged:
        try:
            return _put(text, key, moved, ours)
        except JsonRefused as error:
            said = f"{error.message}; {key} was not put there"
            return Merged(text, (said,), {KIND: dict(ours)} if ours else {})

    return Shared(moved.settings, put, lambda text, before, _: take_memory(text, before, ours))


def _put(text: str, key: str, moved: Moved, ours: Mapping[str, str]) -> Merged:
    if json_edit.is_blank(text):
        return _put("{}\n", key, moved, ours)
    said = json_edit.read(text)
    if not isinstance(said, dict):
        raise JsonRefused("it is no JSON object", hint="mend it by hand; nothing changed")
    if key not in said:
        new = json_edit.insert(text, (), key, moved.directory)
        return Merged(new, given={KIND: moved.given})
    if said[key] in (moved.directory, ours.get(DIRECTORY)):
        if said[key] != moved.directory:
            text = json_edit.replace(text, [key], moved.directory)
        return Merged(text, given={KIND: moved.given} if ours else {})
    return Merged(text, (f"{key} is set to {said[key]} there, which stays",))


def take_memory(text: str, before: str, ours: Mapping[str, Any]) -> str:
    """TEXT without the setting that is OURS; another value is somebody's own."""
    del before
    if json_edit.is_blank(text):
        return text
    said = json_edit.read(text)
    for key in _keys() if isinstance(said, dict) else ():
        if key in said and said[key] == ours.get(DIRECTORY):
            text = json_edit.remove(text, [key])
    return text


def _keys() -> Iterator[str]:
    from gitmem.integrations.hosts.table import HOSTS

    return (each.own_memory.directory for each in HOSTS.values() if each.own_memory)
