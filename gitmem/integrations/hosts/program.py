"""How hosts and shells call the gitmem that runs now.

A hook that starts a process imports this, so heavier modules are imported where they are used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

LOGIN_SECONDS = 10.0
"""Seconds within which a login shell has read its profile."""
_MARK = "gitmem-login-path:"
# The child of a shell has PATH with colons, whatever the shell itself makes of it.
_PRINT_PATH = f"""/bin/sh -c 'printf "\\n%s%s\\n" {_MARK} "$PATH"'"""
_INHERITED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "XDG_DATA_HOME", "XDG_CONFIG_HOME")


class Program(NamedTuple):
    """The words with which a host calls this gitmem."""

    words: tuple[str, ...]
    store: str = ""
    """The store that each call names; empty where gitmem finds it by itself."""
    path: tuple[str, ...] = ()
    """The words that work with any PATH."""

    @property
    def is_portable(self) -> bool:
        """Whether the same words work on another machine."""
        return self.words == ("gitmem",) and not self.store

    @property
    def call(self) -> tuple[str, ...]:
        """The words with which every call begins."""
        return (*self.words, "--store", self.store) if self.store else self.words

    def line(self, command: str) -> str:
        """COMMAND, which begins with `gitmem`, as a line for a shell."""
        from shlex import join

        return join(self.call) + command.removeprefix("gitmem")


def own_program(argv0: str, python: str) -> tuple[str, ...]:
    """The path of the script that runs; `PYTHON -m gitmem` where no script is found.

    A link stays a link: the one that installers put into a folder of programs outlives upgrades.
    """
    beside = os.path.join(os.path.dirname(python), "gitmem")
    for path in (os.path.abspath(argv0), beside):
        if os.path.basename(path) == "gitmem" and os.path.isfile(path) and os.access(path, os.X_OK):
            return (path,)
    return (python, "-m", "gitmem")


def find_program(argv0: str, python: str, path: str, store: str = "") -> Program:
    """The gitmem that runs: by its name where PATH leads to it, else by its own path.

    PATH is that of a login shell: a virtual environment is active in this shell alone.
    """
    from shutil import which

    words = own_program(argv0, python)
    found = which("gitmem", path=path)
    if found and os.path.realpath(found) == os.path.realpath(words[0]):
        return Program(("gitmem",), store, words)
    return Program(words, store, words)


def login_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of a program that a login shell starts, as a desktop starts a host.

    PATH is that of ENVIRON where the shell fails.
    """
    import subprocess

    bare = {name: environ[name] for name in _INHERITED if environ.get(name)}
    shell = environ.get("SHELL") or "/bin/sh"
    found = ""
    try:
        done = subprocess.run(
            [shell, "-lc", _PRINT_PATH],
            env={**bare, "TERM": "dumb"},
            capture_output=True,
            timeout=LOGIN_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        # A profile may print something of its own, before or after.
        lines = os.fsdecode(done.stdout).splitlines()
        found = next((x for x in reversed(lines) if x.startswith(_MARK)), "")
    except (OSError, subprocess.TimeoutExpired):
        pass
    return {**bare, "PATH": found.removeprefix(_MARK) or environ.get("PATH", os.defpath)}
