"""No session signs what another has edited; where nobody can tell, nobody signs.

Several sessions are several processes with a payload each, and transcripts as hosts write them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitmem.hosts.hooks.calls import Call, calls_in
from gitmem.hosts.table import HOSTS
from gitmem.operations.group import Group, Store, Who
from gitmem.operations.init import init
from gitmem.operations.log import Entry, log
from tests.support.moulds import Moulds

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hosts"


class Room:
    """A store, and sessions that work with it."""

    def __init__(self, root: Path) -> None:
        self.root, self.store = root, Store(root / "store")
        self.facts = self.store.default_worktree("main") / "facts"

    def hook(self, event: str, session: str, host: str = "claude-code", **said: Any) -> None:
        """Call one event, as the host does."""
        row = {
            "session_id": session,
            "transcript_path": str(self.transcript(session)),
            "cwd": str(self.root),
            **said,
        }
        subprocess.run(
            [sys.executable, "-m", "gitmem", "hook", event, "--host", host],
            env=os.environ | {"GITMEM_HOME": str(self.store.root)},
            input=json.dumps(row).encode(),
            capture_output=True,
            timeout=120,
            check=True,
        )

    def transcript(self, session: str) -> Path:
        return self.root / f"{session}.jsonl"

    def call(self, session: str, command: str, *, done: bool = False, ago: float = 0.0) -> None:
        """Let a session run COMMAND, for its transcript; DONE: it has a result."""
        use = {"type": "tool_use", "id": f"t-{time.time_ns()}", "name": "Bash"}
        use["input"] = {"command": command}  # type: ignore[assignment]
        rows = [("assistant", use)]
        if done:
            rows.append(("user", {"type": "tool_result", "tool_use_id": use["id"], "content": ""}))
        with self.transcript(session).open("a") as file:
            for kind, block in rows:
                stamp = datetime.fromtimestamp(time.time() - ago, UTC).isoformat()
                message = {"role": kind, "content": [block]}
                row = {"type": kind, "message": message, "timestamp": stamp}
                file.write(json.dumps(row) + "\n")

    def edit(self, name: str, text: str = "A fact.\n") -> None:
        """What a shell does."""
        self.facts.mkdir(exist_ok=True)
        (self.facts / name).write_text(text)

    def commit_of(self, name: str) -> Entry:
        """The newest commit of a file."""
        group = Group(self.store, "main", who=Who("ada"))
        try:
            return log(group, f"facts/{name}")[0]
        finally:
            group.close()


@pytest.fixture
def room(tmp_path: Path, moulds: Moulds) -> Room:
    made = Room(tmp_path)
    moulds.cast("of hooks", made.store.root, lambda r: init(Store(r), "main", layout="standard"))
    return made


def test_a_session_alone_signs_what_its_shell_edited_and_names_the_turn(room: Room) -> None:
    room.hook("session-start", "one", source="startup")
    room.edit("a.md")

    room.hook("stop", "one", prompt_id="p-1")

    found = room.commit_of("a.md")
    assert (found.agent, found.session, found.turn) == ("claude-code", "one", "p-1")


def test_each_of_two_sessions_gets_its_own_edit_whoever_ends_first(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"echo 1 > {room.facts}/a.md; sleep 100")
    room.edit("a.md")
    room.call("two", f"cd {room.facts} && echo 2 > b.md", done=True)
    room.edit("b.md")

    room.hook("stop", "two", prompt_id="p-2")

    assert [room.commit_of(each).session for each in ("a.md", "b.md")] == ["one", "two"]
    assert [room.commit_of(each).turn for each in ("a.md", "b.md")] == ["", "p-2"]


def test_an_edit_that_two_may_have_made_is_kept_and_nobody_signs_it(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", "make notes")
    room.call("two", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "two", prompt_id="p-2")

    found = room.commit_of("a.md")
    assert (found.agent, found.session, found.turn) == ("claude-code", "", "")


def test_a_session_that_only_reads_a_file_does_not_sign_it(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", "python notes.py")
    room.call("two", f"cat {room.facts}/a.md", done=True)
    room.edit("a.md")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


def test_two_that_write_to_one_file_sign_nothing(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
        room.call(each, f"echo x >> {room.facts}/a.md")
    room.edit("a.md")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


def test_a_session_that_did_nothing_meanwhile_is_in_nobodys_way(room: Room) -> None:
    """An open terminal beside the one that works: its calls are long done."""
    for each in ("idle", "one"):
        room.hook("session-start", each, source="startup")
    room.call("idle", "make notes", done=True, ago=60)
    room.call("one", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == "one"


def test_a_session_whose_transcript_is_unknown_may_have_done_anything(room: Room) -> None:
    room.hook("session-start", "dark", source="startup", transcript_path=None)
    room.hook("session-start", "one", source="startup")
    room.call("one", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_session_that_starts_signs_nothing_that_it_finds(room: Room) -> None:
    room.edit("a.md")

    room.hook("session-start", "new", source="startup")

    found = room.commit_of("a.md")
    assert (found.agent, found.session) == ("claude-code", "")


def test_what_a_killed_session_wrote_is_its_own_at_the_next_start(room: Room) -> None:
    room.hook("session-start", "killed", source="startup")
    room.call("killed", f"echo 1 | tee {room.facts}/a.md")
    room.edit("a.md")

    room.hook("session-start", "new", source="startup")

    assert room.commit_of("a.md").session == "killed"


def test_three_sessions_at_once_lose_nothing_and_sign_only_their_own(room: Room) -> None:
    names = [f"s{number}" for number in range(3)]

    def work(name: str) -> None:
        room.hook("session-start", name, source="startup")
        for number in range(3):
            room.call(name, f"echo 1 > {room.facts}/{name}-{number}.md", done=False)
            room.edit(f"{name}-{number}.md")
            room.hook("stop", name)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(work, names))

    for name in names:
        for number in range(3):
            assert room.commit_of(f"{name}-{number}.md").session == name


# ---- subagents


def test_a_file_that_a_subagent_writes_names_its_type_and_id(room: Room) -> None:
    said = json.loads((FIXTURES / "hooks" / "claude-code-PostToolUse-Bash-agent.json").read_text())
    room.edit("a.md")
    tool = {"tool_name": "Write", "tool_input": {"file_path": str(room.facts / "a.md")}}

    room.hook("post-tool-use", **(said | tool | {"cwd": str(room.root)}), session="s")  # type: ignore[misc]

    found = room.commit_of("a.md")
    assert found.subagent == "general-purpose/a2c7d7c120520e5c4"
    assert found.turn == said["prompt_id"]


@pytest.mark.parametrize("wrote", [True, False])
def test_a_subagent_that_ends_is_named_only_where_its_transcript_shows_the_write(
    room: Room, wrote: bool
) -> None:
    room.hook("session-start", "one", source="startup")
    room.call("aside", f"echo 1 > {room.facts}/a.md" if wrote else "ls", done=True)
    room.edit("a.md")
    aside = {"agent_id": "a7", "agent_type": "Explore"}

    room.hook("subagent-stop", "one", agent_transcript_path=str(room.transcript("aside")), **aside)

    found = room.commit_of("a.md")
    assert (found.session, found.subagent) == ("one", "Explore/a7" if wrote else "")


# ---- what a command writes to


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a.md",
        "echo x >> '/g/facts/a.md'",
        'cat <<EOF > "facts/a.md"\nx\nEOF',
        "printf x | tee -a facts/a.md",
        "sed -i s/x/y/ facts/a.md",
        "cd facts; mv a.md b.md",
        "cp /tmp/x facts/a.md",
        "rm -f facts/a.md && ls",
        "/usr/bin/touch a.md",
    ],
)
def test_a_command_that_writes_to_a_file(command: str) -> None:
    assert Call("Bash", command, 0, 1).writes("facts/a.md")


@pytest.mark.parametrize(
    "command",
    [
        "cat a.md",
        "cat a.md > b.md",
        "cp a.md /tmp/b.md",
        "echo x > a.md.bak",
        "echo x > data.md",
        "grep a.md x > log",
        "sed -n 1p a.md",
        "echo x > b.md; cat a.md",
        "gitmem read facts/a.md",
    ],
)
def test_a_command_that_does_not(command: str) -> None:
    assert not Call("Bash", command, 0, 1).writes("facts/a.md")


@pytest.mark.parametrize(
    ("host", "name", "path"),
    [
        ("claude-code", "claude-code-2.1.325-tools-thinking.jsonl", "facts/bergen.md"),
        ("claude-code", "claude-code-2.1.325-tools-thinking.jsonl", "facts/oslo.md"),
        ("codex", "codex-0.166.0-apply-patch__*.jsonl", "facts/codexsh.md"),
        ("codex", "codex-0.166.0-apply-patch__*.jsonl", "facts/codex.md"),
    ],
)
def test_a_real_transcript_shows_who_wrote(host: str, name: str, path: str) -> None:
    (transcript,) = (FIXTURES / "transcripts").glob(name)

    calls = calls_in(HOSTS[host], str(transcript)) or []
    writers = [each for each in calls if each.writes(path)]

    assert writers
    assert all(0 < each.ended - each.begun < 60 for each in writers)
    assert not any(each.writes("facts/other.md") for each in calls)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json tool_use\n",
        '{"type": "tool_use", "timestamp": 5}\n',
        '{"timestamp": "2026-11-17T03:29Z", "content": {"type": "tool_use", "input": [null]}}\n',
        '[{"type": "tool_use"}]\n' + "[" * 100_000,
    ],
)
def test_a_transcript_may_be_anything(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text)

    assert isinstance(calls_in(HOSTS["claude-code"], str(path)), list)
    assert calls_in(HOSTS["claude-code"], str(tmp_path / "none")) is None
