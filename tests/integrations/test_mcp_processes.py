"""`gitmem mcp` as a process: what it lives with, what it leaves alone, and how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gitmem.integrations.mcp.groups import MOST_OPEN, Endpoint, OpenGroups, called
from gitmem.integrations.mcp.server import Rest
from gitmem.integrations.mcp.stdio import LineReader, LineWriter
from gitmem.integrations.mcp.tools import TOOLS
from gitmem.memory.admin.groups import rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from tests.support.cli import run_gitmem
from tests.support.git import git
from tests.support.histories import put
from tests.support.serving import CLIENT, PATIENCE, Pipes, Server, environment, serving

BLOCKED = """
import sys
sys.modules["mcp"] = None
sys.argv = ["gitmem", "mcp", *sys.argv[1:]]
from gitmem.cli import main
main()
"""

CALL = (
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", '
    b'"params": {"name": "memory_get", "arguments": {%s}}}'
)

NO_IDS = (b"1.5", b"1.0", b"1e3", b"null", b"true", b"[]", b"{}", b"NaN")
"""What the SDK takes for no id at all, and the request for a notification."""

STRAY = """
import os, subprocess, sys
from gitmem.integrations.mcp.stdio import claimed
with claimed() as (source, target):
    print("stray", flush=True)
    subprocess.run(["sh", "-c", "cat; echo found nothing"], check=True)
    assert os.read(source, 100) == b"a message\\n"
    os.write(target, b"an answer")
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the store of all these tests is; most have a group of their own in it."""
    folder = tmp_path_factory.mktemp("serving")
    init(Store(folder / "store"), "main", layout="none")
    return folder


@pytest.fixture
def store(home: Path) -> Store:
    return Store(home / "store")


@pytest.fixture
def group(store: Store, request: pytest.FixtureRequest) -> Iterator[Group]:
    """A group that is named after the test."""
    name = request.node.name[:60]
    init(store, name, layout="none")
    opened = Group(store, name)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared(home: Path) -> Iterator[Pipes]:
    """A server of `main` that lives as long as these tests."""
    with Pipes(home) as opened:
        yield opened
        assert opened.end() == (0, "", "")


@pytest.fixture
def pipes(home: Path) -> Iterator[Pipes]:
    """A server that a test may end."""
    with Pipes(home) as opened:
        yield opened


def text_of(result: dict[str, Any]) -> str:
    text = result["content"][0]["text"]
    assert isinstance(text, str)
    return text


def run(home: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`gitmem mcp` with nothing on stdin."""
    return started([sys.executable, "-m", "gitmem", "mcp", *args], environment(home, **env))


def started(command: list[str], env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=env,
        check=False,
        timeout=PATIENCE,
    )


class TestTwoServers:
    def test_nothing_is_lost_when_both_write_at_once(self, home: Path, group: Group) -> None:
        lines, name = 10, group.name
        with serving(home, "-g", name) as one, serving(home, "-g", name, "--agent", "two") as two:

            def work(who: str, server: Server) -> None:
                for number in range(lines):
                    server.done("memory_append", path="log.md", text=f"{who} {number}")
                    server.done("memory_entry", path="e.md", title=f"{who} {number}", text="x")
                    server.done("memory_write", path=f"{who}.md", text=f"{number}")

            with ThreadPoolExecutor() as pool:
                list(pool.map(work, ("one", "two"), (one, two)))
            version = one.done("memory_write", path="a.md", text="x").facts["files"][0]["version"]
            one.done("memory_write", path="a.md", text="one", if_match=version)
            assert "blob-mismatch" in two.refused(
                "memory_write", path="a.md", text="two", if_match=version
            )
            assert (one.errors, two.errors) == ("", "")

        said = git(group.gitdir, "show", "main:log.md").splitlines()
        for who in ("one", "two"):
            mine = [line for line in said if line.startswith(who)]
            assert mine == [f"{who} {number}" for number in range(lines)]
            assert git(group.gitdir, "show", f"main:{who}.md") == f"{lines - 1}\n"
        assert len(said) == 2 * lines
        entries = git(group.gitdir, "show", "main:e.md")
        assert all(f"### {who} {n}\n" in entries for who in ("one", "two") for n in range(lines))
        authors = git(group.gitdir, "log", "--format=%an", "main").split()
        assert authors.count("two") == 3 * lines
        assert authors.count(CLIENT) == 3 * lines + 2
        git(group.gitdir, "fsck", "--strict")
        assert git(group.worktree, "status", "--porcelain") == ""


