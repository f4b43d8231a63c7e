"""A hint is data: each door words its calls in its own way."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.invocation import Invocation
from gitmem.integrations.mcp.hints import for_models
from gitmem.model.hints import Hint, Option, call, rendered

READ = Hint("read it first: ", call("read", "a b.md"), ", or repeat with ", Option("allow_shrink"))


def test_python_shows_a_call_as_a_method() -> None:
    assert READ == "read it first: `memory.read('a b.md')`, or repeat with allow_shrink=True"


def test_python_shows_the_command_of_a_verb_without_a_method() -> None:
    assert Hint(call("check", repair=True)) == "`gitmem check --repair`"


def test_the_command_line_shows_a_command_for_the_store_and_group_of_the_call() -> None:
    called = Invocation({})
    called.take("group", "work")
    expected = "read it first: `gitmem -g work read 'a b.md'`, or repeat with --allow-shrink"
    assert called.addressed(READ) == expected


def test_a_model_is_shown_a_tool_call() -> None:
    found = for_models(READ)
    assert found.startswith('read it first: `memory_get(path="a b.md")`')


def test_a_hint_of_another_group_names_that_group() -> None:
    found = Invocation({}).addressed(Hint("see ", call("status")), "other")
    assert found == "see `gitmem -g other status`"


def test_hints_put_together_stay_data() -> None:
    both = "first " + Hint(call("log")) + "; then " + Hint(call("show", "HEAD"))
    assert both.parts == ("first ", call("log"), "; then ", call("show", "HEAD"))
    assert Hint.joined(", ", [Hint(call("log")), "x"]).parts == (call("log"), ", ", "x")


@given(st.lists(st.text()))
def test_a_hint_without_calls_is_its_text_at_every_door(texts: list[str]) -> None:
    hint = Hint(*texts)
    assert hint == "".join(texts) == rendered(hint, lambda part: "?")
