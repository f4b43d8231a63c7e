"""Claude's memory tool for the asynchronous runner: in a thread, and safe to cancel."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient
from anthropic.tools import BetaAsyncAbstractMemoryTool, ToolError

import gitmem
from gitmem.memory.group import Group, Store
from gitmem.memory_tool import AsyncGitMemoryTool, GitMemoryTool
from tests.support.git import git
from tests.support.model import model

PATIENCE = 60.0
looks_into_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").is_dir(), reason="looks into /proc for who waits"
)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[gitmem.Group]:
    with gitmem.open("main", store=tmp_path / "store", create=True, layout="none") as opened:
        yield opened


@pytest.fixture
def other(memory: gitmem.Group) -> Iterator[Group]:
    """The same group, as another program has it open."""
    opened = Group(memory._group.store, "main")
    yield opened
    opened.close()


def path_of(name: str) -> str:
    return f"/memories/{name}"


def create(name: str, text: str = "x\n") -> dict[str, str]:
    return {"command": "create", "path": path_of(name), "file_text": text}


def files(store: Store) -> set[str]:
    return {*git(store.gitdir("main"), "ls-tree", "-r", "--name-only", "main").split()}


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    async def within() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await work()

    return asyncio.run(within())


async def until_one_waits() -> None:
    """Until somebody else in this process has opened the lock that we hold."""
    while sum(map(is_lock, Path("/proc/self/fd").iterdir())) < 2:
        await asyncio.sleep(0.01)


def is_lock(descriptor: Path) -> bool:
    try:
        return os.readlink(descriptor).endswith("/gitmem/lock")
    except FileNotFoundError:  # it was closed just now
        return False


def test_it_answers_as_the_other_one_does(memory: gitmem.Group) -> None:
    commands = [
        create("a.md", "tea\n"),
        create("a.md"),
        {"command": "view", "path": "/memories"},
        {"command": "view", "path": path_of("a.md")},
        {"command": "str_replace", "path": path_of("a.md"), "old_str": "tea", "new_str": "cake"},
        {"command": "insert", "path": path_of("a.md"), "insert_line": 1, "insert_text": "b"},
        {"command": "rename", "old_path": path_of("a.md"), "new_path": path_of("b.md")},
        {"command": "delete", "path": path_of("b.md")},
        {"command": "view", "path": "/memories/../x"},
        {"command": "fly"},
        {"command": "view"},
        {},
    ]

    def by_the_other(command: dict[str, Any]) -> str:
        try:
            return str(GitMemoryTool(second).call(command))
        except ToolError as error:
            return f"refused: {error}"

    async def by_this(command: dict[str, Any]) -> str:
        try:
            return str(await tool.call(command))
        except ToolError as error:
            return f"refused: {error}"

    async def all_of_them() -> list[str]:
        return [await by_this(each) for each in commands]

    tool = AsyncGitMemoryTool(memory)
    store = memory._group.store.root
    with gitmem.open("second", store=store, create=True, layout="none") as second:
        assert run(all_of_them) == [by_the_other(each) for each in commands]
    assert isinstance(tool, BetaAsyncAbstractMemoryTool)
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    run(tool.clear_all_memory)


def test_the_options_count(memory: gitmem.Group) -> None:
    tool = AsyncGitMemoryTool(memory, overwrite=True, allow_shrink=True)

    async def twice() -> None:
        await tool.call(create("a.md", "long " * 400))
        await tool.call(create("a.md", "short"))

    run(twice)
    assert memory.read("a.md").text == "short"


def test_commits_bear_the_name_of_whoever_opened_the_group(tmp_path: Path) -> None:
    with gitmem.open(
        "main", store=tmp_path / "s", agent="claude", session="s-1", create=True, layout="none"
    ) as memory:
        run(lambda: AsyncGitMemoryTool(memory).call(create("a.md")))

        [entry] = memory.history.log("a.md")
    assert (entry.agent, entry.session) == ("claude", "s-1")


@looks_into_proc
def test_the_event_loop_goes_on_while_a_write_waits(memory: gitmem.Group, other: Group) -> None:
    tool = AsyncGitMemoryTool(memory)

    async def work() -> tuple[int, bool]:
        turns = 0
        with other.writing():
            asked = asyncio.ensure_future(tool.call(create("a.md")))
            await until_one_waits()
            for _ in range(100):
                await asyncio.sleep(0)
                turns += 1
            was_done = asked.done()
        await asked
        return turns, was_done

    assert run(work) == (100, False)
    assert "a.md" in files(other.store)


@looks_into_proc
def test_one_that_began_is_finished_though_it_is_cancelled(
    memory: gitmem.Group, other: Group
) -> None:
    tool = AsyncGitMemoryTool(memory)

    async def work() -> None:
        with other.writing():
            asked = asyncio.ensure_future(tool.call(create("a.md")))
            await until_one_waits()
            asked.cancel()
            await asyncio.sleep(0.05)
            assert not asked.done()  # whoever is told of the end may close the group
            asked.cancel()  # one who is impatient changes nothing
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await asked

    run(work)
    assert files(other.store) == {"a.md"}
    assert git(other.worktree, "status", "--porcelain") == ""


@looks_into_proc
def test_one_that_waits_for_its_turn_is_not_done_when_it_is_cancelled(
    memory: gitmem.Group, other: Group
) -> None:
    tool = AsyncGitMemoryTool(memory)

    async def work() -> None:
        with other.writing():
            first = asyncio.ensure_future(tool.call(create("first.md")))
            await until_one_waits()
            second = asyncio.ensure_future(tool.call(create("second.md")))
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
        await first

    run(work)
    assert files(other.store) == {"first.md"}


def test_what_was_acknowledged_is_there_whatever_was_cancelled(
    memory: gitmem.Group, other: Group
) -> None:
    tool = AsyncGitMemoryTool(memory)
    acknowledged: set[str] = set()

    async def one(number: int) -> None:
        await tool.call(create(f"{number}.md"))
        acknowledged.add(f"{number}.md")

    async def work() -> None:
        tasks = [asyncio.ensure_future(one(number)) for number in range(30)]
        for at, each in enumerate(tasks):
            if at % 3 == 0:
                each.cancel()
            await asyncio.sleep(0.002 * (at % 4))
        await asyncio.gather(*tasks, return_exceptions=True)

    run(work)
    found = files(other.store)
    # One that is cancelled late may have been acknowledged before.
    assert {f"{number}.md" for number in range(30) if number % 3} <= acknowledged <= found
    git(other.gitdir, "fsck", "--strict")
    assert git(other.worktree, "status", "--porcelain") == ""


def test_a_program_that_ends_at_once_still_finishes_the_write(
    memory: gitmem.Group, other: Group
) -> None:
    tool = AsyncGitMemoryTool(memory)

    async def work() -> None:
        asyncio.ensure_future(tool.call(create("a.md")))  # noqa: RUF006 - nobody waits for it
        while not any(each.name.startswith("gitmem-memory") for each in threading.enumerate()):
            await asyncio.sleep(0)

    run(work)
    assert files(other.store) <= {"a.md"}
    assert git(other.worktree, "status", "--porcelain") == ""


def test_the_asynchronous_runner_of_the_sdk_drives_it(memory: gitmem.Group) -> None:
    script = [
        [{"command": "view", "path": "/memories"}],
        [create("ada.md", "Ada likes tea\n"), {"command": "view", "path": "/memories/../x"}],
        [],
    ]

    async def converse(port: int) -> str | None:
        async with (
            DefaultAsyncHttpxClient(trust_env=False) as http,
            AsyncAnthropic(
                api_key="none",
                base_url=f"http://127.0.0.1:{port}",
                max_retries=0,
                http_client=http,
            ) as client,
        ):
            runner = client.beta.messages.tool_runner(
                model="claude-test",
                max_tokens=100,
                tools=[AsyncGitMemoryTool(memory)],
                messages=[{"role": "user", "content": "I am Ada, and I like tea."}],
            )
            return (await runner.until_done()).stop_reason

    with model(*script) as server:
        assert run(lambda: converse(server.server_port)) == "end_turn"

    results = server.asked[2]["messages"][-1]["content"]
    assert [each.get("is_error", False) for each in results] == [False, True]
    assert results[0]["content"] == "File created successfully at: /memories/ada.md"
    assert memory.read("ada.md").text == "Ada likes tea\n"
