"""Edits that may not enter git, and what to do with them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.errors import GroupRefused, NotFound, PathRefused, Refused, SecretFound
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_accept, held_drop, held_list, held_show
from gitmem.memory.write.capture import capture
from gitmem.model.guards import MAX_FILE
from tests.support.disks import other_disk
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import body

SECRET = "AKIA" + body("ABCDEFGHIJKLMNOP", 16)


def is_clean(group: Group) -> bool:
    return git(group.worktree, "status", "--porcelain", "-uall") == ""


def set_aside(group: Group, path: str = "a.md") -> str:
    """Let a held version of PATH make room for a write; its id."""
    edit(group, path, f"held {SECRET}\n")
    (aside,) = put(group, path, "written\n").set_aside
    return aside.id


def test_nothing_is_held_at_first(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "b.md", "new\n")

    assert held_list(group) == ()
    for act in (held_show, held_accept, held_drop):
        with pytest.raises(NotFound, match="no held version"):
            act(group, "b.md")
    assert (group.worktree / "b.md").read_text() == "new\n"


def test_the_list_names_what_stands_there_and_what_was_set_aside(group: Group) -> None:
    aside = set_aside(group)
    edit(group, "b.md", f"{SECRET}\n")
    (group.worktree / "link.md").symlink_to("/etc/passwd")

    things = held_list(group)

    assert [(each.path, each.set_aside, each.bytes) for each in things] == [
        ("b.md", False, 21),
        ("link.md", False, None),
        ("a.md", True, 26),
    ]
    assert [each.id for each in things] == ["", "", aside]
    assert things[2].rule == "secret: aws-key-id, line 1"
    assert Path(things[2].location).read_text() == f"held {SECRET}\n"
    assert things[2].at.startswith("2026-02-08T12:")
    assert status(group).health == "held"
    assert status(group).set_aside == 1


@pytest.mark.parametrize("aside", [False, True])
def test_a_shown_version_has_its_credentials_blanked_out(group: Group, aside: bool) -> None:
    if aside:
        name = set_aside(group)
    else:
        name = "a.md"
        edit(group, name, f"held {SECRET}\n")

    shown = held_show(group, name)

    assert (shown.text, shown.redacted) == ("held [redacted: aws-key-id]\n", 1)
    assert shown.thing.path == "a.md"
    assert SECRET not in repr(shown)


def test_the_newest_set_aside_version_of_a_path_is_found_by_the_path(group: Group) -> None:
    first, second = set_aside(group), set_aside(group)

    assert held_show(group, second).thing.id == second
    assert held_show(group, first).thing.id == first
    assert held_show(group, "a.md").thing.id == second
    assert held_show(group, str(group.worktree / "a.md")).thing.id == second


def test_a_link_shows_where_it_leads_and_nothing_of_what_is_there(
    group: Group, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_text("outside\n")
    (group.worktree / "link.md").symlink_to(tmp_path / "outside.md")
    os.link(tmp_path / "outside.md", group.worktree / "hard.md")
    put(group, "kept.md", "one\n")
    (group.worktree / "kept.md").unlink()
    os.link(tmp_path / "outside.md", group.worktree / "kept.md")
    aside = put(group, "kept.md", "two\n").set_aside[0].id

    assert held_show(group, "link.md").text == f"a link to {tmp_path / 'outside.md'}\n"
    for name in ("hard.md", aside):
        assert held_show(group, name).text == ""
        with pytest.raises(Refused, match="hard-link"):
            held_accept(group, name)
    assert (tmp_path / "outside.md").read_text() == "outside\n"


def test_an_accepted_version_is_committed_as_it_stands(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", f"one\nkey {SECRET}\n")

    done = held_accept(group, "a.md", reason="an example from the manual")

    assert git(group.gitdir, "show", "main:a.md") == f"one\nkey {SECRET}\n"
    entry = log(group)[0]
    assert (entry.commit, entry.op, entry.agent) == (done.commit, "capture", "ada")
    assert entry.reason == "an example from the manual"
    assert entry.violations == ("accepted by hand: secret: aws-key-id, line 2",)
    assert SECRET not in git(group.gitdir, "log", "-g", "--format=%B %gs", "main")
    assert held_list(group) == ()
    assert is_clean(group)


def test_an_accepted_version_that_was_set_aside_comes_back_into_its_place(group: Group) -> None:
    name = set_aside(group)
    edit(group, "a.md", "written\nand edited\n")

    done = held_accept(group, name)

    assert git(group.gitdir, "show", "main:a.md") == f"held {SECRET}\n"
    assert git(group.gitdir, "show", "main~1:a.md") == "written\nand edited\n"
    assert [each.path for each in done.captured] == ["a.md", "a.md"]
    assert (group.worktree / "a.md").read_text() == f"held {SECRET}\n"
    assert held_list(group) == ()
    assert list((group.gitdir / "gitmem" / "held").iterdir()) == []
    assert is_clean(group)


def test_a_new_file_can_be_accepted(group: Group) -> None:
    edit(group, "notes/new.md", f"{SECRET}\n")

    held_accept(group, "notes/new.md")

    assert is_clean(group)


def test_what_git_or_the_log_would_suffer_from_is_never_accepted(group: Group) -> None:
    (group.worktree / "link.md").symlink_to("a.md")
    os.mkfifo(group.worktree / "pipe")
    edit(group, "big.md", b"x" * (MAX_FILE + 1))
    edit(group, "back\\slash.md", "text\n")
    edit(group, f"{SECRET}.md", "text\n")
    head = group.repository.tip()

    for thing in held_list(group):
        with pytest.raises(Refused) as caught:
            held_accept(group, thing.path)
        assert caught.value.facts["rule"] == thing.rule
    assert group.repository.tip() == head
    assert len(held_list(group)) == 5


def test_a_secret_in_the_reason_is_refused(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n")

    with pytest.raises(SecretFound):
        held_accept(group, "a.md", reason=f"because {SECRET}")


def test_a_version_whose_place_is_taken_is_not_accepted(group: Group) -> None:
    edit(group, "notes", f"{SECRET}\n")
    aside = put(group, "notes/a.md", "one\n").set_aside[0].id

    with pytest.raises(PathRefused, match="is a folder"):
        held_accept(group, aside)
    assert [each.id for each in held_list(group)] == [aside]


def test_a_dropped_version_makes_room_for_the_committed_one(group: Group) -> None:
    head = put(group, "a.md", "one\n").commit
    edit(group, "a.md", f"{SECRET}\n")

    done = held_drop(group, "a.md")

    assert (done.path, done.put_back) == ("a.md", True)
    assert (group.worktree / "a.md").read_text() == "one\n"
    assert group.repository.tip() == head
    assert held_list(group) == ()
    assert is_clean(group)


def test_a_dropped_new_file_is_gone(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n")
    (group.worktree / "link.md").symlink_to("/etc/passwd")
    os.mkfifo(group.worktree / "pipe")

    for name in ("a.md", "link.md", "pipe"):
        assert not held_drop(group, name).put_back
        assert not os.path.lexists(group.worktree / name)
    assert Path("/etc/passwd").exists()


def test_a_dropped_set_aside_version_leaves_the_work_tree_alone(group: Group) -> None:
    name = set_aside(group)

    held_drop(group, name)

    assert held_list(group) == ()
    assert (group.worktree / "a.md").read_text() == "written\n"


def test_a_file_that_was_mended_is_not_dropped(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n")
    edit(group, "a.md", "mended\n")

    with pytest.raises(NotFound):
        held_drop(group, "a.md")
    assert [each.path for each in capture(group).captured] == ["a.md"]


def test_readers_of_global_decide_nothing_there(group: Group) -> None:
    init(group.store, "global")
    owner = Group(group.store, "global")
    name = set_aside(owner)
    edit(owner, "b.md", f"{SECRET}\n")
    reader = Group(group.store, "global", acting="research")

    for act in (held_accept, held_drop):
        for what in (name, "b.md"):
            with pytest.raises(GroupRefused):
                act(reader, what)
    assert len(held_list(owner)) == 2
    owner.close()
    reader.close()


def test_a_work_tree_on_another_disk_is_as_good(group: Group, tmp_path: Path) -> None:
    with other_disk(tmp_path) as place:
        init(group.store, "far", worktree=place / "memory")
        far = Group(group.store, "far")
        (far.worktree / "link.md").symlink_to("/etc/passwd")
        name = set_aside(far, "notes/a.md")

        assert [each.path for each in put(far, "link.md", "one\n").set_aside] == ["link.md"]
        assert held_show(far, name).text == "held [redacted: aws-key-id]\n"
        assert held_accept(far, name).path == "notes/a.md"
        for thing in held_list(far):
            assert (Path(thing.location).lstat().st_mode & 0o777) in (0o600, 0o777)
        assert is_clean(far)
        far.close()
