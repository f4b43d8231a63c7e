"""`gitmem groups`."""

from __future__ import annotations

from pathlib import Path

from tests.support.cli import Run


def test_groups_are_listed_with_their_last_write_and_size(gitmem: Run) -> None:
    gitmem("init", "-g", "research", "--layout", "none")
    gitmem("write", "-g", "research", "a.md", "hello", "--agent", "ada")

    rows = gitmem("groups").out.splitlines()

    assert [row.split()[0] for row in rows] == ["main", "research"]
    assert "just now" in rows[1]
    assert "ada" in rows[1]
    assert "1 file " in rows[1]
    assert "6 bytes" in rows[1]
    assert gitmem("groups", "list").out.splitlines() == rows


def test_the_document_has_a_row_for_each_group(gitmem: Run) -> None:
    gitmem("write", "a.md", "x")

    (row,) = gitmem("groups", "--json").document["groups"]

    assert row["name"] == "main"
    assert row["health"] == "ok"
    assert row["last_write"].startswith("2026-02-08T14:30:00")


def test_a_store_without_groups_says_how_to_make_one(run: Run) -> None:
    said = run("groups")

    assert (said.code, said.out) == (0, "")
    assert "gitmem init" in said.err


def test_a_group_takes_its_files_to_its_new_name(gitmem: Run, home: Path) -> None:
    gitmem("init", "-g", "one")
    gitmem("write", "-g", "one", "a.md", "hello")

    said = gitmem("groups", "rename", "one", "two")

    assert said.code == 0
    assert "renamed one to two" in said.out
    assert gitmem("read", "-g", "two", "a.md").out == "hello\n"
    assert gitmem("groups", "rename", "two", "main").code == 4


def test_removing_wants_to_be_confirmed_and_keeps_everything(gitmem: Run, home: Path) -> None:
    gitmem("init", "-g", "one")

    assert gitmem("groups", "remove", "one").code == 2
    removed = gitmem("groups", "remove", "one", "--yes", "--json").document

    assert Path(removed["trash"]).is_dir()
    assert gitmem("list", "-g", "one").code == 3
    assert gitmem("groups", "remove", "one", "--yes").code == 3
