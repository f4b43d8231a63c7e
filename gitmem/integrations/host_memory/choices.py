"""Whether the user chose to put the host's own memory under version control, by the record."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.integrations.host_memory.folders import main_checkout, usual_folder
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.record import Install, installs

CHOICE = "host_memory"
"""The key of the choice in the record, and of the redirects that follow from it."""


def is_chosen(store: str, host: str, project: str) -> bool:
    """Whether the user chose to put the host's own memory in PROJECT under version control."""
    return choice_for(store, host, project) is True


def choice_for(store: str, host: str, project: str) -> bool | None:
    """The choice for PROJECT, else that of the user; None where neither is recorded."""
    return next((found for _, found in _choices(store, host, project)), None)


def is_declined_in(store: str, host: str, project: str) -> bool:
    """Whether PROJECT itself declined, which the user's installation obeys, too."""
    scope, found = next(_choices(store, host, project), ("", None))
    return scope == "project" and found is False


def is_declined(
    store: str, host: Host, environ: Mapping[str, str], folder: Path, project: str
) -> bool:
    """Whether the project of FOLDER declined: PROJECT or, if that is empty, any project."""
    if project:
        return is_declined_in(store, host.name, project)
    declined = (each.root for each in _rows(store, host.name) if each.scope == "project")
    return any(
        os.path.realpath(usual_folder(host, environ, main_checkout(root)))
        == os.path.realpath(folder)
        for root in declined
        if is_declined_in(store, host.name, root)
    )


def _choices(store: str, host: str, project: str) -> Iterator[tuple[str, bool]]:
    """The choice in each scope that applies to PROJECT, the nearest first."""
    nearest = sorted(_rows(store, host), key=lambda x: (x.scope != "project", -len(x.root)))
    for each in nearest:
        found = each.choices.get(CHOICE)
        if found is not None and _applies(each, project):
            yield each.scope, found


def is_redirected(store: str, host: str, folder: str) -> bool:
    """Whether a setting of ours makes HOST keep memory in a group, in place of FOLDER."""
    rows = _rows(store, host)
    given = (kinds.get(CHOICE, {}) for each in rows for kinds in each.given.values())
    return any(os.path.realpath(each.get("own", "/")) == folder for each in given)


def _rows(store: str, host: str) -> list[Install]:
    try:
        return [each for each in installs(Path(store)) if each.host == host]
    except GitmemError:  # the doctor reports an unreadable record
        return []


def _applies(install: Install, project: str) -> bool:
    if install.scope != "project":
        return True
    folder, root = os.path.realpath(project), os.path.realpath(install.root)
    return folder == root or folder.startswith(f"{root}{os.sep}")
