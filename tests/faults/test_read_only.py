"""A store that this process may not write to: the sandbox of an agent, or a read-only mount."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.errors import StorageFailed
from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from gitmem.store.transaction.publish import translated

ROOT = Path(__file__).parents[2]
MOUNTED = 'mount --bind -o ro "$0" "$0" 2> /dev/null || exit 99; "$@"'
"""Run a command where a folder is read-only."""


def read_only(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    if not shutil.which("unshare"):
        pytest.skip("needs unshare")
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", MOUNTED, str(folder), *command],
        env=os.environ | {"PYTHONPATH": str(ROOT), "GITMEM_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode in (1, 99) and not done.stdout:
        pytest.skip("needs the right to mount")
    return done


@pytest.mark.parametrize(
    "command",
    [
        ("write", "facts/oslo.md", "Kroner."),
        ("write", "state", "--append", "Moved."),
        ("rm", "state.md"),
        ("capture",),
        ("transcript", "add", "--chat", "a", "--from", "Ada", "Hello."),
    ],
)
def test_the_error_names_the_cause_and_the_way_out(tmp_path: Path, command: list[str]) -> None:
    store = tmp_path / "store"
    init(Store(store), "main")
    (store / "groups" / "main" / "note.md").write_text("By hand.\n")

    done = read_only(store, sys.executable, "-m", "gitmem", *command, "--json")

    error = json.loads(done.stdout)["error"]
    assert "read-only" in error["message"]
    assert "`gitmem install codex`" in error["hint"]
    assert "`gitmem mcp`" in error["hint"]
    assert "gitmem check" not in error["hint"]


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
def test_so_does_one_of_a_sandbox_without_mounts(code: int) -> None:
    with pytest.raises(StorageFailed) as caught, translated("working on this group"):
        raise OSError(code, os.strerror(code), "/store/repos/main.git/gitmem/lock")

    assert os.strerror(code) in caught.value.message
    assert "`gitmem mcp`" in caught.value.hint
