"""A `gitmem` in `~/.local/bin`, for a gitmem that is installed where no login shell looks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from shutil import which

from gitmem.integrations.install.part import FilePart, PartAdded
from gitmem.integrations.transcripts.readers import home_in

PROGRAM = "program"
_SIGN = "# Put here by `gitmem install`, and removed by `gitmem install --uninstall`."


def launcher_path(environ: Mapping[str, str], path: str) -> Path | None:
    """The path for our launcher, if a login shell with PATH finds no other gitmem; else None."""
    launcher = home_in(environ) / ".local" / "bin" / "gitmem"
    is_ours = _is_launcher(launcher)
    if which("gitmem", path=path) and not is_ours:
        return None
    is_on_path = str(launcher.parent) in path.split(os.pathsep)
    is_free = is_ours or not os.path.lexists(launcher)
    return launcher if is_on_path and is_free else None


def _is_launcher(path: Path) -> bool:
    try:
        return not path.is_symlink() and _SIGN in path.read_text("utf-8")
    except (OSError, ValueError):
        return False


def launcher_part(path: Path, words: Sequence[str]) -> FilePart:
    """The script at PATH that calls the program of WORDS."""
    script = f'#!/bin/sh\n{_SIGN}\nexec {shlex.join(words)} "$@"\n'

    def put(text: str) -> PartAdded:
        return PartAdded(text) if take_launcher(text) else PartAdded(script, (), {PROGRAM: script})

    return FilePart(path, put, take_launcher, is_whole=True)


def take_launcher(text: str, *_: object) -> str:
    """Nothing where TEXT is our script, else TEXT."""
    return "" if _SIGN in text else text
