"""Taking back what commits did, and leaving alone what others did since."""

from __future__ import annotations

import pytest

from gitmem.errors import BadInput, Conflict, MomentNotFound, NotFound, SecretFound
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def show(group: Group, path: str) -> str:
    return git(group.gitdir, "show", f"main:{path}")


def files(group: Group) -> list[str]:
    return git(group.gitdir, "ls-tree", "-r", "--name-only", "main").splitlines()


def is_clean(group: Group) -> bool:
    return git(group.worktree, "status", "--porcelain", "-uall") == ""


def commits(group: Group) -> int:
    return int(git(group.gitdir, "rev-list", "--count", "main"))


def test_the_newest_commit_is_taken_back_without_a_word(group: Group) -> None:
    put(group, "a.md", "one\n")
    second = put(group, "a.md", "one\ntwo\n").commit

    done = undo(group, reason="a mistake")

    assert done.undone == (second,)
    assert (done.changed, done.left) == (True, ())
    assert [(each.path, each.removed) for each in done.changes] == [("a.md", 1)]
    assert show(group, "a.md") == "one\n"
    entry = log(group)[0]
    assert (entry.op, entry.undoes, entry.reason) == ("undo", (second,), "a mistake")
    assert entry.subject == "undo(a.md): write(a.md): two"
    assert is_clean(group)


def test_later_independent_work_stays(group: Group) -> None:
    put(group, "a.md", "1\n2\n3\n4\n5\n")
    middle = put(group, "a.md", "1\n2\nthree\n4\n5\n").commit
    put(group, "a.md", "1\n2\nthree\n4\n5\nsix\n")
    put(group, "b.md", "other\n")
    before = commits(group)

    done = undo(group, [middle[:8]])

    assert done.undone == (middle,)
    assert commits(group) == before + 1
    assert show(group, "a.md") == "1\n2\n3\n4\n5\nsix\n"
    assert show(group, "b.md") == "other\n"


def test_several_commits_are_taken_back_by_one(group: Group) -> None:
    for text in ("1\n", "1\n2\n", "1\n2\n3\n", "1\n2\n3\n4\n"):
        put(group, "a.md", text)
    before = commits(group)

    done = undo(group, last=3)

    assert len(done.undone) == 3
    assert show(group, "a.md") == "1\n"
    assert commits(group) == before + 1
    assert log(group)[0].title.startswith("3 commits, the newest: ")


def test_commits_may_be_named_in_any_order(group: Group) -> None:
    first = put(group, "a.md", "1\n").commit
    second = put(group, "a.md", "1\n2\n").commit
    third = put(group, "a.md", "1\n2\n3\n").commit

    done = undo(group, [second, third, second])

    assert done.undone == (third, second)
    assert show(group, "a.md") == "1\n"
    undo(group, [first])
    assert files(group) == []


