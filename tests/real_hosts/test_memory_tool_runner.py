"""Both memory tools driven by the tool runners of the Anthropic SDK, against a fake model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

import gitmem
from gitmem.memory_tool import AsyncGitMemoryTool, GitMemoryTool
from tests.real_hosts.bench import Bench, Json, a_bench, password

pytestmark = pytest.mark.hosts

DRINKS = "/memories/notes/drinks.md"
TEA = "/memories/notes/tea.md"
COMMANDS: list[tuple[Json, str]] = [
    ({"command": "view", "path": "/memories"}, "Here're the files"),
    ({"command": "create", "path": TEA, "file_text": "Ada likes tea.\n"}, "created"),
    ({"command": "view", "path": TEA}, "Ada likes tea."),
    ({"command": "str_replace", "path": TEA, "old_str": "tea", "new_str": "green tea"}, "edited"),
    ({"command": "insert", "path": TEA, "insert_line": 1, "insert_text": "And cake.\n"}, "edited"),
    ({"command": "rename", "old_path": TEA, "new_path": DRINKS}, "renamed"),
    ({"command": "create", "path": DRINKS, "file_text": "x"}, "already exists"),
    ({"command": "create", "path": "/memories/key.md", "file_text": password()}, "credential"),
    ({"command": "view", "path": "/memories/../../etc/passwd"}, "escape"),
    ({"command": "delete", "path": DRINKS}, "deleted"),
    ({"command": "fly", "path": "/memories"}, ""),
]
"""Commands of the memory tool, each with words that the SDK's own tool uses in its answer."""
RUNNERS = ("sync", "async", "async-stream")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with a_bench(tmp_path_factory.mktemp("memory-tool")) as bench:
        yield bench


@pytest.fixture(scope="module")
def answers(bench: Bench) -> dict[str, list[str] | Exception]:
    """What the model was told, command by command, or the error that ended a runner."""
    return {each: told(bench, each) for each in RUNNERS}


def told(bench: Bench, runner: str) -> list[str] | Exception:
    begun = len(list(bench.requests_log.glob("[0-9]*.json")))
    try:
        drive(bench, runner)
    except Exception as error:  # noqa: BLE001 - each test says which runner failed, and how
        return error
    return results(bench.requests(begun))


def drive(bench: Bench, runner: str) -> None:
    lines = [f"@@tool memory {json.dumps(command)}" for command, _ in COMMANDS]
    prompt = "\n".join(("remember", *lines, "@@say all done"))
    options: dict[str, Any] = {"model": "claude-fake", "max_tokens": 4096}
    options["messages"] = [{"role": "user", "content": prompt}]
    account: dict[str, Any] = {"base_url": bench.api, "api_key": "dummy", "max_retries": 0}
    with gitmem.open(runner, store=bench.store, agent="claude", create=True) as memory:
        if runner == "sync":
            options["tools"] = [GitMemoryTool(memory)]
            with anthropic.Anthropic(**account) as client:
                client.beta.messages.tool_runner(**options).until_done()
        else:
            options["tools"] = [AsyncGitMemoryTool(memory)]
            options["stream"] = runner == "async-stream"
            asyncio.run(drive_asynchronously(account, options))


async def drive_asynchronously(account: dict[str, Any], options: dict[str, Any]) -> None:
    async with anthropic.AsyncAnthropic(**account) as client:
        await client.beta.messages.tool_runner(**options).until_done()


def results(requests: list[Json]) -> list[str]:
    """The tool results of a conversation, each once, in order."""
    found: dict[str, str] = {}
    for request in requests:
        for message in request["messages"]:
            blocks = message["content"] if isinstance(message["content"], list) else []
            for each in blocks:
                if each["type"] == "tool_result":
                    found.setdefault(each["tool_use_id"], text_of(each.get("content")))
    return list(found.values())


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(each.get("text", "") for each in content or [])


@pytest.mark.parametrize("runner", RUNNERS)
def test_the_runner_reaches_the_end(answers: dict[str, list[str] | Exception], runner: str) -> None:
    answer = answers[runner]

    assert isinstance(answer, list), answer
    assert len(answer) == len(COMMANDS)


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize(
    "index", range(len(COMMANDS)), ids=[str(c["command"]) for c, _ in COMMANDS]
)
def test_a_command_is_answered(
    answers: dict[str, list[str] | Exception], runner: str, index: int
) -> None:
    answer = answers[runner]

    assert isinstance(answer, list), answer
    assert COMMANDS[index][1].lower() in answer[index].lower()
