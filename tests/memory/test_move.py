"""Moving files, and removing them, which is a move to the archive."""

from __future__ import annotations

import pytest

from gitmem.errors import BadInput, Conflict, GitmemError, PathNotFound, PathRefused, SecretFound
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.recover.restore import restore
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def files(group: Group) -> list[str]:
    return git(group.gitdir, "ls-tree", "-rz", "--name-only", "main").split("\0")[:-1]


def is_clean(group: Group) -> bool:
    return git(group.worktree, "status", "--porcelain", "-uall") == ""


def test_a_file_moves_with_its_history_in_one_commit(group: Group) -> None:
    put(group, "old.md", "one\ntwo\n")
    put(group, "old.md", "one\ntwo\nthree\n")

    done = move(group, "old.md", "notes/new.md", reason="tidy")

    assert done.moved == (("old.md", "notes/new.md"),)
    assert files(group) == ["notes/new.md"]
    assert not (group.worktree / "old.md").exists()
    assert [entry.op for entry in log(group, "notes/new.md")] == ["move", "write", "write"]
    assert log(group)[0].moved_from == "old.md"
    message = git(group.gitdir, "log", "-1", "--format=%B")
    assert message.startswith("move(old.md): old.md -> notes/new.md\n\ntidy\n")
    assert "Gitmem-From: old.md" in message
    followed = git(group.gitdir, "log", "--follow", "--format=%s", "main", "--", "notes/new.md")
    assert followed.count("\n") == 3
    assert is_clean(group)


@pytest.mark.parametrize("target", ["notes", "notes/"])
def test_a_file_moves_into_a_folder(group: Group, target: str) -> None:
    put(group, "a.md", "one\n")
    put(group, "notes/b.md", "two\n")

    move(group, "a.md", target)

    assert files(group) == ["notes/a.md", "notes/b.md"]


def test_a_slash_makes_a_new_folder(group: Group) -> None:
    put(group, "a.md", "one\n")

    move(group, "a.md", "new folder/")

    assert files(group) == ["new folder/a.md"]


@pytest.mark.parametrize("root", [".", "./"])
def test_a_file_moves_to_the_root(group: Group, root: str) -> None:
    put(group, "notes/a.md", "one\n")

    move(group, "notes/a.md", root)

    assert files(group) == ["a.md"]
    assert not (group.worktree / "notes").exists()


def test_paths_into_the_work_tree_are_understood(group: Group) -> None:
    put(group, "notes/a.md", "one\n")

    move(group, str(group.worktree / "notes" / "a.md"), str(group.worktree))
    move(group, "a.md", f"{group.worktree}/b.md")

    assert files(group) == ["b.md"]


@pytest.mark.parametrize(
    ("target", "result"), [("other", "other"), ("full", "full/notes"), ("full/", "full/notes")]
)
def test_a_folder_moves_whole(group: Group, target: str, result: str) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/deep/b.md", "two\n")
    put(group, "full/c.md", "three\n")

    done = move(group, "notes/", target)

    assert done.moved == (
        ("notes/a.md", f"{result}/a.md"),
        ("notes/deep/b.md", f"{result}/deep/b.md"),
    )
    assert files(group) == sorted(["full/c.md", f"{result}/a.md", f"{result}/deep/b.md"])
    assert [entry.op for entry in log(group, f"{result}/deep/b.md")] == ["move", "write"]
    assert not (group.worktree / "notes").exists()
    assert is_clean(group)


@pytest.mark.parametrize(
    ("source", "target", "error"),
    [
        ("a.md", "b.md", Conflict),
        ("a.md", "a.md", Conflict),
        ("a.md", "a.md/inner.md", Conflict),
        ("notes", "notes/inner", Conflict),
        ("notes", "notes", Conflict),
        ("a.md", "B.MD", PathRefused),
        ("a.md", "Notes/a.md", PathRefused),
        ("a.md", "b.md/inner.md", PathRefused),
        ("a.md", "../a.md", PathRefused),
        ("a.md", "/etc/a.md", PathRefused),
        ("a.md", ".hidden", PathRefused),
        ("../a.md", "c.md", PathRefused),
        ("none.md", "c.md", PathNotFound),
        ("", "c.md", BadInput),
        (".", "c.md", BadInput),
        ("a.md", f"{SECRET}.md", SecretFound),
        ("a.md", f"{SECRET}/", SecretFound),
    ],
)
def test_what_cannot_be_moved_stays(
    group: Group, source: str, target: str, error: type[GitmemError]
) -> None:
    for path in ("a.md", "b.md", "notes/c.md"):
        put(group, path, f"{path}\n")
    head = group.repository.tip()

    with pytest.raises(error):
        move(group, source, target)
    assert group.repository.tip() == head
    assert is_clean(group)


