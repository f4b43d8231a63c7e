"""gitmem with the real Codex, headless, against a fake model.

As in test_claude_code.py: one home for the module, prompts are fixtures, no fixture asserts.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.real_hosts.bench import (
    CODEX,
    Bench,
    Json,
    Run,
    a_bench,
    call,
    installed_version,
    program,
    script,
)
from tests.real_hosts.two_sessions import Both, overlap

pytestmark = pytest.mark.hosts

MODEL = "gpt-5.5"  # one of `codex debug models`: for any other Codex offers no apply_patch
SUMMARY = "Codex summary: fixed the rounding bug."
NOTES = b"# My rules\n\nBe short.\n"


def config(bench: Bench) -> bytes:
    """A config.toml with the fake model and the default sandbox, as tight as outside of /tmp."""
    return f"""model = "{MODEL}"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "workspace-write"

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true

[model_providers.fake]
name = "fake"
base_url = "{bench.api}/v1"
env_key = "FAKE_KEY"
wire_api = "responses"

[projects."{bench.project}"]
trust_level = "trusted"
""".encode()


def files(bench: Bench) -> dict[str, tuple[Path, bytes]]:
    """The files of the user, as they are before gitmem is installed."""
    folder = bench.home / ".codex"
    return {
        "config.toml": (folder / "config.toml", config(bench)),
        "AGENTS.md": (folder / "AGENTS.md", NOTES),
    }


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with a_bench(tmp_path_factory.mktemp("codex"), summary=SUMMARY) as bench:
        for path, content in files(bench).values():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        # Codex runs commands in a login shell.
        (bench.home / ".profile").write_text(f'export PATH="{bench.env["PATH"]}"\n')
        bench.begin("codex", "--mcp")
        yield bench


def patch(bench: Bench, path: str, text: str) -> str:
    """The line that makes the model add a file of memory."""
    body = f"*** Begin Patch\n*** Add File: {bench.group}/{path}\n+{text}\n*** End Patch"
    return call("apply_patch", input=body)


def shell(command: str) -> str:
    return call("exec_command", cmd=command)


def outputs(run: Run) -> list[str]:
    """What the tools of a run answered to the model."""
    items = run.requests[-1]["input"] if run.requests else []
    return [str(each["output"]) for each in items if each.get("type", "").endswith("_output")]


def test_this_is_the_version_that_the_readme_names() -> None:
    assert installed_version(program("codex", CODEX)) == CODEX


def findings(bench: Bench) -> list[str]:
    return [each["code"] for each in bench.gitmem_json("doctor")["findings"]]


def listed(bench: Bench) -> list[Json]:
    """The hooks as Codex itself lists them, with its word on whether they are trusted."""
    command = [str(program("codex", CODEX)), "app-server"]
    with subprocess.Popen(
        command,
        cwd=bench.project,
        env=bench.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        client = {"clientInfo": {"name": "test", "version": "1"}}
        asked = {"cwds": [str(bench.project)]}
        rows: list[Json] = [
            {"id": 1, "method": "initialize", "params": client},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": asked},
        ]
        server.stdin.write("".join(json.dumps(each) + "\n" for each in rows))
        server.stdin.flush()
        answers = (json.loads(line) for line in server.stdout)
        found = next(each for each in answers if each.get("id") == 2)
        server.terminate()
    hooks: list[Json] = found["result"]["data"][0]["hooks"]
    return hooks


def trusted_config(hooks: list[Json]) -> str:
    """What Codex writes when a person trusts HOOKS in /hooks."""
    rows = [f'[hooks.state."{x["key"]}"]\ntrusted_hash = "{x["currentHash"]}"\n' for x in hooks]
    return "\n" + "\n".join(rows)


class Trust(NamedTuple):
    """What was told before and after somebody trusted the hooks, and a prompt thereafter."""

    before: list[str]
    after: list[str]
    hooks: list[Json]
    run: Run


@pytest.fixture(scope="module")
def trust(bench: Bench) -> Trust:
    path = bench.home / ".codex" / "config.toml"
    untrusted = path.read_text()
    before = findings(bench)
    path.write_text(untrusted + trusted_config(listed(bench)))
    found = Trust(before, findings(bench), listed(bench), bench.codex("hello", trusted=False))
    path.write_text(untrusted)
    return found


def test_doctor_finds_only_hooks_to_trust_after_install_and_link(trust: Trust) -> None:
    assert trust.before == ["hooks-untrusted"]


def test_doctor_finds_nothing_when_codex_trusts_the_hooks(trust: Trust) -> None:
    assert {each["trustStatus"] for each in trust.hooks} == {"trusted"}
    assert trust.after == []


def test_hooks_that_somebody_trusted_bring_memory(bench: Bench, trust: Trust) -> None:
    assert "zebra-quartz" in bench.seen(trust.run.first)


@pytest.fixture(scope="module")
def wired(bench: Bench) -> set[str]:
    return bench.wired_events("codex")


@pytest.mark.parametrize(
    "event",
    [
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PreCompact",
        "PostCompact",
        "Stop",
        "SubagentStart",
        "SubagentStop",
        "SessionEnd",
    ],
)
def test_the_event_is_wired(wired: set[str], event: str) -> None:
    assert event in wired


def test_hooks_that_nobody_trusted_are_skipped_as_codex_documents(bench: Bench) -> None:
    run = bench.codex("hello", trusted=False)

    assert run.first
    assert "zebra-quartz" not in bench.seen(run.first)


@pytest.fixture(scope="module")
def greeted(bench: Bench) -> Run:
    return bench.codex("hello")


def test_the_first_request_holds_memory(bench: Bench, greeted: Run) -> None:
    assert "zebra-quartz" in bench.seen(greeted.first)


@pytest.mark.parametrize("attempt", range(3))
def test_the_first_request_offers_the_tools_of_the_server(bench: Bench, attempt: int) -> None:
    tools = json.dumps(bench.codex("hello").first.get("tools") or [])

    # Either the tools, or the name of the server in the description of `tool_search`.
    assert "memory_search" in tools or "- gitmem" in tools


def test_a_prompt_retrieves_the_passage_that_answers_it(bench: Bench) -> None:
    run = bench.codex("Which database do we use for the orders, and why?")

    assert "SQLite locked up" in bench.seen(run.first)


def test_small_talk_retrieves_nothing(bench: Bench) -> None:
    run = bench.codex("Thanks, that is great!")

    assert run.first
    assert "SQLite locked up" not in bench.seen(run.first)


# ---- the sandbox


@pytest.fixture(scope="module")
def sandboxed(bench: Bench) -> Run:
    """Edits in the sandbox that `gitmem install codex` leaves to the model."""
    return bench.codex(
        script(
            patch(bench, "facts/inside.md", "By patch."),
            shell("gitmem write facts/verb.md 'By verb.' --json"),
            shell(f"echo shell > {bench.group}/facts/shell.md"),
        )
    )


@pytest.mark.parametrize("path", ["facts/inside.md", "facts/verb.md", "facts/shell.md"])
def test_the_default_sandbox_lets_the_model_write(bench: Bench, sandboxed: Run, path: str) -> None:
    assert bench.commit_of(path).get("session") == sandboxed.session != ""


def test_the_sandbox_opens_nothing_but_memory(bench: Bench, sandboxed: Run) -> None:
    run = bench.codex(script(shell(f"echo x > {bench.home}/outside.txt; echo wrote=$?")))

    assert any("wrote=" in each for each in outputs(run))
    assert not (bench.home / "outside.txt").exists()


def test_a_write_below_a_read_only_mount_names_the_cause(bench: Bench, sandboxed: Run) -> None:
    write = "gitmem write facts/closed.md x --json"
    run = bench.codex(script(shell(write)), "-s", "read-only")
    [told] = [each for each in outputs(run) if '"error"' in each]

    assert "sandbox" in told or "read-only" in told.lower()
    assert "gitmem check" not in told


# ---- edits


@pytest.fixture(scope="module")
def edits(bench: Bench) -> Run:
    """One prompt whose model edits memory in each way that it has."""
    return bench.codex(
        script(
            patch(bench, "facts/oslo.md", "Kroner."),
            shell("gitmem write facts/voss.md Cash"),
            shell(f"echo Euro > {bench.group}/facts/bergen.md"),
        )
    )


PATHS = ["facts/oslo.md", "facts/voss.md", "facts/bergen.md"]


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_is_a_commit_of_its_session(bench: Bench, edits: Run, path: str) -> None:
    assert bench.commit_of(path).get("session") == edits.session != ""


@pytest.mark.parametrize("path", PATHS)
def test_an_edit_is_signed_with_the_name_of_the_host(bench: Bench, edits: Run, path: str) -> None:
    assert bench.commit_of(path).get("agent") == "codex"


@pytest.fixture(scope="module")
def served(bench: Bench) -> Run:
    """A prompt whose model lists what the server has, and writes by it."""
    wait = call("list_mcp_resources", server="gitmem")
    write = call("mcp__gitmem/memory_write", path="facts/mcp.md", text="By MCP.")
    return bench.codex(script(wait, write))


def test_the_server_lists_its_resources(served: Run) -> None:
    assert "memory://shop/facts/release.md" in outputs(served)[0]


def test_a_tool_of_the_server_writes_outside_of_the_sandbox(bench: Bench, served: Run) -> None:
    assert bench.commit_of("facts/mcp.md").get("op") == "write"


def test_the_server_signs_with_the_name_of_the_host(bench: Bench, served: Run) -> None:
    assert bench.commit_of("facts/mcp.md").get("agent") == "codex"


@pytest.fixture(scope="module")
def both(bench: Bench) -> Both:
    def prompt(name: str, command: str) -> Run:
        # Without `yield_time_ms` Codex hands a command that waits back to the model.
        line = call("exec_command", cmd=command, yield_time_ms=60000)
        return bench.codex(script(name, line))

    return overlap(bench, prompt)


def test_a_session_that_ends_signs_no_edit_of_another(bench: Bench, both: Both) -> None:
    assert bench.commit_of("facts/first.md").get("session") == both.first.session != ""


def test_a_session_that_ends_beside_another_signs_its_own_edit(bench: Bench, both: Both) -> None:
    assert bench.commit_of("facts/second.md").get("session") == both.second.session != ""


# ---- compaction


@pytest.fixture(scope="module")
def compacted(bench: Bench) -> Run:
    """A session that compacts itself: every answer claims more tokens than the limit."""
    limit = ("-c", "model_auto_compact_token_limit=50")
    return bench.codex(script("fix the totals", shell("true"), shell("true")), *limit)


def test_the_session_was_compacted(bench: Bench, compacted: Run) -> None:
    [rollout] = bench.home.glob(f".codex/sessions/*/*/*/rollout-*{compacted.session}.jsonl")

    assert '"type":"compacted"' in rollout.read_text().replace(" ", "")


def test_the_summary_of_a_compaction_is_an_episode(bench: Bench, compacted: Run) -> None:
    assert "rounding bug" in bench.episodes()


def test_later_sessions_see_a_line_about_the_work(bench: Bench, compacted: Run) -> None:
    assert "rounding" in bench.gitmem_json("inject", "--layer", "episodes")["text"]


# ---- transcripts


@pytest.fixture(scope="module")
def imported(bench: Bench) -> Json:
    """The import of all sessions of the project, one of them with a subagent."""
    bench.codex("How many parcels fit into the blue van?")
    spawn = call("multi_agent_v1/spawn_agent", message="a task aside\n@@say helper done")
    bench.codex(script(spawn, shell("sleep 3")))
    return bench.gitmem_json("transcript", "import", "codex", "--project", ".")


@pytest.fixture(scope="module")
def said(bench: Bench, imported: Json) -> list[str]:
    """What users said, as gitmem imported it."""
    return [each["text"] for each in bench.messages() if each["from"] == "user"]


def test_every_kind_of_line_in_a_transcript_is_known(imported: Json) -> None:
    assert [each for each in imported["passed"] if each.startswith("unknown")] == []


def test_a_prompt_is_a_message_of_the_user(said: list[str]) -> None:
    assert "How many parcels fit into the blue van?" in said


@pytest.mark.parametrize("begin", ["# AGENTS.md", "<user_instructions>", "<environment_context>"])
def test_instructions_of_the_host_are_no_message_of_the_user(said: list[str], begin: str) -> None:
    assert said
    assert [each for each in said if each.startswith(begin)] == []


def test_the_task_of_a_subagent_is_no_message_of_the_user(said: list[str]) -> None:
    assert said
    assert [each for each in said if each.startswith("a task aside")] == []


def test_the_first_request_of_a_subagent_holds_memory(bench: Bench, imported: Json) -> None:
    aside = [each for each in bench.requests() if is_aside(each)]

    assert aside
    # A part of it: the room of a subagent in Codex does not hold every fact of this bench.
    assert 'path="identity.md"' in bench.seen(aside[0])


def is_aside(body: Json) -> bool:
    """Whether a request belongs to the subagent: its task is a prompt there."""
    users = [each for each in body.get("input", []) if each.get("role") == "user"]
    return any(each["content"][0].get("text", "").startswith("a task aside") for each in users)


def test_a_session_may_ask_for_its_range_again(bench: Bench, imported: Json) -> None:
    pending = shell("gitmem transcript pending --json > /dev/null; echo exit=$?")
    run = bench.codex(script(pending, pending))

    assert ["exit=0" in each for each in outputs(run)] == [True, True]


def test_another_session_does_not_get_the_range_meanwhile(bench: Bench, imported: Json) -> None:
    """A lease belongs to a session: each command of the sandbox is process 1 of its namespace."""
    pending = shell("gitmem transcript pending --json > /dev/null; echo exit=$?")
    first = bench.codex(script(pending.replace("pending --json", "pending --take-over --json")))
    others = [bench.codex(script(pending, pending)) for _ in range(2)]

    assert "exit=0" in outputs(first)[0]
    assert ["exit=7" in each for run in others for each in outputs(run)] == [True] * 4


# ---- the end: nothing of gitmem is installed from here on


@pytest.fixture(scope="module")
def uninstalled(bench: Bench) -> Bench:
    bench.gitmem("install", "codex", "--uninstall")
    return bench


@pytest.mark.parametrize("name", ["config.toml", "AGENTS.md"])
def test_uninstalling_restores_the_bytes(uninstalled: Bench, name: str) -> None:
    path, content = files(uninstalled)[name]

    assert path.read_bytes() == content


def test_uninstalling_leaves_no_skill(uninstalled: Bench) -> None:
    folders = (uninstalled.home / ".agents" / "skills", uninstalled.home / ".codex" / "skills")
    left = [each.name for folder in folders for each in folder.glob("*")]

    assert [each for each in left if not each.startswith(".")] == []
