"""The environment of a machine that nobody has ever configured."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PERSONAL_PREFIXES = ("CLAUDE", "CODEX", "GITMEM_", "GIT_", "XDG_")
PERSONAL_NAMES = frozenset(
    {
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLUMNS",
        "EDITOR",
        "EMAIL",
        "FORCE_COLOR",
        "LANGUAGE",
        "LINES",
        "NO_COLOR",
        "PAGER",
        "TZ",
        "VISUAL",
    }
)


def is_personal(name: str) -> bool:
    """Whether the variable NAME says something about the person who runs the tests."""
    return name in PERSONAL_NAMES or name.startswith(PERSONAL_PREFIXES)


def sealed(environ: Mapping[str, str], *, home: Path) -> dict[str, str]:
    """Return ENVIRON without its owner: no settings, no identity, and HOME as the home folder."""
    kept = {name: value for name, value in environ.items() if not is_personal(name)}
    return kept | {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        # A busy machine makes a hook late, and a late hook says nothing.
        "GITMEM_HOOK_SECONDS": "0",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
