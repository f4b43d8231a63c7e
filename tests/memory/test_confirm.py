"""Entries that are still true say so, with the day."""

from __future__ import annotations

import re
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import (
    BadInput,
    DoesNotAge,
    GitmemError,
    NotFound,
    PathNotFound,
)
from gitmem.memory.curate.archive import archive, archive_files
from gitmem.memory.entries.confirm import _dated_entries, confirm, confirmed_files
from gitmem.memory.entries.entries import entries
from gitmem.memory.entries.targets import Target
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.model.entries.blocks import parse
from tests.support.clocks import Clock
from tests.support.days import blamed
from tests.support.git import git
from tests.support.histories import edit, put
from tests.support.shelves import (
    DECISIONS,
    ESM,
    LAYOUT,
    OLD,
    SHELF,
    TEA,
    count,
    files,
    furnish,
    is_clean,
    message,
    text,
)

HOME = "reference/decisions.md"
TODAY = "2026-02-08"


@pytest.fixture
def memory(group: Group) -> Group:
    return furnish(group)


def test_a_confirmed_entry_has_the_day_behind_its_fields(memory: Group) -> None:
    done = confirm(memory, [ESM], reason="asked Ada")

    assert done.confirmed == (ESM,)
    assert str(done.date) == TODAY
    assert text(memory, HOME) == DECISIONS.replace(
        "- **Status:** active\n", f"- **Status:** active\n- **Confirmed:** {TODAY}\n"
    )
    words = message(memory)
    assert (words.op, words.reason) == ("confirm", "asked Ada")
    assert words.subject.startswith(f"confirm({HOME}): still true: ")
    assert done.commit == memory.repository.tip()
    assert is_clean(memory)


def test_several_are_one_commit(memory: Group) -> None:
    before = count(memory)

    done = confirm(memory, [ESM, "decisions#Keep tea", "facts/tea.md", "ideas#try-gleam", TEA])

    assert count(memory) == before + 1
    assert done.confirmed == (ESM, TEA, "facts/tea.md", "reference/ideas.md#try-gleam")
    assert text(memory, HOME).count(f"- **Confirmed:** {TODAY}") == 2
    fact = f"---\nsummary: tea\nconfirmed: {TODAY}\n---\nAda likes tea\n"
    assert text(memory, "facts/tea.md") == fact
    assert is_clean(memory)


def test_a_second_time_on_a_day_is_no_commit(memory: Group, clock: Clock) -> None:
    confirm(memory, [ESM, "facts/tea.md"])
    before = count(memory)

    again = confirm(memory, [ESM, "facts/tea.md"])

    assert (again.confirmed, again.already) == ((), (ESM, "facts/tea.md"))
    assert count(memory) == before
    clock.advance(days=1)
    both = confirm(memory, [ESM, TEA])
    assert both.confirmed == (ESM, TEA)
    assert text(memory, HOME).count("- **Confirmed:** 2026-02-09") == 2
    assert TODAY not in text(memory, HOME)


def test_only_what_was_not_confirmed_today_is_written(memory: Group) -> None:
    confirm(memory, [ESM])

    done = confirm(memory, [ESM, TEA])

    assert (done.confirmed, done.already) == ((TEA,), (ESM,))


def test_plain_blame_sees_it_and_the_entry_is_of_that_day(memory: Group, clock: Clock) -> None:
    clock.set("2026-05-01T12:00:00+00:00")

    confirm(memory, [OLD])

    dates = {line: day for day, line in blamed(memory.worktree, HOME)}
    assert dates["- **Confirmed:** 2026-05-01"] == "2026-05-01"
    assert dates["### Old plan"] == TODAY
    listed = {each.address: each.date for each in entries(memory, "decisions").entries}
    assert str(listed[OLD]) == "2026-05-01"


def test_the_day_is_that_of_the_group(memory: Group, clock: Clock) -> None:
    put(memory, "gitmem.yaml", LAYOUT.replace("UTC", "Pacific/Auckland"))
    clock.set("2026-02-08T20:00:00+00:00")

    assert str(confirm(memory, [ESM]).date) == "2026-02-09"
    assert "- **Confirmed:** 2026-02-09" in text(memory, HOME)


@pytest.mark.parametrize(
    ("thing", "error", "words"),
    [
        ("laws.md#be-kind", DoesNotAge, "protected"),
        ("diary/2026-02-07.md", DoesNotAge, "journal"),
        ("state.md", DoesNotAge, "document"),
        ("state.md#x", DoesNotAge, "document"),
        ("loose.md", DoesNotAge, "no layer"),
        (f"{SHELF}#old-plan", DoesNotAge, "in the archive"),
        (HOME, BadInput, "file of entries"),
        ("facts/tea.md#x", BadInput, "one note"),
        ("decisions#keep-te", NotFound, "no entry"),
        ("facts/coffee.md", PathNotFound, "no file 'facts/coffee.md'"),
        ("decisions", PathNotFound, "no file 'decisions'"),
        ("facts", PathNotFound, "folder"),
        ("", BadInput, "as a whole"),
    ],
)
def test_what_does_not_age_is_refused_with_a_reason(
    memory: Group, thing: str, error: type[GitmemError], words: str
) -> None:
    put(memory, "loose.md", "x\n")
    archive(memory, [OLD])
    head = memory.repository.tip()

    with pytest.raises(error, match=words):
        confirm(memory, [ESM, thing])
    assert memory.repository.tip() == head
    assert is_clean(memory)