class TestALongLife:
    def test_what_others_write_is_seen_at_once(self, group: Group, shared: Pipes) -> None:
        def shown(**more: str) -> str:
            return text_of(shared.call("memory_get", path="a.md", group=group.name, **more))

        first = put(group, "a.md", "one\n")
        assert shown().endswith("one\n")
        put(group, "a.md", "two\n")
        assert shown().endswith("two\n")
        found = shared.call("memory_search", query="two", group=group.name)
        assert text_of(found).endswith("\n   two")
        git(group.gitdir, "repack", "-adq")
        git(group.gitdir, "pack-refs", "--all")
        git(group.gitdir, "prune-packed")
        put(group, "a.md", "three\n")
        assert shown().endswith("three\n")
        assert shown(at=first.commit).endswith("one\n")

    def test_a_group_that_goes_and_comes_back_is_the_new_one(
        self, group: Group, shared: Pipes
    ) -> None:
        name = group.name
        shared.call("memory_write", path="a.md", text="old", group=name)
        for folder in (group.worktree, group.gitdir):
            shutil.rmtree(folder)

        gone = shared.call("memory_get", path="a.md", group=name)
        assert gone["isError"]
        assert f"has no group {name!r}" in text_of(gone)

        init(group.store, name, layout="none")
        assert "path-not-found" in text_of(shared.call("memory_get", path="a.md", group=name))
        shared.call("memory_write", path="a.md", text="new", group=name)
        assert git(group.gitdir, "show", "main:a.md") == "new\n"

    def test_a_group_that_is_replaced_between_two_calls_is_noticed(
        self, group: Group, shared: Pipes
    ) -> None:
        name = group.name
        shared.call("memory_write", path="a.md", text="old", group=name)
        for folder in (group.worktree, group.gitdir):
            shutil.rmtree(folder)
        init(group.store, name, layout="none")

        assert not shared.call("memory_append", path="a.md", text="new", group=name)["isError"]

        assert git(group.gitdir, "show", "main:a.md") == "new\n"

    def test_a_renamed_group_is_found_under_its_new_name(self, store: Store, shared: Pipes) -> None:
        init(store, "before", layout="none")
        shared.call("memory_write", path="a.md", text="kept", group="before")
        rename_group(store, "before", "after")

        assert shared.call("memory_get", path="a.md", group="before")["isError"]
        assert text_of(shared.call("memory_get", path="a.md", group="after")).endswith("kept\n")

    def test_who_is_not_called_for_a_while_closes_what_is_open(self, group: Group) -> None:
        kept = OpenGroups()
        endpoint = called(Endpoint(kept, group.store, group.name, group.name), CLIENT)

        async def rest() -> Group:
            Rest(kept, 0.01).begin()
            first = kept.take(endpoint, group.name)
            assert kept.take(endpoint, group.name) is first
            await asyncio.sleep(0.1)
            return first

        first = asyncio.run(rest())
        assert kept.take(endpoint, group.name) is not first
        kept.close()

    def test_the_groups_that_were_used_last_stay_open(self, store: Store) -> None:
        kept = OpenGroups()
        endpoint = called(Endpoint(kept, store, "main", "main"), CLIENT)
        main = kept.take(endpoint, "main")
        for number in range(MOST_OPEN):
            init(store, f"k{number}", layout="none")
            kept.take(endpoint, f"k{number}")
            assert kept.take(endpoint, "main") is main
        first = kept.take(endpoint, "k1")

        kept.take(endpoint, "k0")

        assert kept.take(endpoint, "main") is main
        assert kept.take(endpoint, "k1") is first
        kept.close()

    @pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts files in /proc")
    def test_no_file_stays_open_however_many_calls_there_are(
        self, store: Store, shared: Pipes
    ) -> None:
        for number in range(6):
            init(store, f"g{number}", layout="none")

        def calls(number: int) -> int:
            for each in range(number):
                name = f"g{each % 6}"
                shared.call("memory_write", path="a.md", text=f"{number} {each}", group=name)
                shared.call("memory_search", query="x", group=name)
                shared.call("memory_get", path="none.md")
            return len(os.listdir(f"/proc/{shared.process.pid}/fd"))

        assert calls(36) <= calls(12) + 2


