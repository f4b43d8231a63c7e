"""Linked project folders: what a host gets for each, and folders that were moved or are missing.

A disk that is not mounted looks like a folder that was renamed: the folder is missing. Its settings
still redirect the host's memory into a group, so nothing about it is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.errors import BadInput, GitmemError
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.choices import CHOICE, is_declined_in
from gitmem.integrations.host_memory.folders import main_checkout, usual_folder
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.host_files import PROJECT, USER, HostFiles, settings_in, texts_in
from gitmem.integrations.install.parts.host_memory import (
    DIRECTORY,
    GROUP,
    OWN,
    MemoryRedirect,
    redirect_for,
)
from gitmem.integrations.install.parts.permissions import (
    ALLOW,
    PERMISSIONS,
    command_rules,
    folder_rules,
    server_rules,
    skill_rules,
)
from gitmem.integrations.install.record import Install
from gitmem.integrations.install.skills import SKILL, shipped_folder, skill_files
from gitmem.memory.admin.groups import finish_rename
from gitmem.memory.admin.link import links
from gitmem.memory.group import Group, Store
from gitmem.model.access import MAIN
from gitmem.model.hints import Hint, call


class LinkedFolder(NamedTuple):
    """A project folder, and the group that sessions in it use."""

    folder: Path
    group: str
    worktree: Path
    gitdir: Path


class Linking(NamedTuple):
    """The linked folders that one installation covers, and what they get."""

    where: HostFiles
    store: Path
    own: LinkedFolder
    """The folder of the installation itself, with the group of folders without a link."""
    folders: tuple[LinkedFolder, ...] = ()
    """The linked folders; none where the installation is for one project only."""
    permissions: bool = True
    skills: tuple[str, ...] = ()
    """Our skills that load there."""
    mcp: bool = False
    """Whether our MCP server is configured."""
    is_plugin: bool = False
    """Whether a plugin brings the skills and the server."""
    memory: tuple[MemoryRedirect, ...] = ()
    """The folders whose host is to keep its own memory in their group."""

    @property
    def projects(self) -> list[Path]:
        """The folders whose files may be shared with others."""
        own = [self.own.folder] if self.where.scope == PROJECT else []
        return [*own, *(each.folder for each in self.folders)]

    def without(self, failed: Mapping[str, str]) -> Linking:
        """The same without the redirects that FAILED, by their settings, each with the reason."""
        memory = (
            each._replace(problem=failed[str(each.settings)], directory="")
            if str(each.settings) in failed
            else each
            for each in self.memory
        )
        return self._replace(memory=tuple(memory))

    def rules(self) -> Iterator[tuple[Path, tuple[str, ...]]]:
        """The permission rules that each file needs."""
        name = HOSTS[self.where.host].project.rules
        if self.where.rules:
            skills = skill_rules(self.skills, is_plugin=self.is_plugin)
            is_served = self.mcp or self.is_plugin
            servers = server_rules(is_plugin=self.is_plugin) if is_served else ()
            files = folder_rules(self.own.worktree)
            yield self.where.rules, (*command_rules(), *skills, *servers, *files)
        for each in self.folders if name else ():
            yield each.folder / name, folder_rules(each.worktree)

    def roots(self) -> tuple[str, ...]:
        """The folders that a write to any of the groups changes."""
        found = (self.own, *self.folders)
        return tuple(dict.fromkeys(str(x) for each in found for x in (each.worktree, each.gitdir)))

    def not_redirected(self) -> Iterator[str]:
        """The folders whose host keeps its memory where it is, and why."""
        for each in self.memory:
            if each.problem:
                folder = each.settings.parent.parent
                what = f"the host's own memory of {folder} is not in group {each.group}"
                yield Hint(what, ": ", each.problem)


def linking_of(
    store: Store,
    where: HostFiles,
    known: Install,
    group: str = "",
    *,
    is_plugin: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Linking:
    """The links that the installation in WHERE covers, with the choices in KNOWN.

    GROUP is that of the project, or of all folders without a link; by default the recorded one.
    With ENVIRON, redirects of the host's own memory are included if the user chose them.
    """
    rows = _links(store) if where.scope == USER else ()
    folders = tuple(
        _linked_folder(store, Path(each.folder), each.group)
        for each in rows
        if each.exists and os.path.isdir(each.folder)
    )
    linking = Linking(
        where,
        store.root,
        _linked_folder(store, where.root, group or _group_of(store, where, known)),
        folders,
        known.choices.get(PERMISSIONS, True),
        skill_names(skill_files(shipped_folder(), where.host) if is_plugin else known.skills),
        known.mcp is not None or known.choices.get("mcp", False),
        is_plugin,
    )
    if environ is None or not known.choices.get(CHOICE):
        return linking
    return linking._replace(memory=tuple(_redirects(store, linking, environ)))


def _links(store: Store) -> Iterable[Any]:
    """The links as they are now; a group that was being renamed gets its new name first."""
    for name in set(Store(store.root).links.values()):
        finish_rename(store, name)
    return links(Store(store.root))


def _group_of(store: Store, where: HostFiles, known: Install) -> str:
    linked = Store(store.root).linked(str(where.root)) if where.scope == PROJECT else ""
    return linked or (known.group if known.group in store.names() else MAIN)


def _redirects(
    store: Store, linking: Linking, environ: Mapping[str, str]
) -> Iterator[MemoryRedirect]:
    where, folders = linking.where, linking.folders
    if where.scope == PROJECT:
        is_linked_there = Store(store.root).linked(str(where.root)) == linking.own.group
        folders = (linking.own,) if is_linked_there else ()
    for each in folders:
        if where.scope == USER and is_declined_in(str(store.root), where.host, str(each.folder)):
            continue
        redirect = redirect_for(store, HOSTS[where.host], environ, each.folder, each.group)
        if redirect:
            yield redirect


def skill_names(given: Iterable[str]) -> tuple[str, ...]:
    """The skills among the files GIVEN."""
    ours = (each.rpartition("/") for each in sorted(given))
    return tuple(folder for folder, _, name in ours if name == SKILL)


def _linked_folder(store: Store, folder: Path, group: str) -> LinkedFolder:
    worktree = store.default_worktree(group)
    # A damaged or missing group has the usual work tree.
    with suppress(GitmemError), closing(Group(store, group, heals=False)) as opened:
        worktree = opened.worktree
    return LinkedFolder(folder, group, worktree, store.gitdir(group))


def project_at(path: str, host: str) -> str:
    """The project whose own settings of HOST are at PATH; empty where it is another file."""
    files = HOSTS[host].project
    ends = (f"/{name}" for name in (files.local, files.rules) if name)
    return next((path.removesuffix(end) for end in ends if path.endswith(end)), "")


def missing_projects(known: Install) -> list[str]:
    """The projects that have settings of ours by the record, and whose folder is missing."""
    found = dict.fromkeys(project_at(path, known.host) for path in known.given)
    return [each for each in found if each and not os.path.isdir(each)]


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether PATH is in one of FOLDERS."""
    return any(path.startswith(f"{each}/") for each in folders)


