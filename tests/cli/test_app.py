"""The commands there are, and what all of them have in common."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

import gitmem as package
from gitmem.cli.app import app
from gitmem.cli.commands import COMMANDS, MODULES
from tests.support.cli import Run, run_gitmem
from tests.support.samples import narrow


def commands(command: click.Command = app, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command and sub-command, by the words that call it."""
    found = [path] if path else []
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            found += commands(below, (*path, name))
    return found


def named(path: tuple[str, ...]) -> click.Command:
    command: click.Command = app
    for name in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


EVERY = commands()


def test_the_table_and_the_modules_agree() -> None:
    folder = Path(package.__file__).parent / "cli" / "commands"
    found = (each.relative_to(folder).with_suffix("") for each in folder.rglob("[!_]*.py"))
    modules = {".".join(each.parts) for each in found}

    assert sorted(name for names in MODULES.values() for name in names) == sorted(COMMANDS)
    assert modules - MODULES.keys() == {"curate.report"}  # lines for consolidate, no command


@pytest.mark.parametrize("name", COMMANDS)
def test_the_line_in_the_table_is_the_first_line_of_the_help(name: str) -> None:
    assert (named((name,)).help or "").splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_the_help_of_every_command_says_what_it_does_and_shows_it(
    path: tuple[str, ...], run: Run
) -> None:
    said = run(*path, "--help")

    first = (named(path).help or "").splitlines()[0]
    assert said.code == 0
    assert first[0].isupper()
    assert not first.endswith(".")
    assert "Examples:" in said.out
    assert f"gitmem {' '.join(path)}" in said.out.partition("Examples:")[2]
    assert run(*path, "-h").out == said.out


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_takes_the_global_options(path: tuple[str, ...]) -> None:
    taken = {name for each in named(path).params for name in each.opts}

    assert taken >= {"--store", "-g", "--group", "--json", "-q", "--quiet"}


def test_the_help_lists_every_command(run: Run) -> None:
    said = run("--help")

    for name, line in COMMANDS.items():
        assert any(name in each and line in each for each in said.out.splitlines())


def test_the_version_is_the_package_s(run: Run) -> None:
    assert run("--version").out == f"gitmem {package.__version__}\n"


def test_nothing_asked_for_is_a_usage_error_with_the_help(run: Run) -> None:
    said = run()

    assert (said.code, said.out) == (2, "")
    assert "Usage: gitmem" in said.err
    assert run("--json").error["code"] == "usage"


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["wriet", "a.md"], "'write'"),
        (["groups", "renmae"], "'rename'"),
        (["write", "a.md", "x", "--reasn", "y"], "--reason"),
        (["log", "--sesion", "y"], "--session"),
    ],
)
def test_a_typo_is_answered_with_what_was_meant(args: list[str], meant: str, run: Run) -> None:
    said = run(*args)

    assert said.code == 2
    assert meant in said.err


def test_a_word_like_no_command_is_not_guessed_at(run: Run) -> None:
    said = run("zzzzzz")

    assert said.code == 2
    assert "did you mean" not in said.err
    assert "gitmem --help" in said.err


def test_options_count_before_and_after_the_command(run: Run, tmp_path: Path) -> None:
    elsewhere = str(tmp_path / "elsewhere")

    assert run("--store", elsewhere, "-g", "one", "init").code == 0
    assert run("init", "--store", elsewhere, "-g", "two").code == 0
    assert run("--store", elsewhere, "groups", "list", "--json").document["groups"]
    names = [
        each["name"] for each in run("groups", "--store", elsewhere, "--json").document["groups"]
    ]

    assert names == ["one", "two"]


def test_the_later_option_wins(run: Run) -> None:
    assert run("-g", "one", "init", "-g", "two", "--json").document["group"] == "two"


def test_a_store_that_is_not_there_is_named_with_the_way_on(run: Run, home: Path) -> None:
    said = run("log")

    assert said.code == 3
    assert str(home) in said.err
    assert "gitmem init" in said.err
    assert not home.exists()


def test_a_missing_group_is_told_with_those_there_are(gitmem: Run) -> None:
    said = gitmem("read", "x.md", "-g", "resaerch")

    assert said.code == 3
    assert "main" in said.err
    assert "gitmem -g resaerch init" in said.err


def test_a_store_may_want_its_group_named(gitmem: Run, home: Path) -> None:
    (home / "config.yaml").write_text("require_group: true\n")

    assert gitmem("list").code == 2
    assert gitmem("write", "a.md", "x").code == 2
    assert gitmem("init").code == 2
    assert gitmem("list", "-g", "main").code == 0
    assert gitmem("list", GITMEM_GROUP="main").code == 0


