"""Every error has a message and an exit code, given in one place."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import gitmem
from gitmem import errors
from gitmem.cli import boundary
from gitmem.cli.app import app
from gitmem.cli.invocation import Invocation
from gitmem.errors import GitmemError
from tests.support.cli import Run, run_gitmem

CODES = {
    "error": 1,
    "not-found": 3,
    "bad-input": 2,
    "conflict": 4,
    "refused": 5,
    "busy": 7,
    "damaged": 8,
    "storage-failed": 8,
}


def every_error() -> list[type[GitmemError]]:
    """Every error class that the package defines anywhere."""
    for module in pkgutil.walk_packages(gitmem.__path__, "gitmem."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return [GitmemError, *below(GitmemError)]


def below(kind: type[GitmemError]) -> Iterator[type[GitmemError]]:
    for each in kind.__subclasses__():
        yield each
        yield from below(each)


def test_every_error_has_an_exit_code_on_purpose() -> None:
    undecided = [
        kind
        for kind in every_error()
        if kind is not GitmemError and boundary.exit_code(kind) == boundary.UNEXPECTED
    ]

    assert undecided == []


def test_every_kind_of_error_has_the_code_the_design_gives_it() -> None:
    kinds = {kind.code: kind for kind in every_error() if kind.__module__ == "gitmem.errors"}

    assert {code: boundary.exit_code(kinds[code]) for code in CODES} == CODES


def test_every_error_has_a_slug_of_its_own() -> None:
    ours = [kind for kind in every_error() if kind.__module__.startswith("gitmem.")]
    slugs = [kind.code for kind in ours]

    assert sorted(slugs) == sorted(set(slugs))


def test_every_exit_code_is_explained() -> None:
    assert set(boundary.EXIT_CODES.values()) | {0, 6} == set(boundary.MEANINGS)


@pytest.mark.parametrize(
    ("error", "code", "slug"),
    [
        (errors.Busy("later"), 7, "busy"),
        (click.UsageError("what?"), 2, "usage"),
        (click.Abort(), 130, "interrupted"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (PermissionError(13, "Permission denied", "/x"), 8, "storage-failed"),
        (ZeroDivisionError("oops"), 1, "unexpected"),
    ],
)
def test_an_error_becomes_a_code_and_a_slug(error: BaseException, code: int, slug: str) -> None:
    assert boundary.exit_code(type(error)) == code
    assert boundary.described(error)["code"] == slug


def failing(error: BaseException) -> object:
    raise error


def test_the_message_and_the_hint_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.Conflict("it moved", hint="look again", blob="b1")

    assert boundary.guarded(lambda: failing(error), [], Invocation({})) == 4

    assert capsys.readouterr() == ("", "error: it moved\nhint: look again\n")


def test_as_json_the_facts_stand_beside_the_message(run: Run) -> None:
    error = run("read", "x.md", "--json").error

    assert error["code"] == "group-not-found"
    assert error["group"] == "main"


def test_a_message_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    boundary.guarded(lambda: failing(errors.Busy("a\x1b[2Jb")), [], Invocation({}))

    assert "\x1b" not in capsys.readouterr().err


def test_an_unexpected_error_is_one_line_and_a_way_to_see_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert boundary.guarded(lambda: failing(KeyError("x")), [], Invocation({})) == 1
    short = capsys.readouterr().err
    boundary.guarded(lambda: failing(KeyError("x")), [], Invocation({"GITMEM_DEBUG": "1"}))

    assert short.startswith("error: unexpected KeyError")
    assert "GITMEM_DEBUG" in short
    assert "Traceback" not in short
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_usage_error_is_a_document_wherever_json_was_asked_for(place: str, run: Run) -> None:
    args = ["--json", "read"] if place == "before" else ["read", "--json"]

    said = run(*args)

    assert said.code == 2
    assert said.error["code"] == "usage"


def test_json_is_asked_for_even_after_the_mistake(run: Run) -> None:
    assert run("read", "--nonsense", "--json").error["code"] == "usage"
    assert run("write", "a.md", "--nonsense", "--", "--json").out == ""


def test_errors_are_reported_even_when_quiet(run: Run) -> None:
    said = run("-q", "read", "x.md")

    assert (said.code, said.out) == (3, "")
    assert "no group" in said.err


def test_a_store_on_a_file_is_no_unexpected_error(run: Run, home: Path) -> None:
    home.write_text("")

    said = run("init")

    assert said.code == 8
    assert "creating the store" in said.err


def test_without_standalone_mode_errors_come_through() -> None:
    with pytest.raises(errors.NotFound):
        app.main(["read", "x.md", "--store", "/nonexistent"], standalone_mode=False)


@pytest.fixture
def nowhere(home: Path, tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed while somebody is in it."""
    assert run_gitmem("init").code == 0
    folder = tmp_path / "project"
    folder.mkdir()
    before = os.getcwd()
    os.chdir(folder)
    folder.rmdir()
    yield folder
    os.chdir(before)


def test_a_command_works_in_a_folder_that_was_removed(nowhere: Path) -> None:
    assert run_gitmem("write", "a.md", "text\n").code == 0
    assert run_gitmem("-g", "main", "read", "a.md").out == "text\n"
    assert run_gitmem("check").code == 0


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("write", "a.md", "text"),
        ("adopt", "."),
        ("link", ".", "-g", "main"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_a_removed_folder_is_named_where_it_is_needed(
    nowhere: Path, home: Path, command: tuple[str, ...]
) -> None:
    assert run_gitmem("link", str(home.parent), "-g", "main").code == 0
    said = run_gitmem(*command)
    assert said.code == 3
    assert "the current folder was removed" in said.err
    assert "hint: go to another folder with `cd`" in said.err
    assert run_gitmem("-g", "main", "status").code == 0
