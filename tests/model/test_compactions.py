"""A host hands over its model's scratchpad with the summary; only the summary is memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.transcripts.compactions import GIST, gist, gists, squeezed, without_scratchpads
from gitmem.model.transcripts.scratchpads import summary_in

PLAN = "Let me go through it."
PAIR = "<analysis>{}</analysis>\n<summary>{}</summary>"
DETAILS = "<details>\n<summary>More</summary>\nTwo.\n</details>"
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
        # Not at the beginning of a line, in bold, in a fence of its own.
        f"Sure: <analysis>{PLAN}</analysis>\n<summary>{RESULT}</summary>",
        f"Sure: <analysis>{PLAN}</analysis>\n{RESULT}",
        f"Sure: <analysis>{PLAN}\n<summary>{RESULT}",
        f"**<analysis>**\n{PLAN}\n**</analysis>**\n\n**<summary>**\n{RESULT}\n**</summary>**",
        f"## <analysis>\n{PLAN}\n</analysis>\n## <summary>\n{RESULT}\n</summary>",
        f"```xml\n<analysis>{PLAN}</analysis>\n<summary>\n{RESULT}\n</summary>\n```",
        # Nested, and code that the scratchpad never shuts.
        f"<analysis>{PLAN}\n<summary>\nx\n</summary>\n{PLAN}</analysis>\n<summary>{RESULT}</summary>",
        f"<analysis>\n```\n{PLAN}\n</analysis>\n<summary>\n{RESULT}\n</summary>",
        f"<analysis>\n```\n{PAIR.format('a', 'b')}\n```\n{PLAN}</analysis>\n<summary>{RESULT}",
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
        "The form is:\n\n```\n<analysis>a</analysis>\n<summary>b</summary>\n```\n\nThe end.",
        "~~~\n<analysis>\na\n~~~\n\nThe end.",
        "It was cut at `</summary>`.\nThen `<analysis>x</analysis><summary>` came.\nThe end.",
    ],
)
def test_a_summary_may_speak_of_the_tags(text: str) -> None:
    assert summary_in(text) == text
    assert summary_in(f"<analysis>{PLAN}</analysis>\n<summary>\n{text}\n</summary>") == text


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (
            f"{PAIR.format(PLAN, 'One.')}\n{PAIR.format(PLAN, 'Two.')}",
            "One.\n\nTwo.",
        ),
        ("<summary>One.</summary>\n<summary>Two.</summary>", "One.\n\nTwo."),
        (
            f"<analysis>{PLAN}\n<summary>One.\n<analysis>{PLAN}</analysis>\n<summary>Two.",
            "One.\n\nTwo.",
        ),
        (f"<analysis>{PLAN}</analysis>\nOne.\n<analysis>{PLAN}</analysis>\nTwo.", "One.\n\nTwo."),
        (f"<summary>One.</summary>\n\n{'A long word. ' * 30}", f"One.\n\n{'A long word. ' * 30}"),
        (
            f"<analysis>{PLAN}</analysis>\n<summary>\nOne.\n{DETAILS}",
            f"One.\n{DETAILS}",
        ),
    ],
)
def test_no_part_of_a_summary_is_lost(raw: str, kept: str) -> None:
    assert summary_in(raw) == kept.strip()


@given(st.text(alphabet="<>/ \nanlysium", max_size=80), st.text(max_size=40))
def test_any_text_has_an_answer_without_blanks_around_it(head: str, tail: str) -> None:
    found = summary_in(head + tail)

    assert found == found.strip()
    assert all(line in head + tail for line in found.splitlines())


_CASES = st.sampled_from((str.lower, str.upper, str.title))
_CODE = st.sampled_from(
    (
        "`<analysis>`",
        "`</summary>`",
        "```\n<analysis>\nx\n</analysis>\n<summary>\n```",
        "~~~ xml\n</summary>\n~~~",
    )
)


@st.composite
def _written(draw: st.DrawFn) -> tuple[str, list[str]]:
    """What a model wrote, and the words of its summaries; those of its scratchpad are `plan`."""
    text = draw(st.sampled_from(("", "Sure: ", "Sure.\n", "OK\n\n")))
    kept: list[str] = []
    pairs = draw(st.integers(1, 3))
    for number in range(pairs):
        case, mark = draw(_CASES), draw(st.sampled_from(("", "**")))
        names = [f"{mark}<{each}>{mark}" for each in map(case, ("analysis", "/analysis"))]
        plan = draw(st.lists(st.one_of(st.just("plan"), _CODE), min_size=1, max_size=3))
        is_closed = draw(st.booleans())
        text += f"{names[0]}\nplan\n" + "\n".join(plan) + f"\n{names[1] if is_closed else ''}\n"
        words = [f"word{number}x{each}" for each in range(draw(st.integers(1, 3)))]
        quoted = draw(st.lists(_CODE, max_size=2))
        body = draw(st.permutations([*words, *quoted]))
        kept += words
        ends = draw(st.booleans()) or number < pairs - 1
        opened, shut = (f"{mark}<{each}>{mark}" for each in map(case, ("summary", "/summary")))
        text += f"{opened}\n" + "\n".join(body) + (f"\n{shut}\n" if ends else "")
    return text, kept


@given(_written())
def test_no_scratchpad_survives_and_no_word_of_a_summary_is_lost(
    written: tuple[str, list[str]],
) -> None:
    raw, kept = written

    found = summary_in(raw)

    assert "plan" not in found
    assert {each for each in found.split() if each.startswith("word")} == set(kept)
    assert "plan" not in gist(found)


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
        ("```\nx = 1\n```\n\nWe set x.", "We set x."),
        ("**Goal**\n\nWe chose ESM.", "We chose ESM."),
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
