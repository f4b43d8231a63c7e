"""The groups of a store: listed, renamed, removed; and when one has to be named."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from gitmem.errors import (
    BadInput,
    Conflict,
    Damaged,
    GroupNotFound,
    GroupRefused,
    SecretFound,
)
from gitmem.memory.admin.groups import groups, remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.admin.link import link
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.write.capture import capture
from tests.support.clocks import START
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, truncate
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def make(store: Store, name: str, *texts: str) -> Group:
    init(store, name, now=lambda: START)
    group = Group(store, name, who=Who("ada"), now=lambda: START)
    for number, text in enumerate(texts):
        put(group, f"{number}.md", text)
    return group


def test_an_empty_store_has_no_groups(store: Store) -> None:
    assert groups(store) == ()


def test_the_list_tells_last_write_size_and_health(store: Store) -> None:
    make(store, "main", "one\n", "three\n").close()
    make(store, "research").close()

    main, research = groups(store)

    assert (main.name, main.files, main.bytes, main.agent) == ("main", 2, 10, "ada")
    assert (main.last_write, main.health) == (START, "ok")
    assert main.worktree == str(store.root / "groups" / "main")
    assert (research.files, research.bytes, research.health) == (0, 0, "ok")


def test_a_damaged_group_is_listed_as_such_and_hides_no_other(store: Store) -> None:
    blob = make(store, "blob", "one\n")
    truncate(blob.repository, blob.repository.snapshot().oid("0.md") or "")
    (blob.worktree / "0.md").unlink()
    blob.close()
    make(store, "branch", "one\n").close()
    (store.gitdir("branch") / "refs/heads/main").unlink()
    make(store, "format").close()
    config = store.gitdir("format") / "config"
    config.write_text(config.read_text().replace("format = 1", "format = 99"))
    make(store, "worktree").close()
    shutil.rmtree(store.root / "groups" / "worktree")
    elsewhere = make(store, "elsewhere", "one\n")
    by_hand(elsewhere, "checkout", "-q", "--detach")
    elsewhere.close()
    make(store, "well", "one\n").close()
    (store.root / "repos" / "empty.git").mkdir()

    found = {row.name: row.health for row in groups(store)}

    assert found.pop("well") == "ok"
    assert found.pop("elsewhere") == "elsewhere"
    assert found.keys() == {"blob", "branch", "format", "worktree", "empty"}
    assert all(health.startswith("damaged: ") for health in found.values())
    assert "format 99" in found["format"]


def test_drafts_and_strangers_are_no_groups(store: Store) -> None:
    make(store, "main").close()
    (store.root / "repos" / ".draft-x.git").mkdir()
    (store.root / "repos" / "notes").mkdir()

    assert [row.name for row in groups(store)] == ["main"]


def test_a_group_sees_itself_and_global(store: Store) -> None:
    for name in ("main", "global", "a", "b"):
        make(store, name).close()

    assert [row.name for row in groups(store, acting="a")] == ["a", "global"]
    assert len(groups(store, acting="main")) == len(groups(store)) == 4
    assert [row.name for row in groups(store, acting="none")] == ["global"]


def test_a_renamed_group_keeps_history_files_and_edits(store: Store) -> None:
    group = make(store, "old", "one\n")
    edit(group, "edited.md", "by hand\n")
    git(group.gitdir, "remote", "add", "origin", "https://example.org/x.git")
    group.close()

    done = rename_group(store, "old", "new name")

    assert done.worktree == str(store.root / "groups" / "new name")
    assert store.names() == ["new name"]
    assert not (store.root / "groups" / "old").exists()
    renamed = Group(store, "new name")
    assert read(renamed, "0.md").text == "one\n"
    assert [each.path for each in capture(renamed).captured] == ["edited.md"]
    assert git(renamed.worktree, "status", "--porcelain") == ""
    assert git(renamed.worktree, "remote") == "origin\n", "what a person configured stays"
    assert (renamed.worktree / ".git").read_text() == "gitdir: ../../repos/new name.git\n"
    assert groups(store)[0].health == "ok"
    renamed.close()


def test_a_renamed_group_with_its_work_tree_elsewhere_leaves_it_there(
    store: Store, tmp_path: Path
) -> None:
    init(store, "old", worktree=tmp_path / "memory")

    assert rename_group(store, "old", "new").worktree == str(tmp_path / "memory")
    group = Group(store, "new")
    put(group, "a.md", "one\n")
    assert git(tmp_path / "memory", "log", "--format=%s").count("\n") == 2
    group.close()

    (tmp_path / "memory").rename(tmp_path / "unmounted")
    rename_group(store, "new", "newer")
    assert not (tmp_path / "memory").exists()
    (tmp_path / "unmounted").rename(tmp_path / "memory")
    again = Group(store, "newer")
    put(again, "a.md", "two\n")
    again.close()


def test_only_the_case_of_a_groups_name_can_change(store: Store) -> None:
    make(store, "notes", "one\n").close()

    rename_group(store, "notes", "Notes")

    assert store.names() == ["Notes"]


@pytest.mark.parametrize("new", ["taken", "TAKEN", "old", "leftover"])
def test_a_name_that_is_taken_is_refused_before_anything_moves(store: Store, new: str) -> None:
    make(store, "old", "one\n").close()
    make(store, "taken").close()
    (store.root / "groups" / "leftover").mkdir()
    (store.root / "groups" / "leftover" / "file.md").touch()

    with pytest.raises(Conflict):
        rename_group(store, "old", new)
    group = Group(store, "old")
    assert read(group, "0.md").text == "one\n"
    assert git(group.worktree, "status", "--porcelain") == ""
    group.close()


@pytest.mark.parametrize("new", ["../x", "a/b", ".draft-x", "", "a\nb", f"x {SECRET}"])
def test_a_bad_new_name_is_refused(store: Store, new: str) -> None:
    make(store, "old").close()

    with pytest.raises((GroupRefused, SecretFound)):
        rename_group(store, "old", new)
    assert store.names() == ["old"]


def test_a_removed_group_lies_whole_in_the_trash(store: Store) -> None:
    group = make(store, "old", "one\n")
    edit(group, "edited.md", "by hand\n")
    group.close()

    done = remove_group(store, "old", now=lambda: START)

    trash = Path(done.trash)
    assert trash == store.root / "trash" / "old-20260208T120000"
    assert store.names() == []
    assert git(trash / "groups" / "old", "show", "main:0.md") == "one\n"
    removed = Group(Store(trash), "old")
    assert [each.path for each in capture(removed).captured] == ["edited.md"]
    removed.close()
    for folder in (trash.parent, *(path for path in trash.rglob("*") if path.is_dir())):
        assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(GroupNotFound):
        Group(store, "old")


def test_a_removed_group_can_be_put_back_by_hand(store: Store) -> None:
    make(store, "old", "one\n").close()
    trash = Store(Path(remove_group(store, "old").trash))

    shutil.move(trash.gitdir("old"), store.gitdir("old"))
    shutil.move(trash.default_worktree("old"), store.default_worktree("old"))

    group = Group(store, "old")
    put(group, "1.md", "two\n")
    assert git(group.worktree, "status", "--porcelain") == ""
    group.close()


def test_groups_of_one_name_can_be_removed_again_and_again(store: Store) -> None:
    for _ in range(3):
        make(store, "old").close()
        remove_group(store, "old", now=lambda: START)

    assert sorted(os.listdir(store.root / "trash")) == [
        "old-20260208T120000",
        "old-20260208T120000-2",
        "old-20260208T120000-3",
    ]


def test_a_folder_elsewhere_stays_when_its_group_is_removed(store: Store, tmp_path: Path) -> None:
    init(store, "old", worktree=tmp_path / "memory")
    (tmp_path / "memory" / "a.md").write_text("mine\n")

    remove_group(store, "old")

    assert [path.name for path in (tmp_path / "memory").iterdir()] == ["a.md"]
    assert init(store, "new", worktree=tmp_path / "memory").created


def test_a_repository_in_a_removed_groups_folder_is_not_touched(
    store: Store, tmp_path: Path
) -> None:
    init(store, "old", worktree=tmp_path / "memory")
    (tmp_path / "memory" / ".git").unlink()
    git(tmp_path / "memory", "init", "-q", ".")

    remove_group(store, "old")

    assert (tmp_path / "memory" / ".git" / "HEAD").exists()


def test_a_damaged_group_can_be_removed(store: Store) -> None:
    make(store, "old").close()
    (store.gitdir("old") / "refs/heads/main").unlink()

    remove_group(store, "old")

    assert store.names() == []


def test_a_group_that_is_not_there_is_named_with_those_that_are(store: Store) -> None:
    make(store, "main").close()
    make(store, "other").close()

    for act in (lambda: rename_group(store, "none", "x"), lambda: remove_group(store, "none")):
        with pytest.raises(GroupNotFound, match="there are: main, other") as caught:
            act()
        assert caught.value.hint == "make it with `gitmem -g none init`"
    with pytest.raises(GroupNotFound) as caught:
        Group(store, "mine", acting="mine")
    assert "other" not in caught.value.message, "a group is not told who else is there"


@pytest.mark.parametrize("acting", ["a", "b", "global"])
def test_only_main_or_a_person_manages_groups(store: Store, acting: str) -> None:
    for name in ("a", "b", "global"):
        make(store, name).close()

    for name in ("a", "b", "global"):
        with pytest.raises(GroupRefused):
            rename_group(store, name, "c", acting=acting)
        with pytest.raises(GroupRefused):
            remove_group(store, name, acting=acting)
    assert store.names() == ["a", "b", "global"]
    rename_group(store, "a", "c", acting="main")


def test_a_writer_that_waits_for_a_removed_group_is_told(store: Store) -> None:
    group, late, later = make(store, "old", "one\n"), Group(store, "old"), Group(store, "old")
    assert late.worktree.is_dir()  # it has looked already, and only waits for the lock
    errors: list[BaseException] = []

    def work() -> None:
        try:
            put(late, "b.md", "two\n")
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test wants to know
            errors.append(error)

    thread = threading.Thread(target=work)
    with group.writing():
        thread.start()
        time.sleep(0.1)  # until it waits
        os.rename(group.gitdir, store.root / "repos" / "gone")
    thread.join(20)

    assert [type(error) for error in errors] == [GroupNotFound]
    with pytest.raises(GroupNotFound):
        put(later, "b.md", "two\n")
    for each in (group, late, later):
        each.close()


def test_the_stores_settings_may_want_every_group_named(store: Store) -> None:
    make(store, "main").close()
    config = store.root / "config.yaml"

    assert not Store(store.root).requires_group
    for text, wanted in (
        ("require_group: true\n", True),
        ("require_group: false\n", False),
        ("other: 1\n", False),
        ("", False),
        ("- a list\n", False),
    ):
        config.write_text(text)
        assert Store(store.root).requires_group is wanted
    config.write_text("a: [\n")
    with pytest.raises(BadInput, match=r"config\.yaml"):
        assert Store(store.root).requires_group


def test_another_format_is_not_touched(store: Store) -> None:
    make(store, "main").close()
    config = store.gitdir("main") / "config"
    config.write_text(config.read_text().replace("format = 1", "format = 2"))

    with pytest.raises(Damaged, match="format 2"):
        Group(store, "main")


def test_groups_keep_to_themselves(store: Store) -> None:
    one, two = make(store, "one", "first\n"), make(store, "two", "second\n")

    put(one, "0.md", "changed\n")

    assert read(two, "0.md").text == "second\n"
    assert len(log(two)) == 2
    assert git(two.worktree, "status", "--porcelain") == ""
    one.close()
    two.close()


def test_folders_that_use_a_group_follow_its_name(store: Store, tmp_path: Path) -> None:
    for name in ("main", "shop"):
        init(store, name)
    link(store, tmp_path, "shop")

    renamed = rename_group(store, "shop", "store")

    assert renamed.links == (str(tmp_path.resolve()),)
    assert Store(store.root).linked(str(tmp_path)) == "store"
    assert remove_group(Store(store.root), "store").links == renamed.links
    assert Store(store.root).linked(str(tmp_path)) == ""
