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

from gitmem.integrations.hooks.tool_calls import SLACK, calls_in
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import LogEntry, log
from gitmem.memory.transcripts.sessions import live_sessions
from tests.support.moulds import Moulds

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hosts"


class Room:
    """A store, and sessions that work with it."""

    def __init__(self, root: Path) -> None:
        self.root, self.store = root, Store(root / "store")
        self.facts = self.store.default_worktree("main") / "facts"

    def hook(self, event: str, session: str, host: str = "claude-code", **said: Any) -> None:
        """Call one event, as the host does."""
        group = said.pop("group", "")
        row = {
            "session_id": session,
            "transcript_path": str(self.transcript(session)),
            "cwd": str(self.root),
            **said,
        }
        subprocess.run(
            [sys.executable, "-m", "gitmem", "hook", event, "--host", host],
            env=os.environ | {"GITMEM_HOME": str(self.store.root), "GITMEM_GROUP": group},
            input=json.dumps(row).encode(),
            capture_output=True,
            timeout=120,
            check=True,
        )

    def transcript(self, session: str) -> Path:
        return self.root / f"{session}.jsonl"

    def call(
        self,
        session: str,
        command: str,
        *,
        done: bool = False,
        cwd: str = "",
        failed: bool = False,
    ) -> None:
        """Let a session run COMMAND, for its transcript; DONE: it has a result."""
        use = {"type": "tool_use", "id": f"t-{time.time_ns()}", "name": "Bash"}
        use["input"] = {"command": command}  # type: ignore[assignment]
        rows = [("assistant", use)]
        if done:
            result = {"type": "tool_result", "tool_use_id": use["id"], "content": ""}
            rows.append(("user", result | {"is_error": failed}))
        with self.transcript(session).open("a") as file:
            for kind, block in rows:
                stamp = datetime.fromtimestamp(time.time(), UTC).isoformat()
                message = {"role": kind, "content": [block]}
                row = {"type": kind, "message": message, "timestamp": stamp, "cwd": cwd}
                file.write(json.dumps(row) + "\n")

    def edit(self, name: str, text: str = "A fact.\n") -> None:
        """What a shell does."""
        self.facts.mkdir(exist_ok=True)
        (self.facts / name).write_text(text)

    def commit_of(self, name: str) -> LogEntry:
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
    """An open terminal beside the one that works: its turn has ended."""
    for each in ("idle", "one"):
        room.hook("session-start", each, source="startup")
    room.call("idle", "make notes", done=True)
    room.hook("stop", "idle")
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


# ---- what is not seen


