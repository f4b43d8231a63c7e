"""One commit and its changes."""

from __future__ import annotations

import pytest

from gitmem.errors import MomentNotFound
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.read.show import FileChange, show
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.store.objects.database import ObjectDamaged
from tests.support.histories import by_hand, edit, put, reopened, truncate


def numbers(group: Group, commit: str) -> list[tuple[str, int, int]]:
    """Path, lines added and lines removed by git's own account."""
    rows = by_hand(group, "show", "-z", "--numstat", "--no-renames", "--format=", commit)
    split = (row.split("\t") for row in rows.strip("\0\n").split("\0") if row)
    return [(path, int(added), int(removed)) for added, removed, path in split]


def test_a_commit_is_shown_with_what_it_says_and_changed(group: Group) -> None:
    put(group, "a.md", "one\ntwo\nthree\n")
    commit = put(group, "a.md", "one\nTWO\nthree\nfour\n", reason="louder").commit

    shown = show(group, commit[:10])

    assert shown.entry == log(group, limit=1)[0]
    assert shown.entry.reason == "louder"
    assert shown.files == (
        FileChange(
            path="a.md",
            change="changed",
            moved_from="",
            added=2,
            removed=1,
            before_bytes=14,
            after_bytes=19,
            diff="--- a.md\n+++ a.md\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n three\n+four\n",
        ),
    )
    assert numbers(group, commit) == [("a.md", 2, 1)]


def test_the_diff_is_one_that_git_can_apply(group: Group) -> None:
    put(group, "ä b.md", "one\r\ntwo\r\nno newline at the end")
    before = put(group, "gone.md", "x\n").commit
    edits = [
        Edit("ä b.md", "one\r\nTWO\r\nstill no newline"),
        Edit("new/c.md", "created\n"),
        Edit("gone.md", ""),
    ]
    write(group, edits, allowed=Allowed(shrink=True))
    patch = "".join(each.diff for each in show(group, "HEAD").files)

    by_hand(group, "reset", "-q", "--hard", before)
    edit(group, "changes.patch", patch)
    by_hand(group, "apply", "-p0", "changes.patch")

    assert (group.worktree / "ä b.md").read_bytes() == b"one\r\nTWO\r\nstill no newline"
    assert (group.worktree / "new" / "c.md").read_bytes() == b"created\n"
    assert (group.worktree / "gone.md").read_bytes() == b""


def test_each_kind_of_change_is_named(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "gone.md", "two\n")
    edit(group, "a.md", "ONE\n")
    edit(group, "new.md", "three\nlines\nhere")
    (group.worktree / "gone.md").unlink()
    by_hand(group, "add", "-A")
    by_hand(group, "commit", "-q", "-m", "all at once")

    files = show(group, "HEAD").files

    assert [(e.path, e.change, e.added, e.removed) for e in files] == [
        ("a.md", "changed", 1, 1),
        ("gone.md", "deleted", 0, 1),
        ("new.md", "created", 3, 0),
    ]
    assert [(e.before_bytes, e.after_bytes) for e in files] == [(4, 4), (4, None), (None, 16)]
    assert numbers(group, "HEAD") == [(e.path, e.added, e.removed) for e in files]
    assert files[2].diff.startswith("--- /dev/null\n+++ new.md\n")
    assert files[1].diff.startswith("--- gone.md\n+++ /dev/null\n")


def test_a_move_is_one_change(group: Group) -> None:
    put(group, "old.md", "one\n")
    move(group, "old.md", "new/name.md")

    (file,) = show(group, "HEAD").files

    assert (file.path, file.change, file.moved_from) == ("new/name.md", "moved", "old.md")
    assert (file.added, file.removed, file.diff) == (0, 0, "")
    assert show(group, "HEAD").entry.moved_from == "old.md"


def test_a_move_by_a_person_that_edits_shows_the_edit_alone(group: Group) -> None:
    text = "".join(f"line {number}\n" for number in range(10))
    put(group, "old.md", text)
    by_hand(group, "mv", "old.md", "new.md")
    edit(group, "new.md", text + "one more\n")
    by_hand(group, "commit", "-q", "-a", "-m", "moved")

    (file,) = show(group, "HEAD").files

    assert (file.path, file.change, file.moved_from, file.added) == ("new.md", "moved", "old.md", 1)
    assert file.diff.startswith("--- old.md\n+++ new.md\n")


def test_an_operation_that_only_looks_like_a_move_is_none(group: Group) -> None:
    text = "".join(f"line {number}\n" for number in range(10))
    put(group, "a.md", text)
    (group.worktree / "a.md").unlink()
    deleted = capture(group).captured[0].commit
    created = put(group, "b.md", text + "one more\n").commit
    undo(group, [deleted, created])

    assert [(e.path, e.change) for e in show(group, "HEAD").files] == [
        ("a.md", "created"),
        ("b.md", "deleted"),
    ]


def test_the_first_commit_can_be_shown(group: Group) -> None:
    put(group, "a.md", "one\n")

    shown = show(group, "HEAD~1")

    assert (shown.entry.op, shown.files) == ("init", ())


def test_a_merge_shows_what_it_brought(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "checkout", "-q", "-b", "side")
    edit(group, "side.md", "aside\n")
    by_hand(group, "add", "side.md")
    by_hand(group, "commit", "-q", "-m", "on the side")
    by_hand(group, "checkout", "-q", "main")
    by_hand(group, "merge", "-q", "--no-ff", "-m", "both", "side")

    assert [(e.path, e.change) for e in show(group, "HEAD").files] == [("side.md", "created")]


def test_a_file_that_became_a_folder_is_shown_as_both(group: Group) -> None:
    put(group, "notes", "one\n")
    (group.worktree / "notes").unlink()
    edit(group, "notes/a.md", "one\n")
    by_hand(group, "add", "-A")
    by_hand(group, "commit", "-q", "-m", "a folder now")

    assert {(e.path, e.change) for e in show(group, "HEAD").files} == {
        ("notes", "deleted"),
        ("notes/a.md", "created"),
    }


def test_a_repository_inside_the_group_is_shown_as_git_shows_it(group: Group) -> None:
    commit = put(group, "a.md", "one\n").commit
    by_hand(group, "update-index", "--add", "--cacheinfo", f"160000,{commit},inner")
    by_hand(group, "commit", "-q", "-m", "x")

    (file,) = show(group, "HEAD").files

    assert f"+Subproject commit {commit}" in file.diff


def test_a_commit_that_is_none_is_not_found(group: Group) -> None:
    with pytest.raises(MomentNotFound):
        show(group, "feedbeef")


def test_a_damaged_file_is_said_to_be_damaged(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    truncate(group.repository, blob)

    with pytest.raises(ObjectDamaged) as caught:
        show(reopened(group), "HEAD")

    assert "check --repair" in caught.value.hint
