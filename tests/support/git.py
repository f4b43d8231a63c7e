"""The real git as a second opinion, on a sealed machine."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.seal import sealed

# A person at the keyboard; gitmem itself must never take its author from here.
PERSON = {
    "GIT_AUTHOR_NAME": "A Person",
    "GIT_AUTHOR_EMAIL": "person@example.org",
    "GIT_COMMITTER_NAME": "A Person",
    "GIT_COMMITTER_EMAIL": "person@example.org",
    "GIT_TERMINAL_PROMPT": "0",
}

# Housekeeping that git leaves running would race with the removal of the test's folder.
IN_FOREGROUND = ("-c", "gc.autoDetach=false", "-c", "maintenance.autoDetach=false")

PATIENCE = 60.0


class GitFailed(AssertionError):
    """The real git exited with an error, which it was not expected to do."""


def git(
    where: Path | str,
    *args: str,
    check: bool = True,
    input: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Return what git prints in the folder or git directory WHERE, line ends untouched."""
    printed = git_bytes(where, *args, check=check, input=input, env=env)
    return printed.decode("utf-8", "surrogateescape")


def git_bytes(
    where: Path | str,
    *args: str,
    check: bool = True,
    input: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
) -> bytes:
    """Return what git prints in WHERE as bytes; raise GitFailed with its stderr if it fails."""
    given = input.encode() if isinstance(input, str) else input
    done = subprocess.run(
        ["git", *IN_FOREGROUND, *_location(Path(where)), *args],
        input=given if given is not None else b"",
        env=sealed(os.environ, home=Path(os.devnull)) | PERSON | dict(env or {}),
        capture_output=True,
        check=False,
        timeout=PATIENCE,
    )
    if check and done.returncode != 0:
        raise GitFailed(_failure(where, args, done))
    return done.stdout


def _location(where: Path) -> list[str]:
    # Named outright, so that git neither looks in parent folders nor takes a group for a bare one.
    if (where / "HEAD").is_file() and (where / "objects").is_dir():
        return [f"--git-dir={where}"]
    return ["-C", str(where)]


def _failure(
    where: Path | str, args: tuple[str, ...], done: subprocess.CompletedProcess[bytes]
) -> str:
    said = (done.stderr + done.stdout).decode("utf-8", "replace").rstrip()
    return f"git {' '.join(args)} in {where} exited with {done.returncode}:\n{said}"
