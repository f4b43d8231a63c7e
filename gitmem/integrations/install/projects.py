"""Linked projects whose settings are not where the record says: moved, away, or without a record.

A disk that is not mounted, and a folder that was renamed, look alike: the folder is missing. Its
settings still send the host's memory into a group, so nothing about it may be forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from gitmem.errors import BadInput
from gitmem.integrations.hooks.groups import group_at
from gitmem.integrations.host_memory.folders import main_checkout, usual_folder
from gitmem.integrations.hosts.table import HOSTS
from gitmem.integrations.install.parts.host_memory import DIRECTORY, GROUP, KIND, OWN
from gitmem.integrations.install.parts.permissions import ALLOW, PERMISSIONS
from gitmem.integrations.install.parts.settings import settings_in
from gitmem.integrations.install.record import Install
from gitmem.memory.group import Store
from gitmem.model.text.format import quoted


def project_at(path: str, host: str) -> str:
    """The project whose own settings of HOST are at PATH; nothing where it is another file."""
    files = HOSTS[host].project
    ends = (f"/{name}" for name in (files.local, files.rules) if name)
    return next((path.removesuffix(end) for end in ends if path.endswith(end)), "")


def missing_projects(known: Install) -> list[str]:
    """The projects that have settings of ours by the record, and that are not there now."""
    found = dict.fromkeys(project_at(path, known.host) for path in known.given)
    return [each for each in found if each and not os.path.isdir(each)]


def is_inside(path: str, folders: Iterable[str]) -> bool:
    """Whether PATH is in one of FOLDERS."""
    return any(path.startswith(f"{each}/") for each in folders)


def is_linked(store: Store, project: str) -> bool:
    """Whether PROJECT itself has a link; where nobody can tell, it has one."""
    try:
        return project in Store(store.root).links
    except BadInput:  # a config.yaml that nobody can read
        return True


def missing_told(store: Store, known: Install) -> tuple[dict[str, str], list[str]]:
    """For each linked project that is missing, why it keeps our part; and remarks on the others."""
    left, remarks = {}, []
    again = f"`gitmem install {known.host} --uninstall`"
    for project in missing_projects(known):
        files = ", ".join(each for each in known.given if project_at(each, known.host) == project)
        if is_linked(store, project):
            forget = f"`gitmem link {quoted(project)} --remove` first if it is gone for good"
            left[project] = (
                f"no folder {project}: {files} still has settings of gitmem; run {again} again "
                f"when the folder is back, or {forget}"
            )
        else:
            remarks.append(f"no folder {project}: if it comes back, run {again} again for {files}")
    return left, remarks


def followed(
    store: Store, known: Install, environ: Mapping[str, str], *more: Path | str
) -> Install:
    """KNOWN with new paths for projects that were moved: to a linked folder, or to one of MORE."""
    missing = missing_projects(known)
    if not missing:
        return known
    try:
        folders = [*Store(store.root).links, *map(os.path.realpath, more)]
    except BadInput:
        folders = [*map(os.path.realpath, more)]
    for old in missing:
        new = next((each for each in folders if _came_from(known, old, each)), "")
        known = _renamed(known, old, new, environ) if new else known
    return known


def _came_from(known: Install, old: str, new: str) -> bool:
    """Whether the settings in NEW are those that were put into OLD, and not recorded as its own."""
    if not os.path.isdir(new):
        return False
    for path, given in known.given.items():
        if project_at(path, known.host) == old:
            place = f"{new}{path.removeprefix(old)}"
            if place in known.given or not _holds(Path(place), known.host, given):
                return False
    return True


def _holds(path: Path, host: str, given: Mapping[str, Any]) -> bool:
    directory = given.get(KIND, {}).get(DIRECTORY)
    rules = given.get(ALLOW, [])
    is_same = not directory or _directory_in(path, host) == directory
    return is_same and bool(directory or rules) and set(rules) <= set(_rules_in(path))


def _renamed(known: Install, old: str, new: str, environ: Mapping[str, str]) -> Install:
    def place(path: str) -> str:
        return f"{new}{path.removeprefix(old)}" if is_inside(path, [old]) else path

    own = usual_folder(HOSTS[known.host], environ, new)
    given = {}
    for path, kinds in known.given.items():
        is_moved = place(path) != path and KIND in kinds
        given[place(path)] = {**kinds, KIND: {**kinds[KIND], OWN: own}} if is_moved else kinds
    files = {place(path): kept for path, kept in known.files.items()}
    return known._replace(given=given, files=files, folders=tuple(map(place, known.folders)))


def found_given(
    store: Store, host: str, environ: Mapping[str, str], project: Path
) -> dict[str, dict[str, Any]]:
    """What settings of PROJECT and of linked folders have of ours, where the record is lost.

    A directory or a rule in the store is ours: nothing else has a reason to name it there.
    """
    local = HOSTS[host].project.local
    try:
        folders = [*Store(store.root).links]
    except BadInput:
        folders = []
    found: dict[str, dict[str, Any]] = {}
    for folder in dict.fromkeys((*folders, os.path.realpath(project), main_checkout(str(project)))):
        path = Path(folder, local)
        kinds = dict(_kinds_in(store, path, host, environ)) if local else {}
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
        yield KIND, {DIRECTORY: directory, OWN: own, GROUP: group}
    starts = tuple(f"{tool}(/{root}/" for tool in ("Read", "Edit") for root in roots)
    rules = [each for each in _rules_in(path) if each.startswith(starts)]
    if rules:
        yield ALLOW, rules


def _directory_in(path: Path, host: str) -> str:
    own = HOSTS[host].own_memory
    found = settings_in(path).get(own.directory) if own else None
    return found if isinstance(found, str) else ""


def _rules_in(path: Path) -> list[str]:
    rules = settings_in(path).get(PERMISSIONS)
    found = rules.get(ALLOW) if isinstance(rules, dict) else None
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
