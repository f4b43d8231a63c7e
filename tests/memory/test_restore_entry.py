"""One entry comes back: out of the archive, or out of the history, to its own place."""

from __future__ import annotations

import shlex

import pytest

from gitmem.errors import Conflict, MomentNotFound, NotFound, PathNotFound, SecretFound
from gitmem.memory.curate.archive import archive
from gitmem.memory.group import Group
from gitmem.memory.recover.archived import archived
from gitmem.memory.recover.restore import ChooseVersion, restore
from gitmem.memory.write.move import move, remove
from gitmem.memory.write.write import Allowed, Edit, write
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import narrow
from tests.support.shelves import (
    DECISIONS,
    ESM,
    OLD,
    SHELF,
    TEA,
    count,
    files,
    furnish,
    is_clean,
    message,
    said,
    text,
)

HOME = "reference/decisions.md"
WITHOUT = DECISIONS[: DECISIONS.index("### Old")] + DECISIONS[DECISIONS.index("### Keep") :]


@pytest.fixture
def memory(group: Group) -> Group:
    return furnish(group)


@pytest.mark.parametrize(
    "address", [OLD, "decisions#old-plan", f"{SHELF}#old-plan", f"{HOME}#Old plan"]
)
def test_an_archived_entry_comes_back_to_its_place(memory: Group, address: str) -> None:
    before = files(memory)
    archive(memory, [OLD])
    commits = count(memory)

    done = restore(memory, address, reason="needed after all")

    assert files(memory) == before, "byte for byte, and the archive is as empty as it was"
    assert (done.address, done.source) == (OLD, f"{SHELF}#old-plan")
    assert [each.path for each in done.changes] == [SHELF, HOME]
    assert count(memory) == commits + 1
    words = message(memory)
    assert (words.op, words.reason) == ("restore", "needed after all")
    assert words.subject == f"restore({HOME}): Old plan"
    assert words.all("Gitmem-From") == (f"{SHELF}#old-plan",)
    assert words.all("Gitmem-Restores") == (done.from_commit,)
    assert is_clean(memory)


def test_it_comes_back_among_what_was_written_since(memory: Group) -> None:
    archive(memory, [OLD])
    write(memory, [Edit(HOME, "Since then.", entry="Another")])
    write(memory, [Edit(HOME, "Yes, please.", entry="Keep tea")])

    restore(memory, OLD)

    titles = [line for line in text(memory, HOME).splitlines() if line.startswith("### ")]
    assert titles == [
        "### Use ESM only",
        "### Old plan",
        "### no entry",
        "### Keep tea",
        "### Another",
    ]
    assert "Yes, please." in text(memory, HOME)


def test_what_was_changed_in_the_archive_comes_back_changed(memory: Group) -> None:
    archive(memory, [OLD])
    write(memory, [Edit(SHELF, entry="Old plan", set=(("Status", "active"),))])
    before = said(memory.repository)

    restore(memory, OLD)

    assert text(memory, HOME) == DECISIONS.replace("superseded", "active")
    assert said(memory.repository) == before


def test_of_several_the_newest_comes_back_first(memory: Group) -> None:
    archive(memory, [OLD])
    write(memory, [Edit(HOME, "Again.", entry="Old plan")])
    archive(memory, [OLD])

    restore(memory, OLD)

    assert "Again." in text(memory, HOME)
    assert "Again." not in text(memory, SHELF)
    with pytest.raises(Conflict, match="has an entry 'Old plan' already"):
        restore(memory, f"{SHELF}#old-plan")


def test_a_slug_that_became_another_entrys_is_no_hindrance(memory: Group) -> None:
    put(memory, "a.md", "### A\n1\n\n### a-2\n2\n\n### a\n3\n")
    before = files(memory)
    done = archive(memory, ["a.md#a", "a.md#a-2", "a.md#a-3"])
    assert [each.address for each in done.archived] == [
        *("archive/a.md#a", "archive/a.md#a-2", "archive/a.md#a-3")
    ]

    restore(memory, "archive/a.md#a-3")
    restore(memory, "archive/a.md#a")
    restore(memory, "archive/a.md#a-2")

    assert files(memory).keys() == before.keys()
    assert sorted(files(memory)["a.md"].split()) == sorted(before["a.md"].split())


def test_an_entry_whose_file_was_archived_whole_comes_back_alone(memory: Group) -> None:
    remove(memory, HOME)
    before = said(memory.repository)

    restore(memory, OLD)

    assert text(memory, HOME).startswith("### Old plan\n")
    assert "Use ESM only" in text(memory, SHELF)
    assert said(memory.repository) == before