class TestTheWire:
    def test_nothing_but_messages_goes_out_whatever_comes_in(
        self, group: Group, pipes: Pipes
    ) -> None:
        for line in ("", "hello", "{", '{"jsonrpc": "2.0"}', "[]", "null", '{"id": 1}', "\x00\xff"):
            pipes.send(line)
        pipes.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/unknown"}))
        pipes.send(json.dumps({"jsonrpc": "2.0", "id": 99, "method": "no/such"}))
        message = pipes.hear()
        while message.get("id") != 99:
            message = pipes.hear()
        assert "error" in message
        assert pipes.call("memory_forget")["isError"]

        what = {"path": "a.md", "text": "x", "group": group.name}
        for number in range(5):  # nobody waits for the answers
            params = {"name": "memory_append", "arguments": {**what, "text": f"{number}"}}
            asked = {"jsonrpc": "2.0", "id": 100 + number, "method": "tools/call", "params": params}
            pipes.send(json.dumps(asked))
        code, out, err = pipes.end()

        assert (code, err) == (0, "")
        answered = [json.loads(line)["id"] - 100 for line in out.splitlines()]
        lines = git(group.gitdir, "show", "main:a.md").split()
        assert lines[: len(answered)] == [str(each) for each in answered]

    @pytest.mark.parametrize(
        ("line", "code", "number"),
        [
            (CALL % rb'"path": "half \ud83d"', -32700, 7),
            (CALL % b'"path": "byte \xff"', -32700, 7),
            (CALL % (b'"offset": ' + b"9" * 5000), -32700, 7),
            (CALL.replace(b"7", b'"seven"') % rb'"path": "\udc00"', -32700, "seven"),
            (CALL.replace(b"7", b"9" * 20) % rb'"path": "\udc00"', -32700, 10**20 - 1),
            (b"not json", -32700, None),
            (b"[" * 99_999, -32700, None),
            (b"[]", -32600, None),
            (b'{"id": 7}', -32600, 7),
            (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}', -32600, 7),
            (CALL.replace(b"{%s}", b"[1]"), -32602, 7),
            *((CALL.replace(b"7", each) % b"", -32600, None) for each in NO_IDS),
        ],
    )
    def test_whoever_asks_is_answered_also_when_it_cannot_be_read(
        self, shared: Pipes, line: bytes, code: int, number: object
    ) -> None:
        shared.send_bytes(line)

        told = shared.hear()
        assert (told["id"], told["error"]["code"]) == (number, code)
        assert told["error"]["message"]
        assert not shared.call("memory_list")["isError"]

    def test_nobody_is_answered_who_does_not_ask(self, shared: Pipes) -> None:
        for line in (b"", b"  ", rb'{"jsonrpc": "2.0", "method": "x", "params": {"a": "\ud83d"}}'):
            shared.send_bytes(line)

        assert not shared.call("memory_list")["isError"]

    def test_what_else_prints_or_reads_does_not_touch_it(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", STRAY], input=b"a message\n", capture_output=True, check=True
        )

        assert done.stdout == b"an answer"
        assert done.stderr == b"stray\nfound nothing\n"

    def test_a_pipe_that_is_full_is_waited_for(self) -> None:
        source, target = os.pipe()
        os.set_blocking(target, False)
        text = "x" * 500_000
        with ThreadPoolExecutor() as pool, os.fdopen(source, "rb") as reader:
            read = pool.submit(reader.read, len(text))
            asyncio.run(LineWriter(target).write(text))
            assert read.result(PATIENCE) == text.encode()
        os.close(target)

    def test_lines_come_whole_however_they_are_cut(self) -> None:
        source, target = os.pipe()

        async def heard() -> list[bytes]:
            for piece in (b"on", b"e\ntwo\nthr", b"ee\n\nthe end"):
                os.write(target, piece)
            os.close(target)
            return [line async for line in LineReader(source)]

        assert asyncio.run(heard()) == [b"one", b"two", b"three", b"", b"the end"]
        os.close(source)

    def test_a_large_text_goes_through_whole(self, group: Group, shared: Pipes) -> None:
        text = "a line with more than ASCII: äöü, 漢字, 🦩\n" * 12_000

        done = shared.call("memory_write", path="a.md", text=text, group=group.name)

        assert not done["isError"]
        assert git(group.gitdir, "show", "main:a.md") == text

    def test_a_reader_who_is_gone_ends_it_without_a_word(self, pipes: Pipes) -> None:
        assert pipes.process.stdout is not None
        assert pipes.process.stdin is not None
        assert pipes.process.stderr is not None
        pipes.process.stdout.close()
        pipes.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": "ping"}))
        pipes.process.stdin.close()

        assert pipes.process.wait(PATIENCE) == 0
        assert pipes.process.stderr.read() == b""

    @pytest.mark.parametrize("call", ["tools/list", "no/such"])
    @pytest.mark.parametrize(
        ("number", "code", "said"),
        [(signal.SIGINT, 130, b"error: interrupted"), (signal.SIGTERM, 0, b"")],
    )
    def test_a_signal_ends_it_while_it_waits(
        self, pipes: Pipes, call: str, number: signal.Signals, code: int, said: bytes
    ) -> None:
        pipes.send(json.dumps({"jsonrpc": "2.0", "id": 7, "method": call}))
        pipes.hear()  # answered from the file, or by the SDK
        pipes.process.send_signal(number)

        assert pipes.process.wait(PATIENCE) == code
        assert pipes.process.stderr is not None
        assert pipes.process.stderr.read().strip() == said


