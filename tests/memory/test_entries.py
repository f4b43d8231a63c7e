"""Entries are listed from commits, with what their layer has to say about them."""

from __future__ import annotations

from datetime import date

import pytest

from gitmem.errors import BadInput, NotFound, PathNotFound
from gitmem.memory.admin.init import init
from gitmem.memory.entries.entries import entries
from gitmem.memory.entries.targets import locate_entry
from gitmem.memory.group import Group, Store
from gitmem.memory.layouts import layout_of, starter_files
from gitmem.memory.write.write import Edit, write
from tests.support.clocks import Clock
from tests.support.histories import edit, put

LAYOUT = """\
gitmem: 1
layers:
  decisions:
    kind: entries
    path: reference/decisions.md
    fields: [Date, Decision, Status, Importance, Type]
    status: [active, superseded, on hold]
    retired: [superseded]
    types: [strategic, procedural]
  ideas:
    kind: entries
    path: reference/ideas.md
    fields: [Date, Status, Importance, Type, Mood]
    status: [raw, dropped]
    retired: [dropped]
  facts:
    kind: notes
    path: facts/*.md
"""
DECISIONS = """\
# Decisions

## Code

### Use ESM only
- **Date:** 2026-01-02
- **Status:** active
- **Importance:** 2
- **Type:** procedural

### Old plan
- **Date:** 2026-01-01
- **Status:** Superseded by Use ESM only
- **Importance:** 3/5
- **Type:** Strategic.

### Odd one
- **Status:** maybe
- **Importance:** 9
- **Type:** onboarding
"""
IDEAS = "# Ideas\n\n### Try gleam\n- Mood: keen\n- **Date:** 2026-02-01\n- **Importance:** 4\n"


@pytest.fixture
def memory(group: Group) -> Group:
    put(group, "gitmem.yaml", LAYOUT)
    put(group, "reference/decisions.md", DECISIONS)
    put(group, "reference/ideas.md", IDEAS)
    put(group, "facts/ada.md", "### Ada\n- **Date:** 2026-01-05\n")
    put(group, "loose.md", "### Loose\n- **Importance:** 3\n")
    return group


def addresses(group: Group, path: str = "", **options: str) -> list[str]:
    return [each.address for each in entries(group, path, **options).entries]


def test_all_layers_of_entries_are_listed_in_order(memory: Group) -> None:
    found = entries(memory)

    assert [each.title for each in found.entries] == [
        "Use ESM only",
        "Old plan",
        "Odd one",
        "Try gleam",
    ]
    assert found.files == ("reference/decisions.md", "reference/ideas.md")
    assert found.commit == memory.repository.tip()
    first = found.entries[0]
    assert first.address == "reference/decisions.md#use-esm-only"
    assert (first.path, first.layer, first.section) == (
        "reference/decisions.md",
        "decisions",
        "Code",
    )
    assert (first.status, first.type, first.importance) == ("active", "procedural", 2)
    assert (first.date, first.line, first.retired) == (date(2026, 1, 2), 5, False)
    assert first.warnings == ()


def test_a_status_of_the_layer_is_known_with_a_remark_behind_it(memory: Group) -> None:
    old = entries(memory).entries[1]

    assert (old.status, old.retired, old.importance) == ("superseded", True, 3)
    assert old.warnings == ()


def test_what_a_layer_does_not_know_or_misses_is_a_warning(memory: Group) -> None:
    odd = entries(memory).entries[2]

    assert odd.importance is None
    assert odd.date is None
    said = " / ".join(odd.warnings)
    assert "'maybe': use one of active, superseded, on hold" in said
    assert "'onboarding': use one of strategic, procedural" in said
    assert "invalid importance '9'" in said
    assert "no date: add **Date:**" in said
    assert "no importance" not in said


def test_a_layer_without_a_date_field_misses_none(group: Group) -> None:
    put(group, "gitmem.yaml", LAYOUT.replace("[Date, Status, Importance, Type, Mood]", "[Mood]"))
    put(group, "reference/ideas.md", "### Bare\n")

    assert entries(group).entries[0].warnings == ()


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("ideas", ["reference/ideas.md#try-gleam"]),
        ("reference/ideas.md", ["reference/ideas.md#try-gleam"]),
        ("./reference/ideas.md", ["reference/ideas.md#try-gleam"]),
        ("**/id*.md", ["reference/ideas.md#try-gleam"]),
        ("facts", ["facts/ada.md#ada"]),
        ("loose.md", ["loose.md#loose"]),
        ("reference/ideas.md#try-gleam", ["reference/ideas.md#try-gleam"]),
        ("ideas#Try Gleam", ["reference/ideas.md#try-gleam"]),
        ("none/*.md", []),
    ],
)
def test_a_layer_a_file_a_pattern_or_an_address_can_be_named(
    memory: Group, path: str, wanted: list[str]
) -> None:
    assert addresses(memory, path) == wanted


