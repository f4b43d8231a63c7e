"""A held version that is dropped goes to the trash, and comes back from there."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from gitmem.errors import Busy, GroupRefused, NotFound, Refused, SecretFound, StorageFailed
from gitmem.memory.admin.groups import remove_group, rename_group
from gitmem.memory.admin.init import init
from gitmem.memory.group import Group
from gitmem.memory.read.log import log
from gitmem.memory.read.status import InTrash, status
from gitmem.memory.recover.held import (
    held_accept,
    held_drop,
    held_empty,
    held_list,
    held_restore,
    held_show,
    held_trash,
)
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.model.guards import MAX_FILE
from tests.memory.test_held import SECRET, is_clean, set_aside
from tests.support.clocks import Clock
from tests.support.disks import other_disk
from tests.support.git import git
from tests.support.histories import edit, put


def test_a_dropped_version_lies_in_the_trash_and_comes_back_to_its_place(group: Group) -> None:
    file = edit(group, "notes/a.md", f"{SECRET}\n")
    file.chmod(0o640)

    done = held_drop(group, "notes/a.md", reason="copied by mistake")

    assert not file.exists()
    assert Path(done.location).read_text() == f"{SECRET}\n"
    assert held_list(group) == ()
    (row,) = held_trash(group)
    assert (row.id, row.path, row.agent, row.reason) == (
        done.id,
        "notes/a.md",
        "ada",
        "copied by mistake",
    )
    assert row.dropped.startswith("2026-02-08T12:")
    assert status(group).trash == InTrash(1, 21)

    back = held_restore(group, done.id)

    assert (back.id, back.location) == ("", str(file))
    assert file.read_text() == f"{SECRET}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert held_trash(group) == ()
    assert [each.path for each in held_list(group)] == ["notes/a.md"]


def test_the_trash_is_closed_to_others(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n").chmod(0o644)

    content = Path(held_drop(group, "a.md").location)

    assert stat.S_IMODE(content.stat().st_mode) == 0o600
    for folder in (content.parent, content.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nothing_that_stands_there_by_now_is_overwritten(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "a.md", f"{SECRET}\n")
    done = held_drop(group, "a.md")
    assert done.put_back
    assert (group.worktree / "a.md").read_text() == "one\n"

    back = held_restore(group, "a.md")

    assert (group.worktree / "a.md").read_text() == "one\n"
    assert back.id == done.id
    assert [(each.id, each.set_aside) for each in held_list(group)] == [(done.id, True)]
    assert held_trash(group) == ()
    assert is_clean(group)


def test_a_version_whose_folder_is_taken_is_held(group: Group) -> None:
    edit(group, "notes/a.md", f"{SECRET}\n")
    done = held_drop(group, "notes/a.md")
    (group.worktree / "notes").rmdir()
    edit(group, "notes", "a file now\n")

    assert held_restore(group, done.id).id == done.id
    assert (group.worktree / "notes").read_text() == "a file now\n"


def test_a_set_aside_version_goes_back_to_where_it_was(group: Group) -> None:
    name = set_aside(group)
    (group.worktree / "a.md").unlink()

    held_drop(group, name)
    assert held_list(group) == ()
    held_restore(group, name)

    assert [each.id for each in held_list(group)] == [name]
    assert not (group.worktree / "a.md").exists()


@pytest.mark.parametrize("kind", ["link", "pipe", "hard link", "huge", "unreadable folder"])
def test_whatever_is_held_can_be_dropped_and_comes_back(
    group: Group, tmp_path: Path, kind: str
) -> None:
    outside, place = tmp_path / "outside.md", group.worktree / "thing"
    outside.write_text("outside\n")
    if kind == "link":
        place.symlink_to(outside)
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "hard link":
        os.link(outside, place)
    elif kind == "huge":
        place.write_bytes(b"x" * (MAX_FILE + 1))
    else:
        pytest.skip("root reads every folder") if os.geteuid() == 0 else place.mkdir(mode=0)
    before = place.lstat()

    held_drop(group, "thing")
    assert not os.path.lexists(place)
    held_restore(group, "thing")

    after = place.lstat()
    assert (before.st_ino, before.st_mode, before.st_nlink) == (
        after.st_ino,
        after.st_mode,
        after.st_nlink,
    )
    assert outside.read_text() == "outside\n"


def test_a_link_in_the_place_of_a_folder_makes_room_for_the_folder(
    group: Group, tmp_path: Path
) -> None:
    head = put(group, "notes/a.md", "one\n").commit
    put(group, "notes/deep/b.md", "two\n")
    for name in ("deep/b.md", "a.md"):
        (group.worktree / "notes" / name).unlink()
    (group.worktree / "notes" / "deep").rmdir()
    (group.worktree / "notes").rmdir()
    (group.worktree / "notes").symlink_to(tmp_path)

    done = held_drop(group, "notes")

    assert done.put_back
    assert (group.worktree / "notes" / "deep" / "b.md").read_text() == "two\n"
    assert os.readlink(done.location) == str(tmp_path)
    assert head in {each.commit for each in log(group)}
    assert is_clean(group)


def test_what_a_dead_process_began_is_passed_over_and_swept(group: Group) -> None:
    set_aside(group)
    folder = group.gitdir / "gitmem" / "held"
    (folder / "begun").mkdir()
    (folder / "begun" / "content.part").write_text("half\n")
    (folder / "stray").write_text("no folder\n")
    assert len(held_list(group)) == 1

    edit(group, "b.md", f"{SECRET}\n")
    held_drop(group, "b.md")

    assert not (folder / "begun").exists()
    assert len(held_list(group)) == len(held_trash(group)) == 1


@pytest.mark.parametrize("known", [False, True])
def test_a_version_that_cannot_be_moved_is_not_lost(group: Group, known: bool) -> None:
    if known:
        put(group, "a.md", "one\n")
    edit(group, "a.md", f"{SECRET}\n")
    place = group.gitdir / "gitmem" / "held"
    place.write_text("in the way\n")

    with pytest.raises(StorageFailed if known else Refused):
        held_drop(group, "a.md")
    place.unlink()
    capture(group)

    (thing,) = held_list(group)
    assert Path(thing.location).read_text() == f"{SECRET}\n"
    assert held_drop(group, thing.id or "a.md").id
    assert is_clean(group)


def test_a_file_that_is_being_written_is_not_dropped(group: Group) -> None:
    file = edit(group, "a.md", f"{SECRET}\n")

    with file.open("a"), pytest.raises(Busy, match=r"writing to 'a\.md'"):
        held_drop(group, "a.md")
    assert file.exists()


def test_the_trash_is_emptied_only_on_request(group: Group, clock: Clock) -> None:
    ids = []
    for day in range(3):
        edit(group, f"{day}.md", f"{SECRET}\n")
        ids.append(held_drop(group, f"{day}.md").id)
        clock.advance(days=100)
    maintain(group)
    assert [each.id for each in held_trash(group)] == ids

    with pytest.raises(NotFound, match="no version 'none'"):
        held_empty(group, ["none"])
    assert [each.id for each in held_empty(group, before="150 days ago").deleted] == ids[:2]
    assert held_empty(group, ids[2:]).kept == 0
    assert held_trash(group) == ()
    with pytest.raises(NotFound):
        held_restore(group, ids[0])


def test_the_trash_goes_with_the_group(group: Group) -> None:
    init(group.store, "old")
    old = Group(group.store, "old")
    edit(old, "a.md", f"{SECRET}\n")
    name = held_drop(old, "a.md").id
    old.close()

    rename_group(group.store, "old", "new")
    new = Group(group.store, "new")
    assert [each.id for each in held_trash(new)] == [name]
    new.close()
    removed = Path(remove_group(group.store, "new").trash)
    assert (removed / "repos" / "new.git" / "gitmem" / "trash" / name / "content").exists()


def test_who_may_not_write_decides_nothing(group: Group) -> None:
    init(group.store, "global")
    owner = Group(group.store, "global")
    edit(owner, "a.md", f"{SECRET}\n")
    name = held_drop(owner, "a.md").id
    reader = Group(group.store, "global", acting="research")

    for act in (lambda: held_restore(reader, name), lambda: held_empty(reader, [name])):
        with pytest.raises(GroupRefused):
            act()
    assert len(held_trash(owner)) == 1
    owner.close()
    reader.close()


def test_a_secret_in_the_reason_reaches_no_file(group: Group) -> None:
    edit(group, "a.md", f"{SECRET}\n")

    with pytest.raises(SecretFound):
        held_drop(group, "a.md", reason=f"because of {SECRET}")
    assert (group.worktree / "a.md").exists()


def test_a_dropped_version_can_be_looked_at(group: Group) -> None:
    edit(group, "a.md", f"key {SECRET}\n")
    done = held_drop(group, "a.md")

    shown = held_show(group, done.id)

    assert (shown.text, shown.trashed) == ("key [redacted: aws-key-id]\n", True)


def test_a_work_tree_on_another_disk_has_the_same_trash(group: Group, tmp_path: Path) -> None:
    with other_disk(tmp_path) as place:
        init(group.store, "far", worktree=place / "memory")
        far = Group(group.store, "far")
        edit(far, "a.md", f"{SECRET}\n").chmod(0o640)
        (far.worktree / "link.md").symlink_to("/etc/passwd")
        os.mkfifo(far.worktree / "pipe")
        put(far, "b.md", "one\n")
        edit(far, "b.md", f"{SECRET}\n")

        assert held_drop(far, "b.md").put_back
        for name in ("a.md", "link.md"):
            held_drop(far, name)
            assert not os.path.lexists(far.worktree / name)
            assert held_restore(far, name).id == ""
        with pytest.raises(Refused, match="moving 'pipe' to the trash failed"):
            held_drop(far, "pipe")

        assert (far.worktree / "a.md").read_text() == f"{SECRET}\n"
        assert stat.S_IMODE((far.worktree / "a.md").stat().st_mode) == 0o640
        assert os.readlink(far.worktree / "link.md") == "/etc/passwd"
        assert [each.path for each in held_list(far)] == ["a.md", "link.md", "pipe"]
        assert [name for name in os.listdir(far.worktree) if name.startswith(".gitmem")] == []
        far.close()


class TestRedact:
    """`held accept --redact`: the text is committed with its secrets masked."""

    def test_the_commit_and_the_file_have_a_mask_and_the_trash_the_original(
        self, group: Group
    ) -> None:
        put(group, "a.md", "one\n")
        edit(group, "a.md", f"one\r\nkey {SECRET}\nend")

        done = held_accept(group, "a.md", mask=True, reason="the key is in the vault")

        masked = "one\r\nkey [redacted: aws-key-id]\nend"
        assert git(group.gitdir, "show", "main:a.md") == masked
        assert (group.worktree / "a.md").read_bytes() == masked.encode()
        assert [(each.rule, each.line) for each in done.masked] == [("aws-key-id", 2)]
        assert held_list(group) == ()
        (row,) = held_trash(group)
        assert row.id == done.trash
        assert Path(row.location).read_text() == f"one\nkey {SECRET}\nend"
        entry = log(group)[0]
        assert (entry.commit, entry.op, entry.agent) == (done.commit, "capture", "ada")
        assert entry.violations == ()
        trailer = "%(trailers:key=Gitmem-Redacted,valueonly)"
        said = git(group.gitdir, "log", "-1", f"--format={trailer}", "main")
        assert said.strip() == "aws-key-id, line 2"
        assert is_clean(group)
        every = git(group.gitdir, "cat-file", "--batch-all-objects", "--batch")
        assert SECRET not in every
        assert SECRET not in repr(done)

    def test_a_new_file_and_one_that_was_set_aside(self, group: Group) -> None:
        edit(group, "new.md", f"{SECRET}\n")
        aside = set_aside(group)

        held_accept(group, "new.md", mask=True)
        held_accept(group, aside, mask=True)

        assert git(group.gitdir, "show", "main:new.md") == "[redacted: aws-key-id]\n"
        assert git(group.gitdir, "show", "main:a.md") == "held [redacted: aws-key-id]\n"
        assert [each.path for each in held_trash(group)] == ["new.md", "a.md"]
        assert held_list(group) == ()
        assert is_clean(group)

    def test_bytes_that_are_no_text_stay_as_they_are(self, group: Group) -> None:
        edit(group, "a.md", b"\xff\xfe " + SECRET.encode() + b" \x80\n")

        held_accept(group, "a.md", mask=True)

        assert (group.worktree / "a.md").read_bytes() == b"\xff\xfe [redacted: aws-key-id] \x80\n"

    def test_what_has_nothing_to_mask_is_not_accepted(self, group: Group, tmp_path: Path) -> None:
        (group.worktree / "link.md").symlink_to(tmp_path)
        edit(group, "back\\slash.md", f"{SECRET}\n")

        for name in ("link.md", "back\\slash.md"):
            with pytest.raises(Refused, match="git cannot take"):
                held_accept(group, name, mask=True)
        assert held_trash(group) == ()

    def test_an_edit_made_meanwhile_is_kept(self, group: Group) -> None:
        """What came out of the work tree is not what was masked: it stays held."""
        edit(group, "a.md", f"{SECRET}\n")
        other = SECRET[:-1] + ("A" if SECRET[-1] != "A" else "B")
        from gitmem.store import fault_points

        before = fault_points.reached

        def reached(step: str) -> None:
            if step == "branch":
                edit(group, "a.md", f"{other}\n")

        fault_points.reached = reached
        try:
            done = held_accept(group, "a.md", mask=True)
        finally:
            fault_points.reached = before

        assert done.trash == ""
        (thing,) = held_list(group)
        assert Path(thing.location).read_text() == f"{other}\n"


def test_no_hint_sends_anybody_to_the_trash(group: Group, tmp_path: Path) -> None:
    (group.worktree / "link.md").symlink_to("a.md")
    os.mkfifo(group.worktree / "pipe")
    edit(group, "big.md", b"x" * (MAX_FILE + 1))
    edit(group, "back\\slash.md", "text\n")
    edit(group, f"{SECRET}.md", "text\n")
    (tmp_path / "twin.md").write_text("twin\n")
    os.link(tmp_path / "twin.md", group.worktree / "hard.md")

    for thing in held_list(group):
        with pytest.raises(Refused) as caught:
            held_accept(group, thing.path)
        assert "drop" not in caught.value.hint
        # A pattern would write the secret in the name down once more: such a file is renamed.
        way = "mv -n" if SECRET in thing.path else "held.ignore"
        assert way in caught.value.hint
    assert capture(group).captured == ()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
def test_a_wide_file_stays_one_when_its_secrets_are_masked(group: Group, encoding: str) -> None:
    text = f"# Keys\n\nthe key {SECRET} works\n\nand so on\n"
    (group.worktree / "wide.md").write_bytes(text.encode(encoding))
    capture(group)

    held_accept(group, "wide.md", mask=True)

    masked = (group.worktree / "wide.md").read_bytes().decode(encoding)
    assert SECRET not in masked
    assert masked.startswith("# Keys\n\nthe key [redacted: ")
    assert masked.endswith(" works\n\nand so on\n")