def request(number: int | str, tool: str, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


HELLO = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "in-a-hurry", "version": "1"},
    },
}


class TestWhoeverClosesTheInputAtOnce:
    """The SDK drops what is at work when its input ends; whoever asked wants to know."""

    def said(
        self,
        home: Path,
        tmp_path: Path,
        lines: list[dict[str, Any]],
        *,
        by: str,
        ending: str = "\n",
    ) -> list[dict[str, Any]]:
        text = "\n".join(map(json.dumps, lines)) + ending
        file = tmp_path / "requests"
        file.write_text(text)
        command = [sys.executable, "-m", "gitmem", "mcp", "-g", "main"]
        with file.open("rb") as opened:
            done = subprocess.run(
                command,
                env=environment(home),
                check=False,
                capture_output=True,
                timeout=PATIENCE,
                **({"stdin": opened} if by == "file" else {"input": text.encode()}),
            )
        assert (done.returncode, done.stderr) == (0, b"")
        return [json.loads(line) for line in done.stdout.splitlines()]

    @pytest.mark.parametrize("by", ["pipe", "file"])
    @pytest.mark.parametrize("ending", ["\n", ""])
    def test_the_answer_comes_before_the_end(
        self, home: Path, tmp_path: Path, by: str, ending: str
    ) -> None:
        lines = [HELLO, request(1, "memory_write", path="hurry.md", text=f"by {by}{ending!r}")]

        found = self.said(home, tmp_path, lines, by=by, ending=ending)

        assert [each["id"] for each in found] == ["hello", 1]
        assert found[1]["result"]["structuredContent"]["commit"]

    @pytest.mark.parametrize("by", ["pipe", "file"])
    def test_so_do_many(self, home: Path, tmp_path: Path, by: str) -> None:
        calls = [
            request(at, "memory_append", path="many.md", text=f"{by} {at}") for at in range(30)
        ]
        unread = {"jsonrpc": "2.0", "id": "no", "method": 7}

        found = self.said(home, tmp_path, [HELLO, *calls, unread], by=by)

        results = {each["id"]: each for each in found}
        assert len(found) == len(results) == 32
        assert not any(results[at]["result"]["isError"] for at in range(30))
        assert "error" in results["no"]

    def test_a_request_without_a_greeting_is_answered_too(self, home: Path, tmp_path: Path) -> None:
        found = self.said(home, tmp_path, [request("7", "memory_status")], by="pipe")

        assert [each["id"] for each in found] == ["7"]

    def test_one_that_was_cancelled_is_not_waited_for(self, home: Path, tmp_path: Path) -> None:
        cancel = {
            "jsonrpc": "2.0",
            "method": "notifications/cancelled",
            "params": {"requestId": 1},
        }
        lines = [HELLO, request(1, "memory_status"), cancel, request(2, "memory_status")]

        found = self.said(home, tmp_path, lines, by="pipe")

        assert 2 in [each["id"] for each in found]

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_what_is_at_work_is_answered_though_somebody_ends_it(
        self, pipes: Pipes, group: Group, number: signal.Signals
    ) -> None:
        assert pipes.process.stdout is not None
        with group.writing():  # so that the call waits
            pipes.send(
                json.dumps(request(1, "memory_write", path="a.md", text="x", group=group.name))
            )
            _until_it_waits(pipes.process.pid)
            pipes.process.send_signal(number)

        assert not json.loads(pipes.process.stdout.readline())["result"]["isError"]
        assert pipes.process.wait(PATIENCE) == (130 if number == signal.SIGINT else 0)
        assert git(group.gitdir, "show", "main:a.md") == "x\n"