def test_a_folder_stands_for_its_files(memory: Group) -> None:
    assert len(addresses(memory, "reference")) == 4
    assert len(addresses(memory, ".")) == 6


def test_a_file_outside_any_layer_is_judged_by_what_holds_for_all(memory: Group) -> None:
    (found,) = entries(memory, "loose.md").entries

    assert (found.layer, found.retired) == ("", False)
    assert found.warnings == ("no date: add **Date:** YYYY-MM-DD",)


def test_entries_can_be_chosen_by_status(memory: Group) -> None:
    assert addresses(memory, status="superseded") == ["reference/decisions.md#old-plan"]
    assert addresses(memory, "decisions", status="Active") == [
        "reference/decisions.md#use-esm-only"
    ]
    assert addresses(memory, status="gone") == []


def test_a_field_that_the_layer_names_is_read_without_marks(memory: Group) -> None:
    assert entries(memory, "ideas").entries[0].line == 3


def test_the_past_is_listed_by_its_own_layout(memory: Group, clock: Clock) -> None:
    before = memory.repository.tip()
    clock.advance(days=2)
    put(memory, "gitmem.yaml", LAYOUT.replace("on hold", "maybe"))
    put(memory, "reference/ideas.md", "# Ideas\n")

    assert len(entries(memory).entries) == 3
    assert len(entries(memory, at=before).entries) == 4
    assert any("maybe" in each for each in entries(memory, at=before).entries[2].warnings)
    assert not any("maybe" in each for each in entries(memory).entries[2].warnings)


def test_uncommitted_edits_are_not_listed(memory: Group) -> None:
    edit(memory, "reference/ideas.md", "### Draft\n")

    assert addresses(memory, "ideas") == ["reference/ideas.md#try-gleam"]


def test_a_group_without_a_layout_lists_what_is_named(group: Group) -> None:
    put(group, "a.md", "### One\n")

    assert entries(group).entries == ()
    assert addresses(group, "a.md") == ["a.md#one"]


def test_what_is_not_there_is_told_with_what_is_near(memory: Group) -> None:
    with pytest.raises(PathNotFound) as missing:
        entries(memory, "reference/idea.md")
    assert "reference/ideas.md" in missing.value.hint
    with pytest.raises(NotFound) as caught:
        entries(memory, "ideas#try-glaem")
    assert "Try gleam (#try-gleam)" in caught.value.hint


def test_bytes_that_are_no_text_are_read_as_they_can_be(group: Group) -> None:
    put(group, "a.md", b"### One\n\xff\xfe\n")

    assert addresses(group, "a.md") == ["a.md#one"]


FORMATS = {
    "decisions": {
        "Date": "2026-01-02",
        "Decided by": "the team",
        "Decision": "Modules are ESM.",
        "Context": "CommonJS was the other way.",
        "Status": "active",
        "Importance": "1",
        "Type": "strategic",
    },
    "projects": {
        "Status": "paused",
        "Started": "2026-01-02",
        "Updated": "2026-01-05",
        "Description": "Billing.",
        "Importance": "5",
        "Type": "factual",
    },
    "preferences": {
        "Date observed": "2026-01-02",
        "Applies to": "all",
        "Importance": "3",
        "Type": "experiential",
    },
    "ideas": {
        "Date": "2026-01-02",
        "Source": "Ada",
        "Status": "ready-to-commit",
        "Importance": "4",
        "Type": "experiential",
        "Description": "A language with types.",
        "Related": "reference/decisions.md#use-esm-only",
    },
}


@pytest.mark.parametrize("layout", ["zylos", "standard"])
@pytest.mark.parametrize("name", FORMATS)
def test_each_entry_format_is_written_in_its_order_and_read_without_a_warning(
    store: Store, layout: str, name: str
) -> None:
    init(store, layout, layout=layout)
    group = Group(store, layout)
    fields = FORMATS[name]
    backwards = tuple(reversed(fields.items()))

    write(group, [Edit(name, None, entry="One", set=backwards)])

    (found,) = entries(group, name).entries
    text = (group.repository.snapshot().read(found.path) or b"").decode()
    wanted = "".join(f"- **{key}:** {value}\n" for key, value in fields.items())
    assert f"\n\n### One\n{wanted}" in text
    assert found.warnings == ()
    assert found.status == fields.get("Status", "")
    assert str(found.date) == fields.get("Updated", "2026-01-02")
    group.close()


@pytest.mark.parametrize("word", ["active", "superseded", "archived"])
def test_a_decision_that_had_its_time_is_retired(group: Group, word: str) -> None:
    put(group, "gitmem.yaml", starter_files("zylos")["gitmem.yaml"])
    put(group, "reference/decisions.md", f"### One\n- **Status:** {word}\n")

    assert entries(group).entries[0].retired == (word != "active")


def test_an_address_without_an_entry_is_no_address(memory: Group) -> None:
    with pytest.raises(BadInput, match="is not the address of an entry"):
        locate_entry(memory, memory.repository.snapshot(), layout_of(memory), "ideas")
