"""Run the programs of a scheduler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence

from gitmem.errors import ProgramFailed, ProgramMissing
from gitmem.model.hints import Hint, Option, call

PATIENCE = 60.0
"""Seconds that a program may take."""
# English messages, since some have to be told apart; and the crontab without a header.
SETTINGS = {"LC_ALL": "C", "CRONTAB_NOHEADER": "Y"}
NOTHING = "nothing was changed"
PRINT = Hint(call("schedule print"), " shows what to put where by hand")

Done = subprocess.CompletedProcess[bytes]


def find(name: str, environ: Mapping[str, str]) -> str | None:
    """The path of a program; None where it is not installed."""
    return shutil.which(name, path=environ.get("PATH"))


def run(
    command: Sequence[str], environ: Mapping[str, str], input: bytes = b"", so_far: str = NOTHING
) -> Done:
    """Run a program and wait for it; SO_FAR says in an error what was done before."""
    program = find(command[0], environ)
    if program is None:
        raise ProgramMissing(
            f"no program '{command[0]}' on this machine; {so_far}",
            hint=Hint("install it, or repeat with another ", Option("backend"), "; ", PRINT),
            program=command[0],
        )
    try:
        return subprocess.run(
            [program, *command[1:]],
            env={**environ, **SETTINGS},
            input=input,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise failure(command, str(error), so_far) from error


def run_well(
    command: Sequence[str], environ: Mapping[str, str], input: bytes = b"", so_far: str = NOTHING
) -> str:
    """The output of a program; ProgramFailed for an exit code other than 0."""
    done = run(command, environ, input, so_far)
    if done.returncode:
        raise failure(command, last_words(done), so_far)
    return text_of(done.stdout)


def text_of(data: bytes) -> str:
    """DATA as text that encodes to the same bytes."""
    return data.decode("utf-8", "surrogateescape")


def failure(command: Sequence[str], message: str, so_far: str = NOTHING) -> ProgramFailed:
    """The error for a failed program with its message."""
    words = " ".join(command)
    return ProgramFailed(
        f"`{words}` failed: {message}; {so_far}", hint=PRINT, command=list(command)
    )


def last_words(done: Done) -> str:
    """The last line that a failed program wrote to stderr."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
