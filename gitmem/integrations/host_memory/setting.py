"""Whether somebody wants the host's own memory under history: `install` asks, and remembers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.integrations.host_memory.folders import main_checkout, usual_folder
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.record import Install, installs

CHOICE = "host_memory"
"""The name under which the record keeps the answer."""


def is_wanted(store: str, host: str, project: str) -> bool:
    """Whether the host's own memory in PROJECT belongs under history."""
    return choice_for(store, host, project) is True


def choice_for(store: str, host: str, project: str) -> bool | None:
    """What was chosen for PROJECT, else for the user; None where nobody was asked."""
    return next((found for _, found in _choices(store, host, project)), None)


def is_kept_in(store: str, host: str, project: str) -> bool:
    """Whether PROJECT itself declined: that binds the user's installation, too."""
    scope, found = next(_choices(store, host, project), ("", None))
    return scope == "project" and found is False


def is_kept(store: str, host: Host, environ: Mapping[str, str], folder: Path, project: str) -> bool:
    """Whether FOLDER of HOST is of a project that declined: PROJECT or, if empty, any of them."""
    if project:
        return is_kept_in(store, host.name, project)
    declined = (each.root for each in _rows(store, host.name) if each.scope == "project")
    return any(
        os.path.realpath(usual_folder(host, environ, main_checkout(root)))
        == os.path.realpath(folder)
        for root in declined
        if is_kept_in(store, host.name, root)
    )


def _choices(store: str, host: str, project: str) -> Iterator[tuple[str, bool]]:
    """What was chosen in each scope that counts in PROJECT, the nearest first."""
    # The nearest project decides; every other installation is the user's.
    nearest = sorted(_rows(store, host), key=lambda x: (x.scope != "project", -len(x.root)))
    for each in nearest:
        found = each.choices.get(CHOICE)
        if found is not None and _counts(each, project):
            yield each.scope, found


def is_moved(store: str, host: str, folder: str) -> bool:
    """Whether a setting of ours tells HOST to keep memory in a group, in place of FOLDER."""
    rows = _rows(store, host)
    given = (kinds.get(CHOICE, {}) for each in rows for kinds in each.given.values())
    return any(os.path.realpath(each.get("own", "/")) == folder for each in given)


def _rows(store: str, host: str) -> list[Install]:
    try:
        return [each for each in installs(Path(store)) if each.host == host]
    except GitmemError:  # a record that cannot be read is for the doctor to report
        return []


def _counts(install: Install, project: str) -> bool:
    if install.scope != "project":
        return True
    place, root = os.path.realpath(project), os.path.realpath(install.root)
    return place == root or place.startswith(f"{root}{os.sep}")
