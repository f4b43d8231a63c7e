"""Entries under headings that name their status; whatever moves, no line is lost."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.entries.blocks import parse
from gitmem.model.entries.edit import put
from gitmem.model.entries.placement import add, take
from gitmem.model.layout.layout import Layer

LAYER = Layer(
    "projects",
    "entries",
    "projects.md",
    fields=("Status", "Description"),
    statuses=("planning", "active", "paused", "completed", "abandoned"),
    retired=("completed", "abandoned"),
)
STARTER = "# Projects\n\n## Active\n(No active projects yet.)\n\n## Completed\n(None yet.)\n"


def section(text: str, title: str) -> str:
    return next(each.section for each in parse(text) if each.title == title)


def wrote(text: str, title: str, status: str = "") -> str:
    fields = [("Status", status)] if status else [("Description", "x")]
    return put(text, title, fields, None, LAYER.fields, layer=LAYER).text


@pytest.mark.parametrize(
    ("status", "under"),
    [
        ("active", "Active"),
        ("Active (since May)", "Active"),
        ("planning", "Active"),
        ("paused", "Active"),
        ("completed", "Completed"),
        ("abandoned", "Completed"),
        ("Completed on 2026-02-01", "Completed"),
        ("", "Active"),
        ("no idea", "Active"),
        ("planning | active | completed", "Active"),
    ],
)
def test_a_new_entry_comes_under_the_heading_that_fits(status: str, under: str) -> None:
    text = wrote(STARTER, "Billing", status)

    assert section(text, "Billing") == under
    assert section(wrote(text, "Search", status), "Search") == under


def test_the_file_reads_well_afterwards() -> None:
    text = wrote(wrote(wrote(STARTER, "Billing", "active"), "Old", "completed"), "Search", "paused")

    assert text == (
        "# Projects\n\n## Active\n(No active projects yet.)\n\n"
        "### Billing\n- **Status:** active\n\n### Search\n- **Status:** paused\n\n"
        "## Completed\n(None yet.)\n\n### Old\n- **Status:** completed\n"
    )


def test_a_reopened_entry_leaves_completed_though_no_heading_fits() -> None:
    text = wrote("# Projects\n\n## Completed\n", "Old", "completed")
    text = wrote(text, "Done", "completed")

    reopened = wrote(text, "Old", "active")

    assert reopened == (
        "# Projects\n\n### Old\n- **Status:** active\n\n"
        "## Completed\n\n### Done\n- **Status:** completed\n"
    )
    assert wrote(reopened, "Old", "paused").replace("paused", "active") == reopened


def test_a_reopened_entry_stays_in_its_part() -> None:
    text = (
        "# Work\n\n## Completed\n\n### A\n- **Status:** completed\n\n"
        "# Home\n\n## Completed\n\n### B\n- **Status:** completed\n"
    )

    assert wrote(text, "B", "active") == (
        "# Work\n\n## Completed\n\n### A\n- **Status:** completed\n\n"
        "# Home\n\n### B\n- **Status:** active\n\n## Completed\n"
    )


def test_a_changed_status_moves_the_entry_and_nothing_else() -> None:
    text = wrote(wrote(wrote(STARTER, "Billing", "active"), "Old", "completed"), "Search", "paused")

    done = wrote(text, "Billing", "completed")

    assert done == (
        "# Projects\n\n## Active\n(No active projects yet.)\n\n"
        "### Search\n- **Status:** paused\n\n"
        "## Completed\n(None yet.)\n\n### Old\n- **Status:** completed\n\n"
        "### Billing\n- **Status:** completed\n"
    )
    assert wrote(done, "Billing", "completed") == done
    assert section(wrote(done, "Billing", "active"), "Billing") == "Active"


def test_windows_line_ends_stay() -> None:
    text = wrote(STARTER.replace("\n", "\r\n"), "Billing", "active")
    done = wrote(text, "Billing", "completed")

    assert "\n" not in done.replace("\r\n", "")
    assert section(done, "Billing") == "Completed"


@pytest.mark.parametrize(
    ("text", "status", "under"),
    [
        ("## Planning\n\n## Active\n", "paused", "Planning"),
        ("## Active\n\n## Paused\n", "paused", "Paused"),
        ("## Abandoned\n\n## Completed\n", "completed", "Completed"),
        ("## Active projects\n\n## Completed (2025)\n", "abandoned", "Completed (2025)"),
        ("## ACTIVE\n\n## completed\n", "active", "ACTIVE"),
        ("## Notes\n\nText.\n", "active", "Notes"),
        ("Intro.\n\n## Completed\n", "active", ""),
        ("Intro.\n\n## Notes\n\nText.\n\n## Completed\n\n### X\n", "active", ""),
        ("## Inactive\n\n## Completed\n", "active", ""),
        ("## Completed\n\n```\n## Active\n```\n", "active", ""),
        ("## Completed\n\n### X\n\n## Notes\n\n### Y\n", "active", "Notes"),
        ("## 🚀 Active\n\n## ✅ Completed\n\n### X\n", "active", "🚀 Active"),
        ("## 1. Active\n\n## 2. Completed\n\n### X\n", "active", "1. Active"),
        ("## 1\ufe0f\u20e3 Active\n\n## **Completed**\n\n### X\n", "abandoned", "**Completed**"),
        ("## ✅ Completed\n\n### X\n", "active", ""),
        ("## 🧊 Inactive\n\n## ✅ Completed\n", "active", ""),
    ],
)
def test_headings_count_that_name_a_status(text: str, status: str, under: str) -> None:
    assert section(wrote(text, "Billing", status), "Billing") == under


FIRST_LEVEL = (
    "# Active\n\n### A\n- **Status:** active\n\n# Completed\n\n### B\n- **Status:** completed\n"
)


def test_headings_of_the_first_level_count_where_there_are_no_others() -> None:
    text = wrote(FIRST_LEVEL, "New", "paused")
    done = wrote(wrote(text, "A", "completed"), "B", "active")

    assert text == FIRST_LEVEL.replace("\n# C", "\n### New\n- **Status:** paused\n\n# C")
    assert done == (
        "# Active\n\n### New\n- **Status:** paused\n\n### B\n- **Status:** active\n\n"
        "# Completed\n\n### A\n- **Status:** completed\n"
    )


def test_a_title_is_no_section_though_it_names_a_status() -> None:
    text = wrote("# Completed projects\n\n### X\n- **Status:** completed\n", "New", "active")

    assert text.startswith("# Completed projects\n\n### X\n")


def test_a_new_entry_stays_below_the_title_where_no_heading_of_the_first_level_fits() -> None:
    text = "# Projects\n\nIntro.\n\n# Completed\n\n### X\n- **Status:** completed\n"
    new = "### New\n- **Status:** active\n\n"

    assert wrote(text, "New", "active") == text.replace("# Completed", f"{new}# Completed")
    assert wrote(wrote(text, "New", "active"), "New", "abandoned") == (
        f"{text}\n{new}".replace("active", "abandoned").removesuffix("\n")
    )


def test_sections_below_a_heading_of_the_first_level_belong_to_it() -> None:
    text = "# Active\n\n## Work\n\n### A\n- **Status:** active\n\n# Completed\n\n## 2025\n"
    done = wrote(text, "A", "completed")

    assert section(done, "A") == "2025"
    assert section(wrote(done, "A", "active"), "A") == "Work"


def test_of_two_headings_of_a_name_an_entry_stays_under_its_own() -> None:
    text = "## Active\n\n## Active\n\n### B\n- **Status:** planning\n\n## Completed\n"

    assert wrote(text, "B", "active") == text.replace("planning", "active")


@pytest.mark.parametrize("title", ["New", "Old"])
def test_a_byte_order_mark_stays_at_the_beginning(title: str) -> None:
    text = "\ufeff## Completed\n\n### Old\n- **Status:** completed\n"
    done = wrote(text, title, "active")

    assert done.startswith(f"\ufeff### {title}\n- **Status:** active\n\n## Completed\n")
    assert done.count("\ufeff") == 1


def test_an_entry_stays_where_its_heading_still_fits() -> None:
    text = "## Planning\n\n### Billing\n- **Status:** planning\n\n## Active\n\n## Completed\n"

    assert section(wrote(text, "Billing", "paused"), "Billing") == "Planning"
    assert section(wrote(text, "Billing", "active"), "Billing") == "Active"


def test_who_put_an_entry_elsewhere_by_hand_is_right_until_its_status_changes() -> None:
    text = "## Active\n\n## Completed\n\n### Billing\n- **Status:** active\n"
    described = put(text, "Billing", [("Description", "x")], None, LAYER.fields, layer=LAYER)

    assert section(described.text, "Billing") == "Completed"
    assert section(wrote(text, "Billing", "active"), "Billing") == "Completed"
    assert section(wrote(text, "Billing", "paused"), "Billing") == "Active"


def test_sections_of_another_part_of_the_file_are_not_for_it() -> None:
    text = (
        "# Work\n\n## Active\n\n### Billing\n- **Status:** active\n\n## Completed\n\n"
        "# Home\n\n## Active\n\n### Garden\n- **Status:** active\n\n## Completed\n\n# Rest\n"
    )
    done = wrote(wrote(text, "Garden", "completed"), "Billing", "completed")

    assert [each.title for each in parse(done)] == ["Billing", "Garden"]
    assert done.index("Billing") < done.index("# Home") < done.index("Garden")


def test_a_layer_without_statuses_has_no_such_sections() -> None:
    plain = LAYER._replace(statuses=(), retired=())
    text = put(STARTER, "Billing", [("Status", "active")], None, (), layer=plain).text

    assert section(text, "Billing") == "Completed"


HEADINGS = (
    "# Work",
    "# Home",
    "## Active",
    "## Completed",
    "## Paused",
    "## Notes",
    "## Abandoned",
    "# Completed",
    "## ✅ Completed",
)
BLOCK = st.one_of(
    st.sampled_from(HEADINGS).map(lambda each: f"{each}\n"),
    st.sampled_from(("Some text.\n", "\n", "```\n## Active\n```\n", "<!-- ## Completed -->\n")),
    st.tuples(st.sampled_from("ABCDE"), st.sampled_from((*LAYER.statuses, "odd", ""))).map(
        lambda each: f"### {each[0]}\n" + (f"- **Status:** {each[1]}\n" if each[1] else "")
    ),
)


def said(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.replace("\ufeff", "").splitlines() if line.strip())


TEXT = st.tuples(st.sampled_from(("", "\ufeff")), st.lists(BLOCK, max_size=10).map("".join)).map(
    "".join
)


@given(
    TEXT,
    st.sampled_from("ABCDEF"),
    st.sampled_from((*LAYER.statuses, "odd")),
)
def test_no_line_is_lost_no_other_entry_changes_and_again_is_nothing(
    text: str, title: str, status: str
) -> None:
    done = put(text, title, [("Status", status)], None, LAYER.fields, layer=LAYER)

    without, before = (
        [each.block.strip("\ufeff\n ") for each in parse(x) if each.title != title]
        for x in (done.text, text)
    )
    plain = put(text, title, [("Status", status)], None, LAYER.fields)
    assert said(done.text) == said(plain.text), "it only stands elsewhere"
    assert without == before
    if sum(each.title == title for each in parse(text)) < 2:  # of two, the first one is meant
        again = put(done.text, title, [("Status", status)], None, LAYER.fields, layer=LAYER)
        assert again == done._replace(created=False)
    under = section(done.text, title) if done.created else ""
    assert (status in LAYER.retired) or under not in ("Completed", "✅ Completed", "Abandoned")
    assert done.text.count("\ufeff") == text.count("\ufeff") == done.text[:1].count("\ufeff")


@given(TEXT, st.sampled_from(LAYER.statuses))
def test_what_is_added_and_taken_out_leaves_the_file_as_it_was(text: str, status: str) -> None:
    block = f"### New one\n- **Status:** {status}\n"
    added = add(text, block, LAYER)

    rest, taken = take(added, "new-one")

    assert taken == block
    assert said(rest) == said(text)
    assert [each.block.strip("\ufeff\n ") for each in parse(rest)] == [
        each.block.strip("\ufeff\n ") for each in parse(text)
    ]
