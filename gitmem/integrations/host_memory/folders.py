"""The folder in which a host keeps the memory that it writes by itself.

Hooks call this at every turn, so it imports only small parts of the standard library.
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
"""Names in a path between the folder of all projects and the files of memory."""
LONGEST_NAME = 200
"""Characters of a path that a host uses for a folder's name; a digest follows."""


class Used(NamedTuple):
    """The folder in which a host keeps its own memory for one project."""

    folder: str
    """Empty where that memory is off."""
    named_by: str = ""
    """The settings that name this folder, or turn memory off; empty for the usual folder."""


def home_of(host: Host, environ: Mapping[str, str]) -> str:
    """The folder in which HOST keeps its files."""
    chosen = environ.get(host.home_variable)
    if chosen:
        return os.path.join(chosen, host.home_below) if host.home_below else chosen
    return os.path.join(environ.get("HOME") or os.path.expanduser("~"), host.home)


def may_be_own(host: Host, path: str) -> bool:
    """Whether PATH may be in the host's own memory, by its text alone."""
    own = host.own_memory
    return own is not None and f"/{own.projects}/" in path and f"/{own.folder}/" in path


def own_folder_at(host: Host, environ: Mapping[str, str], path: str) -> str:
    """The folder of the host's own memory that contains PATH; empty for none."""
    own = host.own_memory
    if own is None:
        return ""
    root = os.path.join(os.path.realpath(home_of(host, environ)), own.projects)
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    inside = os.path.relpath(real, root).split(os.sep)
    is_own = inside[0] != os.pardir and len(inside) > WITHIN and inside[1] == own.folder
    return os.path.join(root, *inside[:WITHIN]) if is_own else ""


def used_for(host: Host, environ: Mapping[str, str], project: str) -> Used:
    """The folder that HOST uses for sessions in PROJECT: by its settings, else by its name.

    Worktrees and subfolders of a repository use the folder of its main checkout.
    """
    try:
        return _used_for(host, environ, project)
    except ValueError:  # an impossible name: a zero byte, half a character
        return Used("")


def _used_for(host: Host, environ: Mapping[str, str], project: str) -> Used:
    own = host.own_memory
    if own is None:
        return Used("")
    off = turned_off(host, environ, project)
    if off:
        return Used("", off)
    for path, settings in settings_files(host, environ, project):
        named = settings.get(own.directory)
        if isinstance(named, str) and named and "\0" not in named:
            home = environ.get("HOME") or os.path.expanduser("~")
            folder = f"{home}{named[1:]}" if named.startswith("~/") else named
            return Used(os.path.normpath(folder), path)
    return Used(usual_folder(host, environ, main_checkout(project)))


def turned_off(host: Host, environ: Mapping[str, str], project: str) -> str:
    """The variable or the settings that turn the memory of HOST off; empty where it is on."""
    own = host.own_memory
    if own is None or _is_set(environ.get(own.variable)):
        return own.variable if own else ""
    for path, settings in settings_files(host, environ, project):
        inherited = settings.get("env")
        is_off = isinstance(inherited, dict) and _is_set(inherited.get(own.variable))
        if settings.get(own.switch) is False or is_off:
            return path
    return ""


def settings_files(
    host: Host, environ: Mapping[str, str], project: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings of HOST that apply to PROJECT, the strongest first.

    Those of the main checkout override those of a folder in it.
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
    """The possible names of the folder for DIRECTORY, before they are cut.

    For JavaScript a character beyond the first 65,536 is two, for Python it is one.
    """
    if directory.isascii():
        return {_plain(directory)}
    from unicodedata import normalize  # 1 MB that few calls need

    name = normalize("NFC", directory)
    return {_plain(name), _plain("".join("--" if each > "\uffff" else each for each in name))}


def _plain(name: str) -> str:
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in name)


def main_checkout(project: str) -> str:
    """The top of the main checkout of the repository around PROJECT; without one PROJECT itself."""
    start = folder = os.path.realpath(project)
    while True:
        marker = os.path.join(folder, ".git")
        if os.path.isdir(marker):
            return folder
        if os.path.isfile(marker):
            return _main_of(folder, marker)
        if os.path.dirname(folder) == folder:
            return start
        folder = os.path.dirname(folder)


def has_own(project: str) -> bool:
    """Whether hosts keep a memory for PROJECT itself, which is not inside another checkout."""
    return os.path.realpath(project) == main_checkout(project)


def _main_of(folder: str, marker: str) -> str:
    """The main checkout of the worktree in FOLDER; a submodule is its own checkout."""
    with suppress(OSError, ValueError), open(marker, encoding="utf-8") as file:
        text = file.read(MOST)
        if text.startswith(GITFILE):
            gitdir = os.path.realpath(os.path.join(folder, text.removeprefix(GITFILE).strip()))
            main, common = os.path.split(os.path.dirname(os.path.dirname(gitdir)))
            if os.path.basename(os.path.dirname(gitdir)) == "worktrees" and common == ".git":
                return main
    return folder


def _beginning(folder: str, start: str) -> str:
    with suppress(OSError):
        return next((each for each in sorted(os.listdir(folder)) if each.startswith(start)), "")
    return ""


def _settings(path: str) -> dict[str, Any]:
    """The object in a JSON file; empty where its host cannot read it, either."""
    with suppress(OSError, ValueError, RecursionError), open(path, "rb") as file:
        found = json.loads(file.read().decode("utf-8-sig"))
        return found if isinstance(found, dict) else {}
    return {}


def _is_set(value: object) -> bool:
    return str(value or "").lower() not in ("", "0", "false", "no", "off")
