"""The release before this one, taken out of the project's own history and run beside this one."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PREVIOUS = "ac0e828d172754ae672dd53fe41e458516b87dbe"
"""The last commit of the previous release."""
PATIENCE = 120.0
_CHECKOUT = Path(__file__).parents[2]
_PARTS = ("gitmem", "templates", "hooks", "pyproject.toml")
_KILLED = """
import os, sys
try:
    import gitmem.store.fault_points as protocol
except ImportError:  # the previous release has them elsewhere
    import gitmem.git.publish as protocol
point = sys.argv[1]
def reached(step):
    if step == point:
        os.kill(os.getpid(), 9)
protocol.reached = reached
sys.argv = ["gitmem", *sys.argv[2:]]
from gitmem.cli import main
main()
"""


class Release(NamedTuple):
    """The code of one release, and the store that it works on."""

    name: str
    code: Path
    store: Path

    def run(self, *args: str, input: str = "", killed_at: str = "") -> tuple[int, str]:
        """Run a command in a process of its own: exit code, and stdout with stderr behind it."""
        program = ["-c", _KILLED, killed_at] if killed_at else ["-m", "gitmem"]
        done = subprocess.run(
            [sys.executable, *program, *args],
            input=input,
            env=os.environ | {"PYTHONPATH": str(self.code), "GITMEM_HOME": str(self.store)},
            cwd=self.store.parent,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        return done.returncode, done.stdout + done.stderr

    def done(self, *args: str, input: str = "") -> str:
        """Run a command that has to succeed."""
        code, said = self.run(*args, input=input)
        assert code == 0, f"{self.name}: gitmem {' '.join(args)} exited with {code}:\n{said}"
        return said

    def document(self, *args: str) -> dict[str, Any]:
        """What a command answers as JSON."""
        found = json.loads(self.done("--json", *args))
        assert isinstance(found, dict)
        return found


def previous_code(folder: Path) -> Path:
    """The source of the previous release, unpacked into FOLDER; skips where there is no history."""
    packed = subprocess.run(
        ["git", "-C", str(_CHECKOUT), "archive", PREVIOUS, *_PARTS],
        capture_output=True,
        check=False,
    )
    if packed.returncode != 0:
        pytest.skip("this copy has no history: THE PREVIOUS RELEASE IS NOT TESTED; clone it whole")
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def this_code() -> Path:
    """The source under test."""
    return _CHECKOUT
