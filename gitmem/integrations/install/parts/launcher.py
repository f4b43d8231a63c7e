"""A `gitmem` in `~/.local/bin`, for who has installed it where no login shell looks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from gitmem.integrations.install.parts.hooks import Merged
from gitmem.integrations.install.shared_files import Shared
from gitmem.integrations.transcripts.readers import home_in

PROGRAM = "program"
_SIGN = "# Put here by `gitmem install`, and removed by `gitmem install --uninstall`."


def launcher_path(environ: Mapping[str, str], path: str) -> Path | None:
    """Where our launcher belongs or is, if a login shell with PATH would find no other gitmem."""
    place = home_in(environ) / ".local" / "bin" / "gitmem"
    found = which("gitmem", path=path)
    if found and not is_launcher(place):
        return None
    is_seen = str(place.parent) in path.split(os.pathsep)
    is_free = not os.path.lexists(place) or is_launcher(place)
    return place if is_seen and is_free else None


def is_launcher(path: Path) -> bool:
    """Whether a file is a launcher of our making."""
    try:
        return not path.is_symlink() and _SIGN in path.read_text("utf-8")
    except (OSError, ValueError):
        return False


def launcher_part(path: Path, words: Sequence[str]) -> Shared:
    """The file that calls the program of WORDS."""
    script = f'#!/bin/sh\n{_SIGN}\nexec {shlex.join(words)} "$@"\n'
    return Shared(
        path,
        lambda text: Merged(script, given={PROGRAM: script}) if _is_ours(text) else Merged(text),
        lambda text, _, __: take_launcher(text),
        is_whole=True,
    )


def take_launcher(text: str, before: str = "", script: object = None) -> str:
    """Nothing, where TEXT is our script."""
    return "" if _is_ours(text) else text


def _is_ours(text: str) -> bool:
    return not text or _SIGN in text
