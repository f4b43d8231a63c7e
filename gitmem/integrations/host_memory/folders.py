"""Where a host keeps the memory that it writes by itself.

Hooks ask this at every turn, so it imports nothing but small parts of the standard library.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from gitmem.integrations.hosts.table import Host

GITFILE = "gitdir: "
MOST = 4096
WITHIN = 2
"""Parts of a path between the folder of all projects and the files of memory."""
LONGEST_NAME = 200
"""Characters of a folder's name that a host takes from a path; a digest follows."""


class Used(NamedTuple):
    """The folder in which a host keeps its own memory for one project."""

    folder: str
    """Nothing where that memory is off, or where no project of this name was opened yet."""
    named_by: str = ""
    """The settings that name this folder, or that turn memory off; nothing for the usual one."""


def home_of(host: Host, environ: Mapping[str, str]) -> str:
    """The folder in which HOST keeps its files."""
    chosen = environ.get(host.home_variable)
    if chosen:
        return os.path.join(chosen, host.home_below) if host.home_below else chosen
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), host.home)


def may_be_own(host: Host, path: str) -> bool:
    """Whether PATH may be in the host's own memory: a look at the text alone."""
    own = host.own_memory
    return own is not None and f"/{own.projects}/" in path and f"/{own.folder}/" in path


def own_folder_at(host: Host, environ: Mapping[str, str], path: str) -> str:
    """The folder of the host's own memory in which PATH is; nothing where it is in none."""
    own = host.own_memory
    if own is None:
        return ""
    root = os.path.join(os.path.realpath(home_of(host, environ)), own.projects)
    place = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    inside = os.path.relpath(place, root).split(os.sep)
    is_own = inside[0] != os.pardir and len(inside) > WITHIN and inside[1] == own.folder
    return os.path.join(root, *inside[:WITHIN]) if is_own else ""


def used_for(host: Host, environ: Mapping[str, str], project: str) -> Used:
    """The folder that HOST uses for sessions in PROJECT: by its settings, else by its name.

    Worktrees and subfolders of a repository use the folder of its main checkout.
    """
    try:
        return _used_for(host, environ, project)
    except ValueError:  # a name that no folder can have: a zero byte, half a character
        return Used("")


def _used_for(host: Host, environ: Mapping[str, str], project: str) -> Used:
    own = host.own_memory
    if own is None:
        return Used("")
    off = turned_off(host, environ, project)
    if off:
        return Used("", off)
    for path, said in settings_files(host, environ, project):
        named = said.get(own.directory)
        if isinstance(named, str) and named and "\0" not in named:
            home = environ.get("HOME") or os.path.expanduser("~")
            place = f"{home}{named[1:]}" if named.startswith("~/") else named
            return Used(os.path.normpath(place), path)
    return Used(usual_folder(host, environ, main_checkout(project)))


def turned_off(host: Host, environ: Mapping[str, str], project: str) -> str:
    """The variable or the settings that turn the memory of HOST off; nothing where it is on."""
    own = host.own_memory
    if own is None or _is_set(environ.get(own.variable)):
        return own.variable if own else ""
    for path, said in settings_files(host, environ, project):
        inherited = said.get("env")
        is_off = isinstance(inherited, dict) and _is_set(inherited.get(own.variable))
        if said.get(own.switch) is False or is_off:
            return path
    return ""


def settings_files(
    host: Host, environ: Mapping[str, str], project: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings of HOST that count in PROJECT, strongest first.

    Those of the main checkout win over those of a folder in it.
    """
    roots = dict.fromkeys((main_checkout(project), os.path.realpath(project)))
    for name in filter(None, (host.project.local, host.project.hooks)):
        for root in roots:
            yield (path := os.path.join(root, name)), _settings(path)
    yield (path := os.path.join(home_of(host, environ), host.user.hooks)), _settings(path)


def usual_folder(host: Host, environ: Mapping[str, str], root: str) -> str:
    """The folder that HOST uses for a project unless its settings name another."""
    own = host.own_memory
    if own is None:
        return ""
    projects = os.path.join(home_of(host, environ), own.projects)
    names = sorted(folder_names(os.path.realpath(root)))
    for name in names:
        if len(name) > LONGEST_NAME:
            found = _beginning(projects, f"{name[:LONGEST_NAME]}-")
            if found:
                return os.path.join(projects, found, own.folder)
    known = (each for each in names if os.path.isdir(os.path.join(projects, each)))
    return os.path.join(projects, next(known, names[0][:LONGEST_NAME]), own.folder)


def folder_names(directory: str) -> set[str]:
    """What the folder of a directory may be called, before anything is cut.

    To JavaScript a character beyond the first 65,536 is two, to Python it is one; both write here.
    """
    if directory.isascii():
        return {_plain(directory)}
    from unicodedata import normalize  # a megabyte that few calls need

    name = normalize("NFC", directory)
    return {_plain(name), _plain("".join("--" if each > "\uffff" else each for each in name))}


def _plain(name: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in name)


def main_checkout(project: str) -> str:
    """The top of the main checkout of the repository around PROJECT; without one PROJECT itself."""
    start = place = os.path.realpath(project)
    while True:
        marker = os.path.join(place, ".git")
        if os.path.isdir(marker):
            return place
        if os.path.isfile(marker):
            return _main_of(place, marker)
        if os.path.dirname(place) == place:
            return start
        place = os.path.dirname(place)


def has_own(project: str) -> bool:
    """Whether hosts keep a memory for PROJECT itself: it is no part of another checkout."""
    return os.path.realpath(project) == main_checkout(project)


def _main_of(place: str, marker: str) -> str:
    """The main checkout that a worktree in PLACE belongs to; a submodule is one of its own."""
    with suppress(OSError, ValueError), open(marker, encoding="utf-8") as file:
        said = file.read(MOST)
        if said.startswith(GITFILE):
            gitdir = os.path.realpath(os.path.join(place, said.removeprefix(GITFILE).strip()))
            folder, common = os.path.split(os.path.dirname(os.path.dirname(gitdir)))
            if os.path.basename(os.path.dirname(gitdir)) == "worktrees" and common == ".git":
                return folder
    return place


def _beginning(folder: str, start: str) -> str:
    with suppress(OSError):
        return next((each for each in sorted(os.listdir(folder)) if each.startswith(start)), "")
    return ""


def _settings(path: str) -> dict[str, Any]:
    """What a JSON file says; nothing where its host cannot read it, either."""
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        found = json.loads(file.read().decode("utf-8-sig"))
        return found if isinstance(found, dict) else {}
    return {}


def _is_set(value: object) -> bool:
    return str(value or "").lower() not in ("", "0", "false", "no", "off")
