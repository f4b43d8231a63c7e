"""The first answers of `gitmem mcp` come from a file, and are those of the SDK."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gitmem.integrations.mcp.generate import exchange, handshake
from gitmem.integrations.mcp.groups import Endpoint, OpenGroups
from gitmem.integrations.mcp.resources import PAGE
from gitmem.integrations.mcp.serve import (
    CAPABILITIES,
    CLIENT,
    FILE,
    VERSION,
    Handshake,
    is_known_sdk,
)
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.write.write import Edit, write
from tests.support.git import git
from tests.support.serving import PATIENCE, Pipes, environment

LISTS_MODULES = """
import atexit, sys
atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))
sys.argv = ["gitmem", "mcp"]
from gitmem.cli import main
main()
"""
SOMEBODY = {"name": "somebody", "version": "1"}
LISTS = ["tools/list", "prompts/list", "resources/templates/list"]

Json = dict[str, Any]


def greeting(**more: Any) -> Json:
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": SOMEBODY, **more}
    return {"method": "initialize", "params": params}


def enveloped(method: str, **more: Any) -> Json:
    meta = {VERSION: "2026-07-28", CAPABILITIES: {}, CLIENT: SOMEBODY, **more}
    return {"method": method, "params": {"_meta": meta}}


def line(number: Any, message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, **message}, ensure_ascii=False).encode()


CALL = {"method": "tools/call", "params": {"name": "memory_list", "arguments": {}}}
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
# As Claude Code 2.1.325 and Codex 0.166.0 sent them.
CLAUDE_CODE: Json = {
    VERSION: "2026-07-28",
    CLIENT: {
        "name": "claude-code",
        "title": "Claude Code",
        "version": "2.1.325",
        "description": "Anthropic's agentic coding tool",
        "websiteUrl": "https://claude.com/claude-code",
    },
    CAPABILITIES: {"roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}}},
}
CODEX: Json = {
    "protocolVersion": "2025-06-18",
    "capabilities": {
        "experimental": {"codex/auth-change": {}},
        "elicitation": {"form": {}, "url": {}},
    },
    "clientInfo": {"name": "codex-mcp-client", "title": "Codex", "version": "0.166.0"},
}


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    store = Store(tmp_path_factory.mktemp("handshake") / "store")
    init(store, "shop", layout="none")
    with closing(Group(store, "shop")) as group:
        write(group, [Edit(f"./n/ü {number}.md", "x\n") for number in range(PAGE + 5)])
    endpoint = Endpoint(OpenGroups(), store, "shop", "shop")
    yield endpoint
    endpoint.kept.close()


def test_the_file_is_what_the_sdk_answers() -> None:
    assert FILE.read_bytes() == handshake(), "run `make handshake`"


@pytest.mark.parametrize(
    "lines",
    [
        [line("probe", enveloped("server/discover", **CLAUDE_CODE))]
        + [line(at, enveloped(each, **CLAUDE_CODE)) for at, each in enumerate(LISTS)],
        [
            line(0, greeting(**CODEX)),
            INITIALIZED,
            *(
                line(at, {"method": each, "params": {"_meta": {"progressToken": at}}})
                for at, each in enumerate(LISTS, 1)
            ),
        ],
    ],
    ids=["claude-code", "codex"],
)
def test_what_hosts_begin_with_needs_no_sdk(endpoint: Endpoint, lines: list[bytes]) -> None:
    begun = Handshake("shop")
    said = [begun.answer(each) for each in lines]

    assert None not in said
    assert "".join(filter(None, said)).encode() == exchange(
        endpoint, b"\n".join(lines), from_file=False
    )
    assert "the group shop:" in str(said[0])


# ---- any conversation is answered alike, with the file and without it

TEXTS = st.sampled_from(["", "x", "a\nb\u2028\x7f\t", 'ü"\\🦩', "\x01"])
ODD: st.SearchStrategy[Any] = st.sampled_from([None, True, 0, 1.5, "x", [], [{}], {}, {"x": {}}])
CAN = st.dictionaries(
    st.sampled_from(
        ["roots", "sampling", "elicitation", "experimental", "extensions", "tasks", "more"]
    ),
    ODD
    | st.sampled_from(
        [{"listChanged": True}, {"listChanged": {}}, {"form": {}}, {"tools": {}}, {"url": 1}]
    ),
    max_size=2,
)
WHO = st.fixed_dictionaries(
    {"name": TEXTS, "version": TEXTS},
    optional={"title": TEXTS | ODD, "websiteUrl": TEXTS | ODD, "icons": ODD, "more": ODD},
)
VERSIONS = st.sampled_from(
    ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"]
)
METHODS = st.sampled_from(
    [*LISTS, "ping", "server/discover", "resources/list", "tools/call", "no/such"]
)
META = st.fixed_dictionaries({}, optional={"progressToken": TEXTS | ODD, "more": ODD})


def usually(usual: st.SearchStrategy[Any], other: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 5).flatmap(lambda number: other if number == 0 else usual)


GREETINGS = st.fixed_dictionaries(
    {
        "protocolVersion": usually(VERSIONS, ODD),
        "capabilities": usually(CAN, ODD),
        "clientInfo": usually(WHO, ODD),
    },
    optional={"_meta": META, "more": ODD},
).map(lambda params: {"method": "initialize", "params": params})
ENVELOPED = st.builds(
    lambda method, meta: {"method": method, "params": {"_meta": meta}},
    METHODS,
    st.fixed_dictionaries(
        {VERSION: usually(st.just("2026-07-28"), VERSIONS | ODD), CAPABILITIES: usually(CAN, ODD)},
        optional={CLIENT: usually(WHO, ODD), "progressToken": TEXTS | ODD, "more": ODD},
    ),
)
BARE = st.builds(
    lambda method, params: {"method": method, **params},
    METHODS,
    st.sampled_from([{}, {"params": {}}, {"params": None}, {"params": {"cursor": "x"}}])
    | META.map(lambda meta: {"params": {"_meta": meta}})
    | ODD.map(lambda params: {"params": params}),
)
NOTIFIED = st.sampled_from(
    [
        INITIALIZED,
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}',
        b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":1}}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"gone"}}',
        b'{"jsonrpc":"2.0","method":"ping"}',
    ]
)
GARBAGE = st.sampled_from(
    [
        *(b"", b" ", b"\xff", b"{", b"null", b"[]", b'"x"', b"[" * 99_999, b"\xef\xbb\xbf{}"),
        b'[{"jsonrpc":"2.0","id":"b","method":"ping"}]',
        b'{"jsonrpc":"2.0","id":"twice","id":"once","method":"ping"}',
        b'{"jsonrpc":"2.0","id":"half","method":"tools/list","params":{"a":"\\ud83d"}}',
        b'{"jsonrpc":"2.0","id":"none","method":"tools/list","params":{"_meta":{"a":NaN}}}',
        b'{"jsonrpc":"2.0","id":"more","method":"ping","more":1}',
        b'{"jsonrpc":"1.0","id":"old","method":"ping"}',
        b'{"jsonrpc":"2.0","id":7e2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"long","method":"ping","params":{"a":"' + b"x" * 70_000 + b'"}}',
        b'{"jsonrpc":"2.0","id":"answer","result":{}}',
    ]
)
IDS = st.sampled_from(["{}", "-{}", '"s{}"', '"ü\\n\\u0001 {}"', "{}.5", "true", "null", "9{:040}"])


@st.composite
def conversations(draw: st.DrawFn) -> bytes:
    """Lines of a client, most of which make sense."""
    first = draw(st.sampled_from([greeting(**CODEX), greeting()]) | GREETINGS | ENVELOPED | BARE)
    plain = METHODS.map(lambda method: {"method": method}) | METHODS.map(enveloped) | st.just(CALL)
    rest = st.lists(plain | BARE | ENVELOPED | GREETINGS | NOTIFIED | GARBAGE, max_size=8)
    lines = []
    for at, each in enumerate([first, *draw(rest)]):
        said = each
        if isinstance(each, dict):
            number = draw(usually(IDS.filter(lambda said: "{}" in said), IDS)).format(at)
            said = line("ID", each).replace(b'"ID"', number.encode(), 1)
        lines.append(said + draw(usually(st.just(b""), st.just(b"\r"))))
    return b"\n".join(lines) + draw(st.sampled_from([b"\n", b""]))


def asked(*messages: Json) -> bytes:
    return b"\n".join(line(at, each) for at, each in enumerate(messages))


# Two eras in one conversation, and two greetings.
@example(asked(greeting(), enveloped("server/discover"), enveloped("tools/list"), CALL))
@example(asked(greeting(), {"method": "resources/list"}, CALL, {"method": "tools/list"}))
@example(asked(enveloped("resources/list"), enveloped("tools/list"), {"method": "tools/list"}))
@example(asked(greeting(), greeting(protocolVersion="2024-11-05"), {"method": "ping"}, CALL))
@given(conversations())
@settings(max_examples=max(200, settings().max_examples), deadline=None)
def test_every_conversation_is_answered_as_by_the_sdk_alone(
    endpoint: Endpoint, lines: bytes
) -> None:
    assume(not falls_back(lines))
    ours, theirs = (exchange(endpoint, lines, from_file=each) for each in (True, False))

    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())


def falls_back(lines: bytes) -> bool:
    """Whether a client begins without a handshake and then greets: the SDK refuses that."""
    begun = lines.find(b"io.modelcontextprotocol/")
    return begun >= 0 and lines.find(b'"initialize"', begun) >= 0


@pytest.mark.parametrize("number", [0, 1])
def test_a_client_that_falls_back_to_a_greeting_is_served(endpoint: Endpoint, number: int) -> None:
    """Copilot CLI does so when `server/discover` is answered late, at times with the same id."""
    rest = [line(number, greeting()), INITIALIZED, line(2, {"method": "tools/list"}), line(3, CALL)]
    discover = line(0, enveloped("server/discover"))

    ours = exchange(endpoint, b"\n".join([discover, *rest]), from_file=True).splitlines()

    greeted = exchange(endpoint, b"\n".join(rest), from_file=False).splitlines()
    assert len(ours) == len(greeted) + 1
    assert sorted(ours[1:]) == sorted(greeted)


# ---- when the SDK comes


def modules(home: Path, lines: bytes) -> tuple[set[str], list[Json]]:
    """The modules that a server imported for LINES, and what it answered."""
    done = subprocess.run(
        [sys.executable, "-c", LISTS_MODULES],
        input=lines,
        capture_output=True,
        env=environment(home),
        check=True,
        timeout=PATIENCE,
    )
    return {*done.stderr.decode().split()}, [json.loads(each) for each in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serving")
    init(Store(folder / "store"), "main", layout="none")
    return folder


def test_a_host_that_calls_no_tool_never_loads_the_sdk(home: Path) -> None:
    lines = [line(1, greeting()), INITIALIZED, line(2, {"method": "tools/list"})]
    loaded, said = modules(home, b"\n".join(lines))

    assert [each["id"] for each in said] == [1, 2]
    assert "gitmem.integrations.mcp.serve" in loaded
    assert loaded & {"mcp", "pydantic", "gitmem.integrations.mcp.tools"} == set()


def test_the_sdk_knows_who_was_greeted_by_the_file(home: Path) -> None:
    call = {"name": "memory_write", "arguments": {"path": "a.md", "text": "x"}}
    lines = [
        line(1, greeting(clientInfo={"name": "Ada's client", "version": "1"})),
        line(2, {"method": "ping"}),
        line(1, {"method": "tools/call", "params": call}),  # an id may come again
    ]
    loaded, said = modules(home, b"\n".join(lines))

    assert [each["id"] for each in said] == [1, 2, 1]
    assert said[2]["result"]["isError"] is False
    assert "mcp" in loaded
    gitdir = home / "store" / "repos" / "main.git"
    assert git(gitdir, "log", "-1", "--format=%an", "main") == "Ada's client\n"


def test_the_tools_are_listed_before_what_takes_longer(home: Path) -> None:
    asked = ["server/discover", "prompts/list", "resources/list", "tools/list"]
    lines = [line(each, enveloped(each, **CLAUDE_CODE)) for each in asked]
    loaded, said = modules(home, b"\n".join(lines))

    assert [each["id"] for each in said] == [*asked[:2], "tools/list", "resources/list"]
    assert "mcp" not in loaded


@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="looks into /proc")
def test_the_sdk_is_loaded_while_nothing_is_asked(home: Path) -> None:
    def has_loaded(pipes: Pipes) -> bool:
        return "pydantic_core" in Path(f"/proc/{pipes.process.pid}/maps").read_text()

    with Pipes(home) as pipes:
        pipes.ask("tools/list")
        assert not has_loaded(pipes)
        deadline = time.monotonic() + PATIENCE
        while not has_loaded(pipes):
            assert time.monotonic() < deadline, "the SDK was not loaded"
            time.sleep(0.05)
        assert not pipes.call("memory_list")["isError"]


def test_another_sdk_answers_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_known_sdk()
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.delitem(sys.modules, "mcp", raising=False)
    assert not is_known_sdk()
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").touch()
    for version, is_known in (("1.9.0", False), ("2.4.1", True)):
        info = tmp_path / f"mcp-{version}.dist-info"
        info.mkdir()
        assert is_known_sdk() == is_known
