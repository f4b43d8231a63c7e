"""Committing what somebody did with ordinary tools."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from gitmem.errors import Conflict, GroupRefused, PathNotFound, PathRefused, SecretFound
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.status import status
from gitmem.memory.write.capture import CapturedAll, capture
from gitmem.model.guards import MAX_FILE
from tests.support.git import git, git_bytes
from tests.support.histories import by_hand, edit, put
from tests.support.samples import body

BIG = "a line of some length, to make the file large\n" * 20
SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def commits(group: Group) -> int:
    return int(git(group.gitdir, "rev-list", "--count", "main"))


def paths(done: CapturedAll) -> list[str]:
    return [each.path for each in done.captured]


def held(done: CapturedAll) -> dict[str, str]:
    return {each.path: each.rule for each in done.held}


def is_clean(group: Group) -> bool:
    return git(group.worktree, "status", "--porcelain", "-uall") == ""


def test_each_file_is_a_commit_of_its_own_in_the_name_of_who_asked(group: Group) -> None:
    put(group, "changed.md", "one\n")
    put(group, "gone.md", "one\n")
    put(group, "old name.md", "one\ntwo\nthree\n")
    edit(group, "changed.md", "two\n")
    (group.worktree / "gone.md").unlink()
    (group.worktree / "old name.md").rename(group.worktree / "new name.md")
    edit(group, "folder/new.md", "new\n")
    before = commits(group)

    done = capture(group, reason="by hand")

    assert commits(group) == before + 4
    assert paths(done) == ["gone.md", "new name.md", "changed.md", "folder/new.md"]
    assert [each.moved_from for each in done.captured] == ["", "old name.md", "", ""]
    assert [each.bytes for each in done.captured] == [None, 14, 4, 4]
    entries = log(group)[:4]
    assert {entry.op for entry in entries} == {"capture"}
    assert {(e.agent, e.session, e.source, e.reason) for e in entries} == {
        ("ada", "s-1", "chat", "by hand")
    }
    assert [len(entry.paths) for entry in entries] == [1, 1, 2, 1]
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main").splitlines() == [
        "changed.md",
        "folder/new.md",
        "new name.md",
    ]
    assert is_clean(group)


def test_git_and_gitmem_follow_a_file_through_its_new_name(group: Group) -> None:
    put(group, "old.md", "one\ntwo\nthree\n")
    (group.worktree / "deep").mkdir()
    (group.worktree / "old.md").rename(group.worktree / "deep" / "new.md")
    edit(group, "deep/new.md", "one\ntwo\nthree\nfour\n")

    capture(group)

    assert [entry.op for entry in log(group, "deep/new.md")] == ["capture", "write"]
    followed = git(group.gitdir, "log", "--follow", "--format=%s", "main", "--", "deep/new.md")
    assert followed.count("\n") == 2


def test_nothing_edited_is_no_commit(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").touch()
    (group.worktree / "empty").mkdir()
    before = commits(group)

    assert capture(group) == CapturedAll((), (), 0)
    assert commits(group) == before


def test_only_what_was_named_is_captured(group: Group) -> None:
    for path in ("a.md", "notes/b.md", "notes/c.md", "other/d.md"):
        edit(group, path, "new\n")

    assert paths(capture(group, ["notes", str(group.worktree / "a.md")])) == [
        "a.md",
        "notes/b.md",
        "notes/c.md",
    ]
    assert paths(capture(group, ["nothing/here.md"])) == []
    with pytest.raises(PathNotFound):
        capture(group, ["nothing/here.md"], must_exist=True)
    assert paths(capture(group, ["."])) == ["other/d.md"]
    with pytest.raises(PathRefused):
        capture(group, ["../other"])


def test_bodies_and_names_are_taken_byte_for_byte(group: Group) -> None:
    bodies = {
        "ä ö/ß.md": b"one\r\ntwo\r\n",
        "日本/語.md": b"not \xff utf-8\n",
        "A\u0308.md": b"",
        "b.md": b"\xef\xbb\xbfno newline",
    }
    for path, data in bodies.items():
        edit(group, path, data)

    capture(group)

    for path, data in bodies.items():
        assert git_bytes(group.gitdir, "cat-file", "blob", f"main:{path}") == data
        assert (group.worktree / path).read_bytes() == data
    assert is_clean(group)


def test_an_edit_that_loses_most_of_a_file_lands_and_is_named(group: Group) -> None:
    put(group, "a.md", BIG)
    edit(group, "a.md", "short\n")
    put(group, "b.md", "something\n")
    edit(group, "b.md", "")
    edit(group, "c.md", "---\na: &x 1\nb: *x\n---\n")

    done = capture(group)

    assert git(group.gitdir, "show", "main:a.md") == "short\n"
    assert [len(each.violations) for each in done.captured] == [1, 1, 1]
    broken = [entry.violations[0].split()[0] for entry in log(group)[:3]]
    assert sorted(broken) == ["frontmatter", "shrink", "shrink"]
    trailers = git(group.gitdir, "log", "--format=%(trailers:key=Gitmem-Violation,valueonly)")
    assert f"shrink a.md {len(BIG)} -> 6 bytes" in trailers
    assert {entry.commit for entry in status(group).violations} == {
        each.commit for each in done.captured
    }


def test_what_may_not_enter_git_is_held_and_does_not_stop_the_rest(
    group: Group, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("outside\n")
    edit(group, "secret.md", f"key {SECRET}\n")
    (group.worktree / "link.md").symlink_to(tmp_path / "outside.md")
    (group.worktree / "dead link.md").symlink_to("nowhere")
    (group.worktree / "folder link").symlink_to(tmp_path)
    os.mkfifo(group.worktree / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(group.worktree)
        server.bind("socket")
        os.chdir("/")
    os.link(tmp_path / "outside.md", group.worktree / "hard.md")
    edit(group, "big.md", b"x" * (MAX_FILE + 1))
    edit(group, "back\\slash.md", "text\n")
    edit(group, "trailing./a.md", "text\n")
    edit(group, f"{SECRET}.md", "text\n")
    edit(group, os.fsdecode(b"\xff.md"), "text\n")
    edit(group, "zz good.md", "good\n")

    done = capture(group)

    assert paths(done) == ["zz good.md"]
    assert held(done) == {
        "secret.md": "secret: aws-key-id, line 1",
        "link.md": "link",
        "dead link.md": "link",
        "folder link": "link",
        "pipe": "special",
        "socket": "special",
        "hard.md": "hard-link",
        "big.md": "too-big",
        "back\\slash.md": "path",
        "trailing./a.md": "path",
        f"{SECRET}.md": "secret in its name: aws-key-id",
        os.fsdecode(b"\xff.md"): "path",
    }
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main") == "zz good.md\n"
    assert (group.worktree / "secret.md").read_text() == f"key {SECRET}\n"
    assert (group.worktree / "link.md").is_symlink()
    assert held(capture(group)) == held(done)


def test_a_held_edit_of_a_known_file_leaves_the_committed_version_alone(group: Group) -> None:
    head = put(group, "a.md", "one\n").commit
    edit(group, "a.md", f"one\n{SECRET}\n")

    assert held(capture(group)) == {"a.md": "secret: aws-key-id, line 2"}
    assert group.repository.tip() == head

    edit(group, "a.md", "one\nno key\n")
    assert paths(capture(group)) == ["a.md"]


def test_a_known_file_that_was_replaced_by_a_link_is_not_deleted(
    group: Group, tmp_path: Path
) -> None:
    put(group, "a.md", "one\n")
    put(group, "notes/b.md", "one\n")
    (group.worktree / "a.md").unlink()
    (group.worktree / "a.md").symlink_to(tmp_path)
    shutil.rmtree(group.worktree / "notes")
    (group.worktree / "notes").symlink_to(tmp_path)

    done = capture(group)

    assert done.captured == ()
    assert {"a.md", "notes"} <= held(done).keys()
    assert git(group.gitdir, "show", "main:notes/b.md") == "one\n"


def test_a_credential_that_was_there_before_holds_nothing(group: Group) -> None:
    edit(group, "a.md", f"key {SECRET}\n")
    by_hand(group, "add", "a.md")
    by_hand(group, "commit", "-qm", "by a person")
    edit(group, "a.md", f"key {SECRET}\nmore\n")

    assert paths(capture(group)) == ["a.md"]
    assert SECRET not in git(group.gitdir, "log", "-1", "--format=%B")


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file(group: Group) -> None:
    put(group, "file", "one\n")
    put(group, "folder/a.md", "two\n")
    put(group, "folder/b.md", "three\n")
    (group.worktree / "file").unlink()
    edit(group, "file/inside.md", "something new\n")
    shutil.rmtree(group.worktree / "folder")
    edit(group, "folder", "a file now\n")

    done = capture(group)

    assert done.held == ()
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main").splitlines() == [
        "file/inside.md",
        "folder",
    ]
    assert is_clean(group)
    assert git(group.gitdir, "fsck", "--strict") == ""


def test_files_that_traded_places_with_folders_all_land(group: Group) -> None:
    root = group.worktree
    put(group, "folder/inner.md", "one\ntwo\nthree\n")
    put(group, "b.md", "vier\nfünf\nsechs\n")
    put(group, "c", "seven\neight\nnine\n")
    (root / "folder" / "inner.md").rename(root / "z.md")
    (root / "folder").rmdir()
    (root / "b.md").rename(root / "folder")
    (root / "c").rename(root / "aside")
    (root / "c").mkdir()
    (root / "aside").rename(root / "c" / "c.md")

    done = capture(group)

    assert done.held == ()
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main").split() == [
        "c/c.md",
        "folder",
        "z.md",
    ]
    assert [entry.op for entry in log(group, "z.md")] == ["capture", "write"]
    assert is_clean(group)


def test_planted_git_files_change_nothing_and_are_no_memory(group: Group) -> None:
    (group.worktree / ".gitignore").write_text("*\n")
    (group.worktree / ".gitattributes").write_text("* text eol=crlf ident filter=x\n")
    (group.worktree / "notes").mkdir()
    (group.worktree / "notes" / ".gitignore").write_text("*\n")
    (group.gitdir / "info").mkdir(exist_ok=True)
    (group.gitdir / "info" / "exclude").write_text("*\n")
    (group.gitdir / "info" / "attributes").write_text("* text eol=crlf\n")
    edit(group, "notes/a.md", "one $Id$\n")
    edit(group, "b.md", b"two\r\n")

    done = capture(group)

    assert paths(done) == ["b.md", "notes/a.md"]
    assert done.ignored == 3
    assert git_bytes(group.gitdir, "cat-file", "blob", "main:notes/a.md") == b"one $Id$\n"
    assert git_bytes(group.gitdir, "cat-file", "blob", "main:b.md") == b"two\r\n"


def test_a_secret_in_the_reason_stops_it_before_anything_lands(group: Group) -> None:
    edit(group, "a.md", "one\n")
    head = group.repository.tip()

    with pytest.raises(SecretFound):
        capture(group, reason=f"with {SECRET}")
    assert group.repository.tip() == head


def test_progress_is_told_file_by_file(group: Group) -> None:
    for name in "abc":
        edit(group, f"{name}.md", "one\n")
    told: list[tuple[int, int]] = []

    capture(group, progress=lambda done, total: told.append((done, total)))

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_other_groups_may_not_capture_global(group: Group) -> None:
    init(group.store, "global")
    reader = Group(group.store, "global", who=Who("x"), acting="research")
    (reader.worktree / "a.md").write_text("planted\n")

    with pytest.raises(GroupRefused):
        capture(reader)
    reader.close()


class TestWhatAPersonDoesWithGit:
    def test_a_checkout_of_an_old_version_is_an_edit_and_not_rolled_back(
        self, group: Group
    ) -> None:
        old = put(group, "a.md", "old\n").commit
        put(group, "a.md", "new\n")
        by_hand(group, "checkout", "-q", old, "--", "a.md")

        assert paths(capture(group)) == ["a.md"]
        assert git(group.gitdir, "show", "main:a.md") == "old\n"
        assert is_clean(group)

    def test_a_checkout_is_taken_in_before_a_write_to_the_file(self, group: Group) -> None:
        old = put(group, "a.md", "old\n").commit
        put(group, "a.md", "new\n")
        by_hand(group, "checkout", "-q", old, "--", "a.md")

        done = put(group, "a.md", "old\nand more\n")

        assert [each.path for each in done.captured] == ["a.md"]
        assert git(group.gitdir, "show", "main~1:a.md") == "old\n"

    def test_a_checkout_is_taken_in_by_a_write_to_another_file(self, group: Group) -> None:
        old = put(group, "a.md", "old\n").commit
        put(group, "a.md", "new\n")
        by_hand(group, "checkout", "-q", old, "--", "a.md")

        done = put(group, "b.md", "other\n")

        assert [each.path for each in done.captured] == ["a.md"]
        assert git(group.gitdir, "show", "main:a.md") == "old\n"
        assert (group.worktree / "a.md").read_text() == "old\n"
        assert put(group, "b.md", "again\n").captured == ()

    def test_what_was_added_is_captured(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        edit(group, "a.md", "two\n")
        edit(group, "b.md", "new\n")
        by_hand(group, "add", "-A")

        done = capture(group)

        assert paths(done) == ["a.md", "b.md"]
        assert git(group.gitdir, "show", "-s", "--format=%an", "main").strip() == group.who.agent
        assert is_clean(group)

    def test_what_was_removed_is_captured(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        by_hand(group, "rm", "-q", "a.md")

        assert [(each.path, each.bytes) for each in capture(group).captured] == [("a.md", None)]
        assert is_clean(group)

    def test_what_was_committed_stays_as_it_was_committed(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        edit(group, "a.md", "two\n")
        by_hand(group, "commit", "-qam", "by a person")
        theirs = by_hand(group, "rev-parse", "HEAD")

        assert capture(group).captured == ()
        done = put(group, "b.md", "other\n")

        assert git(group.gitdir, "rev-parse", f"{done.commit}~1").strip() == theirs
        entry = log(group)[1]
        assert (entry.agent, entry.op, entry.subject) == ("A Person", "", "by a person")
        assert is_clean(group)

    def test_a_moved_file_is_captured_as_moved(self, group: Group) -> None:
        put(group, "a.md", "one\ntwo\n")
        by_hand(group, "mv", "a.md", "b.md")

        assert [each.moved_from for each in capture(group).captured] == ["a.md"]
        assert is_clean(group)

    def test_a_stash_takes_edits_away_and_gives_them_back(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        edit(group, "a.md", "two\n")
        by_hand(group, "stash", "-q")

        assert capture(group).captured == ()
        put(group, "b.md", "other\n")
        by_hand(group, "stash", "pop", "-q")

        assert paths(capture(group)) == ["a.md"]
        assert git(group.gitdir, "show", "main:a.md") == "two\n"

    def test_a_branch_that_was_put_back_is_written_on_from_there(self, group: Group) -> None:
        kept = put(group, "a.md", "one\n").commit
        put(group, "a.md", "two\n")
        by_hand(group, "reset", "-q", "--hard", "HEAD~1")

        assert capture(group).captured == ()
        done = put(group, "b.md", "other\n")

        assert git(group.gitdir, "rev-parse", f"{done.commit}~1").strip() == kept
        assert (group.worktree / "a.md").read_text() == "one\n"
        assert is_clean(group)

    def test_a_soft_reset_leaves_an_edit(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        put(group, "a.md", "two\n")
        by_hand(group, "reset", "-q", "--soft", "HEAD~1")

        assert paths(capture(group)) == ["a.md"]
        assert git(group.gitdir, "show", "main:a.md") == "two\n"

    def test_a_merge_of_a_persons_branch_is_respected(self, group: Group) -> None:
        put(group, "a.md", "one\n")
        by_hand(group, "switch", "-qc", "side")
        edit(group, "side.md", "side\n")
        by_hand(group, "add", "-A")
        by_hand(group, "commit", "-qm", "side")
        by_hand(group, "switch", "-q", "main")
        put(group, "b.md", "two\n")
        by_hand(group, "merge", "-q", "--no-edit", "side")

        assert capture(group).captured == ()
        put(group, "side.md", "side\nmore\n")
        assert is_clean(group)

    @pytest.mark.parametrize("args", [["checkout", "-q", "HEAD~1"], ["switch", "-qc", "side"]])
    def test_nothing_is_captured_while_head_is_elsewhere(
        self, group: Group, args: list[str]
    ) -> None:
        put(group, "a.md", "one\n")
        head = put(group, "a.md", "two\n").commit
        by_hand(group, *args)

        with pytest.raises(Conflict, match="put there by hand"):
            capture(group)
        assert git(group.gitdir, "rev-parse", "main").strip() == head
        assert status(group).health == "elsewhere"


@pytest.mark.parametrize("bound", [{"most": 2, "seconds": 60.0}, {"seconds": 0.0}])
def test_who_has_no_time_takes_some_and_gets_further_each_time(
    group: Group, bound: dict[str, Any]
) -> None:
    for number in range(5):
        edit(group, f"n{number}.md", "x\n")
    by_hand(group, "add", "n4.md")  # what a person did with git is taken in no faster

    rounds = [capture(group, **bound) for _ in range(5)]

    taken = bound.get("most", 1)
    assert [len(each.captured) for each in rounds][:2] == [taken, taken]
    assert [each.left for each in rounds][:2] == [5 - taken, 5 - 2 * taken]
    assert sum(len(each.captured) for each in rounds) == 5
    assert rounds[-1].left == 0
