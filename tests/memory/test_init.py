"""Making a store and a group, again and elsewhere."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

import pytest

from gitmem.errors import (
    BadInput,
    Conflict,
    Damaged,
    GroupRefused,
    StorageFailed,
)
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.read import read
from gitmem.memory.read.status import status
from gitmem.memory.write.capture import capture
from gitmem.memory.write.open_edits import pending_edits
from gitmem.store.config import new_config_text
from gitmem.store.setup import is_tied
from tests.support.clocks import Clock
from tests.support.git import git, git_bytes
from tests.support.histories import edit, put, reopened


def opened(store: Store, name: str = "main") -> Group:
    return Group(store, name, who=Who("ada"))


def test_a_new_group_is_an_ordinary_repository_with_one_empty_commit(store: Store) -> None:
    made = init(store, "main", who=Who("ada"))

    assert (made.created, made.group) == (True, "main")
    worktree = Path(made.worktree)
    assert worktree == store.root / "groups" / "main"
    assert git(worktree, "log", "--format=%H %an %cn %s").split("\n")[:-1] == [
        f"{made.commit} ada gitmem init: the memory of main"
    ]
    assert git(worktree, "ls-files") == ""
    assert git(worktree, "status", "--porcelain") == ""
    assert git(worktree, "fsck", "--strict") == ""


def test_a_second_init_changes_nothing(store: Store) -> None:
    first = init(store, "main")
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}

    second = init(store, "main")

    assert second == first._replace(created=False)
    after = {path: path.stat().st_mtime_ns for path in store.root.rglob("*") if path.is_file()}
    assert after == before


def test_nobody_else_may_read_a_store(store: Store) -> None:
    old = os.umask(0)  # the worst that somebody's shell could have set
    try:
        init(store, "main")
        group = opened(store)
        put(group, "folder/a.md", "one\n")
        edit(group, "b.md", "two\n")
        capture(group)
        group.close()
    finally:
        os.umask(old)

    for path in [store.root, *store.root.rglob("*")]:
        if path.name == "b.md":
            continue  # made by the test itself
        mode = stat.S_IMODE(path.stat().st_mode)
        if path.is_dir():
            assert mode == 0o700, path
        else:
            assert mode in ((0o400, 0o444) if "objects" in path.parts else (0o600,)), path


def test_the_configuration_is_the_documented_one_and_git_reads_it(store: Store) -> None:
    init(store, "main")
    gitdir = store.gitdir("main")

    assert (gitdir / "config").read_text() == new_config_text("../../groups/main")
    assert git(gitdir, "config", "core.hooksPath") == "/dev/null\n"
    assert git(gitdir, "config", "gc.auto") == "0\n"
    assert (store.root / "groups/main/.git").read_text() == "gitdir: ../../repos/main.git\n"
    assert not (gitdir / "hooks").exists()


def test_a_store_can_be_moved(store: Store, tmp_path: Path) -> None:
    init(store, "main")
    group = opened(store)
    put(group, "a.md", "one\n")
    group.close()
    shutil.move(store.root, tmp_path / "elsewhere")
    moved = opened(Store(tmp_path / "elsewhere"))

    assert git(moved.worktree, "show", "HEAD:a.md") == "one\n"
    assert git(moved.worktree, "status", "--porcelain") == ""
    assert read(moved, "a.md").text == "one\n"
    put(moved, "a.md", "two\n")
    edit(moved, "b.md", "by hand\n")
    assert [each.path for each in capture(moved).captured] == ["b.md"]
    assert git(moved.worktree, "log", "--format=%s").count("\n") == 4
    moved.close()


def test_init_again_is_no_way_around_an_unreadable_name(store: Store) -> None:
    for name in ("../main", "a/b", ".draft-1", "", ".git", "a\\b", "a\nb", ".."):
        with pytest.raises(GroupRefused):
            init(store, name)
    assert not store.root.exists()


def test_case_twins_of_a_group_are_refused(store: Store) -> None:
    init(store, "Café")

    for twin in ("café", "CAFÉ", "Cafe\u0301"):
        with pytest.raises(GroupRefused, match="only in case"):
            init(store, twin)
    assert store.names() == ["Café"]


def test_an_agent_without_a_name_makes_no_store(store: Store) -> None:
    with pytest.raises(BadInput):
        init(store, "main", who=Who(" "))
    assert not store.root.exists()


def test_a_store_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    with pytest.raises(StorageFailed, match="file/store"):
        init(Store(tmp_path / "file" / "store"), "main")


def test_what_a_dead_init_left_is_removed_by_the_next(store: Store) -> None:
    (store.root / "repos" / ".draft-abc").mkdir(parents=True)

    init(store, "main")

    assert store.names() == ["main"]
    assert [path.name for path in (store.root / "repos").iterdir()] == ["main.git"]


def test_main_and_global_are_made_by_who_may_write_to_them(store: Store) -> None:
    for name in ("main", "global", "other"):
        with pytest.raises(GroupRefused):
            init(store, name, acting="research")
    assert init(store, "research", acting="research").created
    assert init(store, "global", acting="main").created


class TestAWorkTreeElsewhere:
    def test_files_that_are_there_stay_and_are_under_history_at_once(
        self, store: Store, tmp_path: Path
    ) -> None:
        place = tmp_path / "memory"
        (place / "notes").mkdir(parents=True)
        (place / "notes" / "a.md").write_bytes(b"old\r\n")
        (place / "link.md").symlink_to("/etc/hostname")

        made = init(store, "main", worktree=place)

        assert made.worktree == str(place)
        assert (made.captured, [each.path for each in made.held]) == (1, ["link.md"])
        assert git_bytes(place, "show", "HEAD:notes/a.md") == b"old\r\n"
        (place / "link.md").unlink()
        assert (place / "notes" / "a.md").read_bytes() == b"old\r\n"
        group = opened(store)
        assert group.worktree == place
        assert capture(group).captured == ()
        put(group, "b.md", "new\n")
        assert (place / "b.md").read_text() == "new\n"
        assert git(place, "status", "--porcelain") == ""
        assert not (store.root / "groups" / "main").exists()
        group.close()

    def test_a_folder_that_was_moved_can_be_named_again(self, store: Store, tmp_path: Path) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        group = opened(store)
        put(group, "a.md", "one\n")
        group.close()
        (tmp_path / "memory").rename(tmp_path / "moved")
        (tmp_path / "moved" / "a.md").write_text("two\n")

        made = init(store, "main", worktree=tmp_path / "moved")

        assert (made.created, made.worktree) == (False, str(tmp_path / "moved"))
        group = opened(store)
        assert [each.path for each in capture(group).captured] == ["a.md"]
        assert git(tmp_path / "moved", "show", "HEAD:a.md") == "two\n"
        group.close()

    def test_again_is_fine_with_the_same_folder_and_refused_with_another(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "main", worktree=tmp_path / "memory")

        assert not init(store, "main", worktree=tmp_path / "memory").created
        assert init(store, "main").worktree == str(tmp_path / "memory")
        with pytest.raises(Conflict, match="has its work tree in"):
            init(store, "main", worktree=tmp_path / "another")
        assert not (tmp_path / "another").exists()

    @pytest.mark.parametrize("name", ["memory", "mem ory", "m[e]m*", "méмory"])
    def test_a_repository_around_it_ignores_it(
        self, store: Store, tmp_path: Path, name: str
    ) -> None:
        project = tmp_path / "project"
        git(tmp_path, "init", "-q", str(project))
        (project / ".git" / "info" / "exclude").write_text("*.tmp")
        (project / "code.py").write_text("code\n")

        made = init(store, "main", worktree=project / "deep" / name)
        init(store, "main", worktree=project / "deep" / name)

        assert made.excluded_in == str(project / ".git" / "info" / "exclude")
        lines = (project / ".git" / "info" / "exclude").read_text().splitlines()
        assert (lines[0], len(lines)) == ("*.tmp", 2)
        group = opened(store)
        put(group, "a.md", "one\n")
        group.close()
        assert git(project, "status", "--porcelain", "-uall") == "?? code.py\n"

    def test_a_work_tree_of_a_repository_around_it_ignores_it_too(
        self, store: Store, tmp_path: Path
    ) -> None:
        git(tmp_path, "init", "-q", "project")
        git(tmp_path / "project", "commit", "-q", "--allow-empty", "-m", "one")
        git(tmp_path / "project", "worktree", "add", "-q", str(tmp_path / "second"))

        made = init(store, "main", worktree=tmp_path / "second" / "memory")

        assert Path(made.excluded_in) == tmp_path / "project" / ".git" / "info" / "exclude"
        assert git(tmp_path / "second", "status", "--porcelain", "-uall") == ""

    def test_a_repository_itself_is_refused(self, store: Store, tmp_path: Path) -> None:
        git(tmp_path, "init", "-q", "project")

        with pytest.raises(Conflict, match="repository of its own"):
            init(store, "main", worktree=tmp_path / "project")
        assert store.names() == []

    def test_a_repository_where_the_work_tree_would_be_is_refused(self, store: Store) -> None:
        (store.root / "groups").mkdir(parents=True)
        git(store.root / "groups", "init", "-q", "main")

        with pytest.raises(Conflict, match="repository of its own"):
            init(store, "main")
        assert (store.root / "groups" / "main" / ".git" / "HEAD").exists()

    def test_a_file_is_no_work_tree(self, store: Store, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("text")

        with pytest.raises(Conflict, match="not a folder"):
            init(store, "main", worktree=tmp_path / "file")

    @pytest.mark.parametrize("place", ["groups/a/inner", "groups/a", "repos", ".", ".."])
    def test_one_that_overlaps_the_store_or_another_group_is_refused(
        self, store: Store, place: str
    ) -> None:
        init(store, "a")

        with pytest.raises((Conflict, GroupRefused)):
            init(store, "b", worktree=store.root / place)
        assert store.names() == ["a"]

    def test_a_link_to_another_groups_work_tree_is_refused(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "a", worktree=tmp_path / "memory")
        (tmp_path / "link").symlink_to(tmp_path / "memory")

        for place in (tmp_path / "link" / "inner", tmp_path / "memory" / "inner", tmp_path):
            with pytest.raises((Conflict, GroupRefused)):
                init(store, "b", worktree=place)

    def test_missing_it_is_damage_and_no_deletion_of_all_files(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        group = opened(store)
        head = put(group, "a.md", "one\n").commit
        (tmp_path / "memory").rename(tmp_path / "unmounted")
        (tmp_path / "memory").mkdir()  # an empty mount point

        for act in (
            lambda: put(group, "b.md", "two\n"),
            lambda: capture(group),
            lambda: status(group),
            lambda: init(store, "main"),
        ):
            with pytest.raises(Damaged, match="not there, or not ours"):
                act()
        assert read(group, "a.md").text == "one\n"
        assert group.repository.tip() == head
        assert list((tmp_path / "memory").iterdir()) == []

        (tmp_path / "memory").rmdir()
        (tmp_path / "unmounted").rename(tmp_path / "memory")
        assert put(group, "b.md", "two\n").captured == ()
        group.close()

    def test_whoever_names_the_folder_again_gets_its_files_back(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        group = opened(store)
        head = put(group, "a.md", "one\n").commit
        shutil.rmtree(tmp_path / "memory")

        made = init(store, "main", worktree=tmp_path / "memory")

        assert (made.created, made.commit) == (False, head)
        assert (tmp_path / "memory" / "a.md").read_text() == "one\n"
        assert git(tmp_path / "memory", "status", "--porcelain") == ""
        group.close()

    def test_an_init_that_died_half_way_is_finished_by_the_next(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        (tmp_path / "memory" / ".git").unlink()
        (tmp_path / "memory" / "a.md").write_text("mine\n")

        assert not init(store, "main", worktree=tmp_path / "memory").created
        assert is_tied(store.gitdir("main"), tmp_path / "memory")
        group = opened(store)
        assert [each.change for each in pending_edits(group).edits] == ["new"]
        group.close()

    def test_a_store_that_was_moved_ties_it_again(self, store: Store, tmp_path: Path) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        group = opened(store)
        put(group, "a.md", "one\n")
        group.close()
        shutil.move(store.root, tmp_path / "moved")
        group = opened(Store(tmp_path / "moved"))

        put(group, "b.md", "two\n")

        assert git(tmp_path / "memory", "log", "--format=%s").count("\n") == 3
        (tmp_path / "memory" / "a.md").unlink()
        assert [each.bytes for each in capture(group).captured] == [None]
        group.close()

    def test_a_copy_of_the_store_does_not_take_the_folder_over(
        self, store: Store, tmp_path: Path
    ) -> None:
        init(store, "main", worktree=tmp_path / "memory")
        shutil.copytree(store.root, tmp_path / "copy")
        copy = opened(Store(tmp_path / "copy"))

        with pytest.raises(Damaged, match="not ours"):
            put(copy, "a.md", "from the copy\n")
        copy.close()


class TestALostWorkTree:
    def test_in_the_store_is_put_back_by_the_next_write(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        put(group, "folder/ä.md", "two\r\n")
        shutil.rmtree(group.worktree)

        written = put(reopened(group), "b.md", "three\n")

        assert written.captured == ()
        assert (group.worktree / "a.md").read_bytes() == b"one\n"
        assert (group.worktree / "folder" / "ä.md").read_bytes() == b"two\r\n"
        assert git(group.worktree, "status", "--porcelain") == ""
        assert git(group.gitdir, "log", "--format=%s", "--diff-filter=D") == ""

    def test_is_put_back_by_capture_and_by_init_too(self, group: Group, store: Store) -> None:
        head = put(group, "a.md", "one\n").commit
        for act in (lambda: capture(group), lambda: init(store, "main")):
            shutil.rmtree(group.worktree)
            act()
            assert (group.worktree / "a.md").read_text() == "one\n"
        assert group.repository.tip() == head

    def test_that_lost_only_its_git_file_keeps_the_edits_in_it(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        put(group, "b.md", "one\n")
        (group.worktree / ".git").unlink()
        edit(group, "a.md", "edited\n")
        (group.worktree / "b.md").unlink()

        captured = capture(group).captured

        assert [(each.path, each.bytes) for each in captured] == [("a.md", 7)]
        assert (group.worktree / "b.md").read_text() == "one\n"

    def test_whose_place_is_taken_is_named(self, group: Group) -> None:
        shutil.rmtree(group.worktree)
        group.worktree.write_text("a file")

        with pytest.raises(Damaged, match="File exists"):
            put(group, "a.md", "one\n")

    def test_a_link_in_its_place_is_not_followed(self, group: Group, tmp_path: Path) -> None:
        put(group, "a.md", "one\n")
        shutil.move(group.worktree, tmp_path / "real")
        group.worktree.symlink_to(tmp_path / "real")

        with pytest.raises(Damaged):
            put(group, "a.md", "two\n")
        assert (tmp_path / "real" / "a.md").read_text() == "one\n"


def test_a_lost_repository_is_not_begun_anew(store: Store, clock: Clock) -> None:
    init(store, "main", now=clock)
    shutil.rmtree(store.gitdir("main"))

    with pytest.raises(Damaged, match="repository is missing"):
        init(store, "main", now=clock)
    assert store.names() == []

    (store.root / "groups" / "main" / ".git").unlink()
    assert init(store, "main", now=clock).created


def test_a_planted_git_folder_in_a_work_tree_is_not_followed(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / ".git").unlink()
    git(group.worktree, "init", "-q", ".")

    put(group, "a.md", "two\n")

    assert git(group.gitdir, "show", "main:a.md") == "two\n"
    assert git(group.worktree, "rev-list", "--all") == ""
