"""The environment that a host has when it was not started from the shell of this moment.

A virtual environment that is active now is on PATH now, and in no shell that a desktop starts.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping

PATIENCE = 10.0
"""Seconds within which a login shell has read its profile."""
_MARK = "gitmem-login-path:"
# The child of a shell has PATH with colons, whatever the shell itself makes of it.
_TELL = f"""/bin/sh -c 'printf "\\n%s%s\\n" {_MARK} "$PATH"'"""
_KEPT = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


def login_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """What a program gets that a login shell starts; PATH of this moment where that fails."""
    bare = {name: environ[name] for name in _KEPT if environ.get(name)}
    shell = environ.get("SHELL") or "/bin/sh"
    found = ""
    try:
        done = subprocess.run(
            [shell, "-lc", _TELL],
            env={**bare, "TERM": "dumb"},
            capture_output=True,
            timeout=PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        # A profile may print something of its own, before or after.
        lines = os.fsdecode(done.stdout).splitlines()
        found = next((x for x in reversed(lines) if x.startswith(_MARK)), "")
    except (OSError, subprocess.TimeoutExpired):
        pass
    return {**bare, "PATH": found.removeprefix(_MARK) or environ.get("PATH", os.defpath)}
