"""What real hosts said to their hooks, and the transcripts that they wrote.

The files in tests/fixtures/hosts were recorded with Claude Code 2.1.325 and 2.1.197, Codex 0.166.0,
Gemini CLI 0.61.0 and Copilot CLI 1.0.102; texts of the vendors are cut. tests/real_hosts/README.md
says how.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from tests.support.moulds import Moulds

FIXTURES = Path(__file__).parents[1] / "fixtures" / "hosts"
HOSTS = ("claude-code", "codex", "gemini", "copilot")
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


def test_payloads_and_transcripts_of_every_host_are_there() -> None:
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

    answer = json.loads(done.stdout)
    if host_of(name) == "copilot":  # it ignores everything below `hookSpecificOutput`
        assert answer.keys() == {"additionalContext"}
        return
    inner = answer["hookSpecificOutput"]
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


def test_a_compaction_of_copilot_becomes_an_episode_when_a_session_starts(store: Path) -> None:
    """No event of it has the summary: it stands in the transcript."""
    path = FIXTURES / "transcripts" / "copilot-1.0.102-compact.jsonl"
    ends = payload_of("copilot-Stop") | {"transcript_path": str(path)}

    for _ in range(2):  # the second time, it is there already
        asked(store, "copilot", ends)
        asked(store, "copilot", payload_of("copilot-SessionStart-startup"))

    (page,) = (store / "groups" / "main" / "episodes").glob("*.md")
    assert page.read_text().count("The user tested a fake model.") == 2, "and its one-line summary"
    assert "looked at it" not in page.read_text()
    assert newest(store)["session"] == ends["session_id"]


@pytest.mark.parametrize("record", [True, False])
def test_a_compaction_of_copilot_is_kept_whether_messages_are_or_not(
    store: Path, record: bool
) -> None:
    layout = store / "groups" / "main" / "gitmem.yaml"
    layout.write_text(f"{layout.read_text()}\ntranscripts: {{record: {str(record).lower()}}}\n")
    path = FIXTURES / "transcripts" / "copilot-1.0.102-compact.jsonl"

    asked(store, "copilot", payload_of("copilot-Stop") | {"transcript_path": str(path)})
    asked(store, "copilot", payload_of("copilot-SessionStart-startup"))

    assert list((store / "groups" / "main" / "episodes").glob("*.md"))


def test_a_subagent_of_copilot_starts_with_memory(store: Path) -> None:
    """This payload names no event; the command does."""
    remember(store)
    said = (FIXTURES / "hooks" / "copilot-SubagentStart.json").read_bytes()

    done = gitmem(store, "hook", "subagent-start", "--host", "copilot", said=said)

    assert "<knowledge" in json.loads(done.stdout)["additionalContext"]


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
    assert [each for each in first["passed"] if each.startswith("unknown")] == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("claude-code-2.1.325-slash-command", ["/diary we moved billing to Adyen yesterday"]),
        ("claude-code-2.1.325-subagent", []),
        ("codex-0.166.0-user-agents-md", ["hello codex"]),
        ("codex-0.166.0-compact", ["why did we drop SQLite?", "prompt after compaction"]),
        ("codex-0.166.0-subagent", []),
    ],
)
def test_only_what_its_user_typed_is_a_message_of_the_user(
    store: Path, name: str, said: list[str]
) -> None:
    """No instructions, no environment, no task of a subagent."""
    [path] = [each for each in TRANSCRIPTS if each.startswith(name)]
    gitmem(store, "transcript", "import", host_of(path), str(FIXTURES / "transcripts" / path))

    chats = json.loads(gitmem(store, "transcript", "list", "--json").stdout)["chats"]
    show = ("transcript", "show", "--last", "0", "--json")
    found = [json.loads(gitmem(store, *show, each["chat"]).stdout) for each in chats]

    told = [each for one in found for each in one["messages"]]
    assert [each["text"] for each in told if each["from"] == "user"] == said


# ---- Gemini CLI and Copilot CLI: other names, other fields, other answers


def payload_of(name: str) -> dict[str, object]:
    said: dict[str, object] = json.loads((FIXTURES / "hooks" / f"{name}.json").read_bytes())
    return said


def asked(store: Path, host: str, payload: dict[str, object], event: str = "") -> dict[str, str]:
    """What a hook answers to PAYLOAD; an empty object for nothing."""
    words = ("hook", event, "--host", host) if event else ("hook", "--host", host)
    done = gitmem(store, *words, said=json.dumps(payload).encode())
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout or "{}")
    return found


def remember(store: Path) -> None:
    entry = ("--entry", "Use Postgres for orders", "SQLite locked up in the sale.")
    assert gitmem(store, "write", "decisions", *entry).returncode == 0
    assert gitmem(store, "write", "facts/release.md", "The codename is zebra.").returncode == 0


def newest(store: Path) -> dict[str, str]:
    entries: list[dict[str, str]] = json.loads(gitmem(store, "log", "--json").stdout)["entries"]
    return entries[0]


QUESTION = "Which database do we use for the orders, and why?"


def test_gemini_is_answered_with_its_own_name_of_the_event(store: Path) -> None:
    remember(store)

    answer = asked(store, "gemini", payload_of("gemini-BeforeAgent") | {"prompt": QUESTION})

    inner = dict(answer["hookSpecificOutput"])
    assert inner["hookEventName"] == "BeforeAgent"
    assert "SQLite locked up" in inner["additionalContext"]


def test_a_prompt_of_gemini_is_what_follows_the_context_of_its_start(store: Path) -> None:
    """Its first prompt comes with what SessionStart added, which would retrieve itself."""
    remember(store)
    added = "<hook_context>Use Postgres for orders: SQLite locked up.</hook_context>"
    payload = payload_of("gemini-BeforeAgent")

    quiet = asked(store, "gemini", payload | {"prompt": f"{added}\n\nThanks, that is great!"})
    found = asked(store, "gemini", payload | {"prompt": f"{added}\n\n{QUESTION}"})

    assert quiet == {}
    assert "SQLite locked up" in json.dumps(found)


@pytest.mark.parametrize("name", ["SessionStart-startup", "SessionStart-resume", "BeforeAgent"])
def test_gemini_is_shown_memory_without_tags(store: Path, name: str) -> None:
    """It escapes `<`, and the model would read `&lt;knowledge&gt;`."""
    payload = payload_of(f"gemini-{name}")
    asked(store, "gemini", payload | {"hook_event_name": "SessionStart", "source": "startup"})
    remember(store)

    answer = asked(store, "gemini", payload | {"prompt": QUESTION})

    context = dict(answer["hookSpecificOutput"])["additionalContext"]
    assert "zebra" in context or "SQLite" in context
    assert "<knowledge" not in context
    assert "</" not in context


def test_copilot_is_shown_the_layout_in_its_own_format(store: Path) -> None:
    remember(store)

    answer = asked(store, "copilot", payload_of("copilot-SessionStart-startup"))

    assert "<knowledge" in answer["additionalContext"]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("gemini-AfterTool-write_file", "file_path"),
        ("gemini-AfterTool-replace", "file_path"),
        ("copilot-PostToolUse-Write", "path"),
    ],
)
def test_a_file_that_a_tool_wrote_is_a_commit_of_the_session(
    store: Path, name: str, field: str
) -> None:
    path = store / "groups" / "main" / "facts" / "oslo.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("Kroner.\n")
    payload = payload_of(name) | {"tool_input": {field: str(path)}}

    asked(store, host_of(name), payload)

    commit = newest(store)
    assert commit["paths"] == ["facts/oslo.md"]
    assert (commit["session"], commit["agent"]) == (payload["session_id"], host_of(name))


@pytest.mark.parametrize("name", ["gemini-AfterAgent", "copilot-Stop", "copilot-Stop-agent"])
def test_a_turn_that_ends_captures_what_a_shell_wrote(store: Path, name: str) -> None:
    path = store / "groups" / "main" / "facts" / "oslo.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("Kroner.\n")

    asked(store, host_of(name), payload_of(name))

    assert newest(store)["paths"] == ["facts/oslo.md"]


def test_a_subagent_of_copilot_works_for_the_session_that_started_it(store: Path) -> None:
    """Its events have an id of its own as `session_id`, and Stop fires for it, too."""
    path = store / "groups" / "main" / "facts" / "oslo.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("Kroner.\n")
    payload = payload_of("copilot-Stop-agent")

    asked(store, "copilot", payload)

    assert newest(store)["session"] == payload["parent_agent_id"] != payload["session_id"]
    assert not list((store / "spool").glob("*")) if (store / "spool").exists() else True


def test_a_prompt_of_a_subagent_of_copilot_gets_nothing(store: Path) -> None:
    remember(store)
    payload = payload_of("copilot-UserPromptSubmit-agent") | {"prompt": QUESTION}

    assert asked(store, "copilot", payload) == {}
    assert asked(store, "copilot", payload_of("copilot-UserPromptSubmit") | {"prompt": QUESTION})


def test_gemini_before_a_request_is_told_nothing(store: Path) -> None:
    """PreCompress comes before every request: nothing is compacted then."""
    payload = payload_of("gemini-PreCompress")
    path = store / "groups" / "main" / "facts" / "oslo.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("Kroner.\n")

    assert asked(store, "gemini", payload) == {}
    assert newest(store)["paths"] != ["facts/oslo.md"]


@pytest.mark.parametrize(
    ("host", "is_whole"), [("claude-code", False), ("gemini", True), ("copilot", True)]
)
def test_a_resumed_session_gets_what_its_host_does_not_replay(
    store: Path, host: str, is_whole: bool
) -> None:
    """Gemini forgets the first prompt with all before it, Copilot what the start added."""
    remember(store)
    started = payload_of(f"{host}-SessionStart-startup")
    first = json.dumps(asked(store, host, started))
    gitmem(store, "write", "facts/new.md", "The van is blue.")

    again = json.dumps(asked(store, host, started | {"source": "resume"}))

    assert "zebra" in first
    assert "The van is blue" in again
    assert ("zebra" in again) == is_whole


@pytest.mark.parametrize(
    ("host", "variable"), [("gemini", "GEMINI_PROJECT_DIR"), ("copilot", "COPILOT_PROJECT_DIR")]
)
def test_the_project_is_the_one_that_the_host_names(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, variable: str
) -> None:
    gitmem(store, "init", "-g", "shop")
    gitmem(store, "link", str(tmp_path), "-g", "shop")
    gitmem(store, "-g", "shop", "write", "facts/shop.md", "Only the shop knows.")
    monkeypatch.setenv(variable, str(tmp_path))

    answer = asked(store, host, payload_of(f"{host}-SessionStart-startup"))

    assert "Only the shop knows" in json.dumps(answer)


def messages(store: Path, name: str) -> list[tuple[str, str]]:
    """The first line of each message that an import of the transcript NAME adds."""
    host = name.partition("-")[0]
    gitmem(store, "transcript", "import", host, str(FIXTURES / "transcripts" / f"{name}.jsonl"))
    [chat] = json.loads(gitmem(store, "transcript", "list", "--json").stdout)["chats"]
    shown = gitmem(store, "transcript", "show", chat["chat"], "--last", "0", "--json").stdout
    found = json.loads(shown)["messages"]
    return [(each["from"], each["text"].splitlines()[0]) for each in found]


def test_a_transcript_of_gemini_has_no_word_of_hooks(store: Path) -> None:
    found = messages(store, "gemini-0.61.0-resume")

    users = [text for sender, text in found if sender == "user"]
    assert users == [QUESTION, "again"]
    assert [sender for sender, _ in found] == ["user", "assistant"] * 2


def test_a_transcript_of_copilot_has_what_the_person_typed(store: Path) -> None:
    found = messages(store, "copilot-1.0.102-resume")

    assert [text for sender, text in found if sender == "user"] == [QUESTION, "more"]


def test_the_task_of_a_subagent_of_copilot_is_no_message(store: Path) -> None:
    found = messages(store, "copilot-1.0.102-task")

    assert found == [("user", "hello"), ("assistant", "All done.")]


@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("gemini", ".gemini/tmp/shop/chats/session-2026-11-18T05-29-ec6c4706.jsonl"),
        ("copilot", ".copilot/session-state/4392fc3f/events.jsonl"),
    ],
)
def test_the_sessions_of_a_project_are_found(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, place: str
) -> None:
    version = {"gemini": "0.61.0", "copilot": "1.0.102"}[host]
    recorded = (FIXTURES / "transcripts" / f"{host}-{version}-resume.jsonl").read_text()
    project = tmp_path / "shop"
    project.mkdir()
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(recorded.replace("/home/ada/shop", str(project)))
    if host == "gemini":
        (path.parents[1] / ".project_root").write_text(str(project))
    monkeypatch.setenv("HOME", str(tmp_path))

    done = gitmem(store, "transcript", "import", host, "--project", str(project), "--json")
    other = gitmem(store, "transcript", "import", host, "--project", str(tmp_path), "--json")

    assert json.loads(done.stdout)["added"] == 4
    assert "error" in json.loads(other.stdout)