def test_what_a_commit_created_is_gone_and_what_it_deleted_is_back(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").unlink()
    edit(group, "notes/b.md", "new\n")
    capture(group)

    done = undo(group, last=2)

    assert {(each.path, each.change) for each in done.changes} == {
        ("a.md", "created"),
        ("notes/b.md", "removed"),
    }
    assert files(group) == ["a.md"]
    assert not (group.worktree / "notes").exists()
    assert is_clean(group)


def test_what_cannot_be_undone_cleanly_is_named_and_left(group: Group) -> None:
    put(group, "a.md", "1\n2\n3\n")
    bad = write(group, [Edit("a.md", "1\ntwo\n3\n"), Edit("b.md", "new\n")]).commit
    put(group, "a.md", "1\nzwei\n3\n")

    done = undo(group, [bad])

    assert [(each.commit, each.path, each.why) for each in done.left] == [
        (bad, "a.md", "the same lines were changed since")
    ]
    assert [each.path for each in done.changes] == ["b.md"]
    assert show(group, "a.md") == "1\nzwei\n3\n"
    assert files(group) == ["a.md"]
    assert done.undone == (), "not the whole of it"


def test_nothing_but_conflicts_is_no_commit(group: Group) -> None:
    put(group, "a.md", "1\n")
    bad = put(group, "a.md", "2\n").commit
    head = put(group, "a.md", "3\n").commit

    done = undo(group, [bad])

    assert (done.commit, done.changed, len(done.left)) == (head, False, 1)
    assert group.repository.tip() == head


@pytest.mark.parametrize("gone", ["deleted", "rewritten"])
def test_a_file_that_is_gone_or_back_since_is_left(group: Group, gone: str) -> None:
    put(group, "a.md", "1\n")
    changed = put(group, "a.md", "1\n2\n").commit
    (group.worktree / "a.md").unlink()
    deleted = capture(group).captured[0].commit
    if gone == "rewritten":
        put(group, "a.md", "another file\n")

    done = undo(group, [changed if gone == "deleted" else deleted])

    assert [each.why for each in done.left] == [
        "the file was removed since" if gone == "deleted" else "the file was written again since"
    ]


def test_an_undo_can_be_undone(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")

    undo(group)
    assert show(group, "a.md") == "one\n"
    undo(group)
    assert show(group, "a.md") == "two\n"


def test_what_is_undone_already_is_no_commit(group: Group) -> None:
    put(group, "a.md", "one\n")
    bad = put(group, "a.md", "one\ntwo\n").commit
    undo(group, [bad])
    head = group.repository.tip()

    done = undo(group, [bad])

    assert (done.changed, done.undone, done.left) == (False, (), ())
    assert group.repository.tip() == head


def test_edits_that_nobody_captured_are_taken_in_and_stay(group: Group) -> None:
    put(group, "a.md", "1\n2\n3\n4\n")
    bad = put(group, "a.md", "1\n2\n3\nfour\n").commit
    edit(group, "a.md", "one\n2\n3\nfour\n")

    done = undo(group, [bad])

    assert [each.path for each in done.captured] == ["a.md"]
    assert show(group, "a.md") == "one\n2\n3\n4\n"
    assert is_clean(group)


def test_a_move_is_taken_back_and_what_was_added_since_comes_along(group: Group) -> None:
    put(group, "a.md", "one\n")
    moved = move(group, "a.md", "notes/b.md").commit
    put(group, "notes/b.md", "one\nadded since\n")

    done = undo(group, [moved])

    assert (done.undone, done.left) == ((moved,), ())
    assert files(group) == ["a.md"]
    assert show(group, "a.md") == "one\nadded since\n"
    assert is_clean(group)


def test_a_removed_folder_comes_back_from_the_archive(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/b.md", "two\n")
    removed = remove(group, "notes").commit

    undo(group, [removed])

    assert files(group) == ["notes/a.md", "notes/b.md"]
    assert undo(group, [removed]).changed is False


def test_a_move_back_to_a_place_that_is_taken_is_left(group: Group) -> None:
    put(group, "a.md", "one\n")
    moved = move(group, "a.md", "b.md").commit
    put(group, "a.md", "another\n")

    (left,) = undo(group, [moved]).left

    assert left.why == "another file is at a.md now"
    assert files(group) == ["a.md", "b.md"]


def test_a_case_rename_can_be_taken_back(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    renamed = move(group, "notes", "Notes").commit

    assert undo(group, [renamed]).left == ()
    assert files(group) == ["notes/a.md"]


def test_a_file_does_not_come_back_on_top_of_a_folder(group: Group) -> None:
    put(group, "a", "a file\n")
    (group.worktree / "a").unlink()
    deleted = capture(group).captured[0].commit
    put(group, "a/inner.md", "in a folder\n")

    (left,) = undo(group, [deleted]).left

    assert left.why == "a is a folder"
    assert show(group, "a/inner.md") == "in a folder\n"


def test_a_folder_that_took_a_files_place_is_undone_together_with_its_end(group: Group) -> None:
    put(group, "a", "a file\n")
    (group.worktree / "a").unlink()
    capture(group)
    put(group, "a/inner.md", "in a folder\n")
    before = undo(group, last=2)

    assert before.left == ()
    assert files(group) == ["a"]
    undo(group)
    assert files(group) == ["a/inner.md"]
    assert is_clean(group)


def test_a_credential_does_not_come_back(group: Group) -> None:
    allowed = Allowed(secrets=("aws-key-id",), shrink=True)
    write(group, [Edit("a.md", f"one\nkey {SECRET}\n"), Edit("b.md", "1\n")], allowed=allowed)
    cleaned = write(group, [Edit("a.md", "one\n"), Edit("b.md", "2\n")]).commit

    done = undo(group, [cleaned])

    (left,) = done.left
    assert (left.path, "credential (aws-key-id)" in left.why) == ("a.md", True)
    assert f"at='{left.commit[:10]}~1', allow_secret='aws-key-id'" in left.why
    assert SECRET not in left.why
    assert [each.path for each in done.changes] == ["b.md"]
    assert show(group, "a.md") == "one\n"


def test_a_credential_that_only_passes_by_stops_nothing(group: Group) -> None:
    allowed = Allowed(secrets=("aws-key-id",), shrink=True)
    put(group, "a.md", "one\n")
    write(group, [Edit("a.md", f"one\nkey {SECRET}\n")], allowed=allowed)
    write(group, [Edit("a.md", "one\ntwo\n")])

    done = undo(group, last=2)

    assert (done.left, show(group, "a.md")) == ((), "one\n")


def test_a_version_that_cannot_be_read_is_left_and_the_rest_goes_on(group: Group) -> None:
    old = put(group, "a.md", "one\n")
    write(group, [Edit("a.md", "two\n"), Edit("b.md", "new\n")])
    truncate(group.repository, old.blob)
    again = reopened(group)

    done = undo(again)

    assert [each.path for each in done.left] == ["a.md"]
    assert files(again) == ["a.md"]
    again.close()


def test_a_persons_commit_and_merge_can_be_undone(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "switch", "-qc", "side")
    edit(group, "side.md", "side\n")
    by_hand(group, "add", "-A")
    by_hand(group, "commit", "-qm", "side")
    side = by_hand(group, "rev-parse", "HEAD")
    by_hand(group, "switch", "-q", "main")
    put(group, "b.md", "two\n")
    by_hand(group, "merge", "-q", "--no-edit", "side")

    assert undo(group).changed
    assert files(group) == ["a.md", "b.md"]
    undo(group)
    assert files(group) == ["a.md", "b.md", "side.md"]
    assert undo(group, [side]).undone == (side,)
    assert files(group) == ["a.md", "b.md"]


def test_there_is_nothing_before_the_beginning(group: Group) -> None:
    with pytest.raises(NotFound, match="no commits to undo"):
        undo(group)
    root = group.repository.tip()
    assert not undo(group, [root]).changed
    put(group, "a.md", "one\n")
    assert len(undo(group, last=99).undone) == 1


def test_it_wants_to_know_one_thing(group: Group) -> None:
    head = put(group, "a.md", "one\n").commit

    for args, facts in (
        ([head], {"last": 1}),
        ([head], {"agent": "ada"}),
        ([], {"last": 2, "session": "s-1"}),
        ([], {"last": -1}),
    ):
        with pytest.raises(BadInput):
            undo(group, args, **facts)  # type: ignore[arg-type]
    with pytest.raises(MomentNotFound):
        undo(group, ["0123456789"])
    with pytest.raises(SecretFound):
        undo(group, reason=f"because {SECRET}")
    assert group.repository.tip() == head


def test_nothing_is_undone_while_head_is_elsewhere(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "switch", "-qc", "side")

    with pytest.raises(Conflict):
        undo(group)


def merged_by_hand(group: Group, agent: str) -> None:
    """A branch on which AGENT wrote, merged by a person with plain git."""
    git(group.worktree, "checkout", "-q", "-b", "side")
    (group.worktree / "side.md").write_text(f"by {agent}\n")
    git(group.worktree, "add", "side.md")
    trailers = f"Gitmem-Op: write\nGitmem-Id: aside\nGitmem-Agent: {agent}\nGitmem-Session: s1"
    git(group.worktree, "commit", "-qm", f"write(side.md): by {agent}\n\n{trailers}")
    git(group.worktree, "checkout", "-q", "main")
    put(group, "b.md", "on the branch\n")
    git(group.worktree, "merge", "-q", "--no-ff", "-m", "both", "side")


@pytest.mark.parametrize("whose", [{"agent": "eve"}, {"session": "s1"}], ids=str)
def test_what_came_through_a_merge_is_taken_back(group: Group, whose: dict[str, str]) -> None:
    put(group, "a.md", "one\n")
    merged_by_hand(group, "eve")

    done = undo(group, **whose)  # type: ignore[arg-type]

    assert len(done.undone) == 1
    assert "side.md" not in files(group)
    assert show(group, "b.md") == "on the branch\n"
    assert is_clean(group)
    assert not undo(group, **whose).changed  # type: ignore[arg-type]


def test_what_was_put_back_by_a_merge_is_taken_back_by_session(group: Group) -> None:
    put(group, "a.md", "one\n")
    before = group.repository.tip()
    write(group, [Edit("lost.md", "lost\n")])
    whose = {"agent": group.who.agent}
    how = "reset: moving to HEAD"
    git(group.gitdir, "update-ref", "-m", how, "refs/heads/main", before)
    git(group.worktree, "read-tree", "--reset", "-u", before)
    git(group.worktree, "commit", "-q", "--allow-empty", "-m", "by hand")
    put(group, "c.md", "after\n")
    assert "lost.md" in files(group)

    undo(group, **whose)  # type: ignore[arg-type]

    assert files(group) == []
    assert is_clean(group)
