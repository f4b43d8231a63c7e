"""gitmem with the real Copilot CLI, headless, against a fake model.

As in test_claude_code.py: one home for the module, prompts are fixtures, no fixture asserts.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_hosts.bench import (
    COPILOT,
    Bench,
    Json,
    Run,
    a_bench,
    call,
    installed_version,
    program,
    script,
)

pytestmark = pytest.mark.hosts

NOTES = b"# My rules\n\nBe short.\n"
SERVERS = b"""{
  "mcpServers": {}
}
"""
QUESTION = "Which database do we use for the orders, and why?"


def files(bench: Bench) -> dict[str, tuple[Path, bytes]]:
    """The files of the user, as they are before gitmem is installed."""
    folder = bench.home / ".copilot"
    return {
        "copilot-instructions.md": (folder / "copilot-instructions.md", NOTES),
        "mcp-config.json": (folder / "mcp-config.json", SERVERS),
    }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with a_bench(tmp_path_factory.mktemp("copilot")) as bench:
        for path, content in files(bench).values():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        bench.begin("copilot", "--mcp")
        yield bench


def shell(command: str) -> str:
    return call("bash", command=command, description="x")


def tools(request: Json) -> set[str]:
    """The names of the tools that a request offers."""
    return {each["function"]["name"] for each in request.get("tools", [])}


def test_this_is_the_version_that_the_readme_names() -> None:
    assert installed_version(program("copilot", COPILOT)) == COPILOT


def test_doctor_finds_nothing_after_install_and_link(bench: Bench) -> None:
    assert bench.gitmem_json("doctor")["findings"] == []


@pytest.mark.parametrize(
    "event",
    [
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    ],
)
def test_the_event_is_wired(bench: Bench, event: str) -> None:
    assert event in bench.wired_events("copilot")


@pytest.fixture(scope="module")
def asked(bench: Bench) -> Run:
    return bench.copilot(QUESTION)


def test_the_first_request_holds_memory(bench: Bench, asked: Run) -> None:
    assert "zebra-quartz" in bench.seen(asked.first)


def test_a_prompt_retrieves_the_passage_that_answers_it(bench: Bench, asked: Run) -> None:
    assert "SQLite locked up" in bench.seen(asked.first)


def test_the_first_request_holds_the_section(bench: Bench, asked: Run) -> None:
    assert "kept by `gitmem`" in bench.seen(asked.first)


def test_the_first_request_offers_the_tools_of_the_server(asked: Run) -> None:
    assert "gitmem-memory_search" in tools(asked.first)


def test_the_first_request_names_the_skills(bench: Bench, asked: Run) -> None:
    assert "recall-memories" in str(asked.first)


def test_small_talk_retrieves_nothing(bench: Bench) -> None:
    run = bench.copilot("Thanks, that is great!")

    assert run.first
    assert "SQLite locked up" not in bench.seen(run.first)


# ---- who did it, with the options that let the model write


@pytest.fixture(scope="module")
def edits(bench: Bench, asked: Run) -> Run:
    """One prompt whose model edits memory in each way that it has."""
    return bench.copilot(
        script(
            call("create", path=str(bench.group / "facts" / "oslo.md"), file_text="Kroner."),
            shell("gitmem write facts/voss.md Cash"),
            call("gitmem-memory_write", path="facts/mcp.md", text="By MCP."),
        ),
        *("--allow-tool", "shell(gitmem:*)", "--allow-tool", "gitmem", "--allow-tool", "write"),
        *("--add-dir", bench.group),
    )


PATHS = ["facts/oslo.md", "facts/voss.md", "facts/mcp.md"]


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_is_a_commit_of_its_session(bench: Bench, edits: Run, path: str) -> None:
    assert bench.commit_of(path).get("session") == edits.session != ""


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_is_signed_with_the_name_of_the_host(bench: Bench, edits: Run, path: str) -> None:
    assert bench.commit_of(path).get("agent") == "copilot"


def test_the_tool_that_wrote_a_file_had_it_captured(bench: Bench, edits: Run) -> None:
    """Not the end of the turn: then it would come after what followed."""
    paths = [path for each in bench.log() for path in each["paths"] if path in PATHS]

    assert paths == list(reversed(PATHS))


# ---- going on


@pytest.fixture(scope="module")
def resumed(bench: Bench, asked: Run) -> Run:
    """The first session, resumed after somebody else has written."""
    bench.remember("facts/van.md", "The van is blue.")
    return bench.copilot("And now?", f"--resume={asked.session}")


def test_a_resumed_session_goes_on(asked: Run, resumed: Run) -> None:
    assert resumed.session == asked.session


@pytest.mark.parametrize("text", ["The van is blue", "zebra-quartz"])
def test_a_resumed_session_has_all_of_memory(bench: Bench, resumed: Run, text: str) -> None:
    """Copilot does not replay what a hook added at the start of a session."""
    assert bench.seen(resumed.first).count(text) == 1


@pytest.fixture(scope="module")
def aside(bench: Bench, asked: Run) -> Run:
    """A session with a subagent."""
    task = {"agent_type": "explore", "description": "d", "name": "helper", "mode": "sync"}
    return bench.copilot(script(call("task", prompt="a task aside\n@@say done", **task)))


def test_a_subagent_starts_with_memory(bench: Bench, aside: Run) -> None:
    theirs = [each for each in aside.requests if "task" not in tools(each)]

    assert theirs
    assert all(bench.seen(each).count("zebra-quartz") == 1 for each in theirs)


def test_a_subagent_leaves_no_session_of_its_own(bench: Bench, aside: Run) -> None:
    spool = bench.store / "spool"
    left = [each.read_text() for each in spool.glob("*")] if spool.is_dir() else []

    assert any(aside.session in each for each in left)
    assert all(aside.session in each for each in left if "a task aside" in each)


@pytest.fixture(scope="module")
def said(bench: Bench, resumed: Run, aside: Run) -> list[str]:
    """What the user said, as gitmem imported it from all sessions of the project."""
    bench.gitmem("transcript", "import", "copilot", "--project", ".")
    return [each["text"] for each in bench.messages() if each["from"] == "user"]


def test_a_prompt_is_a_message_of_the_user(said: list[str]) -> None:
    assert {QUESTION, "And now?"} <= set(said)


def test_no_message_of_the_user_holds_what_hooks_added(said: list[str]) -> None:
    assert said
    assert [each for each in said if "system_reminder" in each or "zebra-quartz" in each] == []


def test_the_task_of_a_subagent_is_no_message_of_the_user(said: list[str]) -> None:
    assert said
    assert [each for each in said if each.startswith("a task aside")] == []


# ---- the end: nothing of gitmem is installed from here on


@pytest.fixture(scope="module")
def uninstalled(bench: Bench, said: list[str], edits: Run) -> Bench:
    bench.gitmem("install", "copilot", "--uninstall")
    return bench


@pytest.mark.parametrize("name", ["copilot-instructions.md", "mcp-config.json"])
def test_uninstalling_restores_the_bytes(uninstalled: Bench, name: str) -> None:
    path, content = files(uninstalled)[name]

    assert path.read_bytes() == content


@pytest.mark.parametrize("folder", ["skills", "hooks"])
def test_uninstalling_leaves_nothing(uninstalled: Bench, folder: str) -> None:
    assert list((uninstalled.home / ".copilot" / folder).glob("*")) == []
