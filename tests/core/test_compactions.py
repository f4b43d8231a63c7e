"""A host hands over its model's scratchpad with the summary; only the summary is memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.compactions import GIST, gist, gists, squeezed, summary_in, without_scratchpads

PLAN = "Let me go through it."
RESULT = "1. Primary Request and Intent:\n   Fix the rounding bug."


@pytest.mark.parametrize(
    "raw",
    [
        f"<analysis>\n{PLAN}\n</analysis>\n\n<summary>\n{RESULT}\n</summary>",
        f"<analysis>{PLAN}</analysis><summary>{RESULT}</summary>",
        f"<ANALYSIS>{PLAN}</Analysis >\n<Summary>\n{RESULT}\n</SUMMARY>\n",
        f"\n  <analysis type='x'>{PLAN}</analysis>\n<summary lang='en'>{RESULT}</summary>",
        f"<analysis>{PLAN}<analysis>{PLAN}</analysis>{PLAN}</analysis>\n<summary>{RESULT}</summary>",
        # Cut at any place.
        f"<analysis>{PLAN}</analysis>\n<summary>\n{RESULT}",
        f"<analysis>{PLAN}</analysis>\n<summary>\n{RESULT}\n</summ",
        f"<analysis>{PLAN}</analysis>\n{RESULT}",
        f"<analysis>{PLAN}\n<summary>\n{RESULT}\n</summary>",
        f"<summary>\n{RESULT}\n</summary>",
        # Prose about the tags, in the scratchpad.
        f"<analysis>{PLAN} Then `</analysis>`.\nMore.</analysis>\n<summary>{RESULT}</summary>",
        f"<analysis>{PLAN} An <analysis> tag.</analysis>\n<summary>{RESULT}</summary>",
        f"<analysis>{PLAN} Then `<summary>`.</analysis>\n<summary>{RESULT}</summary>",
        # Words around it.
        f"Sure.\n<analysis>{PLAN}</analysis>\nHere it is:\n<summary>{RESULT}</summary>\nDone.",
        RESULT,
    ],
)
def test_only_the_summary_is_kept(raw: str) -> None:
    assert summary_in(raw) == RESULT
    assert summary_in(summary_in(raw)) == RESULT


@pytest.mark.parametrize(
    "raw",
    [
        "",
        f"<analysis>{PLAN}",
        f"<analysis>{PLAN}</analysis>",
        f"<analysis>{PLAN}</analysis>\n<summ",
        f"<analysis>{PLAN}</analysis><summary></summary>",
    ],
)
def test_a_scratchpad_alone_is_no_summary(raw: str) -> None:
    assert summary_in(raw) == ""


@pytest.mark.parametrize(
    "text",
    [
        "We strip `<analysis>` blocks from `<summary>` now.",
        "We wrote this:\n\n<details>\n<summary>More</summary>\nText.\n</details>",
        "A template:\n\n<analysis>\n...\n</analysis>\n\nThe end.",
        "We read `<analysis>` and `</summary>`; the tag </summary> stays.",
    ],
)
def test_a_summary_may_speak_of_the_tags(text: str) -> None:
    assert summary_in(text) == text
    assert summary_in(f"<analysis>{PLAN}</analysis>\n<summary>\n{text}\n</summary>") == text


@given(st.text(alphabet="<>/ \nanlysium", max_size=80), st.text(max_size=40))
def test_any_text_has_an_answer_without_blanks_around_it(head: str, tail: str) -> None:
    found = summary_in(head + tail)

    assert found == found.strip()
    assert found in head + tail


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (RESULT, "Fix the rounding bug."),
        (
            "1. Primary Request and Intent: the user tested a model.\n2. Key: x",
            "the user tested a model.",
        ),
        ("## Summary\n\n**Goal:**\n- Move to Adyen in May.\n- Ship.", "Move to Adyen in May."),
        ("# Title\n\nWe chose ESM\nfor billing.\n\nMore.", "We chose ESM for billing."),
        ("## Only a heading", "Only a heading"),
        ("1. Pending Tasks:", "1. Pending Tasks:"),
        ("Chose ESM. " + "Because " * 40 + "so.", "Chose ESM."),
        ("We paid at 10:30 and left.", "We paid at 10:30 and left."),
    ],
)
def test_the_gist_is_a_sentence_of_content(text: str, line: str) -> None:
    assert gist(text) == line


def test_a_sentence_without_end_is_cut() -> None:
    assert gist("word " * 100).endswith("…")
    assert len(gist("word " * 100)) <= GIST


OLD = f"""---
summary: "<analysis> {PLAN} </analysis>"
---

## Session Compaction 2026-02-08T10:00:00+00:00

<analysis>
{PLAN}
</analysis>

<summary>
{RESULT}
</summary>

- 11:00 a line of the log

## Session Compaction 2026-02-08T12:00:00+00:00

<analysis>
{PLAN} It was cut.

## Another heading

Of the user.
"""


def test_the_scratchpads_of_an_earlier_release_are_blank() -> None:
    plain = without_scratchpads(OLD)

    assert "go through" not in plain
    assert "<" not in plain
    for kept in (RESULT, "- 11:00 a line of the log", "## Another heading\n\nOf the user."):
        assert plain.index(kept) == OLD.index(kept)
    assert len(plain) == len(OLD)
    assert plain.count("\n") == OLD.count("\n")


def test_a_reader_sees_no_gap_and_a_line_about_the_work() -> None:
    assert "\n\n\n" not in squeezed(OLD)
    assert gists(OLD).startswith("Fix the rounding bug.")


@pytest.mark.parametrize(
    "text", [f"# Prompts\n\n<analysis>\n{PLAN}\n</analysis>\n", "", "## Session"]
)
def test_other_text_stays_as_it_is(text: str) -> None:
    assert without_scratchpads(text) is text
    assert squeezed(text) is text
    assert gists(text) == ""
