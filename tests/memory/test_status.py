"""How a group is, on one screen."""

from __future__ import annotations

import os
import shutil

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group
from gitmem.memory.read.status import health_of, status
from gitmem.memory.recover.restore import restore
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.capture import capture
from gitmem.store.lock import Inflight, Item, Lock, lock_path
from tests.support.histories import by_hand, edit, put, reopened, truncate
from tests.support.samples import body

BIG = "a line of some length, to make the file large\n" * 20
SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def test_a_fresh_group_is_well_and_empty(group: Group) -> None:
    found = status(group)

    assert (found.group, found.health, found.files) == ("main", "ok", 0)
    assert (found.last, found.edits, found.held, found.violations) == (None, (), (), ())
    assert found.worktree == str(group.worktree)
    assert found.commit == group.repository.tip()


def test_it_tells_what_was_written_last(group: Group) -> None:
    put(group, "a.md", "one\n", reason="first")
    commit = put(group, "notes/b.md", "two\n", reason="second").commit

    found = status(group)

    assert found.files == 2
    assert found.last is not None
    assert (found.last.commit, found.last.reason, found.last.agent) == (commit, "second", "ada")


def test_it_lists_edits_and_changes_nothing(group: Group) -> None:
    put(group, "a.md", "one\n")
    put(group, "b.md", "one\n")
    put(group, "c.md", "one\ntwo\n")
    edit(group, "a.md", "two\n")
    (group.worktree / "b.md").unlink()
    (group.worktree / "c.md").rename(group.worktree / "d.md")
    edit(group, ".hidden", "x")
    before = sorted(path.name for path in group.worktree.iterdir())

    found = status(group)

    assert {(each.path, each.change) for each in found.edits} == {
        ("a.md", "changed"),
        ("b.md", "deleted"),
        ("d.md", "moved"),
    }
    assert (found.health, found.ignored) == ("edited", 1)
    assert sorted(path.name for path in group.worktree.iterdir()) == before
    assert found.commit == group.repository.tip()


def test_what_is_held_is_said_first(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n")
    edit(group, "b.md", "new\n")

    found = status(group)

    assert found.health == "held"
    assert [(each.path, each.rule) for each in found.held] == [
        ("a.md", "secret: aws-key-id, line 1")
    ]


def test_a_broken_rule_is_named_until_it_is_undone(group: Group) -> None:
    put(group, "a.md", BIG)
    edit(group, "a.md", "short\n")
    commit = capture(group).captured[0].commit
    put(group, "b.md", "later\n")

    (broken,) = status(group).violations
    assert (broken.commit, broken.violations) == (
        commit,
        (f"shrink a.md {len(BIG)} -> 6 bytes",),
    )

    undo(group, [commit])
    assert status(group).violations == ()


def test_a_head_that_a_person_moved_is_said(group: Group) -> None:
    put(group, "a.md", "one\n")
    by_hand(group, "switch", "-qc", "side")

    assert status(group).health == "elsewhere"


def test_work_that_waits_is_said(group: Group) -> None:
    put(group, "a.md", "one\n")
    lock = Lock(lock_path(group.gitdir))
    lock.acquire()
    lock.note(Inflight("", "", os.getpid(), True, (Item("a.md", None, None, ".gitmem-x", True),)))
    lock.release()

    assert health_of(group) == "pending"


def test_a_missing_work_tree_is_damage_and_not_a_hundred_deletions(group: Group) -> None:
    put(group, "a.md", "one\n")
    shutil.rmtree(group.worktree)

    found = status(group)

    assert (found.health, found.edits) == ("damaged: no work tree", ())


def test_a_damaged_tree_is_named_in_a_word(group: Group) -> None:
    put(group, "a.md", "one\n")
    truncate(group.repository, group.repository.snapshot().root)

    again = reopened(group)
    assert health_of(again).startswith("damaged: object ")
    again.close()


def test_it_can_be_asked_about_global_by_others(group: Group) -> None:
    init(group.store, "global")
    reader = Group(group.store, "global", acting="research")

    assert status(reader).group == "global"
    reader.close()


def test_a_violation_is_over_when_its_file_has_changed(group: Group) -> None:
    put(group, "a.md", "line\n" * 200)
    edit(group, "a.md", "stub\n")
    capture(group)
    assert [each.paths for each in status(group).violations] == [("a.md",)]

    restore(group, "a.md", previous=True)

    assert status(group).violations == ()
