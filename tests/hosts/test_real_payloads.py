"""What real hosts said to their hooks, and the transcripts that they wrote.

The files in tests/fixtures/hosts were recorded with Claude Code 2.1.325 and 2.1.197 and Codex
0.166.0; texts of the vendors are cut. tests/real_hosts/README.md says how.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.operations.group import Store
from gitmem.operations.init import init
from tests.support.moulds import Moulds

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hosts"
HOSTS = ("claude-code", "codex")
PAYLOADS = sorted(each.name for each in (FIXTURES / "hooks").glob("*.json"))
TRANSCRIPTS = sorted(
    each.name for host in HOSTS for each in (FIXTURES / "transcripts").glob(f"{host}-*.jsonl")
)


def host_of(name: str) -> str:
    """The host that a recorded file is of."""
    return next(each for each in HOSTS if name.startswith(each))


@pytest.fixture
def store(tmp_path: Path, moulds: Moulds) -> Path:
    root = tmp_path / "store"
    moulds.cast("of hooks", root, lambda at: init(Store(at), "main", layout="standard"))
    return root


def gitmem(store: Path, *args: str, said: bytes = b"") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gitmem", *args],
        env=os.environ | {"GITMEM_HOME": str(store)},
        input=said.decode(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_payloads_and_transcripts_of_both_hosts_are_there() -> None:
    assert {host_of(each) for each in PAYLOADS} == set(HOSTS)
    assert {host_of(each) for each in TRANSCRIPTS} == set(HOSTS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_real_payload_gets_nothing_or_one_object(store: Path, name: str) -> None:
    """Without an event on the command line, the name in the payload counts."""
    said = (FIXTURES / "hooks" / name).read_bytes()

    done = gitmem(store, "hook", "--host", host_of(name), said=said)

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == (1 if done.stdout else 0)
    assert not done.stdout or isinstance(json.loads(done.stdout), dict)


@pytest.mark.parametrize(
    "name",
    [each for each in PAYLOADS if each.endswith(("Start-startup.json", "Start-compact.json"))],
)
def test_a_session_that_really_starts_gets_memory(store: Path, name: str) -> None:
    said = (FIXTURES / "hooks" / name).read_bytes()

    done = gitmem(store, "hook", "session-start", "--host", host_of(name), said=said)

    inner = json.loads(done.stdout)["hookSpecificOutput"]
    assert inner["hookEventName"] == "SessionStart"
    assert inner["additionalContext"]


def test_a_real_compaction_becomes_an_episode_without_its_scratchpad(store: Path) -> None:
    said = (FIXTURES / "hooks" / "claude-code-PostCompact.json").read_bytes()

    gitmem(store, "hook", "post-compact", "--host", "claude-code", said=said)

    (page,) = (store / "groups" / "main" / "episodes").glob("*.md")
    text = page.read_text()
    assert "zebra-quartz is the release codename" in text
    assert "looked at everything" not in text
    assert "summary>" not in text
    shown = json.loads(gitmem(store, "inject", "--layer", "episodes", "--json").stdout)["text"]
    assert "the user tested a fake model." in shown
    assert "Primary Request" not in shown


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_every_line_of_a_real_transcript_is_accounted_for(store: Path, name: str) -> None:
    """Each line is a message or passed over for a reason, and a second import adds nothing."""
    path = FIXTURES / "transcripts" / name
    command = ("transcript", "import", host_of(name), str(path), "--json")

    first, again = (json.loads(gitmem(store, *command).stdout) for _ in range(2))

    assert (first["problems"], again["problems"]) == ([], [])
    assert first["added"] + sum(first["passed"].values()) == len(path.read_bytes().splitlines())
    assert first["added"] > 0 or "subagent" in name
    assert again["added"] == 0