def test_a_call_that_began_long_before_may_still_run(room: Room) -> None:
    """Its line is far up: so much was written to the transcript since."""
    for each in ("busy", "one"):
        room.hook("session-start", each, source="startup")
    room.call("busy", "python notes.py")
    with room.transcript("busy").open("a") as file:
        for _ in range(9):
            file.write(json.dumps({"type": "attachment", "text": "x" * 1024 * 1024}) + "\n")
    room.call("one", "make notes", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_line_that_is_not_written_to_its_end_may_be_a_call(room: Room) -> None:
    for each in ("other", "one"):
        room.hook("session-start", each, source="startup")
    room.call("other", "python notes.py")
    path = room.transcript("other")
    path.write_bytes(path.read_bytes()[:-20])
    room.call("one", "make notes", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


@pytest.mark.parametrize("how", ["broken", "many"])
def test_subagents_whose_transcripts_are_not_read_may_have_written(room: Room, how: str) -> None:
    for each in ("other", "one"):
        room.hook("session-start", each, source="startup")
    room.call("other", "ls", done=True)
    folder = room.root / "other" / "subagents"
    folder.mkdir(parents=True)
    if how == "broken":
        (folder / "agent-1.jsonl").symlink_to(folder / "none")
    else:
        for number in range(30):
            (folder / f"agent-{number}.jsonl").write_text("")
    room.call("one", "make notes", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_command_in_the_background_may_write_when_its_call_is_over(room: Room) -> None:
    for each in ("other", "one"):
        room.hook("session-start", each, source="startup")
    room.call("other", "(sleep 60; python notes.py) &", done=True)
    room.hook("stop", "other")
    room.call("one", "make notes", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


# ---- which file a command means


def test_a_command_that_writes_to_a_file_of_the_same_name_elsewhere_shows_nothing(
    room: Room,
) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"echo x > {room.root}/other/a.md", done=True)
    room.call("two", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


@pytest.mark.parametrize(
    ("command", "folder", "other", "signed"),
    [
        ("echo x > facts/a.md", "worktree", "ls", "one"),
        ("cd facts && echo x > ./a.md", "worktree", "ls", "one"),
        ("echo x > facts/a.md", "worktree", "python notes.py", ""),
        # Elsewhere, so that nobody but the script can have made the edit.
        ("echo x > a.md", "root", "python notes.py", "two"),
        ("echo x > facts/a.md", "root", "python notes.py", "two"),
        # Perhaps there.
        ("cd $DIR && echo x > a.md", "worktree", "python notes.py", ""),
        ("cd $DIR && echo x > a.md", "worktree", "ls", ""),
        ("echo x > facts/a.md", "", "python notes.py", ""),
    ],
)
def test_a_name_is_followed_from_the_folder_of_the_session(
    room: Room, command: str, folder: str, other: str, signed: str
) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    where = {"worktree": str(room.facts.parent), "root": str(room.root), "": ""}[folder]
    room.facts.mkdir(exist_ok=True)
    room.call("one", command, cwd=where, done=True)
    room.call("two", other, done=True)
    room.edit("a.md")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == signed


def test_a_command_that_wrote_before_does_not_sign_what_a_script_may_have_written(
    room: Room,
) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"echo 1 > {room.facts}/a.md; sleep 100")
    room.call("two", "python notes.py")
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_an_edit_on_top_of_one_that_no_commit_holds_is_of_nobody(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"echo 1 > {room.facts}/a.md", done=True)
    room.call("two", f"echo 2 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "Both.\n")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


def test_a_command_that_failed_shows_nothing(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"false && echo 1 > {room.facts}/a.md", done=True, failed=True)
    room.call("two", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_file_that_is_gone_is_signed_only_for_who_says_so(room: Room) -> None:
    """The folder tells when something in it changed last, which may be another file."""
    room.edit("a.md")
    room.edit("b.md")
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", "python clean.py", done=True)
    (room.facts / "a.md").unlink()
    room.call("two", f"rm {room.facts}/b.md", done=True)
    (room.facts / "b.md").unlink()
    room.call("two", "python notes.py", done=True)

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


# ---- edits on top of each other


def test_a_program_that_writes_over_an_edit_of_another_session_signs_nothing(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", f"echo 2 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "Two.\n")
    room.call("one", "python notes.py", done=True)
    room.edit("a.md", "Two.\nOne.\n")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_commit_of_one_file_captures_no_edit_of_another(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", f"echo 2 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "Two.\n")
    time.sleep(SLACK + 0.1)  # until then both calls may have run at once
    room.edit("b.md")
    named = {"file_path": str(room.facts / "b.md")}
    room.hook("post-tool-use", "one", tool_name="Write", tool_input=named)
    room.call("one", f"echo 1 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "Two.\nOne.\n")

    room.hook("stop", "one")

    assert room.commit_of("b.md").session == "one"
    assert room.commit_of("a.md").session == ""


def test_a_write_that_a_condition_may_prevent_is_not_sure(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"grep -q . {room.facts}/a.md || echo x >> {room.facts}/a.md", done=True)
    room.call("two", "python notes.py")
    room.edit("a.md")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


@pytest.mark.parametrize("done", [True, False])
def test_a_program_of_another_session_may_have_written_what_a_command_shows(
    room: Room, done: bool
) -> None:
    """However soon after the command began, and whether it has ended."""
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("one", f"echo 1 >> {room.facts}/a.md", done=done)
    room.call("two", "python notes.py")
    room.edit("a.md")

    room.hook("stop", "two")

    assert room.commit_of("a.md").session == ""


def test_a_file_that_is_moved_takes_the_edit_of_another_session_along(room: Room) -> None:
    room.edit("a.md", "A fact.\n" * 20)
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", f"echo 2 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "A fact.\n" * 20 + "Two.\n")
    room.call("one", f"mv {room.facts}/a.md {room.facts}/b.md", done=True)
    (room.facts / "a.md").rename(room.facts / "b.md")

    room.hook("stop", "one")

    assert room.commit_of("b.md").session == ""


def test_an_edit_on_top_of_a_captured_one_is_signed(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", f"echo 2 >> {room.facts}/a.md", done=True)
    room.edit("a.md", "Two.\n")
    room.hook("stop", "two")
    room.call("one", "python notes.py", done=True)
    room.edit("a.md", "Two.\nOne.\n")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == "one"


def test_a_turn_that_finds_nothing_to_capture_rules_its_programs_out(room: Room) -> None:
    """Also where a stat for each file told so."""
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    for _ in range(2):
        room.call("two", "make test", done=True)
        room.hook("stop", "two")
    room.call("one", "python notes.py", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == "one"


def test_an_edit_on_top_of_a_held_one_is_of_nobody(room: Room) -> None:
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", "python notes.py", done=True)
    room.edit("a.md", "Two.\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n")
    room.hook("stop", "two")
    room.call("one", f"sed -i /=/d {room.facts}/a.md", done=True)
    room.edit("a.md", "Two.\nOne.\n")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ""


def test_a_folder_that_is_moved_in_keeps_the_times_of_its_files(room: Room) -> None:
    (outside := room.root / "notes").mkdir()
    (outside / "a.md").write_text("A fact.\n")
    for each in ("one", "two"):
        room.hook("session-start", each, source="startup")
    room.call("two", "python notes.py", done=True)
    room.facts.mkdir(exist_ok=True)
    outside.rename(room.facts / "notes")
    room.call("one", "make notes", done=True)

    room.hook("stop", "one")

    assert room.commit_of("notes/a.md").session == ""


# ---- sessions of other groups


@pytest.mark.parametrize("shows", [True, False])
def test_a_session_of_another_group_may_have_made_an_edit(room: Room, shows: bool) -> None:
    init(room.store, "shop", layout="standard")
    room.hook("session-start", "shop", source="startup", group="shop")
    room.hook("session-start", "one", source="startup")
    room.call("shop", f"echo x > {room.facts}/a.md" if shows else "python notes.py", done=True)
    room.call("one", "ls" if shows else "make notes", done=True)
    room.edit("a.md")

    room.hook("stop", "one")

    assert room.commit_of("a.md").session == ("shop" if shows else "")


def test_to_ask_every_session_costs_the_same_with_more_groups(room: Room) -> None:
    """One list for the store: no folder of a group is looked into."""
    room.hook("session-start", "one", source="startup")
    (gone := room.store.gitdir("main") / "gitmem" / "sessions").rename(gone.with_name("moved"))

    assert [known.id for known, _ in live_sessions(str(room.store.root))] == ["one"]


# ---- what a transcript shows


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
    place = f"/home/ada/.local/share/gitmem/groups/shop/{path}"
    writers = [each for each in calls if each.writes.surely(place)]

    assert writers
    assert all(0 < each.ended - each.begun < 60 for each in writers)
    assert not any(each.writes.surely(f"{place}.other") for each in calls)


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