def test_only_the_case_of_a_name_can_change(group: Group) -> None:
    put(group, "notes/Readme.md", "one\n")

    move(group, "notes/Readme.md", "notes/README.md")
    move(group, "notes", "Notes")

    assert files(group) == ["Notes/README.md"]
    assert (group.worktree / "Notes" / "README.md").read_text() == "one\n"


def test_what_was_edited_comes_along(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    edit(group, "notes/a.md", "one\nby hand\n")
    edit(group, "notes/new.md", "new by hand\n")

    done = move(group, "notes", "other")

    assert [each.path for each in done.captured] == ["notes/a.md", "notes/new.md"]
    assert files(group) == ["other/a.md", "other/new.md"]
    assert (group.worktree / "other" / "a.md").read_text() == "one\nby hand\n"
    assert is_clean(group)


def test_a_file_that_nobody_captured_is_not_overwritten(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "b.md", "by hand\n")

    with pytest.raises(Conflict, match="exists already"):
        move(group, "a.md", "b.md")
    assert (group.worktree / "b.md").read_text() == "by hand\n"


def test_a_held_version_stays_out_of_the_move_and_is_kept(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", f"one\n{SECRET}\n")

    done = move(group, "a.md", "b.md")

    assert git(group.gitdir, "show", "main:b.md") == "one\n"
    assert [each.path for each in done.set_aside] == ["a.md"]
    assert not (group.worktree / "a.md").exists()


def test_removing_is_a_move_to_the_archive(group: Group) -> None:
    put(group, "notes/a.md", "one\n")

    done = remove(group, "notes/a.md", reason="outdated")

    assert done.moved == (("notes/a.md", "archive/notes/a.md"),)
    entry = log(group)[0]
    assert (entry.op, entry.reason) == ("archive", "outdated")
    assert (group.worktree / "archive" / "notes" / "a.md").read_text() == "one\n"
    assert [entry.op for entry in log(group, "archive/notes/a.md")] == ["archive", "write"]
    assert is_clean(group)


def test_a_removed_folder_goes_whole(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/deep/b.md", "two\n")

    remove(group, "notes/")

    assert files(group) == ["archive/notes/a.md", "archive/notes/deep/b.md"]


def test_names_in_the_archive_are_numbered(group: Group) -> None:
    for text in ("one\n", "two\n", "three\n"):
        put(group, "notes/a.b.md", text)
        remove(group, "notes/a.b.md")
    put(group, "notes/A.B.md", "a twin\n")
    remove(group, "notes/A.B.md")
    for _ in range(2):
        put(group, "folder/x.md", "x\n")
        remove(group, "folder")

    assert files(group) == [
        "archive/folder-2/x.md",
        "archive/folder/x.md",
        "archive/notes/A.B-4.md",
        "archive/notes/a.b-2.md",
        "archive/notes/a.b-3.md",
        "archive/notes/a.b.md",
    ]


def test_a_file_as_deep_as_can_be_can_still_be_removed(group: Group) -> None:
    put(group, "1/2/3/4/5/6/7/8.md", "deep\n")

    remove(group, "1/2/3/4/5/6/7/8.md")

    assert files(group) == ["archive/2/3/4/5/6/7/8.md"]


@pytest.mark.parametrize("path", ["archive", "archive/a.md"])
def test_what_is_archived_is_not_removed_again(group: Group, path: str) -> None:
    put(group, "a.md", "one\n")
    remove(group, "a.md")

    with pytest.raises(Conflict, match="in the archive already"):
        remove(group, path)
    assert files(group) == ["archive/a.md"]


def test_a_removed_file_comes_back(group: Group) -> None:
    put(group, "a.md", "one\n")
    remove(group, "a.md")

    restore(group, "a.md", previous=True)

    assert files(group) == ["a.md", "archive/a.md"]


def test_a_file_deleted_by_hand_is_not_there_to_be_moved(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").unlink()

    with pytest.raises(PathNotFound):
        move(group, "a.md", "b.md")
    assert capture(group).captured == (), "the deletion was taken in"


def test_bytes_do_not_change_on_the_way(group: Group) -> None:
    data = b"\xff\r\n\x00no newline"
    put(group, "ä b.md", data)

    move(group, "ä b.md", "日本/語.md")

    assert (group.worktree / "日本" / "語.md").read_bytes() == data
    assert is_clean(group)
