"""The setting that makes a host keep its own memory for a linked folder in the folder's group.

A link in place of the host's own folder would not do: Claude Code then denies every write there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import GitmemError, JsonRefused
from gitmem.integrations.host_memory.choices import CHOICE
from gitmem.integrations.host_memory.folders import (
    has_own,
    settings_files,
    turned_off,
    usual_folder,
)
from gitmem.integrations.hosts.table import HOSTS, Host, OwnMemory
from gitmem.integrations.install.host_files import read_json
from gitmem.integrations.install.part import FilePart, PartAdded
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_of
from gitmem.model.text import json_edit
from gitmem.model.text.json_edit import wrong_kind

DIRECTORY, OWN, GROUP = "directory", "own", "group"
_INSIDE = "memory"
"""The folder for the host's memory in a group of another layout."""


class MemoryRedirect(NamedTuple):
    """A linked folder whose host is to keep its memory in the folder's group."""

    settings: Path
    directory: str
    """The folder in the group's work tree; empty where it is unknown."""
    own: str
    """The folder that the host would use."""
    group: str
    problem: str = ""
    """Why the memory stays where it is."""

    @property
    def given(self) -> dict[str, str]:
        """What the record keeps of it."""
        return {DIRECTORY: self.directory, OWN: self.own, GROUP: self.group}


def redirect_for(
    store: Store, host: Host, environ: Mapping[str, str], folder: Path, group: str
) -> MemoryRedirect | None:
    """The redirect of HOST's memory for FOLDER into GROUP; None where none is needed.

    A worktree or a subfolder has no memory of its own: its host uses that of the repository,
    whatever group its sessions use.
    """
    own = host.own_memory
    if own is None or not host.project.local or not has_own(str(folder)):
        return None
    usual = usual_folder(host, environ, str(folder))
    redirect = MemoryRedirect(folder / host.project.local, "", usual, group)
    try:
        with closing(Group(store, group, heals=False)) as opened:
            if os.path.realpath(usual) == os.path.realpath(opened.worktree):
                return None
            is_own_layout = layout_of(opened).name == own.layout
            page = own.page if is_own_layout else f"{_INSIDE}/{own.page}"
            directory = str((opened.worktree / page).parent)
            problem = f"the layout of group {group} does not include {_INSIDE}/"
            if opened.is_memory(page):
                problem = _set_by_user(host, own, environ, folder, directory)
            return redirect._replace(directory=directory, problem=problem)
    except GitmemError as error:
        return redirect._replace(problem=error.message)


def linked_redirects(
    store: Store, host: Host, environ: Mapping[str, str]
) -> dict[str, MemoryRedirect]:
    """The redirect of each linked folder, by the real path of the host's own folder.

    Only links are read: transcripts, which name the project too, may be gone.
    """
    names, found = store.names(), {}
    for folder, group in Store(store.root).links.items():
        redirect = (
            redirect_for(store, host, environ, Path(folder), group) if group in names else None
        )
        if redirect:
            found[os.path.realpath(redirect.own)] = redirect
    return found


def _set_by_user(
    host: Host, own: OwnMemory, environ: Mapping[str, str], folder: Path, directory: str
) -> str:
    """The setting of the user that forbids the redirect to DIRECTORY; empty for none."""
    off = turned_off(host, environ, str(folder))
    if off:
        return f"{off} turns the memory of {host.title} off"
    for path, settings in settings_files(host, environ, str(folder)):
        named = settings.get(own.directory)
        if named and path != str(folder / host.project.local) and named != directory:
            return f"{path} sets {own.directory} already"
    return ""


def memory_part(host: Host, redirect: MemoryRedirect, ours: Mapping[str, str]) -> FilePart:
    """The settings that redirect the memory of HOST; a value of the user's stays."""
    key = host.own_memory.directory if host.own_memory else ""

    def put(text: str) -> PartAdded:
        try:
            return _put(text, key, redirect, ours)
        except JsonRefused as error:
            remark = f"{error.message}; {key} was not added"
            return PartAdded(text, (remark,), {CHOICE: dict(ours)} if ours else {})

    return FilePart(redirect.settings, put, lambda text, *_: take_memory(text, "", ours))


def _put(text: str, key: str, redirect: MemoryRedirect, ours: Mapping[str, str]) -> PartAdded:
    text = "{}\n" if json_edit.is_blank(text) else text
    settings = json_edit.read(text)
    if not isinstance(settings, dict):
        raise wrong_kind(settings, dict, ())
    given, directory = {CHOICE: redirect.given}, redirect.directory
    if key not in settings:
        return PartAdded(json_edit.insert(text, (), key, directory), (), given)
    if settings[key] in (directory, ours.get(DIRECTORY)):
        if settings[key] != directory:
            text = json_edit.replace(text, [key], directory)
        return PartAdded(text, (), given if ours else {})
    return PartAdded(text, (f"{key} is {settings[key]!r} there, which stays",))


def take_memory(text: str, _: str, ours: Mapping[str, Any]) -> str:
    """TEXT without the setting that is OURS; another value is the user's own."""
    settings = read_json(text)
    keys = (each.own_memory.directory for each in HOSTS.values() if each.own_memory)
    for key in keys if isinstance(settings, dict) else ():
        if key in settings and settings[key] == ours.get(DIRECTORY):
            text = json_edit.remove(text, [key])
    return text
