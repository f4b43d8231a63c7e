"""Calling the git program, for what libgit2 does not do; everything else works without it.

It sees nothing of the operator: no configuration, no hooks, no terminal, and not even the work
tree, which may lie on a disk that is not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import IO

from gitmem.errors import StorageFailed
from gitmem.model.hints import Hint, call

# Small machines run agents, too: memory is capped, and one thread leaves the rest to others.
SETTINGS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.packedGitLimit": "128m",
    "core.deltaBaseCacheLimit": "32m",
    "pack.threads": "1",
    "pack.windowMemory": "64m",
    "pack.deltaCacheSize": "32m",
    "pack.writeReverseIndex": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",  # what stands in for a lost commit must not be packed as it
    "HOME": os.devnull,
    "LC_ALL": "C",
}


class GitTooSlow(StorageFailed):
    """git was stopped because it took longer than it may."""

    code = "git-too-slow"


def find_git() -> str | None:
    """Where the git program is; None where there is none."""
    return shutil.which("git")


def run_git(
    gitdir: Path,
    *args: str,
    seconds: float,
    input: bytes = b"",
    output: IO[bytes] | None = None,
) -> bytes:
    """What git prints, or writes to OUTPUT; StorageFailed where it fails or takes longer."""
    program = find_git()
    if program is None:
        raise StorageFailed("git is not installed", hint="install git")
    settings = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
    search = f"{os.path.dirname(program)}:{os.defpath}"
    try:
        done = subprocess.run(
            [program, f"--git-dir={gitdir}", *settings, *args],
            env={**ENVIRONMENT, "PATH": search, "GIT_WORK_TREE": str(gitdir)},
            cwd=gitdir,
            input=input,
            stdout=output or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=max(0.0, seconds),
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise GitTooSlow(
            f"git {args[0]} took too long and was stopped; nothing is lost",
            hint=Hint("run ", call("maintain"), " again when the machine is idle"),
        ) from error
    except OSError as error:
        raise StorageFailed(
            f"git cannot be run: {error.strerror}", hint="check that `git --version` works"
        ) from error
    if done.returncode:
        raise _failed(args[0], done)
    return done.stdout or b""


def _failed(verb: str, done: subprocess.CompletedProcess[bytes]) -> StorageFailed:
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    why = lines[-1] if lines else f"it exited with {done.returncode}"
    return StorageFailed(
        f"git {verb} failed: {why}; nothing is lost", hint=Hint("run ", call("check", repair=True))
    )
