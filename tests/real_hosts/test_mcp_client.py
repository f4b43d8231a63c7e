"""`gitmem mcp` as the official Python client of the SDK sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from mcp import types

from gitmem.memory.admin.init import init
from gitmem.memory.group import Store
from tests.real_hosts.bench import password
from tests.support.serving import Server, serving

pytestmark = pytest.mark.hosts

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("memory_status", {}),
    ("memory_write", {"path": "notes/drive.md", "text": "First line.", "reason": "a test"}),
    ("memory_append", {"path": "notes/drive.md", "text": "Second line."}),
    ("memory_get", {"path": "notes/drive.md"}),
    (
        "memory_entry",
        {
            "path": "notes/entries.md",
            "title": "An entry",
            "text": "Body.",
            "fields": {"Status": "active"},
        },
    ),
    ("memory_list", {}),
    ("memory_list", {"entries": True}),
    ("memory_history", {"path": "notes/drive.md"}),
    ("memory_search", {"query": "second line"}),
    ("memory_restore", {"path": "notes/drive.md", "previous": True}),
]
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("memory_get", {"path": "../../etc/passwd"}),
    ("memory_write", {"path": "key.md", "text": password()}),
    ("memory_get", {"path": "x.md", "ifMatch": "abc"}),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the module; the calls build on one another."""
    home = tmp_path_factory.mktemp("mcp")
    init(Store(home / "store"), "main")
    with serving(home) as server:
        yield server


@pytest.fixture(scope="module")
def tools(server: Server) -> dict[str, types.Tool]:
    return {each.name: each for each in server.tools()}


def test_every_schema_is_valid(tools: dict[str, types.Tool]) -> None:
    assert tools
    for each in tools.values():
        for schema in filter(None, (each.input_schema, each.output_schema)):
            jsonschema.Draft202012Validator.check_schema(schema)


def test_every_tool_says_whether_it_changes_memory(tools: dict[str, types.Tool]) -> None:
    silent = [each.name for each in tools.values() if each.annotations is None]

    assert silent == []


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
def test_a_call_answers_as_its_schema_says(
    server: Server, tools: dict[str, types.Tool], tool: str, arguments: dict[str, Any]
) -> None:
    told = server.done(tool, **arguments)

    assert told.text
    jsonschema.validate(told.facts, tools[tool].output_schema or {})


def test_every_tool_is_called(tools: dict[str, types.Tool]) -> None:
    assert tools.keys() == {name for name, _ in CALLS}


@pytest.mark.parametrize(("tool", "arguments"), REFUSED)
def test_a_bad_call_is_refused_with_words(
    server: Server, tool: str, arguments: dict[str, Any]
) -> None:
    assert server.refused(tool, **arguments)


def test_a_tool_that_does_not_exist_is_refused(server: Server) -> None:
    assert "memory_nothing" in server.refused("memory_nothing")
