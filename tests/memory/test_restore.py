"""Bringing back files, folders and groups."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.errors import (
    Conflict,
    MomentNotFound,
    PathNotFound,
    PathRefused,
    SecretFound,
    StorageFailed,
)
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.recover.restore import ChooseVersion, restore
from gitmem.memory.write.capture import capture
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)

Damage = Callable[[Path], object]
DAMAGE: dict[str, Damage] = {
    "deleted": lambda file: file.unlink(),
    "emptied": lambda file: file.write_bytes(b""),
    "corrupted": lambda file: file.write_bytes(b"\x00\xff" * 40),
    "edited": lambda file: file.write_text("one\n"),
    "renamed": lambda file: file.rename(file.with_name("elsewhere.md")),
}


def show(group: Group, path: str, at: str = "main") -> str:
    return git(group.gitdir, "show", f"{at}:{path}")


def is_clean(group: Group) -> bool:
    return git(group.worktree, "status", "--porcelain", "-uall") == ""


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_comes_back_without_a_word_about_when(group: Group, damage: Damage) -> None:
    head = put(group, "notes/a.md", "one\r\ntwo\n").commit
    damage(group.worktree / "notes" / "a.md")

    done = restore(group, "notes/a.md", reason="a disk ate it")

    assert (group.worktree / "notes" / "a.md").read_bytes() == b"one\r\ntwo\n"
    assert show(group, "notes/a.md") == "one\r\ntwo\n"
    assert done.from_commit == head
    assert [each.path for each in done.changes] == ["notes/a.md"]
    assert [each.path for each in done.captured] == ["notes/a.md"], "the damage is history, too"
    entry = log(group)[0]
    assert (entry.op, entry.agent, entry.reason) == ("restore", "ada", "a disk ate it")
    assert f"Gitmem-Restores: {head}" in git(group.gitdir, "log", "-1", "--format=%B")
    capture(group)  # where it was renamed, the other name
    assert is_clean(group)


def test_the_damage_itself_can_be_looked_at_and_brought_back(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", "a better text, after all\n")

    done = restore(group, "a.md")

    (damage,) = done.captured
    assert show(group, "a.md", damage.commit) == "a better text, after all\n"
    restore(group, "a.md", at=damage.commit)
    assert show(group, "a.md") == "a better text, after all\n"


def test_damage_that_is_committed_asks_which_version(group: Group, clock: Clock) -> None:
    first = put(group, "my notes.md", "one\n")
    clock.advance(days=1)
    second = put(group, "my notes.md", "one\ntwo\n")

    with pytest.raises(ChooseVersion, match="choose a version") as caught:
        restore(group, "my notes.md")

    versions = caught.value.facts["versions"]
    assert isinstance(versions, list)
    assert [(each["commit"], each["bytes"]) for each in versions] == [
        (second.commit, 8),
        (first.commit, 4),
    ]
    assert {(each["op"], each["agent"]) for each in versions} == {("write", "ada")}
    assert versions[1]["command"] == f"gitmem restore 'my notes.md' --at {first.commit[:10]}"
    assert "memory.restore('my notes.md', previous=True)" in caught.value.hint
    assert versions[0]["time"] > versions[1]["time"]


def test_the_commands_that_are_offered_work(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    with pytest.raises(ChooseVersion) as caught:
        restore(group, "a.md")
    versions = caught.value.facts["versions"]
    assert isinstance(versions, list)

    restore(group, "a.md", at=versions[1]["command"].split()[-1])

    assert show(group, "a.md") == "one\n"


def test_no_more_versions_are_offered_than_a_person_can_read(group: Group) -> None:
    for number in range(13):
        put(group, "a.md", f"{number}\n")

    with pytest.raises(ChooseVersion) as caught:
        restore(group, "a.md")
    versions = caught.value.facts["versions"]
    assert isinstance(versions, list)
    assert len(versions) == 10


def test_a_version_that_cannot_be_read_does_not_hide_the_others(group: Group) -> None:
    blob = put(group, "a.md", "one\n").blob
    put(group, "a.md", "two\n")
    truncate(group.repository, blob)

    with pytest.raises(ChooseVersion) as caught:
        restore(reopened(group), "a.md")
    versions = caught.value.facts["versions"]
    assert isinstance(versions, list)
    assert [each["bytes"] for each in versions] == [4, None]


def test_previous_takes_the_version_before(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "b.md", "other\n")
    put(group, "a.md", "two\n")
    put(group, "b.md", "other too\n")

    restore(group, "a.md", previous=True)

    assert show(group, "a.md") == "one\n"
    assert show(group, "b.md") == "other too\n"


def test_previous_to_an_edit_is_what_was_committed_before_it(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    edit(group, "a.md", "three, by hand\n")

    restore(group, "a.md", previous=True)

    assert show(group, "a.md") == "two\n"
    assert show(group, "a.md", "main~1") == "three, by hand\n"


def test_a_file_whose_deletion_is_committed_comes_back(group: Group) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / "a.md").unlink()
    capture(group)

    with pytest.raises(ChooseVersion, match="was removed"):
        restore(group, "a.md")
    done = restore(group, "a.md", previous=True)

    assert [each.change for each in done.changes] == ["created"]
    assert (group.worktree / "a.md").read_text() == "one\n"


def test_a_file_comes_back_from_any_moment(group: Group, clock: Clock) -> None:
    first = put(group, "a.md", "one\n").commit
    clock.advance(days=2)
    put(group, "a.md", "two\n")
    git(group.gitdir, "tag", "good", first)

    for at in (first, first[:8], "2026-02-08", "yesterday", "HEAD~1", "good"):
        put(group, "a.md", "two\n")
        restore(group, "a.md", at=at if at != "HEAD~1" else f"{first}")
        assert show(group, "a.md") == "one\n", at
    with pytest.raises(MomentNotFound):
        restore(group, "a.md", at="no such moment")


def test_bringing_back_what_is_there_is_no_commit(group: Group) -> None:
    head = put(group, "a.md", "one\n").commit

    done = restore(group, "a.md", at="HEAD")

    assert (done.commit, done.changes, done.captured) == (head, (), ())
    assert group.repository.tip() == head


def test_a_folder_comes_back_and_newer_files_stay(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    then = put(group, "notes/deep/b.md", "one\n").commit
    put(group, "other.md", "one\n")
    put(group, "notes/a.md", "two\n")
    put(group, "notes/new.md", "new\n")
    remove(group, "notes/deep/b.md")
    put(group, "other.md", "two\n")

    done = restore(group, "notes", at=then)

    assert sorted(each.path for each in done.changes) == ["notes/a.md", "notes/deep/b.md"]
    assert done.kept_newer == ("notes/new.md",)
    assert show(group, "notes/a.md") == "one\n"
    assert show(group, "notes/deep/b.md") == "one\n"
    assert show(group, "other.md") == "two\n"
    assert git(group.gitdir, "rev-list", "--count", f"{done.commit}~1..{done.commit}") == "1\n"
    assert is_clean(group)


def test_a_whole_group_comes_back_as_one_commit(group: Group, clock: Clock) -> None:
    put(group, "a.md", "one\n")
    put(group, "notes/b.md", "one\n")
    clock.advance(days=1)
    put(group, "a.md", "two\n")
    put(group, "c.md", "new\n")
    edit(group, "notes/b.md", "by hand\n")

    done = restore(group, "", at="yesterday")

    assert sorted(each.path for each in done.changes) == ["a.md", "notes/b.md"]
    assert done.kept_newer == ("c.md",)
    assert show(group, "notes/b.md", f"{done.commit}~1") == "by hand\n"
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main").split() == [
        "a.md",
        "c.md",
        "notes/b.md",
    ]
    assert is_clean(group)


def test_a_whole_work_tree_full_of_damage_comes_back(group: Group) -> None:
    for number in range(5):
        put(group, f"notes/{number}.md", f"{number}\n")
    (group.worktree / "notes" / "0.md").unlink()
    edit(group, "notes/1.md", "")
    edit(group, "notes/2.md", f"{SECRET}\n")
    edit(group, "notes/new.md", "new by hand\n")

    done = restore(group, ".")

    assert [each.path for each in done.changes] == ["notes/0.md", "notes/1.md"]
    assert [each.path for each in done.set_aside] == ["notes/2.md"]
    for number in range(5):
        assert (group.worktree / f"notes/{number}.md").read_text() == f"{number}\n"
    assert (group.worktree / "notes" / "new.md").read_text() == "new by hand\n"
    assert is_clean(group)


def test_a_folder_that_is_gone_comes_back(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "notes/b.md", "two\n")
    shutil.rmtree(group.worktree / "notes")

    restore(group, "notes")

    assert (group.worktree / "notes" / "a.md").read_text() == "one\n"
    assert is_clean(group)


@pytest.mark.parametrize("at", ["", "HEAD", "HEAD~1"])
def test_a_held_version_is_set_aside_whichever_version_comes_back(group: Group, at: str) -> None:
    put(group, "a.md", "one\n")
    put(group, "a.md", "two\n")
    edit(group, "a.md", f"two\n{SECRET}\n")

    done = restore(group, "a.md", at=at)

    assert (group.worktree / "a.md").read_text() == ("one\n" if at == "HEAD~1" else "two\n")
    assert [each.content.read_text() for each in done.set_aside] == [f"two\n{SECRET}\n"]
    assert is_clean(group)


def test_a_file_comes_back_where_a_link_was_put(group: Group, tmp_path: Path) -> None:
    put(group, "notes/a.md", "one\n")
    put(group, "b.md", "two\n")
    shutil.rmtree(group.worktree / "notes")
    (group.worktree / "notes").symlink_to(tmp_path)
    (group.worktree / "b.md").unlink()
    os.mkfifo(group.worktree / "b.md")

    restore(group, "")

    assert (group.worktree / "notes" / "a.md").read_text() == "one\n"
    assert (group.worktree / "b.md").read_text() == "two\n"
    assert not (tmp_path / "a.md").exists()
    assert is_clean(group)


def test_a_credential_does_not_come_back_unasked(group: Group) -> None:
    allowed = Allowed(secrets=("aws-key-id",))
    bad = write(group, [Edit("a.md", f"key {SECRET}\n")], allowed=allowed).commit
    put(group, "a.md", "no key\n")

    with pytest.raises(SecretFound):
        restore(group, "a.md", at=bad)
    assert show(group, "a.md") == "no key\n"
    restore(group, "a.md", at=bad, allowed=allowed)
    assert SECRET in show(group, "a.md")

    edit(group, "a.md", "")
    restore(group, "a.md")
    assert SECRET in show(group, "a.md"), "it was there before the damage"


def test_a_file_does_not_come_back_on_top_of_a_folder_or_below_a_file(group: Group) -> None:
    file = put(group, "a", "a file\n").commit
    move(group, "a", "b")
    put(group, "a/inner.md", "in a folder now\n")
    put(group, "c/inner.md", "one\n")
    inner = group.repository.tip()
    move(group, "c/inner.md", "d.md")
    put(group, "c", "a file now\n")

    with pytest.raises(PathRefused, match="is a folder") as caught:
        restore(group, "a", at=file)
    assert "mv" in caught.value.hint
    with pytest.raises(PathRefused, match="is a file"):
        restore(group, "c/inner.md", at=inner)
    assert show(group, "a/inner.md") == "in a folder now\n"
    assert show(group, "c") == "a file now\n"


def test_a_damaged_head_does_not_stop_an_older_version(group: Group) -> None:
    old = put(group, "a.md", "one\n").commit
    truncate(group.repository, put(group, "a.md", "two\n").blob)
    group = reopened(group)

    done = restore(group, "a.md", at=old)

    assert [each.path for each in done.changes] == ["a.md"]
    assert show(group, "a.md") == "one\n"
    group.close()


def test_what_was_never_there_is_not_found(group: Group) -> None:
    then = put(group, "a.md", "one\n").commit
    put(group, "b.md", "two\n")

    for wanted in (
        lambda: restore(group, "never.md"),
        lambda: restore(group, "never.md", previous=True),
        lambda: restore(group, "b.md", at=then),
        lambda: restore(group, "b.md", previous=True),
    ):
        with pytest.raises(PathNotFound):
            wanted()
    for path in ("../x", "/etc/passwd", "a\\b"):
        with pytest.raises(PathRefused):
            restore(group, path)


def test_what_a_person_put_into_git_beside_the_memory_is_left_alone(
    group: Group, tmp_path: Path
) -> None:
    put(group, "a.md", "one\n")
    (group.worktree / ".hidden").write_text("hidden\n")
    (group.worktree / "link").symlink_to("a.md")
    by_hand(group, "-c", "core.symlinks=true", "add", "-A")
    by_hand(group, "commit", "-qm", "by a person")
    then = by_hand(group, "rev-parse", "HEAD")
    by_hand(group, "rm", "-q", "--cached", ".hidden", "link")
    by_hand(group, "commit", "-qm", "gone again")
    (group.worktree / "link").unlink()
    put(group, "a.md", "two\n")

    done = restore(group, "", at=then)

    assert [each.path for each in done.changes] == ["a.md"]
    assert git(group.gitdir, "ls-tree", "-r", "--name-only", "main") == "a.md\n"


def test_nothing_is_restored_while_head_is_elsewhere(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "switch", "-qc", "side")

    with pytest.raises(Conflict, match="branch 'side'"):
        restore(group, "a.md")


def test_a_persons_checkout_is_not_rolled_back_by_a_restore_of_another_file(group: Group) -> None:
    old = put(group, "a.md", "old\n").commit
    put(group, "a.md", "new\n")
    put(group, "b.md", "one\n")
    by_hand(group, "checkout", "-q", old, "--", "a.md")
    edit(group, "b.md", "")

    restore(group, "b.md")

    assert (group.worktree / "a.md").read_text() == "old\n"
    assert git(group.gitdir, "show", "main:a.md") == "old\n"
    assert git(group.gitdir, "show", "main:b.md") == "one\n"


def test_a_restore_that_is_done_says_so_though_another_edit_could_not_be_taken_in(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = put(group, "a.md", "old\n").commit
    put(group, "a.md", "new\n")
    put(group, "b.md", "one\n")
    by_hand(group, "checkout", "-q", old, "--", "a.md")
    edit(group, "b.md", "")

    def failing(*_: object) -> None:
        raise StorageFailed("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("gitmem.memory.write.capture.capture_edits", failing)
        done = restore(group, "b.md")

    assert git(group.gitdir, "show", f"{done.commit}:b.md") == "one\n"
    assert (group.worktree / "a.md").read_text() == "old\n"
    assert [each.path for each in capture(group).captured] == ["a.md"]