def is_linked(store: Store, project: str) -> bool:
    """Whether PROJECT itself has a link; True where the configuration is unreadable."""
    try:
        return project in Store(store.root).links
    except BadInput:
        return True


def _linked_folders(store: Store) -> list[str]:
    """The linked folders; none where the configuration is unreadable."""
    try:
        return [*Store(store.root).links]
    except BadInput:
        return []


def missing_reported(store: Store, known: Install) -> tuple[dict[str, str], list[str]]:
    """For each linked project that is missing, why it keeps our part; and remarks on the others."""
    left: dict[str, str] = {}
    remarks: list[str] = []
    again = call("install", known.host, uninstall=True)
    for project in missing_projects(known):
        files = ", ".join(each for each in known.given if project_at(each, known.host) == project)
        if is_linked(store, project):
            left[project] = Hint(
                f"no folder {project}: {files} still has settings of gitmem; run ",
                again,
                " again when the folder is back, or first ",
                call("link", project, remove=True),
                " if it is gone for good",
            )
        else:
            back = f"no folder {project}: if it comes back, run "
            remarks.append(Hint(back, again, f" again for {files}"))
    return left, remarks


def followed(
    store: Store, known: Install, environ: Mapping[str, str], *more: Path | str
) -> Install:
    """KNOWN with new paths for projects that were moved: to a linked folder, or to one of MORE."""
    missing = missing_projects(known)
    folders = [*_linked_folders(store), *map(os.path.realpath, more)] if missing else []
    for old in missing:
        new = next((each for each in folders if _came_from(known, old, each)), "")
        known = _renamed(known, old, new, environ) if new else known
    return known


