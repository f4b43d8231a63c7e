"""Conflict markers knock at every door: a write is refused, an edit is held."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gitmem.errors import MarkersFound
from gitmem.integrations.mcp.hints import for_models
from gitmem.integrations.memory_tool.commands import MemoryCommands
from gitmem.memory.group import Group, Store
from gitmem.model.guards import check_markers
from tests.cli.test_editing import editor
from tests.support.cli import Run
from tests.support.git import git

SET = f"{'<' * 7} HEAD\nours\n{'=' * 7}\ntheirs\n{'>' * 7} side\n"
FENCED = f"```\n{SET}```\n"
BATCH = json.dumps({"path": "a.md", "text": SET})


def in_git(home: Path) -> bool:
    """Whether the markers stand in any object."""
    gitdir = home / "repos" / "main.git"
    return SET in git(gitdir, "cat-file", "--batch-all-objects", "--batch")


@pytest.mark.parametrize(
    "words",
    [
        ("write", "a.md", SET),
        ("write", "a.md", "--append", SET),
        ("write", "--batch", "-"),
    ],
)
def test_a_write_is_refused_unless_markers_are_allowed(
    gitmem: Run, home: Path, words: tuple[str, ...]
) -> None:
    gitmem("write", "a.md", "before")

    said = gitmem(*words, "--json", input=BATCH)

    assert (said.code, said.error["code"], in_git(home)) == (5, "markers-found", False)
    assert said.error["line"] in (1, 2)
    assert "--allow-markers" in said.error["hint"]
    assert gitmem(*words, "--allow-markers", "--allow-shrink", input=BATCH).code == 0
    assert SET in gitmem("read", "a.md").out
    assert gitmem("write", "a.md", "--append", "and more").code == 0, "they stand there already"


def test_an_example_in_fenced_code_may_be_written_and_captured(gitmem: Run, files: Path) -> None:
    assert gitmem("write", "a.md", FENCED).code == 0
    (files / "b.md").write_text(FENCED)
    assert gitmem("capture", "b.md").code == 0
    assert gitmem("lint").code == 0


def test_an_edit_is_held_until_somebody_decides(gitmem: Run, files: Path, home: Path) -> None:
    gitmem("write", "a.md", "before")
    (files / "a.md").write_text(SET)

    said = gitmem("capture", "a.md")

    assert said.code == 5
    assert "held a.md (conflict markers, line 1)" in said.out
    assert gitmem("write", "other.md", "x").code == 0
    assert "a.md  conflict markers, line 1" in gitmem("status").out
    assert not in_git(home)
    assert gitmem("capture", "a.md", "--allow-markers").code == 0
    assert in_git(home)
    assert "accepted by hand: conflict markers" in git(files, "log", "-1", "--format=%B")
    assert gitmem("status", "--json").document["held"] == []


def test_held_accept_takes_markers_too(gitmem: Run, files: Path) -> None:
    (files / "a.md").write_text(SET)
    gitmem("capture")

    assert gitmem("held", "accept", "a.md").code == 0
    assert gitmem("read", "a.md").out == SET


def test_allowing_markers_allows_nothing_else(gitmem: Run, files: Path) -> None:
    (files / "a.md").symlink_to("b.md")
    (files / "c.md").write_text(SET)

    said = gitmem("capture", "--allow-markers", "--json")

    assert [each["path"] for each in said.document["captured"]] == ["c.md"]
    assert [each["rule"] for each in said.document["held"]] == ["link"]


def test_an_editor_that_leaves_markers(gitmem: Run, tmp_path: Path) -> None:
    leaves = editor(tmp_path, f"path.write_text({SET!r})")

    assert gitmem("edit", "a.md", EDITOR=leaves).code == 5
    assert gitmem("edit", "a.md", "--allow-markers", EDITOR=leaves).code == 0
    assert gitmem("read", "a.md").out == SET


def test_a_renamed_file_with_markers_of_its_own_is_no_news(gitmem: Run, files: Path) -> None:
    gitmem("write", "a.md", SET, "--allow-markers")
    (files / "a.md").rename(files / "b.md")

    assert gitmem("capture").code == 0
    assert gitmem("list").out.split() == ["b.md"]


def test_versions_with_markers_can_be_read_and_restored(gitmem: Run) -> None:
    gitmem("write", "a.md", SET, "--allow-markers")
    gitmem("write", "a.md", "resolved")

    assert gitmem("restore", "a.md", "--previous").code == 0
    assert gitmem("read", "a.md").out == SET
    assert gitmem("undo").code == 0


def test_plain_git_is_stopped_by_the_hook(gitmem: Run, files: Path) -> None:
    (files / "a.md").write_text(SET)
    git(files, "add", "a.md")

    assert gitmem("check", "--staged", "--json").document["refused"] == [
        {"path": "a.md", "rule": "conflict markers, line 1"}
    ]


def test_an_adopted_folder_leaves_them_out(gitmem: Run, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "a.md").write_text(SET)
    (folder / "b.md").write_text("fine\n")

    assert gitmem("adopt", str(folder), "-g", "adopted", "--layout", "none").code == 0

    assert gitmem("list", "-g", "adopted").out.split() == ["b.md"]
    assert (folder / "a.md").read_text() == SET


def test_a_model_is_told_what_it_can_do(gitmem: Run, home: Path) -> None:
    assert "repeat with --allow-markers" in gitmem("write", "a.md", SET, "--json").error["hint"]
    with pytest.raises(MarkersFound) as refused:
        check_markers("a.md", SET.encode())
    said = for_models(refused.value.hint)
    assert "`gitmem write --allow-markers ...`, which is for a person" in said
    group = Group(Store(home), "main")
    try:
        create = {"command": "create", "path": "/memories/a.md", "file_text": SET}
        answer = MemoryCommands(group).answer(create)
    finally:
        group.close()
    assert answer.is_error
    assert "fenced code" in answer.content
    assert "--allow" not in answer.content
