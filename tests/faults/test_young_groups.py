"""A group that was just made, renamed or removed: power cuts, kills, full disks, moved folders."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import gitmem.memory.admin.groups
from gitmem.errors import Damaged, StorageFailed
from gitmem.memory.admin.check import check_group
from gitmem.memory.admin.groups import remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link
from gitmem.memory.adopt.adopt import adopt
from gitmem.memory.group import Group, Store
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit
from gitmem.store import durable, setup
from tests.support.faults import Scene, assert_sound, line, new_scene
from tests.support.git import git
from tests.support.histories import put

LOST = {"empty": b"", "NULs": bytes(21), "missing": None}


def leave(path: Path, content: bytes | None) -> None:
    path.unlink()
    if content is not None:
        path.write_bytes(content)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return new_scene(tmp_path / "store", {"a.md": b"first\n"})


@pytest.mark.parametrize("left", LOST)
@pytest.mark.parametrize("name", ["HEAD", "config"])
def test_what_a_power_cut_left_empty_is_healed_by_the_next_read(
    scene: Scene, name: str, left: str
) -> None:
    before = (scene.gitdir / name).read_bytes()
    leave(scene.gitdir / name, LOST[left])

    with scene.opened() as group:
        assert read(group, "a.md").data == b"first\n"
        assert status(group).health == "ok"

    assert (scene.gitdir / name).read_bytes() == before
    assert_sound(scene)


def test_a_head_that_is_garbage_is_healed_by_the_next_write_and_kept(scene: Scene) -> None:
    (scene.gitdir / "HEAD").write_bytes(b"r\x01f: refs/heads/main\n")

    scene.write(Edit("b.md", line("b")))

    kept = scene.gitdir / "gitmem" / "quarantine" / "HEAD.0"
    assert kept.read_bytes() == b"r\x01f: refs/heads/main\n"
    assert_sound(scene)


def test_a_head_without_its_branch_is_not_guessed(scene: Scene) -> None:
    leave(scene.gitdir / "HEAD", b"")
    (scene.gitdir / "refs/heads/main").unlink()

    with pytest.raises(Damaged):
        scene.write(Edit("b.md", line("b")))

    assert (scene.gitdir / "HEAD").read_bytes() == b""


def test_who_only_reads_a_group_heals_nothing_in_it(scene: Scene) -> None:
    init(Store(scene.root), "global")
    head = scene.root / "repos" / "global.git" / "HEAD"
    head.write_bytes(b"")

    Group(Store(scene.root), "global", acting="other").close()
    assert head.read_bytes() == b""
    Group(Store(scene.root), "global", acting="main").close()
    assert head.read_bytes() == b"ref: refs/heads/main\n"


STEPS = {
    "noted": (gitmem.memory.admin.groups, "relinked"),
    "linked": (gitmem.memory.admin.groups, "hand_over"),
    "git directory": (gitmem.memory.admin.groups, "_move_worktree"),
    "work tree": (gitmem.memory.admin.groups, "tie"),
    "tied": (gitmem.memory.admin.groups, "name_worktree"),
}


class Died(BaseException):
    """Stands for a kill: nothing is put in order on the way out."""


def rename_dies_before(patch: pytest.MonkeyPatch, step: str, store: Store) -> None:
    module, name = STEPS[step]

    def die(*_: object, **__: object) -> None:
        raise Died

    with patch.context() as inner:
        inner.setattr(module, name, die)
        with pytest.raises(Died):
            rename_group(store, "main", "new")


@pytest.mark.parametrize("then", ["new", "linked folder", "rename again"])
@pytest.mark.parametrize("step", STEPS)
def test_a_renaming_that_died_is_finished_and_never_forks(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, then: str
) -> None:
    store, project = Store(scene.root), tmp_path / "project"
    project.mkdir()
    link(store, project, "main")
    (scene.worktree / "a.md").write_text("first\n" + line("edit"))
    rename_dies_before(monkeypatch, step, store)

    if store.gitdir("main").is_dir() and then == "rename again":
        rename_group(Store(scene.root), "main", "new")
    name = Store(scene.root).linked(str(project)) if then == "linked folder" else "new"
    if name == "new" and step == "noted" and then == "new":
        name = "main"  # nothing was renamed yet, and nobody has asked for the new name
    group = Group(Store(scene.root), name)
    try:
        assert [each.path for each in capture(group).captured] == ["a.md"]
        assert not group.is_outside
        assert status(group).health == "ok"
    finally:
        group.close()

    assert os.listdir(scene.root / "groups") == [name]
    assert git(scene.root / "groups" / name, "status", "--porcelain") == ""
    assert line("edit") in git(store.gitdir(name), "show", "main:a.md")
    assert check_group(Store(scene.root), name).sound


@pytest.mark.parametrize("dies", [True, False])
def test_an_empty_folder_of_the_new_name_costs_no_edit(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, dies: bool
) -> None:
    """A command that looked for the group as it got another name may have made the folder."""
    store = Store(scene.root)
    (scene.worktree / "a.md").write_text("first\n" + line("edit"))
    if dies:
        rename_dies_before(monkeypatch, "git directory", store)
    (scene.root / "groups" / "new").mkdir()

    if not dies:
        rename_group(store, "main", "new")
    group = Group(Store(scene.root), "new")
    try:
        assert [each.path for each in capture(group).captured] == ["a.md"]
    finally:
        group.close()

    assert os.listdir(scene.root / "groups") == ["new"]
    assert line("edit") in git(store.gitdir("new"), "show", "main:a.md")
    assert check_group(Store(scene.root), "new").sound


def test_a_removal_that_died_is_taken_back_with_its_edits(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    (scene.worktree / "a.md").write_text("first\n" + line("edit"))
    renamed = durable.rename_durably

    def die_second(source: Path, target: Path) -> None:
        if source.suffix == ".git":
            raise Died
        renamed(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.memory.admin.groups.rename_durably", die_second)
        with pytest.raises(Died):
            remove_group(Store(scene.root), "main")
    assert not scene.worktree.exists()

    scene.write(Edit("b.md", line("b")))

    with scene.opened() as group:
        capture(group)
    assert line("edit").encode() in scene.files()["a.md"]
    assert os.listdir(scene.root / "trash") == []
    assert_sound(scene)


def test_a_folder_renamed_inside_the_store_is_found_again(scene: Scene) -> None:
    (scene.worktree / "a.md").write_text("first\n" + line("edit"))
    scene.worktree.rename(scene.worktree.with_name("other"))

    with scene.opened() as group:
        assert [each.path for each in capture(group).captured] == ["a.md"]

    assert_sound(scene)


@pytest.fixture
def outside(tmp_path: Path) -> tuple[Store, Path, Path]:
    """A group whose work tree was moved: the store, where the folder was, and where it is now."""
    store, place, moved = (
        Store(tmp_path / "store"),
        tmp_path / "memory",
        tmp_path / "deep" / "moved",
    )
    init(store, "main", worktree=place)
    group = Group(store, "main")
    put(group, "a.md", "first\n")
    group.close()
    moved.parent.mkdir()
    place.rename(moved)
    (moved / "a.md").write_text("first\n" + line("edit"))
    return store, place, moved


def test_repairing_makes_no_second_work_tree_in_the_place_of_a_moved_one(
    outside: tuple[Store, Path, Path],
) -> None:
    store, place, _ = outside

    found = check_group(store, "main", repair=True)

    assert not place.exists()
    (finding,) = [each for each in found.findings if each.code == "worktree-missing"]
    assert finding.stands
    assert f"gitmem -g main init --worktree {place}" in finding.hint


def by_command(store: Store, place: Path, moved: Path) -> None:
    Group(store, "main", near=str(moved)).close()


def by_repair(store: Store, place: Path, moved: Path) -> None:
    assert check_group(store, "main", repair=True, near=str(moved)).sound


def by_init(store: Store, place: Path, moved: Path) -> None:
    init(store, "main", worktree=moved)


def by_adopt(store: Store, place: Path, moved: Path) -> None:
    with pytest.raises(Exception, match="has files;"):
        adopt(store, "main", moved, in_place=True)


@pytest.mark.parametrize("way", [by_command, by_repair, by_init, by_adopt])
def test_a_moved_folder_is_linked_again(
    outside: tuple[Store, Path, Path], way: Callable[[Store, Path, Path], None]
) -> None:
    store, place, moved = outside

    way(store, place, moved)

    group = Group(store, "main")
    try:
        assert group.worktree == moved
        assert [each.path for each in capture(group).captured] in ([], ["a.md"])
        assert line("edit").encode() in (group.repository.snapshot().read("a.md") or b"")
    finally:
        group.close()
    assert not place.exists()


def test_a_copy_is_not_taken_for_the_folder_unasked(outside: tuple[Store, Path, Path]) -> None:
    store, place, moved = outside
    copy = moved.with_name("copy")
    shutil.copytree(moved, copy)
    moved.rename(moved.with_name("unmounted"))

    group = Group(store, "main", near=str(copy))
    with pytest.raises(Damaged, match="is not there, or not ours") as damaged:
        capture(group)
    group.close()

    assert group.worktree == place
    assert "--worktree DIR" in damaged.value.hint


def test_a_lost_folder_is_put_back_by_the_hint(outside: tuple[Store, Path, Path]) -> None:
    store, place, moved = outside
    shutil.rmtree(moved)

    init(store, "main", worktree=place)

    assert (place / "a.md").read_text() == "first\n"
    assert check_group(store, "main").sound


def test_init_that_could_not_unlink_its_lock_leaves_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = setup._write_root

    def leave_lock(gitdir: Path, *rest: object) -> None:
        made(gitdir, *rest)  # type: ignore[arg-type]
        os.link(gitdir / "refs/heads/main", gitdir / "refs/heads/main.lock")

    monkeypatch.setattr(setup, "_write_root", leave_lock)
    scene = new_scene(tmp_path / "store")

    scene.write(Edit("a.md", line("a")))
    assert_sound(scene)


def test_a_lock_that_an_earlier_init_left_is_taken_away(scene: Scene) -> None:
    """libgit2 makes a ref by a link to its lock: the two are one file until somebody writes."""
    os.link(scene.gitdir / "refs/heads/main", scene.gitdir / "refs/heads/main.lock")

    scene.write(Edit("a.md", line("a")))
    assert_sound(scene)


def test_init_that_died_before_its_layout_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    place = tmp_path / "memory"
    (place / "facts").mkdir(parents=True)
    (place / "facts/old.md").write_text("it was here\n")

    def die(*_: object, **__: object) -> None:
        raise Died

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.memory.admin.init.tie", die)
        with pytest.raises(Died):
            init(store, "main", worktree=place, layout="standard")
    done = init(store, "main", layout="standard")

    assert (done.captured, done.layout) == (1, "standard")
    assert init(store, "main", layout="zylos").started == ()


def test_a_full_disk_leaves_no_draft_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = Store(tmp_path / "store")
    with monkeypatch.context() as patch:
        patch.setattr("gitmem.store.setup._write_root", full)
        with pytest.raises(StorageFailed, match="the disk is full") as failed:
            init(store, "main")
    assert "free some space" in failed.value.hint
    assert os.listdir(store.root / "repos") == []

    init(store, "main")
    assert check_group(store, "main").sound


def test_a_removal_that_died_and_is_repeated_takes_everything_along(scene: Scene) -> None:
    (scene.worktree / "a.md").write_text(line("edit"))
    first = scene.root / "trash" / "main-1" / "groups" / "main"
    first.parent.mkdir(parents=True)
    scene.worktree.rename(first)

    trash = Path(remove_group(Store(scene.root), "main").trash)

    assert (trash / "groups" / "main" / "a.md").read_text() == line("edit")
    assert git(trash / "groups" / "main", "status", "--porcelain") == " M a.md\n"
    assert not first.exists()
