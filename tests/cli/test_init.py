"""`gitmem init`."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import Run
from tests.support.git import git


def test_a_store_and_a_group_are_made_and_the_next_step_is_named(run: Run, home: Path) -> None:
    said = run("init")

    assert said.code == 0
    assert said.out.startswith(f"created the group main in {home}\n")
    assert "gitmem status" in said.out
    assert git(home / "groups" / "main", "log", "--format=%s") != ""


def test_a_second_time_nothing_changes(gitmem: Run) -> None:
    first = gitmem("init", "--json").document

    again = gitmem("init", "--json").document

    assert again == first
    assert again["created"] is False
    assert gitmem("init").out.startswith("already there: the group main")


def test_the_work_tree_may_be_elsewhere(run: Run, tmp_path: Path) -> None:
    place = tmp_path / "project" / "memory"

    made = run("init", "-g", "coder", "--worktree", str(place), "--json").document
    run("write", "-g", "coder", "a.md", "hello")

    assert made["worktree"] == str(place)
    assert (place / "a.md").read_text() == "hello\n"


def test_the_one_who_makes_it_is_the_author(run: Run, home: Path) -> None:
    run("init", "--agent", "ada")

    assert git(home / "groups" / "main", "log", "--format=%an") == "ada\nada\n"


def test_a_name_that_breaks_the_grammar_is_refused(run: Run) -> None:
    said = run("init", "-g", "../x", "--json")

    assert (said.code, said.error["code"]) == (5, "group-refused")