def test_a_group_sees_itself_and_global_and_nothing_else(gitmem: Run) -> None:
    for name in ("one", "two", "global"):
        gitmem("init", "-g", name)
        gitmem("write", "-g", name, "a.md", name)

    assert gitmem("read", "a.md", GITMEM_GROUP="one").out == "one\n"
    assert gitmem("read", "a.md", "-g", "global", GITMEM_GROUP="one").out == "global\n"
    refused = gitmem("read", "a.md", "-g", "two", "--json", GITMEM_GROUP="one")
    assert (refused.code, refused.error["code"]) == (5, "group-refused")
    assert gitmem("write", "a.md", "x", "-g", "global", GITMEM_GROUP="one").code == 5
    assert gitmem("init", "-g", "three", GITMEM_GROUP="one").code == 5
    assert gitmem("write", "a.md", "x", "-g", "two", GITMEM_GROUP="main").code == 0
    seen = gitmem("groups", "--json", GITMEM_GROUP="one").document["groups"]
    assert [each["name"] for each in seen] == ["global", "one"]


@pytest.mark.parametrize(
    "args",
    [
        ["list", "-g", ""],
        ["list", "--store", ""],
        ["restore", "a.md", "--at", ""],
        ["undo", "--session", ""],
        ["undo", "--agent="],
        ["write", "a.md", "x", "--if-match", ""],
        ["write", "a.md", "x", "--id", ""],
        ["write", "", "x"],
        ["capture", ""],
        ["rm", ""],
        ["log", "--since", ""],
    ],
    ids=" ".join,
)
def test_a_variable_that_was_not_set_does_not_mean_everything(args: list[str], gitmem: Run) -> None:
    gitmem("write", "a.md", "hello")

    said = gitmem(*args)

    assert said.code == 2
    assert "is empty" in said.err
    assert len(gitmem("log", "--json").document["entries"]) == 2


@pytest.mark.parametrize(
    "args",
    [
        ["init"],
        ["groups"],
        ["groups", "list"],
        ["groups", "rename", "spare", "other"],
        ["groups", "remove", "spare", "--yes"],
        ["completion", "fish"],
        ["write", "b.md", "x"],
        ["edit", "a.md"],
        ["capture"],
        ["mv", "a.md", "c.md"],
        ["rm", "a.md"],
        ["read", "a.md"],
        ["list"],
        ["status"],
        ["log"],
        ["show"],
        ["diff"],
        ["restore", "a.md", "--at", "HEAD~1"],
        ["undo"],
        ["held"],
        ["held", "list"],
        ["held", "show", "held.md"],
        ["held", "accept", "held.md", "--yes"],
        ["held", "accept", "held.md", "--redact"],
        ["held", "drop", "held.md", "--yes"],
        ["held", "list", "--trash"],
        ["held", "empty", "--yes"],
        ["held", "ignore", "*.pdf"],
        ["held", "ignore", "--list"],
        ["check"],
    ],
    ids=" ".join,
)
def test_every_command_answers_with_one_document(
    args: list[str], gitmem: Run, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    gitmem("init", "-g", "spare")
    gitmem("write", "a.md", "one")
    gitmem("write", "a.md", "two")
    (files / "held.md").write_text(narrow()["aws-key-id"][0])

    done = gitmem(*args, "--json")

    assert (done.code, done.err) == (0, "")
    assert "error" not in done.document
    failed = gitmem(*args, "--json", "--nonsense")
    assert (failed.code, failed.err) == (2, "")
    assert failed.error["code"] == "usage"


def test_commands_in_hints_name_the_store_and_the_group_that_were_named(
    tmp_path: Path,
) -> None:
    store = str(tmp_path / "a store")
    here = ["--store", store, "-g", "research"]
    run_gitmem("init", *here)
    run_gitmem("write", "a.md", "one", *here)
    run_gitmem("write", "a.md", "two", *here)

    said = run_gitmem("restore", "a.md", *here)
    document = run_gitmem("restore", "a.md", *here, "--json").error

    command = f"gitmem --store '{store}' -g research restore a.md --previous"
    assert command in said.err
    assert all(f"--store '{store}' -g research" in each["command"] for each in document["versions"])
    assert run_gitmem(*shlex.split(command)[1:]).code == 0
    assert run_gitmem("read", "a.md", *here).out == "one\n"