def _came_from(known: Install, old: str, new: str) -> bool:
    """Whether the settings in NEW are those recorded for OLD, and not recorded for NEW."""
    if not os.path.isdir(new):
        return False
    for path, given in known.given.items():
        if project_at(path, known.host) == old:
            moved = f"{new}{path.removeprefix(old)}"
            if moved in known.given or not _has_given(Path(moved), known.host, given):
                return False
    return True


def _has_given(path: Path, host: str, given: Mapping[str, Any]) -> bool:
    directory = given.get(CHOICE, {}).get(DIRECTORY)
    rules = given.get(ALLOW, [])
    is_same = not directory or _directory_in(path, host) == directory
    return is_same and bool(directory or rules) and set(rules) <= set(_rules_in(path))


def _renamed(known: Install, old: str, new: str, environ: Mapping[str, str]) -> Install:
    def moved(path: str) -> str:
        return f"{new}{path.removeprefix(old)}" if is_inside(path, [old]) else path

    own = usual_folder(HOSTS[known.host], environ, new)
    given = {}
    for path, kinds in known.given.items():
        has_own = moved(path) != path and CHOICE in kinds
        given[moved(path)] = {**kinds, CHOICE: {**kinds[CHOICE], OWN: own}} if has_own else kinds
    files = {moved(path): record for path, record in known.files.items()}
    return known._replace(given=given, files=files, folders=tuple(map(moved, known.folders)))


def found_given(
    store: Store, host: str, environ: Mapping[str, str], project: Path
) -> dict[str, dict[str, Any]]:
    """What in settings of PROJECT and of linked folders is ours, where the record is lost.

    A directory or a rule in the store is ours: no other program has a reason to name it there.
    """
    local = HOSTS[host].project.local
    here = (os.path.realpath(project), main_checkout(str(project)))
    found: dict[str, dict[str, Any]] = {}
    for folder in dict.fromkeys((*_linked_folders(store), *here)) if local else ():
        path = Path(folder, local)
        kinds = dict(_kinds_in(store, path, host, environ))
        found |= {str(path): kinds} if kinds else {}
    return found


def _kinds_in(
    store: Store, path: Path, host: str, environ: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    roots = {str(store.root), os.path.realpath(store.root)}
    directory = _directory_in(path, host)
    if is_inside(directory, roots):
        own = usual_folder(HOSTS[host], environ, project_at(str(path), host))
        group = group_at(os.path.join(directory, "x"), str(store.root))
        yield CHOICE, {DIRECTORY: directory, OWN: own, GROUP: group}
    starts = tuple(f"{tool}(/{root}/" for tool in ("Read", "Edit") for root in roots)
    rules = [each for each in _rules_in(path) if each.startswith(starts)]
    if rules:
        yield ALLOW, rules


def _directory_in(path: Path, host: str) -> str:
    own = HOSTS[host].own_memory
    found = settings_in(path).get(own.directory) if own else None
    return found if isinstance(found, str) else ""


def _rules_in(path: Path) -> list[str]:
    return texts_in(settings_in(path).get(PERMISSIONS), ALLOW)
