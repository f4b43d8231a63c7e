"""Whether somebody wants the host's own memory under history: `install` asks, and remembers."""

from __future__ import annotations

import os
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.integrations.install.record import Install, installs

CHOICE = "host_memory"
"""The name under which the record keeps the answer."""


def is_wanted(store: str, host: str, project: str) -> bool:
    """Whether the host's own memory in PROJECT belongs under history."""
    return choice_for(store, host, project) is True


def choice_for(store: str, host: str, project: str) -> bool | None:
    """What was chosen for PROJECT, else for the user; None where nobody was asked."""
    try:
        rows = [each for each in installs(Path(store)) if each.host == host]
    except GitmemError:  # a record that cannot be read is for the doctor to report
        return None
    # The nearest project decides; every other installation is the user's.
    rows.sort(key=lambda each: (each.scope != "project", -len(each.root)))
    for each in rows:
        found = each.choices.get(CHOICE)
        if found is not None and _counts(each, project):
            return found
    return None


def is_moved(store: str, host: str, folder: str) -> bool:
    """Whether a setting of ours tells HOST to keep memory in a group, in place of FOLDER."""
    try:
        rows = [each for each in installs(Path(store)) if each.host == host]
    except GitmemError:
        return False
    given = (kinds.get(CHOICE, {}) for each in rows for kinds in each.given.values())
    return any(os.path.realpath(each.get("own", "/")) == folder for each in given)


def _counts(install: Install, project: str) -> bool:
    if install.scope != "project":
        return True
    place, root = os.path.realpath(project), os.path.realpath(install.root)
    return place == root or place.startswith(f"{root}{os.sep}")
