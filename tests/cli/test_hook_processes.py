"""`gitmem hook` as a process: what it imports, and how it ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.memory.write.last_scan import GroupChoice, remember_unchanged, state_of


def run(home: Path, *args: str, heard: str = "{}") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gitmem", "--store", str(home), *args],
        input=heard,
        capture_output=True,
        text=True,
        check=False,
    )


def modules(done: subprocess.CompletedProcess[str]) -> set[str]:
    rows = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    return {row.rpartition("|")[2].strip() for row in rows}


@pytest.mark.parametrize("event", ["stop", "user-prompt-submit", "session-end"])
def test_a_hook_imports_no_click(tmp_path: Path, event: str) -> None:
    assert run(tmp_path, "init").returncode == 0

    done = run(tmp_path, "hook", event, heard='{"session_id": "s", "prompt": "thanks"}')

    assert done.returncode == 0
    assert {"gitmem.cli.plain", "gitmem.integrations.hooks.answer"} <= modules(done)
    assert modules(done).isdisjoint({"click", "pygit2", "yaml", "sqlite3"})


LIGHT = {"pathlib", "urllib.parse", "datetime", "zlib", "unicodedata", "gitmem.store"}
"""What a hook that has nothing to do must not import."""


def test_an_idle_prompt_imports_next_to_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "init").returncode == 0

    done = run(tmp_path, "hook", "user-prompt-submit", heard='{"prompt": "thanks, great!"}')

    assert modules(done).isdisjoint({*LIGHT, "hashlib"})


def test_a_quiet_turn_imports_next_to_nothing(tmp_path: Path) -> None:
    assert run(tmp_path, "init").returncode == 0
    project = str(tmp_path.parent)
    turn = f'{{"session_id": "s", "cwd": "{project}"}}'
    asking = GroupChoice(str(tmp_path), project, "", "")
    worktree = str(tmp_path / "groups" / "main")
    state = state_of(str(tmp_path), "main", worktree)
    assert state is not None
    remember_unchanged(asking, "main", worktree, state._replace(newest=0))

    done = run(tmp_path, "hook", "stop", heard=turn)

    assert done.returncode == 0
    assert "gitmem.memory.write.last_scan" in modules(done)
    assert modules(done).isdisjoint(LIGHT)


def test_what_is_no_json_is_told_without_a_trace(tmp_path: Path) -> None:
    done = run(tmp_path, "hook", "stop", heard="no json")

    assert done.returncode == 1
    assert "not a JSON object" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_clock_is_told_as_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITMEM_NOW", "soon")

    done = run(tmp_path, "hook", "stop")

    assert done.returncode == 1
    assert "GITMEM_NOW is 'soon'" in done.stderr