def _until_it_waits(pid: int) -> None:
    """Until a process has read what we sent and waits for the lock."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError):  # it closed one just now
            opened = [os.readlink(each) for each in Path(f"/proc/{pid}/fd").iterdir()]
            if any(each.endswith("/gitmem/lock") for each in opened):
                return
        time.sleep(0.02)
    raise AssertionError("the call never came to the lock")


class TestInWhoseName:
    def test_the_environment_says_agent_session_and_group(self, home: Path, group: Group) -> None:
        env = {"GITMEM_AGENT": "ada", "GITMEM_SESSION": "s-1", "GITMEM_GROUP": group.name}
        with Pipes(home, **env) as pipes:
            pipes.call("memory_write", path="a.md", text="x")
            assert pipes.call("memory_status", group="main")["isError"]

        message = git(group.gitdir, "log", "-1", "--format=%an%n%B", "main")
        assert message.startswith("ada\n")
        for line in ("Gitmem-Agent: ada", "Gitmem-Session: s-1", "Gitmem-Source: mcp"):
            assert f"\n{line}\n" in message

    def test_main_may_serve_another_group_name_a_third_and_say_who_acts(
        self, home: Path, group: Group
    ) -> None:
        options = ("-g", group.name, "--agent", "bob", "--source", "rehearsal")
        env = {"GITMEM_GROUP": "main", "GITMEM_AGENT": "ada", "CLAUDE_CODE_SESSION_ID": "cc-1"}
        with Pipes(home, *options, **env) as pipes:
            pipes.call("memory_write", path="a.md", text="x")
            told = pipes.call("memory_status")["structuredContent"]
            assert told["group"] == group.name
            assert "main" in told["groups"]
            assert not pipes.call("memory_status", group="main")["isError"]

        message = git(group.gitdir, "log", "-1", "--format=%an%n%B", "main")
        assert message.startswith("bob\n")
        assert "\nGitmem-Session: cc-1\nGitmem-Source: rehearsal\n" in message

    def test_a_client_whose_name_is_none_is_an_agent(self, group: Group) -> None:
        endpoint = Endpoint(OpenGroups(), group.store, group.name, group.name)

        for name in ("", " \n", "\u202e", "x" * 201):
            assert called(endpoint, name).who == Who("agent", "", "mcp")
        assert called(endpoint, "Visual Studio Code").who.agent == "Visual Studio Code"
        assert called(endpoint, "codex-mcp-client").who.agent == "codex"
        assert called(endpoint, "claude-code").who.agent == "claude-code"


class TestTheBeginning:
    def test_a_group_that_is_not_ours_is_not_served(self, home: Path, group: Group) -> None:
        done = run(home, "-g", "main", GITMEM_GROUP=group.name)

        assert (done.returncode, done.stdout) == (5, "")
        assert f"the group {group.name!r} may not read the group 'main'" in done.stderr
        document = json.loads(run(home, "-g", "../main", "--json").stdout)
        assert document["error"]["code"] == "group-refused"

    def test_a_group_that_is_missing_can_be_made_while_the_server_runs(
        self, home: Path, store: Store
    ) -> None:
        with Pipes(home, "-g", "later") as pipes:
            said = pipes.call("memory_status")
            assert said["isError"]
            assert text_of(said).startswith("group-not-found: ")
            assert "make it with `gitmem -g later init`" in text_of(said)
            init(store, "later", layout="none")
            assert not pipes.call("memory_status")["isError"]
            code, _, err = pipes.end()
        assert code == 0
        assert err.startswith("note: the store ")
        assert "has no group 'later'" in err

    def test_without_input_it_ends_at_once(self, home: Path) -> None:
        done = run(home)

        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_a_store_that_wants_names_gets_one(self, tmp_path: Path) -> None:
        (tmp_path / "store").mkdir()
        (tmp_path / "store" / "config.yaml").write_text("require_group: true\n")

        done = run(tmp_path)

        assert (done.returncode, done.stdout) == (2, "")
        assert "add -g NAME" in done.stderr

    def test_without_the_extra_it_says_what_to_install(self, home: Path) -> None:
        def blocked(*args: str) -> subprocess.CompletedProcess[str]:
            return started([sys.executable, "-c", BLOCKED, *args], environment(home))

        done = blocked()
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr.startswith("error: the MCP server needs the package mcp, 2.3 or newer")
        assert "uv tool install '.[mcp]'" in done.stderr
        error = json.loads(blocked("--json").stdout)["error"]
        assert (error["code"], error["extra"]) == ("extra-missing", "mcp")
        assert blocked("--help").returncode == 0

    def test_the_help_needs_no_sdk_and_names_the_tools(self) -> None:
        said = run_gitmem("mcp", "--help")

        assert said.code == 0
        assert all(tool.name in said.out for tool in TOOLS)
        assert "'.[mcp]'" in said.out
