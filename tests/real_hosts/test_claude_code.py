"""gitmem with the real Claude Code, headless, against a fake model.

The tests of this module share one home, in which state builds up in the order of the tests. Each
prompt that several tests look at is a fixture, and no fixture asserts: a failure hides nothing.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gitmem.integrations.hooks.tool_calls import SLACK
from tests.real_hosts.bench import (
    CHECKOUT,
    CLAUDE_CODE,
    GITMEM,
    Bench,
    Json,
    Run,
    a_bench,
    call,
    installed_version,
    password,
    program,
    script,
)
from tests.real_hosts.two_sessions import WAIT, Both, overlap

pytestmark = pytest.mark.hosts

SUMMARY = """<analysis>
Let me chronologically analyze the conversation.
</analysis>

<summary>
1. Primary Request and Intent:
   Fix the rounding bug in checkout totals.
</summary>"""
LATER_SUMMARY = SUMMARY.replace("Fix the rounding bug in checkout totals", "Move to Adyen in May")
SETTINGS = b'{\n    "permissions": {"allow": ["Bash(ls:*)"]},   \n\t"env": {"FOO": "bar"}\n}'
LOCAL_SETTINGS = b'{"permissions": {"deny": ["WebFetch"]},\r\n  "outputStyle": "terse" }'
NOTES = b"# My rules\r\n\r\nBe short."
TOOLS = ("--allowedTools", "Bash Read Write Edit Agent Skill", "--add-dir")
ALLOWED = [
    "read",
    "list",
    "search",
    "write",
    "log",
    "show",
    "diff",
    "inject",
    "entries",
    "freshness",
    "confirm",
    "capture",
    "transcript pending",
    "compact",
    "status",
    "memory search",
]
FORBIDDEN = [
    "remote",
    "sync",
    "backup",
    "install",
    "setup",
    "groups",
    "held",
    "purge",
    "bisect",
    "schedule",
    "adopt",
    "transcript prune",
]
DOORS = ["Write", "Edit", "Read", "Skill"]
OWN_MEMORY = re.compile(r"file-based memory(?: system)? at `?([^`\s]+)")


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A home and a project with settings of their own, and no gitmem."""
    with a_bench(tmp_path_factory.mktemp("claude-code"), summary=SUMMARY) as bench:
        for path, content in files(bench).items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        yield bench


def files(bench: Bench) -> dict[Path, bytes]:
    """The files of the user, as they are before gitmem is installed."""
    return {
        bench.home / ".claude" / "settings.json": SETTINGS,
        bench.home / ".claude" / "CLAUDE.md": NOTES,
        bench.project / ".claude" / "settings.local.json": LOCAL_SETTINGS,
    }


@pytest.fixture(scope="module")
def bench(before: Bench) -> Bench:
    before.begin("claude-code")
    return before


@pytest.fixture(scope="module")
def other_project(bench: Bench) -> Path:
    """A second project of the same group, without settings."""
    project = bench.root / "other"
    project.mkdir()
    bench.run("git", "init", "-q", ".", cwd=project)
    bench.gitmem("link", ".", "-g", "shop", cwd=project)
    return project


def test_this_is_the_version_that_the_readme_names() -> None:
    assert installed_version(program("claude", CLAUDE_CODE)) == CLAUDE_CODE


def test_doctor_finds_nothing_after_install_and_link(bench: Bench) -> None:
    assert bench.gitmem_json("doctor")["findings"] == []


@pytest.fixture(scope="module")
def wired(bench: Bench) -> set[str]:
    return bench.wired_events("claude-code")


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


def test_the_first_request_holds_memory(bench: Bench) -> None:
    assert "zebra-quartz" in bench.seen(bench.claude("hello").first)


def test_a_prompt_retrieves_the_passage_that_answers_it(bench: Bench) -> None:
    run = bench.claude("Which database do we use for the orders, and why?")

    assert "SQLite locked up" in bench.seen(run.first)


def test_small_talk_retrieves_nothing(bench: Bench) -> None:
    run = bench.claude("Thanks, that is great!")

    assert run.first
    assert "SQLite locked up" not in bench.seen(run.first)


# ---- edits


@pytest.fixture(scope="module")
def edits(bench: Bench) -> Iterator[Run]:
    """One prompt whose model edits memory in each way that it has."""
    facts = bench.group / "facts"
    yield bench.claude(
        script(
            "@@think note it",
            call("Write", file_path=f"{facts}/oslo.md", content="Kroner."),
            call("Bash", command=f"echo Euro > {facts}/bergen.md"),
            call("Bash", command="gitmem write facts/voss.md Cash"),
            call("Write", file_path=f"{facts}/key.md", content=password()),
        ),
        *TOOLS,
        bench.group,
    )
    (facts / "key.md").unlink(missing_ok=True)


