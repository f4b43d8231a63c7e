"""The paths of the memory tool: `/memories` is the root of the group, and there is no way out."""

from __future__ import annotations

import os
from pathlib import Path

from gitmem.errors import PathRefused, Refused
from gitmem.model.paths import check_path

ROOT = "/memories"
ESCAPES = ("absolute", "backslash", "encoded-traversal")
"""Rules of the path grammar that are about ways out."""


class NotDone(Refused):
    """What the model is told instead of an answer; the message is all of it."""

    code = "memory-tool"


def inside(path: str) -> str:
    """PATH as the group names it, empty for the root; refused if it leads elsewhere."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise NotDone(f"Path must start with {ROOT}, got: {path}")
    relative = path.removeprefix(ROOT).strip("/")
    try:
        return check_path(relative) if relative else ""
    except PathRefused as error:
        if error.facts["rule"] in ESCAPES or "/.." in f"/{relative}":
            raise NotDone(f"Path {path} would escape {ROOT} directory") from error
        raise


def check_links(worktree: Path, path: str, given: str) -> None:
    """Refuse a path at or below a link. Writes follow none anyway, but they would set it aside."""
    parts = path.split("/") if path else []
    for end in range(1, len(parts) + 1):
        if os.path.islink(worktree.joinpath(*parts[:end])):
            raise NotDone(f"Path {given} would escape {ROOT} directory via symlink")
