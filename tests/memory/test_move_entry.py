"""An entry moves from file to file as one commit, line for line."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitmem.errors import (
    BadInput,
    Conflict,
    EntryRefused,
    NotFound,
    PathRefused,
    SecretFound,
    TooBig,
)
from gitmem.memory.entries.entries import entries
from gitmem.memory.entries.move_entry import move_entry
from gitmem.memory.group import Group
from gitmem.memory.recover.undo import undo
from gitmem.memory.write.write import Allowed, Edit, write
from gitmem.model.commit_messages import parse as parse_message
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.samples import narrow

LAYOUT = """\
gitmem: 1
layers:
  decisions:
    kind: entries
    path: reference/decisions.md
    fields: [Date, Decided by, Decision, Status, Importance, Type]
    status: [active, superseded]
    types: [strategic, procedural]
  ideas:
    kind: entries
    path: reference/ideas.md
    fields: [Date, Source, Status, Importance, Type]
    status: [raw, ready-to-commit, dropped]
"""
IDEAS = """\
# Ideas

### Try gleam
- **Date:** 2026-01-01
- **Status:** raw

### Use ESM only
- **Date:** 2026-01-02
- **Source:** Ada
- **Status:** ready-to-commit
- **Importance:** 2
- **Type:** strategic

It is time.
"""
DECISIONS = "# Decisions\r\n\r\n(No decisions yet.)\r\n"


@pytest.fixture
def memory(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    put(group, "reference/ideas.md", IDEAS)
    put(group, "reference/decisions.md", DECISIONS)
    return group


def text(group: Group, path: str) -> str:
    return (group.repository.snapshot().read(path) or b"").decode()


def count(group: Group) -> int:
    return int(git(group.gitdir, "rev-list", "--count", "main"))


def lines(group: Group) -> Counter[str]:
    """What all files say, by lines."""
    snapshot = group.repository.snapshot()
    said = [(snapshot.read(path) or b"").decode().splitlines() for path, _ in snapshot.files()]
    return Counter(line for each in said for line in each if line.strip())


def test_a_ripe_idea_becomes_a_decision_in_one_commit(memory: Group) -> None:
    before = count(memory)

    moved = move_entry(
        memory,
        "reference/ideas.md#use-esm-only",
        "decisions",
        fields={"status": "active", "Decided by": "the team"},
        reason="agreed today",
    )

    assert count(memory) == before + 1
    assert moved.commit == memory.repository.tip()
    assert moved.source == "reference/ideas.md#use-esm-only"
    assert moved.address == "reference/decisions.md#use-esm-only"
    assert moved.warnings == ()
    assert text(memory, "reference/ideas.md") == IDEAS[: IDEAS.index("\n### Use")]
    assert text(memory, "reference/decisions.md") == DECISIONS + (
        "\n### Use ESM only\n- **Date:** 2026-01-02\n- **Decided by:** the team\n"
        "- **Source:** Ada\n- **Status:** active\n- **Importance:** 2\n"
        "- **Type:** strategic\n\nIt is time.\n"
    ).replace("\n", "\r\n")
    assert (memory.worktree / "reference/decisions.md").read_bytes().endswith(b"time.\r\n")
    assert git(memory.worktree, "status", "--porcelain") == ""


def test_the_commit_says_what_moved_from_where(memory: Group) -> None:
    moved = move_entry(memory, "ideas#use-esm-only", "reference/decisions.md", reason="agreed")

    message = parse_message(git(memory.gitdir, "log", "-1", "--format=%B"))
    assert message.op == "move-entry"
    assert message.all("Gitmem-From") == ("reference/ideas.md#use-esm-only",)
    assert message.reason == "agreed"
    assert message.subject == (
        "move-entry(reference/ideas.md): Use ESM only -> reference/decisions.md"
    )
    assert sorted(git(memory.gitdir, "show", "--name-only", "--format=", moved.commit).split()) == [
        "reference/decisions.md",
        "reference/ideas.md",
    ]


def test_without_fields_to_set_every_line_is_conserved(memory: Group) -> None:
    before = lines(memory)

    move_entry(memory, "ideas#use-esm-only", "archive/old.md")

    assert lines(memory) == before
    assert text(memory, "archive/old.md").startswith("### Use ESM only\n")


def test_a_status_that_the_target_does_not_know_is_a_warning(memory: Group) -> None:
    moved = move_entry(memory, "ideas#try-gleam", "decisions")

    assert any("unknown status 'raw'" in each for each in moved.warnings)
    assert any("no importance" in each for each in moved.warnings)


def test_a_strict_target_refuses_such_a_status(memory: Group) -> None:
    strict = LAYOUT.replace("types: [strategic", "strict: true\n    types: [strategic")
    put(memory, "gitmem.yaml", strict)
    before = memory.repository.tip()

    with pytest.raises(EntryRefused, match="'raw'"):
        move_entry(memory, "ideas#try-gleam", "decisions")

    assert memory.repository.tip() == before
    assert move_entry(memory, "ideas#try-gleam", "decisions", fields={"Status": "active"}).commit


def test_another_entry_of_that_title_is_a_conflict(memory: Group) -> None:
    put(memory, "reference/decisions.md", "### use  ESM only\n- **Date:** 2025-01-01\n")
    before = memory.repository.tip()

    with pytest.raises(Conflict, match="has an entry 'use  ESM only' already"):
        move_entry(memory, "ideas#use-esm-only", "decisions")

    assert memory.repository.tip() == before


def test_the_same_entry_is_only_taken_out_where_it_was(memory: Group) -> None:
    block = IDEAS[IDEAS.index("### Use") :]
    put(memory, "reference/decisions.md", f"# Decisions\n\n{block}\n### Other\n")

    moved = move_entry(memory, "ideas#use-esm-only", "decisions")

    assert text(memory, "reference/decisions.md") == f"# Decisions\n\n{block}\n### Other\n"
    assert "ESM" not in text(memory, "reference/ideas.md")
    assert moved.address == "reference/decisions.md#use-esm-only"


@pytest.mark.parametrize("address", ["ideas#use-ems-only", "reference/ideas.md#use-ems-only"])
def test_an_unknown_entry_is_told_with_near_ones(memory: Group, address: str) -> None:
    with pytest.raises(NotFound) as caught:
        move_entry(memory, address, "decisions")

    assert "Use ESM only (#use-esm-only)" in caught.value.hint


def test_what_cannot_be_is_told(memory: Group) -> None:
    with pytest.raises(NotFound, match=r"no file 'reference/none\.md"):
        move_entry(memory, "reference/none.md#x", "decisions")
    with pytest.raises(BadInput, match="is not the address of an entry"):
        move_entry(memory, "reference/ideas.md", "decisions")
    with pytest.raises(BadInput, match="already"):
        move_entry(memory, "ideas#try-gleam", "reference/ideas.md")
    with pytest.raises(PathRefused):
        move_entry(memory, "ideas#try-gleam", "../elsewhere.md")
    with pytest.raises(PathRefused, match="is a folder"):
        move_entry(memory, "ideas#try-gleam", "reference")
    with pytest.raises(BadInput, match="has no value"):
        move_entry(memory, "ideas#try-gleam", "decisions", fields={"Status": ""})
    put(memory, "raw.md", b"\xff\n")
    with pytest.raises(BadInput, match="not UTF-8"):
        move_entry(memory, "ideas#try-gleam", "raw.md")


def test_a_twin_of_an_existing_name_is_refused(memory: Group) -> None:
    with pytest.raises(PathRefused, match="differs"):
        move_entry(memory, "ideas#try-gleam", "Reference/other.md")


def test_an_edit_that_was_not_captured_yet_is_taken_in_first(memory: Group) -> None:
    edit(memory, "reference/ideas.md", IDEAS.replace("It is time.", "It is high time.") + "\nPS\n")
    edit(memory, "reference/decisions.md", "# Decisions\n\nEdited by hand.\n")

    moved = move_entry(memory, "ideas#use-esm-only", "decisions")

    assert sorted(each.path for each in moved.captured) == [
        "reference/decisions.md",
        "reference/ideas.md",
    ]
    assert "Edited by hand." in text(memory, "reference/decisions.md")
    assert text(memory, "reference/decisions.md").endswith("It is high time.\n\nPS\n")


def test_an_entry_that_only_stands_in_an_edit_can_be_moved(memory: Group) -> None:
    edit(memory, "reference/new.md", "### Fresh\nfrom an editor\n")

    move_entry(memory, "reference/new.md#fresh", "decisions")

    assert "from an editor" in text(memory, "reference/decisions.md")


def test_what_is_set_on_the_way_is_searched_for_secrets_and_what_stood_there_is_not(
    memory: Group,
) -> None:
    one, other = narrow()["github-token"][:2]
    allowed = Allowed(secrets=("github-token",), shrink=True)
    write(memory, [Edit("reference/ideas.md", f"### Held\n{one}\n")], allowed=allowed)

    with pytest.raises(SecretFound):
        move_entry(memory, "reference/ideas.md#held", "a.md", fields={"Note": other})
    move_entry(memory, "ideas#held", "decisions")

    assert one in text(memory, "reference/decisions.md")


def test_a_target_may_not_grow_beyond_what_a_file_may_have(memory: Group) -> None:
    many = "a line of some length\n" * 30_000
    put(memory, "here.md", f"### Long\n{many}")
    put(memory, "there.md", many)

    with pytest.raises(TooBig):
        move_entry(memory, "here.md#long", "there.md")


def test_a_move_can_be_undone(memory: Group) -> None:
    moved = move_entry(memory, "ideas#use-esm-only", "decisions", fields={"Status": "active"})

    undo(memory, [moved.commit])

    assert text(memory, "reference/ideas.md") == IDEAS
    assert text(memory, "reference/decisions.md") == DECISIONS


TITLES = st.sampled_from(["One", "Two", "two", "Three 2", "C#", "???", "größe"])
BODIES = st.sampled_from(["", "- **Status:** raw\n", "text\n\nmore\n", "```\n### no\n```\n", "x"])
BLOCKS = st.lists(st.tuples(TITLES, BODIES), min_size=1, max_size=5, unique_by=lambda x: x[0])


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(BLOCKS, st.data())
def test_no_line_is_lost_or_made_by_any_move(
    group: Group, blocks: list[tuple[str, str]], data: st.DataObject
) -> None:
    body = "# Here\n\n" + "\n".join(f"### {title}\n{body}" for title, body in blocks)
    put(group, "here.md", body)
    put(group, "there.md", "# There\n")
    before = lines(group)
    chosen = data.draw(st.sampled_from(entries(group, "here.md").entries))

    moved = move_entry(group, chosen.address, "there.md")

    assert lines(group) == before
    assert [each.title for each in entries(group, "there.md").entries] == [chosen.title]
    assert moved.title == chosen.title