@pytest.mark.parametrize(
    ("path", "door"),
    [
        ("facts/oslo.md", "the tool Write"),
        ("facts/bergen.md", "an edit in the shell"),
        ("facts/voss.md", "gitmem in the shell"),
    ],
)
def test_an_edit_is_a_commit_of_its_session(bench: Bench, edits: Run, path: str, door: str) -> None:
    assert edits.session
    assert bench.commit_of(path).get("session") == edits.session, door


@pytest.mark.parametrize("path", ["facts/oslo.md", "facts/bergen.md", "facts/voss.md"])
def test_an_edit_is_signed_with_the_name_of_the_host(bench: Bench, edits: Run, path: str) -> None:
    assert bench.commit_of(path).get("agent") == "claude-code"


@pytest.mark.parametrize("path", ["facts/oslo.md", "facts/bergen.md"])
def test_an_edit_names_the_turn_of_its_prompt(bench: Bench, edits: Run, path: str) -> None:
    [prompt] = prompt_ids(bench, edits.session)

    assert bench.commit_of(path).get("turn") == prompt


def prompt_ids(bench: Bench, session: str) -> set[str]:
    """The ids of the prompts in a session, as its transcript names them."""
    [transcript] = bench.home.glob(f".claude/projects/*/{session}.jsonl")
    return set(re.findall(r'"promptId": ?"([^"]+)"', transcript.read_text()))


def test_a_credential_is_in_no_commit(bench: Bench, edits: Run) -> None:
    assert bench.commit_of("facts/key.md") == {}


def test_the_model_is_told_that_a_credential_was_refused(edits: Run) -> None:
    told = [each for each in texts(edits.requests[-1]) if each.startswith("PostToolUse:Write hook")]

    assert any("facts/key.md" in each for each in told)


def texts(body: Json) -> list[str]:
    """The texts of a conversation; what a hook adds is one of its own."""
    found = []
    for message in body.get("messages", []):
        content = message["content"]
        blocks = [{"text": content}] if isinstance(content, str) else content
        found += [each.get("text", "") for each in blocks]
    return found


# ---- permissions


@pytest.fixture(scope="module")
def denials(bench: Bench) -> list[str]:
    """What Claude Code denied of all that a model tries after `gitmem install` alone."""
    note = bench.group / "facts" / "release.md"
    run = bench.claude(
        script(
            call("Read", file_path=str(note)),
            call("Edit", file_path=str(note), old_string="codename", new_string="code name"),
            call("Write", file_path=f"{bench.group}/facts/plain.md", content="by Write"),
            call("Skill", skill="recall-memories"),
            *(call("Bash", command=f"gitmem {each} --help") for each in (*ALLOWED, *FORBIDDEN)),
            call("Bash", command="gitmem write facts/tent.md 'Sleeps four.'"),
            call("Bash", command="gitmem status && gitmem groups"),
        )
    )
    return [each["tool_input"].get("command") or each["tool_name"] for each in run.denied]


@pytest.mark.parametrize("tool", DOORS)
def test_the_model_may_use_its_tools_on_memory(denials: list[str], tool: str) -> None:
    assert tool not in denials


@pytest.mark.parametrize("verb", ALLOWED)
def test_the_model_may_run_a_verb_that_an_agent_needs(denials: list[str], verb: str) -> None:
    assert f"gitmem {verb} --help" not in denials


@pytest.mark.parametrize("verb", FORBIDDEN)
def test_a_verb_that_reaches_outside_stays_denied(denials: list[str], verb: str) -> None:
    assert f"gitmem {verb} --help" in denials


def test_a_permitted_verb_opens_no_door_to_another(denials: list[str]) -> None:
    assert "gitmem status && gitmem groups" in denials


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("facts/plain.md", "by Write"),
        ("facts/release.md", "code name"),
        ("facts/tent.md", "Sleeps four"),
    ],
)
def test_an_edit_reaches_memory_without_a_question(
    bench: Bench, denials: list[str], path: str, words: str
) -> None:
    shown = bench.run(GITMEM, "read", path)

    assert words in shown.stdout, shown.stderr


