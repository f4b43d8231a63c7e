"""What differs between two moments, or is not committed yet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.errors import BadInput, MomentNotFound, PathNotFound, PathRefused
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store
from gitmem.memory.read.diff import Diffed, diff
from gitmem.memory.write.move import move
from tests.support.clocks import Clock
from tests.support.histories import by_hand, edit, put, reopened, truncate


def changes(found: Diffed) -> list[tuple[str, str]]:
    return [(each.path, each.change) for each in found.files]


def test_two_moments_are_compared(group: Group) -> None:
    first = put(group, "a.md", "one\n").commit
    put(group, "b.md", "two\n")
    third = put(group, "a.md", "three\n").commit
    put(group, "c.md", "four\n")

    found = diff(group, first, third)

    assert (found.a, found.b) == (first, third)
    assert changes(found) == [("a.md", "changed"), ("b.md", "created")]
    assert found.files[0].diff == "--- a.md\n+++ a.md\n@@ -1 +1 @@\n-one\n+three\n"
    assert changes(diff(group, third, first)) == [("a.md", "changed"), ("b.md", "deleted")]


def test_one_moment_is_compared_with_the_present(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    clock.advance(days=2)
    last = put(group, "b.md", "two\n").commit
    edit(group, "a.md", "not committed\n")

    found = diff(group, "yesterday")

    assert (found.b, changes(found)) == (last, [("b.md", "created")])


def test_moments_that_hold_the_same_do_not_differ(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    put(group, "a.md", "one\n")

    assert diff(group, "HEAD~2").files == ()


def test_only_what_is_asked_for_is_compared(group: Group) -> None:
    start = put(group, "notes/a.md", "one\n").commit
    put(group, "notes/a.md", "two\n")
    put(group, "notes.md", "three\n")
    put(group, "other/b.md", "four\n")

    assert changes(diff(group, start, path="notes")) == [("notes/a.md", "changed")]
    assert changes(diff(group, start, path="other/b.md")) == [("other/b.md", "created")]
    assert changes(diff(group, "HEAD~1", "HEAD", "notes/")) == []
    with pytest.raises(PathNotFound):
        diff(group, start, path="nots")
    with pytest.raises(PathRefused):
        diff(group, start, path="../x")


def test_a_move_is_found_from_either_of_its_names(group: Group) -> None:
    start = put(group, "old.md", "one\n").commit
    move(group, "old.md", "new.md")

    for path in ("", "old.md", "new.md"):
        found = diff(group, start, path=path)
        assert [(e.path, e.change, e.moved_from) for e in found.files] == [
            ("new.md", "moved", "old.md")
        ]


def test_two_ends_need_a_beginning(group: Group) -> None:
    with pytest.raises(BadInput):
        diff(group, "", "HEAD")
    with pytest.raises(MomentNotFound):
        diff(group, "no-such-thing")


def test_without_a_moment_the_uncommitted_edits_are_shown(group: Group) -> None:
    head = [put(group, path, f"{path}\n") for path in ("a.md", "b.md", "gone.md", "old.md")][-1]
    edit(group, "a.md", "a.md\nmore\r\n")
    edit(group, "ünew.md", "new\n")
    (group.worktree / "gone.md").unlink()
    (group.worktree / "old.md").rename(group.worktree / "moved.md")

    found = diff(group)

    assert (found.a, found.b) == (head.commit, "")
    assert changes(found) == [
        ("a.md", "changed"),
        ("gone.md", "deleted"),
        ("moved.md", "moved"),
        ("ünew.md", "created"),
    ]
    assert found.files[0].diff == "--- a.md\n+++ a.md\n@@ -1 +1,2 @@\n a.md\n+more\r\n"
    assert (found.files[2].moved_from, found.files[2].diff) == ("old.md", "")


def test_looking_at_edits_changes_nothing(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "two\n")
    index = (group.gitdir / "index").read_bytes()
    head = by_hand(group, "rev-parse", "HEAD")
    objects = sorted((group.gitdir / "objects").rglob("*"))

    diff(group)

    assert (group.worktree / "a.md").read_text() == "two\n"
    assert (group.gitdir / "index").read_bytes() == index
    assert by_hand(group, "rev-parse", "HEAD") == head
    assert sorted((group.gitdir / "objects").rglob("*")) == objects


def test_the_edits_of_one_path_can_be_asked_for(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "b.md", "one\n")
    edit(group, "notes/a.md", "two\n")
    edit(group, "b.md", "two\n")

    assert changes(diff(group, path="notes")) == [("notes/a.md", "changed")]
    assert changes(diff(group, path="b.md")) == [("b.md", "changed")]
    with pytest.raises(PathNotFound):
        diff(group, path="c.md")


def test_what_is_held_is_not_shown(group: Group, store: Store, clock: Clock) -> None:
    init(store, "other", now=clock)
    secret = "AKIA" + "MKGDALMEEMKMOAJC"
    edit(group, "key.md", f"key: {secret}\n")
    other = Path(store.default_worktree("other")) / "plans.md"
    other.write_text("secret plans\n")
    os.symlink(other, group.worktree / "link.md")
    os.link(other, group.worktree / "hard.md")

    assert diff(group).files == ()


def test_damage_elsewhere_does_not_stop_it(group: Group) -> None:
    start = put(group, "a.md", "one\n")
    put(group, "b.md", "two\n")
    truncate(group.repository, start.blob)

    assert changes(diff(reopened(group), start.commit)) == [("b.md", "created")]