def test_an_entry_that_was_deleted_comes_back_from_the_history(memory: Group) -> None:
    head = memory.repository.tip()
    put(memory, HOME, WITHOUT)
    put(memory, "state.md", "Later.\n")

    done = restore(memory, OLD)

    assert text(memory, HOME) == DECISIONS
    assert (done.address, done.source) == (OLD, "")
    assert text_at(memory, done.from_commit, HOME) == DECISIONS
    assert done.from_commit == head
    assert message(memory).all("Gitmem-Restores") == (head,)
    assert message(memory).all("Gitmem-From") == (OLD,)


def text_at(group: Group, commit: str, path: str) -> str:
    return git(group.gitdir, "show", f"{commit}:{path}")


def test_a_deletion_in_an_editor_is_captured_and_taken_back(memory: Group) -> None:
    edit(memory, HOME, WITHOUT)

    done = restore(memory, OLD)

    assert [each.path for each in done.captured] == [HOME]
    assert text(memory, HOME) == DECISIONS
    assert is_clean(memory)


def test_an_edit_of_the_entry_alone_is_taken_back(memory: Group) -> None:
    damaged = DECISIONS.replace("It is time.", "oops").replace("2026-01-03", "2026-01-04")
    edit(memory, HOME, damaged)

    restore(memory, ESM)

    assert text(memory, HOME) == DECISIONS.replace("2026-01-03", "2026-01-04")


def test_a_deletion_counts_more_than_an_older_one_in_the_archive(memory: Group) -> None:
    archive(memory, [OLD])
    write(memory, [Edit(HOME, "Again.", entry="Old plan")])
    edit(memory, HOME, WITHOUT)

    restore(memory, OLD)

    assert "Again." in text(memory, HOME)
    assert "superseded" in text(memory, SHELF)


def test_it_is_found_through_the_moves_of_its_file(memory: Group) -> None:
    put(memory, "notes/a.md", "### One\ntext\n\n### Two\nmore\n")
    put(memory, "notes/a.md", "### Two\nmore\n")
    move(memory, "notes/a.md", "notes/b.md")

    restore(memory, "notes/b.md#one")

    assert text(memory, "notes/b.md") == "### One\ntext\n\n### Two\nmore\n"


def test_a_file_that_is_gone_is_made_again_with_the_entry_alone(memory: Group) -> None:
    (memory.worktree / HOME).unlink()

    restore(memory, TEA)

    assert text(memory, HOME) == "### Keep tea\n- **Date:** 2026-01-03\n"


def test_what_stands_there_asks_which_version(memory: Group) -> None:
    write(memory, [Edit(HOME, "It was time.", entry="Use ESM only")])
    write(memory, [Edit(HOME, "It will be time.", entry="Use ESM only")])
    write(memory, [Edit(HOME, "Other.", entry="Old plan")])
    before = count(memory)

    with pytest.raises(ChooseVersion, match="choose a version") as caught:
        restore(memory, ESM)

    assert count(memory) == before
    versions = caught.value.facts["versions"]
    assert isinstance(versions, list)
    assert [each["op"] for each in versions] == ["write", "write"]
    command = shlex.split(versions[0]["command"])
    assert command[:4] == ["gitmem", "restore", ESM, "--at"]
    restore(memory, ESM, at=command[4])
    assert "It was time." in text(memory, HOME)
    assert "Other." in text(memory, HOME)


def test_what_never_was_different_is_told(memory: Group) -> None:
    with pytest.raises(Conflict, match="no other version"):
        restore(memory, TEA)


def test_a_version_replaces_the_lines_of_the_entry_alone(memory: Group) -> None:
    first = memory.repository.tip()
    write(memory, [Edit(HOME, "It was time.", entry="Use ESM only")])
    write(memory, [Edit(HOME, "Other.", entry="Keep tea")])
    write(memory, [Edit(HOME, "It will be time.", entry="Use ESM only")])

    restore(memory, ESM, previous=True)
    assert "It was time." in text(memory, HOME)
    done = restore(memory, ESM, at=first)

    assert done.from_commit == first
    assert text(memory, HOME) == DECISIONS + "\nOther.\n"
    assert restore(memory, ESM, at=first).changes == ()


def test_versions_that_never_were_are_told(memory: Group) -> None:
    head = memory.repository.tip()

    with pytest.raises(NotFound, match="no earlier version"):
        restore(memory, TEA, previous=True)
    with pytest.raises(NotFound) as caught:
        restore(memory, "decisions#keep-te")
    assert "Keep tea (#keep-tea)" in caught.value.hint
    with pytest.raises(NotFound):
        restore(memory, "decisions#keep-te", at="HEAD")
    with pytest.raises(PathNotFound):
        restore(memory, TEA, at="HEAD~7")
    with pytest.raises(MomentNotFound):
        restore(memory, TEA, at="HEAD~70")
    with pytest.raises(NotFound):
        restore(memory, "never.md#x")
    with pytest.raises(NotFound):
        restore(memory, f"{SHELF}#x")
    assert memory.repository.tip() == head


