"""What the tools of `gitmem mcp` take, and how hints meant for a shell are said to a model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import gitmem
from gitmem.errors import BadInput
from gitmem.integrations.mcp.hints import for_models
from gitmem.integrations.mcp.serve import INSTRUCTIONS
from gitmem.integrations.mcp.tools import (
    BOOLEAN,
    FIELDS,
    INTEGER,
    TOOLS,
    Param,
    checked,
    schema,
)
from gitmem.model.hints import Call, Hint, Option, call

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "mcp.md").read_text("utf-8")

PARAMS = (
    Param("text", "what", required=True),
    Param("limit", "how many", INTEGER, 8, least=1, most=64),
    Param("really", "whether", BOOLEAN, False),
    Param("fields", "which", FIELDS, {}),
    Param("source", "where", default="all", choices=("all", "some")),
)


class TestArguments:
    def test_what_is_left_out_has_its_default(self) -> None:
        assert checked("t", PARAMS, {"text": "x", "limit": None}) == {
            "text": "x",
            "limit": 8,
            "really": False,
            "fields": {},
            "source": "all",
        }

    @pytest.mark.parametrize(
        ("name", "given", "taken"),
        [
            ("limit", "12", 12),
            ("limit", 3.0, 3),
            ("limit", 0, 1),
            ("limit", -5, 1),
            ("limit", 1000, 64),
            ("really", "true", True),
            ("really", "False", False),
            ("fields", {"a": 2, "b": True, "c": 0.5}, {"a": "2", "b": "true", "c": "0.5"}),
            ("fields", '{"a": "b"}', {"a": "b"}),
            ("text", "", ""),
        ],
    )
    def test_what_can_mean_one_thing_only_is_taken(self, name: str, given: Any, taken: Any) -> None:
        assert checked("t", PARAMS, {"text": "x", name: given})[name] == taken

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({}, "t needs 'text'"),
            ({"text": None}, "t needs 'text'"),
            ({"text": ["x"]}, "'text' must be a text"),
            ({"text": "x", "limit": True}, "'limit' must be a whole number"),
            ({"text": "x", "limit": 2.5}, "'limit' must be a whole number"),
            ({"text": "x", "limit": "2.5"}, "'limit' must be a whole number"),
            ({"text": "x", "really": 1}, "'really' must be true or false"),
            ({"text": "x", "really": "yes"}, "'really' must be true or false"),
            ({"text": "x", "fields": "a=b"}, "'fields' must be an object of texts"),
            ({"text": "x", "fields": {"a": ["b"]}}, "'fields' must be an object of texts"),
            ({"text": "x", "fields": {" ": "b"}}, "'fields' must be an object of texts"),
            ({"text": "x", "source": "none"}, "invalid source 'none'"),
            ({"text": "x", "txt": "y"}, "t has no parameter 'txt'"),
        ],
    )
    def test_what_cannot_is_refused_with_the_way_on(self, given: dict[str, Any], said: str) -> None:
        with pytest.raises(BadInput) as caught:
            checked("t", PARAMS, given)

        assert caught.value.message == said
        assert caught.value.hint

    def test_the_schema_says_the_same(self) -> None:
        found = schema(PARAMS)

        assert (found["required"], found["additionalProperties"]) == (["text"], False)
        limit = found["properties"]["limit"]
        assert (limit["type"], limit["minimum"], limit["maximum"], limit["default"]) == (
            "integer",
            1,
            64,
            8,
        )
        assert found["properties"]["source"]["enum"] == ["all", "some"]
        assert found["properties"]["fields"]["additionalProperties"] == {"type": "string"}


class TestHints:
    @pytest.mark.parametrize(
        ("hint", "said"),
        [
            (call("list"), "memory_list()"),
            (call("list", "notes"), 'memory_list(path="notes")'),
            (call("read", "a b.md"), 'memory_get(path="a b.md")'),
            (call("log", "a.md"), 'memory_history(path="a.md")'),
            (call("restore", "a.md", at="0123abc"), 'memory_restore(path="a.md", at="0123abc")'),
            (
                call("restore", "x.md#y", previous=True),
                'memory_restore(path="x.md#y", previous=true)',
            ),
            (call("write", "a.md", "...", append=True), 'memory_append(path="a.md")'),
            (
                call("write", "ideas", entry="TITLE", set="..."),
                'memory_entry(path="ideas", title="TITLE")',
            ),
            (call("entries"), "memory_list(entries=true)"),
            (call("search", "billing"), 'memory_search(query="billing")'),
        ],
    )
    def test_a_call_becomes_the_call_of_a_tool(self, hint: Call, said: str) -> None:
        assert for_models(Hint("see ", hint)) == f"see `{said}`"

    @pytest.mark.parametrize(
        ("option", "said"),
        [
            (Option("allow_shrink"), "allow_shrink: true"),
            (Option("create"), "`create`"),
            (Option("summary", "..."), "the field summary"),
            (Option("user", "..."), "`user`"),
            (Option("set", "..."), "`fields`"),
        ],
    )
    def test_an_option_becomes_an_argument(self, option: Option, said: str) -> None:
        assert for_models(Hint("give ", option)) == f"give {said}"

    @pytest.mark.parametrize(
        ("hint", "command"),
        [
            (call("check", repair=True), "gitmem check --repair"),
            (call("init", group="later"), "gitmem -g later init"),
            (call("log", op="checkpoint"), "gitmem log --op checkpoint"),
            (call("restore", all=True), "gitmem restore --all"),
            (call("read", "a.md", group="other"), "gitmem -g other read a.md"),
            (call("mv", "a b.md", "c.md"), "gitmem mv 'a b.md' c.md"),
        ],
    )
    def test_what_no_tool_does_stays_a_command(self, hint: Call, command: str) -> None:
        assert for_models(Hint("see ", hint)) == f"see `{command}`"

    def test_a_text_without_calls_stays_as_it_is(self) -> None:
        assert for_models("x--date.md and --user-name stay") == "x--date.md and --user-name stay"

    def test_only_a_person_waives_what_guards_secrets_and_policies(self) -> None:
        said = for_models(Hint("repeat with ", Option("allow_secret", "github-token")))

        command = "`gitmem write --allow-secret github-token ...`"
        assert said == f"repeat with {command}, which is for a person"


class TestThePage:
    def test_it_names_every_tool_with_each_of_its_parameters(self) -> None:
        rows = dict(re.findall(r"^\| `(memory_\w+)` \| (.*?) \|", PAGE, re.MULTILINE))

        assert list(rows) == [tool.name for tool in TOOLS]
        for tool in TOOLS:
            named = re.findall(r"`(\w+)`", rows[tool.name])
            assert named == [each.name for each in tool.params if each.name != "group"]

    def test_the_instructions_name_tools_that_there_are(self) -> None:
        assert {*re.findall(r"memory_\w+", INSTRUCTIONS)} <= {tool.name for tool in TOOLS}
