"""gitmem with the real Gemini CLI, headless, against a fake model.

As in test_claude_code.py: one home for the module, prompts are fixtures, no fixture asserts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_hosts.bench import (
    GEMINI,
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

# Without the kind of key it asks, and in a folder that nobody trusted it exits before any hook.
SETTINGS = b"""{
  "security": {
    "auth": {"selectedType": "gemini-api-key"},
    "folderTrust": {"enabled": false}
  }
}
"""
NOTES = b"# My rules\n\nBe short.\n"
QUESTION = "Which database do we use for the orders, and why?"


def files(bench: Bench) -> dict[str, tuple[Path, bytes]]:
    """The files of the user, as they are before gitmem is installed."""
    folder = bench.home / ".gemini"
    return {
        "settings.json": (folder / "settings.json", SETTINGS),
        "GEMINI.md": (folder / "GEMINI.md", NOTES),
    }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with a_bench(tmp_path_factory.mktemp("gemini")) as bench:
        for path, content in files(bench).values():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        bench.begin("gemini", "--mcp")
        yield bench


def shell(command: str) -> str:
    return call("run_shell_command", command=command, description="x")


def tools(request: Json) -> set[str]:
    """The names of the tools that a request offers."""
    offered = [each.get("functionDeclarations", []) for each in request.get("tools", [])]
    return {tool["name"] for each in offered for tool in each}


def outputs(run: Run) -> list[str]:
    """What the tools of a run answered to the model."""
    contents = run.requests[-1]["contents"] if run.requests else []
    parts = [part for each in contents for part in each.get("parts", [])]
    return [json.dumps(each["functionResponse"]) for each in parts if "functionResponse" in each]


def test_this_is_the_version_that_the_readme_names() -> None:
    assert installed_version(program("gemini", GEMINI)) == GEMINI


def test_doctor_finds_nothing_after_install_and_link(bench: Bench) -> None:
    assert bench.gitmem_json("doctor")["findings"] == []


@pytest.mark.parametrize(
    "event", ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"]
)
def test_the_event_is_wired(bench: Bench, event: str) -> None:
    assert event in bench.wired_events("gemini")


def test_the_event_before_every_request_is_not_wired(bench: Bench) -> None:
    assert "PreCompress" not in bench.wired_events("gemini")


@pytest.fixture(scope="module")
def asked(bench: Bench) -> Run:
    return bench.gemini(QUESTION)


def test_the_first_request_holds_memory(bench: Bench, asked: Run) -> None:
    assert "zebra-quartz" in bench.seen(asked.first)


def test_a_prompt_retrieves_the_passage_that_answers_it(bench: Bench, asked: Run) -> None:
    assert "SQLite locked up" in bench.seen(asked.first)


def test_no_tag_of_memory_is_escaped(bench: Bench, asked: Run) -> None:
    assert asked.first
    assert "&lt;knowledge" not in bench.seen(asked.first)


def test_the_first_request_holds_the_section(bench: Bench, asked: Run) -> None:
    assert "kept by `gitmem`" in bench.seen(asked.first)


def test_the_first_request_offers_the_tools_of_the_server(asked: Run) -> None:
    assert "mcp_gitmem_memory_search" in tools(asked.first)


def test_the_first_request_names_the_skills(bench: Bench, asked: Run) -> None:
    assert "recall-memories" in bench.seen(asked.first)


def test_small_talk_retrieves_nothing(bench: Bench) -> None:
    run = bench.gemini("Thanks, that is great!")

    assert run.first
    assert "SQLite locked up" not in bench.seen(run.first)


# ---- what the model may do, and who did it


@pytest.fixture(scope="module")
def written(bench: Bench, asked: Run) -> Run:
    """A prompt whose model writes with everything that it has after `gitmem install gemini`."""
    return bench.gemini(
        script(
            shell("gitmem write facts/verb.md 'By verb.'"),
            shell("gitmem groups remove shop --yes"),
            shell("echo x > outside.txt"),
            call("mcp_gitmem_memory_write", path="facts/mcp.md", text="By MCP."),
        )
    )


@pytest.mark.parametrize("path", ["facts/verb.md", "facts/mcp.md"])
def test_the_model_may_write_memory(bench: Bench, written: Run, path: str) -> None:
    assert bench.commit_of(path)


@pytest.mark.parametrize("path", ["facts/verb.md", "facts/mcp.md"])
def test_a_write_is_signed_with_the_name_of_the_host(bench: Bench, written: Run, path: str) -> None:
    assert bench.commit_of(path).get("agent") == "gemini"


def test_the_model_may_not_destroy(bench: Bench, written: Run) -> None:
    assert any("denied by policy" in each for each in outputs(written))
    assert bench.group.is_dir()


def test_the_model_may_do_nothing_else(bench: Bench, written: Run) -> None:
    assert outputs(written)
    assert not (bench.project / "outside.txt").exists()


@pytest.fixture(scope="module")
def edited(bench: Bench, asked: Run) -> Run:
    """A prompt whose model may edit files of memory, and does."""
    path = str(bench.group / "facts" / "oslo.md")
    return bench.gemini(
        script(call("write_file", file_path=path, content="Kroner.")),
        *("--approval-mode", "auto_edit", "--include-directories", bench.group),
    )


def test_an_edit_is_a_commit_of_its_session(bench: Bench, edited: Run) -> None:
    assert bench.commit_of("facts/oslo.md").get("session") == edited.session != ""


def test_an_edit_is_signed_with_the_name_of_the_host(bench: Bench, edited: Run) -> None:
    assert bench.commit_of("facts/oslo.md").get("agent") == "gemini"


# ---- going on


@pytest.fixture(scope="module")
def resumed(bench: Bench, asked: Run) -> Run:
    """The first session, resumed after somebody else has written."""
    bench.remember("facts/van.md", "The van is blue.")
    return bench.gemini("And now?", "--resume", asked.session)


def test_a_resumed_session_sees_what_changed(bench: Bench, resumed: Run) -> None:
    assert "The van is blue" in bench.seen(resumed.first)


def test_a_resumed_session_still_has_its_memory_once(bench: Bench, resumed: Run) -> None:
    assert bench.seen(resumed.first).count("zebra-quartz") == 1


@pytest.fixture(scope="module")
def said(bench: Bench, resumed: Run) -> list[str]:
    """What the user said, as gitmem imported it from all sessions of the project."""
    bench.gitmem("transcript", "import", "gemini", "--project", ".")
    return [each["text"] for each in bench.messages() if each["from"] == "user"]


def test_a_prompt_is_a_message_of_the_user(said: list[str]) -> None:
    assert {QUESTION, "And now?"} <= set(said)


def test_no_message_of_the_user_holds_what_hooks_added(said: list[str]) -> None:
    assert said
    assert [each for each in said if "hook_context" in each or "zebra-quartz" in each] == []


# ---- the end: nothing of gitmem is installed from here on


@pytest.fixture(scope="module")
def uninstalled(bench: Bench, said: list[str], written: Run, edited: Run) -> Bench:
    bench.gitmem("install", "gemini", "--uninstall")
    return bench


@pytest.mark.parametrize("name", ["settings.json", "GEMINI.md"])
def test_uninstalling_restores_the_bytes(uninstalled: Bench, name: str) -> None:
    path, content = files(uninstalled)[name]

    assert path.read_bytes() == content


@pytest.mark.parametrize("folder", ["skills", "policies"])
def test_uninstalling_leaves_nothing(uninstalled: Bench, folder: str) -> None:
    assert list((uninstalled.home / ".gemini" / folder).glob("*")) == []
