"""Refs as they are read and moved: by files alone, on any disk, beside any git."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.errors import Damaged
from gitmem.memory.admin.check import check_group
from gitmem.memory.group import Store
from gitmem.memory.write.write import Edit
from gitmem.store import fault_points, repository
from gitmem.store.refs.files import packed_refs, read_log, resolve
from gitmem.store.refs.move import Move, RefMoved, delete_ref, move_ref
from gitmem.store.repository import BRANCH
from tests.support.faults import Scene, assert_sound, line, new_scene
from tests.support.git import git

SIDE = "refs/gitmem/side"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return new_scene(tmp_path / "store", {"a.md": b"first\n"})


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("no_links")
class TestADiskWithoutHardLinks:
    def test_a_group_is_made_and_written(self, tmp_path: Path) -> None:
        scene = new_scene(tmp_path / "store", {"a.md": b"first\n"})

        scene.write(Edit("a.md", line("second")))

        assert git(scene.gitdir, "show", "main:a.md") == line("second")
        assert not (scene.gitdir / f"{BRANCH}.lock").exists()

    def test_a_ref_comes_and_goes(self, scene: Scene) -> None:
        tip = scene.head()
        move_ref(scene.gitdir, SIDE, Move(None, tip, "made", 1))
        delete_ref(scene.gitdir, SIDE)

        assert resolve(scene.gitdir, SIDE).target == ""
        assert list(scene.gitdir.rglob("*.lock")) == []

    def test_the_lock_of_a_dead_writer_is_cleared(self, scene: Scene) -> None:
        tip = scene.head()
        (scene.gitdir / "gitmem" / "ref-refs-heads-main.new").write_text(f"{tip}\n")
        (scene.gitdir / f"{BRANCH}.lock").write_text(f"{tip}\n")

        scene.write(Edit("a.md", line("second")))

        assert git(scene.gitdir, "show", "main:a.md") == line("second")


def test_a_branch_that_gets_its_file_while_it_is_read_is_not_lost(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(scene.gitdir, "pack-refs", "--all")
    tip = scene.head()
    answers: Iterator[str] = iter(["", tip])
    monkeypatch.setattr(repository, "branch_file", lambda _: next(answers))
    (scene.gitdir / BRANCH).write_text(f"{tip}\n")

    with scene.opened() as group:
        assert group.repository.tip() == tip


def test_a_branch_whose_packed_refs_cannot_be_read_is_not_called_missing(scene: Scene) -> None:
    (scene.gitdir / BRANCH).unlink()
    (scene.gitdir / "packed-refs").unlink(missing_ok=True)
    (scene.gitdir / "packed-refs").mkdir()

    assert packed_refs(scene.gitdir)[1] != []
    with scene.opened() as group, pytest.raises(Damaged, match="cannot be read"):
        group.repository.tip()


@pytest.mark.parametrize(
    "name", ["refs/tags/../heads/main", "../config", "/etc/passwd", "refs/heads/a b", "refs/\0"]
)
def test_what_no_ref_can_be_called_leads_nowhere(scene: Scene, name: str) -> None:
    assert resolve(scene.gitdir, name).target == ""


def test_a_move_that_is_interrupted_takes_its_line_off_the_log(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, logs = scene.head(), [read_log(scene.gitdir, name) for name in (BRANCH, "HEAD")]

    def stop(step: str) -> None:
        if step == "logged":
            raise KeyboardInterrupt

    monkeypatch.setattr(fault_points, "reached", stop)
    with pytest.raises(KeyboardInterrupt):
        move_ref(scene.gitdir, BRANCH, Move(before, "1" * 40, "never", 1))

    assert [read_log(scene.gitdir, name) for name in (BRANCH, "HEAD")] == logs
    assert scene.head() == before
    assert not (scene.gitdir / f"{BRANCH}.lock").exists()


def test_a_line_that_git_wrote_meanwhile_is_not_cut_off(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, log = scene.head(), scene.gitdir / "logs" / "HEAD"
    theirs = f"{before} {before} Ada <ada@example.org> 1 +0000\tcheckout: moving\n"

    def stop(step: str) -> None:
        if step == "logged":
            with log.open("a") as file:
                file.write(theirs)
            raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fault_points, "reached", stop)
    with pytest.raises(OSError, match="broken"):
        move_ref(scene.gitdir, BRANCH, Move(before, "1" * 40, "never", 1))

    assert log.read_text().endswith(theirs)


def test_a_ref_that_somebody_moved_is_left_where_it_is(scene: Scene) -> None:
    tip = scene.head()
    with pytest.raises(RefMoved):
        move_ref(scene.gitdir, BRANCH, Move("1" * 40, "2" * 40, "never", 1))

    assert scene.head() == tip
    assert list(scene.gitdir.rglob("*.lock")) == []


def test_a_branch_that_is_another_name_is_found_and_repaired(scene: Scene) -> None:
    tip = scene.head()
    git(scene.gitdir, "update-ref", "refs/heads/other", tip)
    (scene.gitdir / BRANCH).write_text("ref: refs/heads/other\n")

    found = check_group(Store(scene.root), "main")
    assert [each.code for each in found.findings] == ["ref-malformed"]
    check_group(Store(scene.root), "main", repair=True)

    assert scene.head() == tip
    scene.write(Edit("a.md", line("second")))
    assert_sound(scene)
