"""Files that stay on disk and out of memory by somebody's decision."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BadInput, GroupRefused, NotFound, PathRefused, Refused
from gitmem.memory.admin.check import check_group
from gitmem.memory.admin.init import init
from gitmem.memory.context.inject import inject
from gitmem.memory.group import Group
from gitmem.memory.read.status import status
from gitmem.memory.recover.held import held_list
from gitmem.memory.recover.ignore import held_ask, held_ignore, held_ignored
from gitmem.memory.upkeep.maintain import maintain
from gitmem.memory.write.capture import capture
from gitmem.memory.write.count_edits import is_unchanged
from gitmem.memory.write.move import move
from gitmem.memory.write.open_edits import pending_edits
from gitmem.model.guards import MAX_FILE
from gitmem.model.ignore import IgnorePattern, check_pattern, exclude_line, literal
from tests.memory.test_held import SECRET
from tests.support.clocks import Clock
from tests.support.git import git
from tests.support.histories import edit, put

BIG = b"%PDF" + b"x" * MAX_FILE


def test_a_file_that_is_ignored_stays_and_is_never_asked_about(group: Group) -> None:
    put(group, "a.md", "one\n")
    edit(group, "vault/paper.pdf", BIG)
    edit(group, "small.pdf", b"%PDF small")
    (group.worktree / "link.pdf").symlink_to("/etc/passwd")
    edit(group, "key.pdf", f"{SECRET}\n")

    done = held_ignore(group, "*.pdf", reason="belongs to the vault")

    assert done.paths == ("key.pdf", "link.pdf", "small.pdf", "vault/paper.pdf")
    assert (done.added, done.in_history) == (True, ())
    assert held_list(group) == ()
    found = status(group)
    assert (found.health, found.held, found.edits) == ("ok", (), ())
    assert found.ignored_by_pattern == 4
    assert capture(group).captured == ()
    maintain(group)
    assert check_group(group.store, group.name).findings == ()
    assert [path for path, _ in group.repository.snapshot().files()] == ["a.md"]
    assert (group.worktree / "vault" / "paper.pdf").read_bytes() == BIG
    assert is_unchanged(group, group.repository.snapshot())
    assert inject(group).manifest.held == 0


def test_git_ignores_them_too(group: Group) -> None:
    edit(group, "vault/paper.pdf", BIG)
    edit(group, "odd [1] *.bin", BIG)
    (group.gitdir / "info").mkdir(exist_ok=True)
    (group.gitdir / "info" / "exclude").write_text("# mine\n*.own\n")
    held_ignore(group, "vault/")
    held_ignore(group, "odd [1] *.bin")

    assert git(group.worktree, "status", "--porcelain", "-uall") == ""
    git(group.worktree, "clean", "-fdq")
    assert (group.worktree / "vault" / "paper.pdf").exists()
    assert (group.worktree / "odd [1] *.bin").exists()
    held_ask(group, "vault/")
    held_ask(group, "odd [1] *.bin")
    assert (group.gitdir / "info" / "exclude").read_text() == "# mine\n*.own\n.gitmem-*\n"


def test_a_path_means_that_path_whatever_signs_it_has(group: Group) -> None:
    edit(group, "odd [1].md", BIG)
    edit(group, "odd 1.md", BIG)
    edit(group, "deep/odd [1].md", BIG)

    assert held_ignore(group, "odd [1].md").paths == ("odd [1].md",)
    assert held_ignore(group, str(group.worktree / "deep" / "odd [1].md")).paths == (
        "deep/odd [1].md",
    )
    assert [each.path for each in held_list(group)] == ["odd 1.md"]
    held_ask(group, "odd [1].md")
    assert [each.path for each in held_list(group)] == ["odd 1.md", "odd [1].md"]


def test_who_decided_when_and_why_is_known(group: Group) -> None:
    edit(group, "paper.pdf", BIG)
    held_ignore(group, "*.pdf", reason="not memory")
    assert not held_ignore(group, "*.pdf").added

    (row,) = held_ignored(group)

    assert (row.pattern, row.agent, row.reason, row.paths) == ("*.pdf", "ada", "not memory", 1)
    assert row.at.startswith("2026-02-08T12:")
    assert held_ask(group, "*.pdf").pattern == "*.pdf"
    assert held_ignored(group) == ()
    with pytest.raises(NotFound, match="no pattern"):
        held_ask(group, "*.pdf")


def test_a_dry_run_decides_nothing(group: Group) -> None:
    edit(group, "paper.pdf", BIG)

    assert held_ignore(group, "*.pdf", dry_run=True).paths == ("paper.pdf",)
    assert held_ignored(group) == ()
    assert len(held_list(group)) == 1


def test_what_is_in_the_history_cannot_be_ignored(group: Group) -> None:
    put(group, "notes/a.md", "one\n")
    edit(group, "notes/a.md", f"{SECRET}\n")

    for name in ("notes/a.md", "notes", "notes/", str(group.worktree / "notes" / "a.md")):
        with pytest.raises(Refused, match="git has"):
            held_ignore(group, name)
    assert held_ignore(group, "n*/").in_history == ("notes/a.md",)
    assert [each.path for each in held_list(group)] == ["notes/a.md"]
    edit(group, "notes/a.md", "changed\n")
    edit(group, "notes/b.md", "new\n")
    assert [each.path for each in capture(group).captured] == ["notes/a.md"]


def test_nothing_is_written_over_a_file_that_is_ignored(group: Group) -> None:
    edit(group, "drafts/mine.md", "private\n")
    put(group, "a.md", "one\n")
    held_ignore(group, "drafts/")

    for act in (
        lambda: put(group, "drafts/mine.md", "an agent's\n"),
        lambda: put(group, "drafts/new.md", "an agent's\n"),
        lambda: move(group, "a.md", "drafts/a.md"),
    ):
        with pytest.raises(PathRefused, match="is ignored in this group by"):
            act()
    assert (group.worktree / "drafts" / "mine.md").read_text() == "private\n"
    held_ask(group, "drafts/")
    assert put(group, "drafts/new.md", "an agent's\n").commit


def test_a_file_that_moves_into_an_ignored_folder_leaves_memory(group: Group) -> None:
    put(group, "a.md", "one\n")
    held_ignore(group, "drafts/")
    (group.worktree / "drafts").mkdir()
    os.rename(group.worktree / "a.md", group.worktree / "drafts" / "a.md")

    assert [each.change for each in pending_edits(group).edits] == ["deleted"]
    capture(group)
    assert (group.worktree / "drafts" / "a.md").read_text() == "one\n"


def test_maintenance_captures_what_is_ignored_no_more(group: Group, clock: Clock) -> None:
    edit(group, "draft.md", "text\n")
    held_ignore(group, "draft.md")
    for _ in range(2):
        clock.advance(minutes=5)
        maintain(group)
    assert group.repository.snapshot().oid("draft.md") is None

    held_ask(group, "draft.md")
    maintain(group)

    assert group.repository.snapshot().oid("draft.md")


@pytest.mark.parametrize(
    "text", ["*", "**", "/", "", "*/**", "!a.md", "# x", "a\nb", "*.yaml", "../x", "a/./b"]
)
def test_a_pattern_of_everything_or_nothing_is_refused(group: Group, text: str) -> None:
    with pytest.raises(BadInput):
        held_ignore(group, text)


def test_readers_of_global_ignore_nothing_there(group: Group) -> None:
    init(group.store, "global")
    reader = Group(group.store, "global", acting="research")

    with pytest.raises(GroupRefused):
        held_ignore(reader, "*.pdf")
    reader.close()


def test_a_torn_line_takes_no_other_decision_back(group: Group) -> None:
    held_ignore(group, "*.pdf")
    path = group.gitdir / "gitmem" / "ignored"
    path.write_bytes(b'{"pattern": "x\n\xff\xfe\n[]\n' + path.read_bytes())

    assert [each.pattern for each in held_ignored(group)] == ["*.pdf"]


PARTS = st.text("ab*?[]!. ", min_size=1, max_size=4).filter(lambda part: part.strip(" ."))


@given(st.lists(st.text("ab.", min_size=1, max_size=3), min_size=1, max_size=4))
def test_a_literal_pattern_fits_its_path_and_what_lies_below(names: list[str]) -> None:
    path = "/".join(names)

    assert IgnorePattern(literal(path)).fits(path)
    assert IgnorePattern(literal(path)).fits(f"{path}/below")
    assert IgnorePattern(literal(path, folder=True)).fits(f"{path}/")
    assert not IgnorePattern(literal(path)).fits(f"{path}x")
    assert not IgnorePattern(literal(path)).fits(f"x/{path}")


PATTERNS = (
    "*.pdf",
    "/a.pdf",
    "a/*.pdf",
    "a/",
    "a/**",
    "a/**/c.pdf",
    "**/c.pdf",
    "b/c.pdf",
    "?.pdf",
    "[ab].pdf",
    "[!a].pdf",
    "b",
    "c",
    "a/b/",
)
FILES = ("a.pdf", "a/c.pdf", "a/b/c.pdf", "b.pdf", "b/c.pdf", "x/a/c.pdf", "x/b/c.pdf", "c", "abc")


def test_patterns_are_read_as_git_reads_them(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    for pattern in PATTERNS:
        (tmp_path / ".git" / "info" / "exclude").write_text(exclude_line(check_pattern(pattern)))
        asked = git(tmp_path, "check-ignore", "--stdin", input="\n".join(FILES), check=False)
        fitting = {path for path in FILES if IgnorePattern(pattern).fits(path)}
        assert fitting == set(asked.split()), pattern