def test_the_model_may_not_edit_the_files_of_another_group(bench: Bench) -> None:
    bench.gitmem("init", "-g", "blog")
    path = bench.store / "groups" / "blog" / "facts" / "spy.md"

    run = bench.claude(script(call("Write", file_path=str(path), content="x")))

    assert [each["tool_name"] for each in run.denied] == ["Write"]
    assert not path.exists()


@pytest.mark.parametrize("place", ["src", "tree"])
def test_a_subfolder_and_a_worktree_have_the_rules_of_the_project(bench: Bench, place: str) -> None:
    folder = bench.project / "src" if place == "src" else bench.root / "side"
    if place == "src":
        folder.mkdir()
    else:
        bench.run("git", "commit", "-q", "--allow-empty", "-m", "x", **AUTHOR)
        bench.run("git", "worktree", "add", "-q", folder)
    path = bench.group / "facts" / f"from-{place}.md"

    run = bench.claude(script(call("Write", file_path=str(path), content="x")), cwd=folder)

    assert run.denied == []
    assert path.exists()


# ---- the memory that Claude Code has of its own


@pytest.fixture(scope="module")
def host_memory(bench: Bench) -> Path | None:
    """The folder of the host's own memory, as the host names it to the model."""
    return named_memory(bench, bench.claude("hello").first)


def named_memory(bench: Bench, body: Json) -> Path | None:
    found = OWN_MEMORY.search(bench.seen(body))
    return Path(found[1]) if found else None


def is_in_a_group(bench: Bench, folder: Path) -> bool:
    groups = bench.gitmem_json("groups")["groups"]
    return any(folder.resolve().is_relative_to(Path(each["worktree"])) for each in groups)


def test_the_hosts_own_memory_is_a_group_or_off(bench: Bench, host_memory: Path | None) -> None:
    assert host_memory is None or is_in_a_group(bench, host_memory)


def test_the_hosts_own_memory_is_a_group_or_off_in_a_worktree(bench: Bench) -> None:
    bench.run("git", "commit", "-q", "--allow-empty", "-m", "x", **AUTHOR)
    tree = bench.root / "tree"
    bench.run("git", "worktree", "add", "-q", tree)

    folder = named_memory(bench, bench.claude("hello", cwd=tree).first)

    assert folder is None or is_in_a_group(bench, folder)


AUTHOR = {
    f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def test_the_hosts_own_index_reaches_the_model_once(bench: Bench, host_memory: Path | None) -> None:
    folder = host_memory or bench.home / ".claude" / "projects" / "none" / "memory"
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "MEMORY.md"
    had = index.read_bytes() if index.exists() else b""
    index.write_bytes(had + b"\n- [Mascot](mascot.md) - it is called quokka-lantern\n")

    run = bench.claude("hello")

    assert bench.seen(run.first).count("quokka-lantern") == (1 if host_memory else 0)


# ---- subagents and sessions at once


@pytest.fixture(scope="module")
def subagent(bench: Bench) -> Run:
    """A prompt whose model starts a subagent that writes to memory."""
    path = f"{bench.group}/facts/sub.md"
    task = script("a task aside", call("Write", file_path=path, content="by a subagent"))
    kind = {"subagent_type": "general-purpose", "run_in_background": False}
    return bench.claude(
        script(call("Agent", description="x", prompt=task, **kind)), *TOOLS, bench.group
    )


def test_a_write_of_a_subagent_is_a_commit_of_the_session(bench: Bench, subagent: Run) -> None:
    assert bench.commit_of("facts/sub.md").get("session") == subagent.session != ""


def test_a_write_of_a_subagent_names_its_id(bench: Bench, subagent: Run) -> None:
    [transcript] = bench.home.glob(f".claude/projects/*/{subagent.session}/subagents/agent-*.jsonl")
    agent = transcript.stem.removeprefix("agent-")

    assert agent in str(bench.commit_of("facts/sub.md"))


def test_a_write_of_a_subagent_names_its_type(bench: Bench, subagent: Run) -> None:
    assert "general-purpose" in str(bench.commit_of("facts/sub.md"))


def test_the_first_request_of_a_subagent_holds_memory(bench: Bench, subagent: Run) -> None:
    aside = [each for each in subagent.requests if is_aside(each)]

    assert aside
    assert "zebra-quartz" in bench.seen(aside[0])


def is_aside(body: Json) -> bool:
    """Whether a request belongs to the subagent: its conversation begins with the task."""
    first = str(body["messages"][0])
    return "a task aside" in first and "@@tool Agent" not in first


@pytest.fixture(scope="module")
def both(bench: Bench) -> Both:
    def prompt(name: str, command: str) -> Run:
        return bench.claude(script(name, call("Bash", command=command)), *TOOLS, bench.group)

    return overlap(bench, prompt)


def test_a_session_that_ends_signs_no_edit_of_another(bench: Bench, both: Both) -> None:
    assert bench.commit_of("facts/first.md").get("session") == both.first.session != ""


def test_a_session_that_ends_beside_another_signs_its_own_edit(bench: Bench, both: Both) -> None:
    assert bench.commit_of("facts/second.md").get("session") == both.second.session != ""


@pytest.fixture(scope="module")
def three(bench: Bench) -> list[Run]:
    """Three sessions at once, each of which edits memory by commands that show it, and hide it.

    No program that hides what it writes runs before all have shown their edits, by any clock: while
    one does, no host can tell whose an edit is.
    """
    flags = [bench.project / f"shown-{number}.flag" for number in range(3)]
    all_shown = "; ".join(WAIT.format(each) for each in flags)

    def work(number: int) -> Run:
        facts, name = bench.group / "facts", f"three-{number}"
        shown = f"echo 1 > {facts}/{name}-shown.md; touch {flags[number]}"
        hidden = f"open('{facts}/{name}-hidden.md', 'w').write('x')"
        return bench.claude(
            script(
                f"session {number}",
                call("Bash", command=f"{shown}; {all_shown}; sleep {SLACK + 1}"),
                call("Bash", command=f'python3 -c "{hidden}"; sleep 1'),
                call("Write", file_path=f"{facts}/{name}-named.md", content="x"),
            ),
            *TOOLS,
            bench.group,
        )

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(work, range(3)))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("how", ["shown", "named"])
def test_an_edit_of_three_sessions_at_once_is_of_its_own(
    bench: Bench, three: list[Run], number: int, how: str
) -> None:
    found = bench.commit_of(f"facts/three-{number}-{how}.md")

    assert found.get("session") == three[number].session != ""


