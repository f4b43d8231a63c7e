"""A folder of notes comes into a group that has memory already: all of it, once, over nothing."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gitmem.memory.admin.init import init
from gitmem.memory.adopt.copy_in import copy_in
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.read.log import log
from gitmem.memory.read.read import read
from gitmem.memory.write.capture import capture
from gitmem.memory.write.write import Edit, write
from tests.support.faults import dying_at
from tests.support.git import git
from tests.support.processes import Voice, alone

OLD = datetime(2026, 10, 3, 12, tzinfo=UTC)


@pytest.fixture
def group(tmp_path: Path) -> Group:
    store = Store(tmp_path / "store")
    init(store, "shop", layout="standard")
    return Group(store, "shop", who=Who("claude-code", "s1"))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    for name, text in (("MEMORY.md", "- index\n"), ("deep/oslo.md", "Kroner.\n")):
        (folder / name).write_text(text)
    os.utime(folder / "MEMORY.md", (OLD.timestamp(), OLD.timestamp()))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    found = (each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in found}


def test_the_files_are_in_the_group_and_still_in_the_folder(group: Group, notes: Path) -> None:
    before = files_of(notes)

    done = copy_in(group, notes, "memory")

    assert files_of(notes) == before
    assert files_of(group.worktree / "memory") == before
    assert dict(done.taken) == {path: f"memory/{path}" for path in before}
    assert git(group.worktree, "status", "--porcelain") == ""
    assert git(group.worktree, "fsck", "--strict", "--no-dangling") == ""


def dying_copy(voice: Voice, root: str, folder: str, point: str) -> None:
    dying_at(voice, point)
    copy_in(Group(Store(Path(root)), "shop", who=Who("claude-code")), Path(folder), "memory")


@pytest.mark.parametrize("point", ["recorded", "objects", "branch", "placed", "staged"])
def test_a_copy_that_was_killed_is_no_deletion(group: Group, notes: Path, point: str) -> None:
    said = alone(dying_copy, str(group.store.root), str(notes), point)
    assert said[0][0] == "dies"

    capture(group)
    copy_in(group, notes, "memory")

    assert files_of(group.worktree / "memory") == files_of(notes)
    assert [each for each in log(group) if each.op == "capture"] == []
    assert git(group.worktree, "status", "--porcelain") == ""


def test_they_keep_their_dates(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory")

    [entry] = log(group, "memory/MEMORY.md")
    assert (entry.time.date(), entry.op, entry.session) == (OLD.date(), "copy", "s1")
    assert entry.source == str(notes)


def test_the_days_before_the_copy_stay_as_they_were(group: Group, notes: Path) -> None:
    """A date in the past shows the group as it was, and no copy that was not there yet."""
    begun = log(group)[0]
    copy_in(group, notes, "memory")

    assert "memory" not in git(group.worktree, "ls-tree", begun.commit)
    with pytest.raises(Exception, match="no commit at"):
        read(group, "identity.md", at="2026-10-10")


def test_a_second_copy_adds_nothing(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory")
    tip = log(group)[0].commit

    assert copy_in(group, notes, "memory").taken == ()
    assert log(group)[0].commit == tip


def test_a_note_that_the_group_has_changed_since_is_not_copied_again(
    group: Group, notes: Path
) -> None:
    copy_in(group, notes, "memory")
    write(group, [Edit("memory/MEMORY.md", b"- index\n- more\n")])

    assert copy_in(group, notes, "memory").taken == ()


def test_a_note_of_another_content_gets_a_number(group: Group, notes: Path) -> None:
    write(group, [Edit("memory/MEMORY.md", b"- the group's own\n")])

    done = copy_in(group, notes, "memory")

    assert dict(done.taken)["MEMORY.md"] == "memory/MEMORY-2.md"
    assert (group.worktree / "memory/MEMORY.md").read_bytes() == b"- the group's own\n"
    assert (group.worktree / "memory/MEMORY-2.md").read_bytes() == b"- index\n"
    assert copy_in(group, notes, "memory").taken == ()


def test_an_edit_that_nobody_captured_is_kept(group: Group, notes: Path) -> None:
    place = group.worktree / "memory" / "MEMORY.md"
    place.parent.mkdir()
    place.write_bytes(b"- by hand\n")

    copy_in(group, notes, "memory")

    assert place.read_bytes() == b"- by hand\n"
    assert [each.op for each in log(group, "memory/MEMORY.md")] == ["capture"]


def test_a_secret_is_named_and_never_stored(group: Group, notes: Path) -> None:
    secret = "the pass" + "word is " + "hunter2-9f3kq8"
    (notes / "keys.md").write_text(secret)

    done = copy_in(group, notes, "memory")

    assert [each.path for each in done.left] == ["keys.md"]
    assert not (group.worktree / "memory" / "keys.md").exists()


def test_a_dry_run_says_the_same_and_does_nothing(group: Group, notes: Path) -> None:
    tip = log(group)[0].commit

    would = copy_in(group, notes, "memory", dry_run=True)

    assert log(group)[0].commit == tip
    assert would.taken == copy_in(group, notes, "memory").taken


def test_a_note_that_was_deleted_from_the_group_stays_deleted(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory")
    (group.worktree / "memory/deep/oslo.md").unlink()

    assert copy_in(group, notes, "memory").taken == ()
    assert copy_in(group, notes, "memory", dry_run=True).taken == ()
    assert not (group.worktree / "memory/deep/oslo.md").exists()


def test_a_numbered_note_that_was_deleted_stays_deleted(group: Group, notes: Path) -> None:
    write(group, [Edit("memory/deep/oslo.md", b"Euros.\n")])
    copy_in(group, notes, "memory")
    (group.worktree / "memory/deep/oslo-2.md").unlink()
    capture(group)

    assert copy_in(group, notes, "memory").taken == ()


def test_two_notes_never_get_the_same_number(group: Group, notes: Path) -> None:
    write(group, [Edit("memory/deep/oslo.md", b"Euros.\n")])
    (notes / "deep/oslo-2.md").write_text("Fjord.\n")

    copy_in(group, notes, "memory")

    deep = group.worktree / "memory/deep"
    assert (deep / "oslo-2.md").read_text() == "Fjord.\n"
    assert (deep / "oslo-3.md").read_text() == "Kroner.\n"
    assert copy_in(group, notes, "memory").taken == ()


# ---- the folder changes after it was copied


def text_of(group: Group, path: str) -> str:
    return (group.worktree / "memory" / path).read_text()


def names_in(group: Group) -> list[str]:
    return sorted(files_of(group.worktree / "memory"))


def test_a_newer_version_replaces_the_one_that_was_copied(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory", page="MEMORY.md")
    for text in ("Kroner and ore.\n", "Only kroner.\n"):
        (notes / "deep/oslo.md").write_text(text)
        (notes / "MEMORY.md").write_text(f"- {text}")
        copy_in(group, notes, "memory", page="MEMORY.md")

    assert names_in(group) == ["MEMORY.md", "deep/oslo.md"]
    assert text_of(group, "deep/oslo.md") == "Only kroner.\n"
    assert text_of(group, "MEMORY.md") == "- Only kroner.\n"
    assert [each.op for each in log(group, "memory/deep/oslo.md")] == ["copy"] * 3
    assert git(group.worktree, "show", "HEAD~1:memory/deep/oslo.md") == "Kroner and ore.\n"
    assert git(group.worktree, "status", "--porcelain") == ""


def test_a_note_that_both_sides_changed_gets_a_number(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory")
    (group.worktree / "memory/deep/oslo.md").write_text("Kroner, says the group.\n")
    (notes / "deep/oslo.md").write_text("Kroner, says the host.\n")

    copy_in(group, notes, "memory")

    assert text_of(group, "deep/oslo.md") == "Kroner, says the group.\n"
    assert text_of(group, "deep/oslo-2.md") == "Kroner, says the host.\n"


def test_a_version_that_the_group_went_back_from_is_not_copied_again(
    group: Group, notes: Path
) -> None:
    copy_in(group, notes, "memory")
    (notes / "deep/oslo.md").write_text("Euros.\n")
    copy_in(group, notes, "memory")
    write(group, [Edit("memory/deep/oslo.md", b"Kroner.\n")])

    assert copy_in(group, notes, "memory").taken == ()


def test_a_held_edit_is_never_replaced(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory", page="MEMORY.md")
    secret = "the pass" + "word is " + "hunter2-9f3kq8\n"
    for name in ("MEMORY.md", "deep/oslo.md"):
        (group.worktree / "memory" / name).write_text(secret)
        (notes / name).write_text("- newer\n")

    copy_in(group, notes, "memory", page="MEMORY.md")

    assert text_of(group, "MEMORY.md") == text_of(group, "deep/oslo.md") == secret
    assert text_of(group, "MEMORY-2.md") == text_of(group, "deep/oslo-2.md") == "- newer\n"


def test_a_page_that_both_sides_changed_gets_the_lines_it_lacks(group: Group, notes: Path) -> None:
    copy_in(group, notes, "memory", page="MEMORY.md")
    write(group, [Edit("memory/MEMORY.md", b"- index\n- by the group")])
    (notes / "MEMORY.md").write_text("- index\n- by the host\n")

    would = copy_in(group, notes, "memory", page="MEMORY.md", dry_run=True)
    done = copy_in(group, notes, "memory", page="MEMORY.md")

    assert done.taken == would.taken == (("MEMORY.md", "memory/MEMORY.md"),)
    assert text_of(group, "MEMORY.md") == "- index\n- by the group\n- by the host\n"
    assert names_in(group) == ["MEMORY.md", "deep/oslo.md"]
    assert copy_in(group, notes, "memory", page="MEMORY.md").taken == ()


def test_a_line_that_was_deleted_from_the_page_stays_deleted(group: Group, notes: Path) -> None:
    (notes / "MEMORY.md").write_text("- index\n- gone\n")
    copy_in(group, notes, "memory", page="MEMORY.md")
    write(group, [Edit("memory/MEMORY.md", b"- index\n")])
    (notes / "MEMORY.md").write_text("- index\n- gone\n- new\n")

    copy_in(group, notes, "memory", page="MEMORY.md")

    assert text_of(group, "MEMORY.md") == "- index\n- new\n"


def test_two_folders_share_one_page(group: Group, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "MEMORY.md").write_text("# Index\n\n- other\n")
    copy_in(group, notes, "memory", page="MEMORY.md")
    copy_in(group, other, "memory", page="MEMORY.md")
    assert text_of(group, "MEMORY.md") == "- index\n# Index\n\n- other\n"

    (other / "MEMORY.md").write_text("# Index\n\n- other\n- late\n")
    copy_in(group, other, "memory", page="MEMORY.md")
    (notes / "MEMORY.md").write_text("- index\n- later\n")
    copy_in(group, notes, "memory", page="MEMORY.md")

    assert text_of(group, "MEMORY.md") == "- index\n# Index\n\n- other\n- late\n- later\n"
    assert "memory/MEMORY-2.md" not in git(group.worktree, "ls-files")
