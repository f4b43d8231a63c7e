"""Plain calls run without click, and just as click would have them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli import plain
from gitmem.cli.app import app, made_command
from gitmem.cli.commands import COMMANDS, declared
from gitmem.cli.declare import GLOBAL_OPTIONS, Declared, DeclaredGroup, Parameter, Whole
from gitmem.cli.invocation import Invocation
from gitmem.cli.plain import PlainCall, plain_call
from gitmem.cli.settings import Flags
from tests.support.cli import Run, Said, run_gitmem

Values = tuple[str, Flags, dict[str, Any]]
FAST = ("read", "inject", "write", "search", "log", "status", "list", "hook")
"""Commands that agents call all day."""
HOOKS = [
    ["hook", "stop"],
    ["hook"],
    ["hook", "stop", "--host", "codex"],
    ["hook", "--host=codex", "stop"],
    ["--store", "/s", "hook", "stop"],
    ["--store=/s", "hook", "stop", "--host", "gemini"],
    ["-g", "shop", "hook", "stop"],
    ["--group", "shop", "hook", "stop", "--store", "/s"],
    ["hook", "stop", "-g", "shop"],
    ["--store", "/a", "hook", "stop", "--store", "/b"],
    ["hook", "no-such-event", "--host", "no-such-host"],
    ["hook", "stop", "--json"],
    ["-q", "hook", "stop"],
]
FOR_CLICK = [
    [],
    ["--json"],
    ["nonsense"],
    ["hook", "--help"],
    ["hook", "stop", "more"],
    ["hook", "stop", "--unknown"],
    ["hook", "stop", "--store"],
    ["hook", "stop", "--store="],
    ["--host", "codex", "hook", "stop"],
    ["hook", "stop", "-gshop"],
    ["--store", "hook", "stop"],
    ["hook", "--", "stop"],
    ["read"],
    ["read", ""],
    ["read", "a", "b"],
    ["read", "a", "--at", ""],
    ["read", "a", "--at", "--json"],
    ["read", "a", "--json=yes"],
    ["read", "-v", "a"],
    ["read", "a", "-h"],
    ["--version", "read", "a"],
    ["inject", "--top", "many"],
    ["inject", "--top", "-1"],
    ["inject", "--top", "9" * 5000],
    ["search"],
    ["search", "a", "-n", "0"],
    ["search", "a", "-n", "1001"],
    ["search", "a", "-n5"],
    ["write", "a.md", "- milk"],
    ["write", "a.md", "--reas", "x"],
    ["groups", "list"],
    ["diff", "yesterday"],
    ["completion", "bash"],
]


def by_click(args: Sequence[str]) -> Values | None:
    """The command that click would call, its flags and values; None if it would call none."""
    found: list[Values] = []
    every = [declared(name) for name in COMMANDS]
    before = [each.function for each in every]

    def recorded(command: Declared) -> Any:
        return lambda call, **values: found.append((command.name, call.flags, values))

    try:
        for each in every:
            each.function = recorded(each)
        with CliRunner().isolation():
            app.main(list(args), standalone_mode=False, obj=Invocation({}))
    except click.ClickException:
        return None
    finally:
        for each, function in zip(every, before, strict=True):
            each.function = function
    return found[0] if found else None


def plainly(found: PlainCall) -> Values:
    call = Invocation({})
    found.keep_with(call)
    return found.command.name, call.flags, dict(found.values)


@pytest.mark.parametrize("args", HOOKS, ids=" ".join)
def test_a_hook_is_read_as_click_reads_it(args: list[str]) -> None:
    found = plain_call(args)

    assert found is not None
    assert plainly(found) == by_click(args)


@pytest.mark.parametrize("args", FOR_CLICK, ids=lambda args: " ".join(args)[:40])
def test_any_other_call_is_left_to_click(args: list[str]) -> None:
    assert plain_call(args) is None


def plain_commands() -> list[str]:
    """The commands whose plain calls need no click."""
    every = {name: declared(name) for name in COMMANDS}
    return [name for name, each in every.items() if plain.is_plain(each)]


def test_the_commands_of_every_day_need_no_click() -> None:
    assert set(plain_commands()) >= set(FAST)


def sample(parameter: Parameter) -> str:
    kind = parameter.attributes.get("type")
    return "7" if kind is int or isinstance(kind, Whole) else "some text"


def spelled(parameter: Parameter, name: str) -> list[str]:
    return [name] if parameter.attributes.get("is_flag") else [name, sample(parameter)]


def every_option(name: str) -> list[list[str]]:
    """For each name of each option of a command a call with just that, then one with them all."""
    known = (*declared(name).parameters, *GLOBAL_OPTIONS)
    options = [each for each in known if each.is_option]
    words = [sample(each) for each in known if not each.is_option]
    each_alone = [
        [name, *words, *spelled(each, dashed)]
        for each in options
        for dashed in each.names
        if dashed.startswith("-")
    ]
    whole = [word for each in options for word in spelled(each, each.names[0])]
    equals = [
        f"{each.names[-1]}={sample(each)}"
        for each in options
        if each.names[-1].startswith("--") and not each.attributes.get("is_flag")
    ]
    return [*each_alone, [name, *whole, *words], [name, *words, *whole, *whole, *equals]]


@pytest.mark.parametrize("name", plain_commands())
def test_every_option_is_read_as_click_reads_it(name: str) -> None:
    for args in every_option(name):
        found = plain_call(args)

        assert found is not None, args
        assert plainly(found) == by_click(args), args


NAMES = st.sampled_from(
    sorted(
        {name for command in FAST for each in declared(command).parameters for name in each.names}
        | {name for each in GLOBAL_OPTIONS for name in each.names}
        | {"--help", "--unknown", "-gx", "-n3"}
    )
)
WORDS = st.sampled_from(["a.md", "7", "0", "", "-", "--", "--json", "-1", "- milk", "---", "x=y"])


@given(
    st.lists(NAMES | WORDS, max_size=3),
    st.sampled_from(FAST),
    st.lists(NAMES | WORDS | st.builds("{}={}".format, NAMES, WORDS), max_size=5),
)
def test_whatever_counts_as_plain_is_read_as_click_reads_it(
    before: list[str], name: str, after: list[str]
) -> None:
    args = [*before, name, *after]
    found = plain_call(args)

    assert found is None or plainly(found) == by_click(args)


def test_what_is_declared_as_data_is_a_command_of_click() -> None:
    for name in COMMANDS:
        made, found = made_command(declared(name)), declared(name)
        assert len(made.params) == len(found.parameters) + len(GLOBAL_OPTIONS)
        assert isinstance(made, click.Group) == isinstance(found, DeclaredGroup)


def run_plainly(*args: str, **env: str) -> Said:
    with CliRunner().isolation(env=env) as (out, err, _):
        code = plain.run(args, os.environ)
        said = out.getvalue(), err.getvalue()
    assert code is not None
    return Said(code, said[0].decode(), said[1].decode(), said[0])


CALLS = [
    ["read", "a.md"],
    ["read", "a.md", "--json"],
    ["read", "none.md"],
    ["read", "none.md", "--json"],
    ["-g", "none", "read", "a.md"],
    ["read", "a.md", "--at", "1999-01-01"],
    ["--store", "/nonexistent", "read", "a.md"],
    ["inject"],
    ["inject", "--json"],
    ["inject", "--prompt", "what does Ada like?"],
    ["inject", "--explain"],
    ["inject", "--format", "none"],
    ["search", "tea"],
    ["search", "tea", "--json", "-n", "3"],
    ["search", "tea", "--source", "none"],
    ["log"],
    ["log", "-n", "1", "--json"],
    ["log", "-q"],
    ["list"],
    ["list", "--long", "*.md"],
    ["list", "none"],
    ["status"],
    ["status", "--json"],
    ["write", "a.md", "Ada likes tea."],
    ["write", "a.md", "--create", "x"],
    ["write", "a.md", "--if-match", "0123"],
    ["write", "a.md", "--if-match", "0123", "--json", "x"],
    ["entries"],
    ["snapshots", "--json"],
]


@pytest.mark.parametrize("args", CALLS, ids=" ".join)
def test_a_plain_call_answers_as_click_s_does(gitmem: Run, args: list[str]) -> None:
    assert gitmem("write", "a.md", "Ada likes tea.").code == 0

    assert run_plainly(*args) == run_gitmem(*args)


@pytest.mark.parametrize("args", [["read", "a.md"], ["hook", "stop"]], ids=" ".join)
def test_a_wrong_clock_is_told_the_same_way(gitmem: Run, args: list[str]) -> None:
    assert run_plainly(*args, GITMEM_NOW="soon") == run_gitmem(*args, GITMEM_NOW="soon")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, EOFError, BrokenPipeError, OSError(5, "no")])
def test_what_interrupts_a_command_ends_it_the_same_way(
    gitmem: Run, monkeypatch: pytest.MonkeyPatch, raised: type[BaseException]
) -> None:
    def interrupted(*args: object, **values: object) -> None:
        raise raised

    monkeypatch.setattr(declared("read"), "function", interrupted)

    assert run_plainly("read", "a.md") == run_gitmem("read", "a.md")


def test_a_shell_that_completes_is_answered_by_click() -> None:
    assert plain.run(["read", "a.md"], {plain.COMPLETE: "bash_complete"}) is None