@pytest.mark.parametrize("number", range(3))
def test_an_edit_that_nothing_shows_is_never_of_another_session(
    bench: Bench, three: list[Run], number: int
) -> None:
    found = bench.commit_of(f"facts/three-{number}-hidden.md")

    assert found.get("agent") == "claude-code"
    assert found.get("session") in ("", three[number].session)


# ---- compaction and resuming


@pytest.fixture(scope="module")
def compacted(bench: Bench) -> str:
    """A session that was compacted."""
    session = bench.claude("something to compact").session
    bench.claude("/compact", "--resume", session)
    return session


def test_the_summary_of_a_compaction_is_an_episode(bench: Bench, compacted: str) -> None:
    assert "rounding bug" in bench.episodes()


def test_an_episode_holds_no_scratchpad(bench: Bench, compacted: str) -> None:
    assert "rounding bug" in bench.episodes()
    assert "chronologically analyze" not in bench.episodes()
    assert "<summary>" not in bench.episodes()


def test_later_sessions_see_a_line_about_the_work(bench: Bench, compacted: str) -> None:
    assert "rounding" in bench.gitmem_json("inject", "--layer", "episodes")["text"]


def test_no_scratchpad_is_retrieved(bench: Bench, compacted: str) -> None:
    hits = bench.hits("chronologically analyze the conversation")

    assert [each["text"] for each in hits if "analyze" in each["text"]] == []


def test_a_second_compaction_of_the_day_updates_the_line(bench: Bench, compacted: str) -> None:
    bench.summarises(LATER_SUMMARY)
    bench.claude("/compact", "--resume", bench.claude("more to compact").session)

    text = bench.gitmem_json("inject", "--layer", "episodes")["text"]

    assert "Adyen" in text
    assert "rounding" in bench.episodes()


def test_a_resumed_session_gets_the_changes_since(bench: Bench, compacted: str) -> None:
    bench.remember("facts/later.md", "The mascot is an otter.")

    assert "an otter" in bench.seen(bench.claude("go on", "--resume", compacted).first)


# ---- transcripts


@pytest.fixture(scope="module")
def imported(bench: Bench) -> Json:
    """The import of all sessions of the project, one of them with a slash command."""
    bench.claude("How many parcels fit into the blue van?")
    bench.rules(("# Diary", "@@say noted"))  # an answer that does not repeat the words
    bench.claude("/diary the customer is called Adyen")
    return bench.gitmem_json("transcript", "import", "claude-code", "--project", ".")


def test_every_kind_of_line_in_a_transcript_is_known(imported: Json) -> None:
    assert [each for each in imported["passed"] if each.startswith("unknown")] == []