def test_a_layer_that_does_not_age_or_is_only_added_to_refuses(memory: Group) -> None:
    put(memory, "gitmem.yaml", LAYOUT.replace("    ages: true\n", "", 1))
    with pytest.raises(DoesNotAge, match="decisions"):
        confirm(memory, [ESM])

    put(
        memory,
        "gitmem.yaml",
        LAYOUT.replace("ages: true", "ages: true\n    policy: append-only", 1),
    )
    with pytest.raises(DoesNotAge, match="append-only"):
        confirm(memory, [ESM])


def test_a_near_miss_is_suggested(memory: Group) -> None:
    with pytest.raises(NotFound) as caught:
        confirm(memory, ["decisions#keep-te"])
    assert "Keep tea (#keep-tea)" in caught.value.hint


def test_nothing_to_confirm_is_a_mistake(memory: Group) -> None:
    with pytest.raises(BadInput, match="nothing to confirm"):
        confirm(memory, [])


def test_the_right_one_of_several_of_a_name_is_confirmed(memory: Group) -> None:
    put(memory, HOME, "### Foo!\none\n\n### foo\ntwo\n\n### Foo!\nthree\n")

    confirm(memory, ["decisions#foo"])
    assert text(memory, HOME).startswith(
        f"### Foo!\n- **Confirmed:** {TODAY}\n\none\n\n### foo\ntwo"
    )
    confirm(memory, ["decisions#foo-2", "decisions#foo-3"])

    assert text(memory, HOME).count("Confirmed") == 3


def test_an_edit_that_was_not_captured_yet_is_taken_in_first(memory: Group) -> None:
    edit(memory, HOME, DECISIONS + "\n### Fresh\nfrom an editor\n")
    edit(memory, "facts/new.md", "new\n")

    done = confirm(memory, ["decisions#fresh", "facts/new.md"])

    assert {each.path for each in done.captured} == {HOME, "facts/new.md"}
    assert text(memory, HOME).endswith(f"- **Confirmed:** {TODAY}\n\nfrom an editor\n")
    assert text(memory, "facts/new.md") == f"---\nconfirmed: {TODAY}\n---\nnew\n"


def test_a_key_in_other_letters_is_the_same_key(memory: Group) -> None:
    put(memory, "facts/tea.md", "---\nConfirmed: 2026-01-01\n---\ntea\n")

    confirm(memory, ["facts/tea.md"])

    assert text(memory, "facts/tea.md") == f"---\nConfirmed: {TODAY}\n---\ntea\n"


BODIES = st.lists(
    st.sampled_from(
        [
            *("- **Status:** active\n", "text\n", "\n", "    indented\n", "```\n### no\n```\n"),
            *("* Confirmed: 2025-01-01\n", "#### deeper\n", "**Date:** 2026-01-01\r\n"),
        ]
    ),
    max_size=5,
).map("".join)


@given(st.lists(BODIES, min_size=1, max_size=3), st.data())
def test_no_other_line_changes(bodies: list[str], data: st.DataObject) -> None:
    before = "# Here\n\n" + "".join(f"### T{at}\n{body}" for at, body in enumerate(bodies))
    known = parse(before)
    chosen = data.draw(st.integers(0, len(known) - 1))

    try:
        names = [known[chosen].slug]
        _, after = _dated_entries("x.md", before, names, (), date(2026, 2, 8))
    except BadInput:  # better than a change that reads otherwise: there is no place for a field
        assert re.match(r"### T\d\n\s*    indented\n(.|\n)*####", known[chosen].block)
        return

    entry = parse(after)[chosen]
    assert entry.field("Confirmed").split("\n")[0] == TODAY
    assert after.startswith("".join(before.splitlines(True)[: known[chosen].start]))
    assert after.endswith("".join(before.splitlines(True)[known[chosen].end :]))
    kept = [x for x in known[chosen].block.splitlines() if x.strip() and "Confirmed" not in x]
    now = [x for x in entry.block.splitlines() if x.strip() and "Confirmed" not in x]
    assert [x.strip() for x in now] == [x.strip() for x in kept]


def test_git_agrees_that_one_line_was_added(memory: Group) -> None:
    done = confirm(memory, [ESM])

    stat = git(memory.gitdir, "show", "--numstat", "--format=", done.commit).split()
    assert stat == ["1", "0", HOME]


def test_archiving_can_be_part_of_another_commit(memory: Group) -> None:
    """As a consolidation does it: archive some, confirm others, and log what was done."""
    snapshot, layout = memory.repository.snapshot(), layout_of(memory)
    before = dict(files(memory))
    noted = {"state.md": b"All is well.\nTidied.\n"}

    first = archive_files(layout, snapshot, [Target("reference/decisions.md", "old-plan")], noted)
    second = archive_files(layout, snapshot, [Target("facts/tea.md")], first.changes)
    day = memory.now().date()
    third = confirmed_files(
        layout, snapshot, [Target("reference/decisions.md", "keep-tea")], day, second.changes
    )

    assert set(third.changes) == {
        "state.md",
        "reference/decisions.md",
        SHELF,
        "facts/tea.md",
        "archive/facts/tea.md",
    }
    assert third.changes["facts/tea.md"] is None
    changed = third.changes["reference/decisions.md"] or b""
    assert b"Old plan" not in changed
    assert b"- **Date:** 2026-01-03\n- **Confirmed:** 2026-02-08\n" in changed
    assert files(memory) == before, "nothing was written"
    assert noted == {"state.md": b"All is well.\nTidied.\n"}