def test_a_version_is_restored_where_the_entry_is_gone(memory: Group) -> None:
    first = memory.repository.tip()
    archive(memory, [OLD])

    restore(memory, OLD, at=first)

    assert text(memory, HOME) == DECISIONS
    assert len(archived(memory).archived) == 1, "what was asked for is an old version"


def test_a_credential_does_not_come_back_unasked(memory: Group) -> None:
    (token, *_) = narrow()["github-token"]
    allowed = Allowed(secrets=("github-token",), shrink=True)
    write(memory, [Edit("notes.md", f"### Key\n{token}\n")], allowed=allowed)
    put(memory, "notes.md", "### Other\n")

    with pytest.raises(SecretFound):
        restore(memory, "notes.md#key")
    restore(memory, "notes.md#key", allowed=allowed)

    assert token in text(memory, "notes.md")


def test_a_credential_that_was_let_in_may_go_to_the_archive_and_back(memory: Group) -> None:
    (token, *_) = narrow()["github-token"]
    allowed = Allowed(secrets=("github-token",))
    write(memory, [Edit("notes.md", f"### Key\n{token}\n")], allowed=allowed)

    archive(memory, ["notes.md#key"])
    restore(memory, "notes.md#key")

    assert text(memory, "notes.md") == f"### Key\n{token}\n"


def test_a_file_whose_name_has_the_mark_is_still_a_file(memory: Group) -> None:
    put(memory, "C#", "one\n")
    put(memory, "odd.md#x", "two\n")
    for path in ("C#", "odd.md#x"):
        (memory.worktree / path).unlink()
        restore(memory, path)
        assert (memory.worktree / path).exists()


def test_an_edit_of_the_archive_that_was_not_captured_is_kept(memory: Group) -> None:
    archive(memory, [OLD])
    with (memory.worktree / SHELF).open("a") as file:
        file.write("\n### By hand\nstays\n")

    restore(memory, OLD)

    assert text(memory, HOME) == DECISIONS
    assert text(memory, SHELF) == "### By hand\nstays\n"
    assert is_clean(memory)


@pytest.mark.parametrize("path", ["facts/tea.md", "loose.md", "1/2/3/4/5/6/7/8.md"])
def test_an_archived_file_moves_back_to_its_path(memory: Group, path: str) -> None:
    put(memory, path, "one\n")
    before = files(memory)
    archive(memory, [path])

    done = restore(memory, path, reason="needed")

    assert files(memory) == before
    assert done.address == path
    assert message(memory).all("Gitmem-From") == (done.source,)
    assert message(memory).op == "restore"
    assert is_clean(memory)


def test_an_archived_file_can_be_named_where_it_stands_now(memory: Group) -> None:
    put(memory, "facts/tea.md", "Ada drinks tea.\n")
    archive(memory, ["facts/tea.md"])

    done = restore(memory, "archive/facts/tea.md")

    assert [each.path for each in done.changes if each.change == "created"] == ["facts/tea.md"]
    assert memory.repository.snapshot().oid("archive/facts/tea.md") is None


def test_a_damaged_file_of_the_archive_comes_back_where_it_stands(memory: Group) -> None:
    put(memory, "facts/tea.md", "Ada drinks tea.\n")
    archive(memory, ["facts/tea.md"])
    (memory.worktree / "archive/facts/tea.md").write_text("")

    restore(memory, "archive/facts/tea.md")

    assert (memory.worktree / "archive/facts/tea.md").read_text() == "Ada drinks tea.\n"
    assert not (memory.worktree / "facts/tea.md").exists()


def test_of_several_archived_files_the_newest_moves_back(memory: Group) -> None:
    for text_ in ("one\n", "two\n"):
        put(memory, "a.md", text_)
        archive(memory, ["a.md"])

    assert restore(memory, "a.md").source == "archive/a-2.md"
    assert text(memory, "a.md") == "two\n"
    assert text(memory, "archive/a.md") == "one\n"


def test_a_file_of_the_archive_that_was_another_one_stays_there(memory: Group) -> None:
    put(memory, "a.md", "one\n")
    put(memory, "archive/a.md", "another\n")
    edit(memory, "a.md", "")
    (memory.worktree / "a.md").unlink()

    restore(memory, "a.md")

    assert text(memory, "a.md") == "one\n"
    assert text(memory, "archive/a.md") == "another\n"