def test_no_line_of_a_transcript_is_a_problem(imported: Json) -> None:
    assert imported["added"] > 0
    assert imported["problems"] == []


def test_a_conversation_is_found(bench: Bench, imported: Json) -> None:
    hits = bench.hits("parcels in the blue van", "transcripts")

    assert any("How many parcels fit" in each["text"] for each in hits)


def test_the_words_of_a_slash_command_are_kept(bench: Bench, imported: Json) -> None:
    said = [each["text"] for each in bench.messages() if each["from"] == "user"]

    assert any("the customer is called Adyen" in each for each in said)


# ---- MCP


@pytest.fixture(scope="module")
def served(bench: Bench) -> Iterator[Run]:
    """A prompt whose model writes by MCP, as soon as the server has had time to start."""
    claude = program("claude", CLAUDE_CODE)
    bench.run(claude, "mcp", "add", "gitmem", "--", "gitmem", "mcp")
    write = call("mcp__gitmem__memory_write", path="facts/mcp.md", text="By MCP.")
    yield bench.claude(
        script(call("Bash", command="sleep 4"), write), "--allowedTools", "mcp__gitmem Bash"
    )
    bench.run(claude, "mcp", "remove", "gitmem")


def test_the_server_lists_its_resources(bench: Bench, served: Run) -> None:
    run = bench.claude(
        script(call("ListMcpResourcesTool", server="gitmem")),
        "--allowedTools",
        "ListMcpResourcesTool",
    )

    assert "memory://shop/facts/release.md" in bench.seen(run.requests[-1])


def test_a_resource_of_the_server_can_be_read(bench: Bench, served: Run) -> None:
    read = call("ReadMcpResourceTool", server="gitmem", uri="memory://shop/facts/release.md")
    run = bench.claude(script(read), "--allowedTools", "ReadMcpResourceTool")
    results = bench.seen(run.requests[-1]).partition("tool_result")[2]

    assert "zebra-quartz" in results


@pytest.mark.parametrize("attempt", range(3))
def test_the_first_request_offers_the_tools_of_the_server(
    bench: Bench, served: Run, attempt: int
) -> None:
    # Among the tools, or among the names of those that ToolSearch loads.
    assert "mcp__gitmem__memory_write" in str(bench.claude("hello").first)


def test_a_tool_of_the_server_writes(bench: Bench, served: Run) -> None:
    assert bench.commit_of("facts/mcp.md").get("op") == "write"


def test_the_server_signs_with_the_name_of_the_host(bench: Bench, served: Run) -> None:
    assert bench.commit_of("facts/mcp.md").get("agent") == "claude-code"


def test_the_server_knows_the_session(bench: Bench, served: Run) -> None:
    assert bench.commit_of("facts/mcp.md").get("session") == served.session != ""


# ---- the end: nothing of gitmem is installed from here on


@pytest.fixture(scope="module")
def uninstalled(bench: Bench, other_project: Path) -> Bench:
    bench.gitmem("install", "claude-code", "--uninstall")
    return bench


@pytest.mark.parametrize("name", ["settings.json", "CLAUDE.md", "settings.local.json"])
def test_uninstalling_restores_the_bytes(uninstalled: Bench, name: str) -> None:
    [(path, content)] = [row for row in files(uninstalled).items() if row[0].name == name]

    assert path.read_bytes() == content


def test_uninstalling_leaves_no_settings_in_a_linked_project(
    uninstalled: Bench, other_project: Path
) -> None:
    assert [each.name for each in other_project.iterdir()] == [".git"]


def test_uninstalling_leaves_no_skill(uninstalled: Bench) -> None:
    assert list((uninstalled.home / ".claude").glob("skills/*")) == []


@pytest.fixture(scope="module")
def plugin(uninstalled: Bench) -> Path:
    """The plugin of the checkout, in a copy."""
    folder = uninstalled.root / "plugin"
    shutil.copytree(CHECKOUT / "templates" / "plugin", folder)
    return folder


def test_the_plugin_is_valid(uninstalled: Bench, plugin: Path) -> None:
    done = uninstalled.run(program("claude", CLAUDE_CODE), "plugin", "validate", plugin)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_brings_hooks_and_skills(uninstalled: Bench, plugin: Path) -> None:
    run = uninstalled.claude("hello plugin", "--plugin-dir", plugin)

    assert "zebra-quartz" in uninstalled.seen(run.first)
    assert "gitmem:diary" in uninstalled.seen(run.first)
