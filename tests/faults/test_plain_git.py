"""What a person may do with plain git, row by row as docs/concurrency.md tells it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import run_gitmem
from tests.support.faults import Scene, assert_sound
from tests.support.git import git
from tests.support.samples import body

PAGE = Path(__file__).parents[2] / "docs/concurrency.md"
KEY = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """A group with two writes, and a branch beside them that a person made."""
    monkeypatch.setenv("GITMEM_HOME", str(tmp_path / "store"))
    made = Scene(tmp_path / "store")
    assert run_gitmem("init", "--layout", "none").code == 0
    run_gitmem("write", "a.md", "one")
    git(made.worktree, "switch", "-qc", "side")
    (made.worktree / "side.md").write_text("side\n")
    git(made.worktree, "add", ".")
    git(made.worktree, "commit", "-qm", "side")
    git(made.worktree, "switch", "-q", "main")
    run_gitmem("write", "b.md", "two")
    return made


def rows() -> list[str]:
    """The first cells of the table."""
    text = PAGE.read_text("utf-8").partition("| you run | what happens |")[2]
    return re.findall(r"^\| (.*?) \| ", text.partition("\n\n")[0], re.MULTILINE)


def test_each_command_stands_in_one_row() -> None:
    typed = [each for row in rows() for each in re.findall(r"`([^`]+)`", row)]

    assert len(rows()) > 10
    assert not [each for each, count in Counter(typed).items() if count > 1]
    assert sum("rebase" in row for row in rows()) == 1


def test_an_edit_waits_for_a_capture_and_what_plain_git_staged_for_any_write(scene: Scene) -> None:
    (scene.worktree / "a.md").write_text("edited\n")
    run_gitmem("write", "c.md", "three")
    assert [each["path"] for each in edits()] == ["a.md"]

    git(scene.worktree, "mv", "b.md", "moved.md")
    run_gitmem("write", "c.md", "four")

    assert edits() == []
    assert scene.files()["a.md"] == b"edited\n"
    assert_sound(scene)


def edits() -> list[dict[str, str]]:
    found = run_gitmem("status", "--json").document["edits"]
    assert isinstance(found, list)
    return found


@pytest.mark.parametrize("how", ["--mixed", "--soft", "--hard"])
def test_a_reset_to_another_commit_keeps_the_commits_and_leaves_the_files_as_git_does(
    scene: Scene, how: str
) -> None:
    gone = scene.head()
    git(scene.worktree, "reset", "-q", how, "HEAD~1")

    assert [each["path"] for each in edits()] == ([] if how == "--hard" else ["b.md"])
    assert run_gitmem("capture").code == 0

    assert [each["commit"] for each in kept()] == [gone]
    assert ("b.md" in scene.files()) == (how != "--hard")
    assert_sound(scene)


def kept() -> list[dict[str, str]]:
    found = run_gitmem("kept", "--json").document["kept"]
    assert isinstance(found, list)
    return found


def test_a_rebase_stops_writes_while_it_runs_and_keeps_the_old_commits_afterwards(
    scene: Scene,
) -> None:
    gone = scene.head()
    git(scene.worktree, "rebase", "-q", "--exec", "false", "side", check=False)

    said = run_gitmem("write", "c.md", "three")
    assert (said.code, "`git rebase --abort`" in said.err) == (4, True)
    assert run_gitmem("read", "b.md").out == "two\n"
    git(scene.worktree, "rebase", "--continue")

    assert run_gitmem("write", "c.md", "three").code == 0
    assert [each["commit"] for each in kept()] == [gone]
    assert {"b.md", "c.md", "side.md"} <= scene.files().keys()
    assert_sound(scene)


def on_branch(scene: Scene) -> None:
    git(scene.worktree, "switch", "-q", "side")


def detached(scene: Scene) -> None:
    git(scene.worktree, "checkout", "-q", "HEAD~1")


def bisecting(scene: Scene) -> None:
    git(scene.worktree, "bisect", "start", "HEAD", "HEAD~2")


@pytest.mark.parametrize(
    ("leave", "back"),
    [(on_branch, "switch main"), (detached, "switch main"), (bisecting, "bisect reset")],
    ids=["branch", "commit", "bisect"],
)
def test_while_head_is_elsewhere_main_is_read_and_nothing_is_written(
    scene: Scene, leave: Callable[[Scene], None], back: str
) -> None:
    before = git(scene.worktree, "rev-parse", "main")
    leave(scene)

    for args in (["write", "c.md", "three"], ["capture"]):
        said = run_gitmem(*args)
        assert (said.code, f"`git {back}`" in said.err) == (4, True)
    assert f"`git {back}`" in run_gitmem("status").out
    assert run_gitmem("read", "b.md").out == "two\n"
    assert "`gitmem capture`" not in run_gitmem("check").out
    assert git(scene.worktree, "rev-parse", "main") == before

    git(scene.worktree, *back.split())
    assert run_gitmem("write", "c.md", "three").code == 0
    assert_sound(scene)


def test_a_clean_deletes_what_is_in_no_commit_but_for_ignored_files(scene: Scene) -> None:
    for name, text in {"new.md": "new\n", "key.md": KEY, "x.pdf": "pdf"}.items():
        (scene.worktree / name).write_text(text)
    assert run_gitmem("held", "ignore", "x.pdf").code == 0

    git(scene.worktree, "clean", "-qfd")

    there = {each.name for each in scene.worktree.iterdir()}
    assert (there & {"new.md", "key.md", "x.pdf"}, {"a.md", "b.md"} <= there) == ({"x.pdf"}, True)
    assert run_gitmem("status", "--json").document["edits"] == []
    assert_sound(scene, held=["x.pdf"])


@pytest.mark.parametrize("how", ["merge", "cherry-pick", "revert"])
def test_a_commit_that_git_makes_is_one_like_any_other(scene: Scene, how: str) -> None:
    arguments = {"merge": ["--no-edit", "side"], "cherry-pick": ["side"], "revert": ["HEAD"]}
    with_editor = [*arguments[how], *(["--no-edit"] if how == "revert" else [])]
    git(scene.worktree, how, *with_editor)

    assert run_gitmem("write", "c.md", "three").err == ""
    assert kept() == []
    assert run_gitmem("check").code == 0
    assert_sound(scene)
