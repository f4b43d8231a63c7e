"""Listing files as they are or were."""

from __future__ import annotations

import pytest

from gitmem.errors import MomentNotFound
from gitmem.memory.group import Group
from gitmem.memory.read.listing import Listing, list_files
from gitmem.store.objects.database import blob_id
from tests.support.histories import by_hand, edit, put, reopened, truncate


def paths(group: Group, glob: str = "", at: str | None = None) -> list[str]:
    return [each.path for each in list_files(group, glob, at=at).files]


def test_every_file_is_listed_with_its_blob_and_size(group: Group) -> None:
    put(group, "b.md", "two\n")
    last = put(group, "ä/a.md", "ümlaut\r\n")

    listed = list_files(group)

    assert listed.commit == last.commit
    assert listed.files == (
        Listing("b.md", blob_id(b"two\n"), 4),
        Listing("ä/a.md", blob_id("ümlaut\r\n".encode()), 9),
    )
    assert paths(group) == by_hand(group, "ls-files", "-z").strip("\0").split("\0")


@pytest.mark.parametrize(
    ("glob", "found"),
    [
        ("notes", ["notes/a.md", "notes/deep/b.md"]),
        ("notes/", ["notes/a.md", "notes/deep/b.md"]),
        ("notes/*", ["notes/a.md"]),
        ("*.md", ["notes/a.md", "notes/deep/b.md", "top.md"]),
        ("./top.md", ["top.md"]),
        (".", ["notes/a.md", "notes/deep/b.md", "top.md", "x.txt"]),
        ("nothing*", []),
    ],
)
def test_a_glob_chooses(group: Group, glob: str, found: list[str]) -> None:
    for path in ("notes/a.md", "notes/deep/b.md", "top.md", "x.txt"):
        put(group, path, "one\n")

    assert paths(group, glob) == found


def test_the_past_can_be_listed(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    put(group, "b.md", "two\n")

    assert paths(group, at=first) == ["a.md"]
    assert paths(group, at="HEAD~2") == []
    with pytest.raises(MomentNotFound):
        paths(group, at="never")


def test_uncommitted_files_are_not_listed(group: Group) -> None:
    edit(group, "a.md", "new\n")

    assert paths(group) == []


def test_a_damaged_file_is_listed_without_its_size(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    put(group, "b.md", "two\n")
    truncate(group.repository, blob)

    listed = list_files(reopened(group))

    assert [(each.path, each.bytes) for each in listed.files] == [("a.md", None), ("b.md", 4)]


def test_a_repository_inside_the_group_is_not_listed(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    by_hand(group, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
    by_hand(group, "commit", "-q", "-m", "x")

    assert paths(group) == ["a.md"]
