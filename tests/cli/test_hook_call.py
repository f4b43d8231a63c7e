"""`gitmem hook` is answered without click, and just as click would have it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from gitmem.cli.commands.integrations.hook import hook_command as command
from gitmem.cli.hook import plain_call
from gitmem.cli.invocation import Invocation
from gitmem.memory.write.last_scan import GroupChoice, remember_unchanged, state_of

CALLS = [
    ["hook", "stop"],
    ["hook"],
    ["hook", "stop", "--host", "codex"],
    ["hook", "--host=codex", "stop"],
    ["--store", "/s", "hook", "stop"],
    ["--store=/s", "hook", "stop", "--host", "gemini"],
    ["-g", "shop", "hook", "stop"],
    ["--group", "shop", "hook", "stop", "--store", "/s"],
    ["hook", "stop", "-g", "shop"],
    ["--store", "/a", "hook", "stop", "--store", "/b"],
    ["hook", "no-such-event", "--host", "no-such-host"],
]
FOR_CLICK = [
    ["hook", "--help"],
    ["hook", "stop", "--json"],
    ["-q", "hook", "stop"],
    ["hook", "stop", "more"],
    ["hook", "stop", "--unknown"],
    ["hook", "stop", "--store"],
    ["hook", "stop", "--store="],
    ["--host", "codex", "hook", "stop"],
    ["hook", "stop", "-gshop"],
    ["write", "hook"],
    ["--store", "hook", "stop"],
    ["hook", "--", "stop"],
]


@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_a_plain_call_is_read_as_click_reads_it(args: list[str]) -> None:
    call = plain_call(args)
    said = Invocation(environ={})
    rest = [each for each in args if each != "hook"]
    with click.Context(command, obj=said) as context:
        command.parse_args(context, rest)

    assert call is not None
    assert (call.event, call.host) == (context.params["event"], context.params["host"])
    assert call.flags == said.flags


@pytest.mark.parametrize("args", FOR_CLICK, ids=" ".join)
def test_any_other_call_is_left_to_click(args: list[str]) -> None:
    assert plain_call(args) is None


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
    assert {"gitmem.cli.hook"} <= modules(done)
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
    assert "no JSON object" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_clock_is_told_as_by_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITMEM_NOW", "soon")

    done = run(tmp_path, "hook", "stop")

    assert done.returncode == 1
    assert "GITMEM_NOW is 'soon'" in done.stderr
