"""Several edits as one commit: in order, all or nothing."""

from __future__ import annotations

import pytest

from gitmem.errors import (
    BadInput,
    Conflict,
    GitmemError,
    PathRefused,
    SecretFound,
    ShrinkRefused,
    TooBig,
)
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.write.write import Allowed, BlobMismatch, Edit, write
from gitmem.model.guards import MAX_FILE
from gitmem.store.objects.database import blob_id
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import body

BIG = "a line of some length, to make the file large\n" * 20
SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def files(group: Group) -> list[str]:
    return git(group.gitdir, "ls-tree", "-r", "--name-only", "main").splitlines()


def test_many_files_are_one_commit(group: Group) -> None:
    edits = [Edit(f"notes/{number}.md", f"{number}\n") for number in range(5)]

    done = write(group, edits, turn="t-1")

    assert git(group.gitdir, "rev-list", "--count", "main") == "2\n"
    assert git(group.gitdir, "log", "-1", "--format=%s") == "write(5 files): 0\n"
    assert [each.path for each in done.changes] == [each.path for each in edits]
    assert {each.change for each in done.changes} == {"created"}
    assert log(group)[0].turn == "t-1"
    assert git(group.worktree, "status", "--porcelain") == ""


def test_later_lines_see_earlier_ones(group: Group) -> None:
    done = write(
        group,
        [
            Edit("a.md", "one", append=True),
            Edit("a.md", "two", append=True),
            Edit("b.md", "first\n"),
            Edit("b.md", "second\n", if_match=blob_id(b"first\n")),
            Edit("a.md", "three", append=True),
        ],
    )

    assert git(group.gitdir, "show", "main:a.md") == "one\ntwo\nthree\n"
    assert git(group.gitdir, "show", "main:b.md") == "second\n"
    assert [(each.path, each.added) for each in done.changes] == [("a.md", 3), ("b.md", 1)]


def test_order_counts(group: Group) -> None:
    write(group, [Edit("a.md", "added", append=True), Edit("a.md", "replaced\n")])
    assert git(group.gitdir, "show", "main:a.md") == "replaced\n"

    write(group, [Edit("a.md", "whole\n"), Edit("a.md", "added", append=True)])
    assert git(group.gitdir, "show", "main:a.md") == "whole\nadded\n"


def test_additions_alone_are_an_append(group: Group) -> None:
    write(group, [Edit("a.md", "one", append=True), Edit("b.md", "two", append=True)])
    assert log(group)[0].op == "append"

    write(group, [Edit("a.md", "three", append=True), Edit("b.md", "four\n")])
    assert log(group)[0].op == "write"


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (Edit("../x.md", "one\n", line=2), PathRefused),
        (Edit("A.MD", "one\n", line=2), PathRefused),
        (Edit("a.md/below.md", "one\n", line=2), PathRefused),
        (Edit("a.md", "one\n", create=True, line=2), Conflict),
        (Edit("old.md", "one\n", if_match="abcd", line=2), BlobMismatch),
        (Edit("old.md", "one\n", if_match="x", line=2), BadInput),
        (Edit("s.md", f"key {SECRET}\n", line=2), SecretFound),
        (Edit("t.md", "x" * (MAX_FILE + 1), line=2), TooBig),
        (Edit("old.md", "short\n", line=2), ShrinkRefused),
        (Edit("u.md", "\ud800", line=2), BadInput),
    ],
)
def test_one_bad_line_stops_all_and_is_named(
    group: Group, bad: Edit, error: type[GitmemError]
) -> None:
    head = put(group, "old.md", BIG).commit
    before = git(group.gitdir, "count-objects")

    with pytest.raises(error, match=r"^line 2: ") as caught:
        write(group, [Edit("a.md", "one\n", line=1), bad, Edit("c.md", "three\n", line=3)])

    assert caught.value.facts["batch_line"] == 2
    assert group.repository.tip() == head
    assert files(group) == ["old.md"]
    assert git(group.gitdir, "count-objects") == before
    assert sorted(path.name for path in group.worktree.iterdir()) == [".git", "old.md"]


def test_a_single_write_names_no_line(group: Group) -> None:
    with pytest.raises(PathRefused) as caught:
        write(group, [Edit("../x.md", "one\n")])
    assert not caught.value.message.startswith("line")
    assert "batch_line" not in caught.value.facts


def test_guards_judge_what_each_file_becomes(group: Group) -> None:
    put(group, "a.md", BIG)

    write(
        group,
        [
            Edit("a.md", "short for a moment\n", line=1),
            Edit("b.md", f"key {SECRET}\n", line=2),
            Edit("a.md", BIG, append=True, line=3),
            Edit("b.md", "no key\n", line=4),
        ],
    )

    assert git(group.gitdir, "show", "main:a.md") == f"short for a moment\n{BIG}"
    assert SECRET not in git(group.gitdir, "show", "main:b.md")
    with pytest.raises(SecretFound, match=r"^line 2: "):
        write(
            group,
            [Edit("b.md", "AK", line=1), Edit("b.md", f"{SECRET}\n", append=True, line=2)],
            allowed=Allowed(shrink=True),
        )


def test_what_stays_the_same_is_not_part_of_the_commit(group: Group) -> None:
    put(group, "a.md", "one\n")

    done = write(group, [Edit("a.md", "one\n"), Edit("b.md", "two\n")])

    assert [each.change for each in done.changes] == ["unchanged", "created"]
    assert log(group)[0].paths == ("b.md",)
    again = write(group, [Edit("a.md", "x\n"), Edit("a.md", "one\n"), Edit("b.md", "two\n")])
    assert (again.changed, again.commit) == (False, done.commit)


def test_twins_within_a_batch_are_refused(group: Group) -> None:
    for first, second in (("a/x.md", "A/y.md"), ("Ä.md", "A\u0308.md"), ("n", "n/x.md")):
        with pytest.raises(PathRefused, match=r"^line 2"):
            write(group, [Edit(first, "1\n", line=1), Edit(second, "2\n", line=2)])
    assert files(group) == []


def test_the_same_batch_again_is_recognised_by_its_id(group: Group) -> None:
    edits = [Edit("a.md", "one", append=True), Edit("b.md", "two\n")]
    first = write(group, edits, operation="op-1")

    again = write(group, edits, operation="op-1")

    assert (again.recognised, again.commit) == (True, first.commit)
    assert [each.path for each in again.changes] == ["a.md", "b.md"]
    assert git(group.gitdir, "show", "main:a.md") == "one\n"


def test_edits_of_each_file_are_committed_first_each_by_itself(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "one\nby hand\n")
    edit(group, "b.md", "new by hand\n")

    done = write(group, [Edit("a.md", "two", append=True), Edit("b.md", "two", append=True)])

    assert [each.path for each in done.captured] == ["a.md", "b.md"]
    assert [entry.op for entry in log(group)] == ["append", "capture", "capture", "write", "init"]
    assert git(group.gitdir, "show", "main:b.md") == "new by hand\ntwo\n"


def test_a_hundred_files_in_folders_land_together(group: Group) -> None:
    edits = [Edit(f"{n % 10}/{n % 7}/{n}.md", f"{n}\n") for n in range(100)]

    write(group, edits)

    assert len(files(group)) == 100
    assert git(group.worktree, "status", "--porcelain") == ""
    assert git(group.gitdir, "fsck", "--strict") == ""


def test_the_same_file_written_twice_is_what_the_last_line_says(group: Group) -> None:
    done = write(group, [Edit("a.md", "x\n"), Edit("a.md", "y\n")])

    assert git(group.gitdir, "show", "main:a.md") == "y\n"
    assert len(done.changes) == 1
