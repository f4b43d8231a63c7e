"""Reading a file as it is or was."""

from __future__ import annotations

import pytest

from gitmem.errors import GroupRefused, PathNotFound, PathRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.read import near_misses, read
from gitmem.memory.write.move import move
from gitmem.store.objects.database import ObjectDamaged, blob_id
from tests.support.clocks import Clock
from tests.support.git import git_bytes
from tests.support.histories import by_hand, edit, put, reopened, truncate


@pytest.mark.parametrize(
    "data",
    [
        b"one\r\ntwo\r\n",
        b"no newline at the end",
        b"",
        b"\xef\xbb\xbfwith a mark\n",
        b"not \xff utf-8\n",
        b"a NUL \x00 byte\n",
        "日本語 und ÄÖÜ\n".encode(),
    ],
)
@pytest.mark.parametrize("path", ["a.md", "ordner/ärger mit Leerzeichen.md", "日本/語.md"])
def test_bytes_come_back_as_they_were_and_as_git_has_them(
    group: Group, path: str, data: bytes
) -> None:
    put(group, path, data)

    found = read(group, path)

    assert found.data == data == git_bytes(group.gitdir, "cat-file", "blob", f"main:{path}")
    assert (found.path, found.blob) == (path, blob_id(data))
    assert found.text == data.decode("utf-8", "replace")


def test_the_past_can_be_read(group: Group, clock: Clock) -> None:
    first = put(group, "a.md", "one\n").commit
    clock.advance(days=2)
    put(group, "a.md", "two\n")

    assert read(group, "a.md").text == "two\n"
    assert read(group, "a.md", at=first).text == "one\n"
    assert read(group, "a.md", at="yesterday").commit == first


def test_the_work_tree_is_not_looked_at(group: Group) -> None:
    put(group, "a.md", "in git\n")
    edit(group, "a.md", "edited\n")
    edit(group, "b.md", "new\n")

    assert read(group, "a.md").text == "in git\n"
    with pytest.raises(PathNotFound):
        read(group, "b.md")


def test_a_path_into_the_work_tree_is_the_same_file(group: Group) -> None:
    put(group, "notes/a.md", "one\n")

    assert read(group, str(group.worktree / "notes" / "a.md")).path == "notes/a.md"
    assert read(group, "./notes/a.md").path == "notes/a.md"


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("reference/decisons.md", "reference/decisions.md"),
        ("decisions.md", "reference/decisions.md"),
        ("Reference/Decisions.md", "reference/decisions.md"),
        ("archive/state.md", "state.md"),
    ],
)
def test_a_mistyped_path_is_answered_with_what_may_be_meant(
    group: Group, asked: str, near: str
) -> None:
    put(group, "reference/decisions.md", "one\n")
    put(group, "state.md", "one\n")

    with pytest.raises(PathNotFound, match="no file '") as caught:
        read(group, asked)

    assert caught.value.facts["near"] == [near]
    assert near in caught.value.hint


def test_a_path_that_is_like_nothing_is_answered_with_the_list(group: Group) -> None:
    put(group, "a.md", "one\n")

    with pytest.raises(PathNotFound) as caught:
        read(group, "quite/another/thing.txt")

    assert "memory.list" in caught.value.hint


def test_near_misses_are_few_and_the_closest_comes_first() -> None:
    known = ["x/a.md", "y/a.md", "z/a.md", "A.md", "b.md"]

    assert near_misses("a.md", known) == ["A.md", "x/a.md", "y/a.md"]


def test_a_deleted_file_is_answered_with_the_command_that_brings_it_back(group: Group) -> None:
    kept = put(group, "it's gone.md", "one\n").commit
    by_hand(group, "rm", "-q", "it's gone.md")
    by_hand(group, "commit", "-q", "-m", "away")
    put(group, "b.md", "two\n")

    with pytest.raises(PathNotFound, match="was deleted on") as caught:
        read(group, "it's gone.md")

    command = f"""gitmem restore 'it'"'"'s gone.md' --at {kept[:10]}"""
    assert caught.value.facts["restore"] == command
    assert f"""memory.restore("it's gone.md", at='{kept[:10]}')""" in caught.value.hint
    assert read(group, "it's gone.md", at=kept[:10]).text == "one\n"


def test_a_file_that_only_a_merge_dropped_can_be_had_back_too(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "checkout", "-q", "-b", "side")
    edit(group, "lost.md", "precious\n")
    by_hand(group, "add", "lost.md")
    by_hand(group, "commit", "-q", "-m", "on the side")
    side = by_hand(group, "rev-parse", "HEAD")
    by_hand(group, "checkout", "-q", "main")
    by_hand(group, "merge", "-q", "-s", "ours", "-m", "ours only", "side")

    with pytest.raises(PathNotFound, match="last changed") as caught:
        read(group, "lost.md")

    assert f"at='{side[:10]}'" in caught.value.hint


def test_a_moved_file_is_answered_with_its_new_name(group: Group) -> None:
    put(group, "old.md", "one\n")
    move(group, "old.md", "new name.md")

    with pytest.raises(PathNotFound, match=r"moved to new name\.md") as caught:
        read(group, "old.md")

    assert "memory.read('new name.md')" in caught.value.hint


def test_a_file_that_came_later_is_not_said_to_be_unknown(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    put(group, "b.md", "two\n")

    with pytest.raises(PathNotFound, match="created later") as caught:
        read(group, "b.md", at=first)

    assert "log('b.md')" in caught.value.hint


@pytest.mark.parametrize("path", ["notes", "notes/", ""])
def test_a_folder_is_no_file(group: Group, path: str) -> None:
    put(group, "notes/a.md", "one\n")

    with pytest.raises(PathNotFound) as caught:
        read(group, path)

    assert "memory.list" in caught.value.hint


def test_a_name_that_only_plain_git_accepts_can_be_read(group: Group) -> None:
    edit(group, ".hidden.md", "by a person\n")
    by_hand(group, "add", ".hidden.md")
    by_hand(group, "commit", "-q", "-m", "x")

    assert read(group, ".hidden.md").text == "by a person\n"


@pytest.mark.parametrize(
    "path",
    ["../other/a.md", "..", "/etc/passwd", "a/../../other/a.md", ".git", "a\\b", "x/%2e%2e/y"],
)
def test_a_path_that_leads_out_is_refused(group: Group, path: str) -> None:
    with pytest.raises(PathRefused):
        read(group, path)


def test_a_group_cannot_read_another(store: Store, group: Group, clock: Clock) -> None:
    init(store, "other", now=clock)
    other = Group(store, "other", now=clock)
    put(other, "a.md", "secret plans\n")

    with pytest.raises(GroupRefused):
        Group(store, "main-ly", acting="other")
    with pytest.raises(GroupRefused):
        Group(store, "main", acting="other")
    with pytest.raises(PathRefused):
        read(group, str(other.worktree / "a.md"))
    other.close()


def test_a_damaged_file_is_said_to_be_damaged_and_the_others_are_read(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    put(group, "b.md", "two\n")
    truncate(group.repository, blob)
    group = reopened(group)

    with pytest.raises(ObjectDamaged, match="truncated") as caught:
        read(group, "a.md")

    assert "check --repair" in caught.value.hint
    assert read(group, "b.md").text == "two\n"


def test_a_repository_inside_the_group_is_no_file(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    by_hand(group, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
    by_hand(group, "commit", "-q", "-m", "x")

    with pytest.raises(PathNotFound, match="nested git repository"):
        read(group, "inner")
