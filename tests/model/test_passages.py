"""A text falls into passages without losing a word, at borders that a reader sees."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.entries.blocks import parse
from gitmem.model.entries.lines import heading_level
from gitmem.model.language.passages import (
    MOST,
    NAMED,
    NEAR,
    Passage,
    beginning,
    ending,
    parted,
    passages,
    without_comments,
)
from gitmem.model.language.unicode import sentences

WORDS = st.text("abc .!?\u3002é漢#-*`<>:", max_size=40)
LONG = st.integers(1, 60).map(lambda count: "Words without end, and more of them. " * count)
MARKS = st.sampled_from(["#", "##", "###", "####", "#####", "######"])
ITEMS = st.sampled_from(["- ", "* ", "+ ", "1. ", "2) ", "  - "])
FIELDS = st.sampled_from(["Status", "Importance", "Date"])
LINES = st.one_of(
    st.just(""),
    st.just("   "),
    WORDS,
    LONG,
    LONG.map(lambda text: text.replace(" ", "")),
    st.builds("{} {}".format, MARKS, WORDS),
    st.sampled_from(["#", "###", "####", "###Glued", "####### seven"]),
    st.builds("{}{}".format, ITEMS, WORDS | LONG),
    st.builds("**{}:** {}".format, FIELDS, WORDS),
    st.sampled_from(["```", "~~~", "````", "```sh", "---", "<!--", "-->", "| a | b |", "> quoted"]),
    st.builds("<!-- {} -->".format, WORDS | LONG),
    st.builds("<!-- {} --> {} <!-- {} -->".format, WORDS, WORDS, WORDS),
)
FRONTMATTER = st.lists(st.builds("{}: {}".format, st.sampled_from("abc"), WORDS | LONG)).map(
    lambda lines: "\n".join(["---", *lines, "---", ""])
)
MARKDOWN = st.builds(
    lambda mark, head, lines, end, last: mark + head.replace("\n", end) + end.join(lines) + last,
    st.sampled_from(["", "", "", "\ufeff"]),
    st.just("") | FRONTMATTER,
    st.lists(LINES),
    st.sampled_from(["\n", "\n", "\r\n"]),
    st.sampled_from(["", "\n", "\n\n"]),
)
TEXTS = MARKDOWN | st.text()


def said(text: str) -> list[str]:
    return [text[each.start : each.stop] for each in passages(text)]


def outside(text: str, found: list[Passage]) -> list[str]:
    """What stands between passages."""
    starts = [*(each.start for each in found), len(text)]
    stops = [0, *(each.stop for each in found)]
    return [text[stop:start] for stop, start in zip(stops, starts, strict=True)]


@given(TEXTS)
def test_passages_come_in_order_and_begin_and_end_with_something(text: str) -> None:
    last = 0

    for each in passages(text):
        assert last <= each.start < each.stop <= len(text)
        assert text[each.start : each.stop].strip() == text[each.start : each.stop]
        last = each.stop


@given(TEXTS)
@example("<!-- a --> said all the same <!-- b -->")
@example("one\n\n<!-- a -->\ntwo\n<!-- b -->\n\nthree")
def test_nothing_is_left_out_but_comments_and_headings_above_deeper_ones(text: str) -> None:
    for gap in outside(text, passages(text)):
        rest = re.sub(r"<!--.*?-->", "", gap.replace("\ufeff", ""), flags=re.DOTALL)
        lost = [line for line in rest.split("\n") if line.strip() and not heading_level(line)]

        assert lost == []


@given(TEXTS)
def test_a_heading_that_is_left_out_is_part_of_the_name_of_what_stands_below(text: str) -> None:
    found = passages(text)

    for gap, below in zip(outside(text, found), found, strict=False):
        rest = re.sub(r"<!--.*?-->", "", gap.lstrip("\ufeff"), flags=re.DOTALL)
        titles = [line.strip("# \t\r") for line in rest.split("\n") if heading_level(line)]
        assert all(each.strip() in below.heading for each in titles[-1:])


@given(TEXTS)
def test_a_passage_knows_its_lines(text: str) -> None:
    for each in passages(text):
        assert each.line == text.count("\n", 0, each.start) + 1
        assert each.last == text.count("\n", 0, each.stop) + 1


@given(TEXTS)
def test_no_passage_is_longer_than_a_reader_likes(text: str) -> None:
    for each in passages(text):
        assert each.stop - each.start <= MOST


@given(TEXTS)
def test_an_entry_that_is_short_is_one_passage_and_shares_it_with_nobody(text: str) -> None:
    found = passages(text)
    entries = parse(text)

    for each in entries:
        parts = [part for part in found if part.entry == each]
        if len(each.block) <= MOST:
            assert [text[part.start : part.stop] for part in parts] == [each.block.strip()]
            assert parts[0].heading.endswith(each.title[:NAMED])
    for part in found:
        begun = [each for each in entries if part.line <= each.line <= part.last]
        assert [each for each in begun if len(each.title) <= MOST] in ([], [part.entry])


@given(TEXTS)
def test_a_message_falls_into_parts_without_losing_a_word(text: str) -> None:
    plain = text.replace("<!--", "")
    spans = list(parted(plain))
    starts, stops = [*(start for start, _ in spans), len(plain)], [0, *(stop for _, stop in spans)]
    gaps = list(zip(stops, starts, strict=True))

    assert all(plain[start:stop].strip() == plain[start:stop] != "" for start, stop in spans)
    assert all(stop - start <= MOST for start, stop in spans)
    assert "".join(plain[start:stop] for start, stop in gaps).strip() == ""
    assert all(start <= stop for start, stop in gaps)


PAGE = """\
---
summary: what we decided
---

# Decisions

<!-- one entry each -->

## Billing

### Use Postgres
- **Status:** active

MySQL has no partial indexes.

#### Why

Because.

### Use ES modules
The bundler wants them.

## Empty

## Notes

First paragraph.

```sh
# no heading
#### and none below it
echo hi
```

- one
- two
"""


def test_a_page_falls_into_what_a_reader_sees() -> None:
    found = [(each.heading, text) for each, text in zip(passages(PAGE), said(PAGE), strict=True)]

    assert found == [
        ("Decisions", PAGE[: PAGE.index("\n\n## Billing")]),
        (
            "Decisions > Billing > Use Postgres",
            PAGE[PAGE.index("### Use P") : PAGE.index("\n\n### Use E")],
        ),
        (
            "Decisions > Billing > Use ES modules",
            "### Use ES modules\nThe bundler wants them.",
        ),
        ("Decisions > Empty", "## Empty"),
        ("Decisions > Notes", PAGE[PAGE.index("## Notes") :].strip()),
    ]


def test_an_entry_that_begins_with_a_deeper_heading_has_its_own_name() -> None:
    found = passages("# A\n\n### Entry\n\n#### Deeper\n\ntext\n")

    assert [(each.heading, each.line, each.last) for each in found] == [("A > Entry", 3, 7)]


def test_long_sections_part_between_paragraphs_and_items() -> None:
    paragraph = "A sentence of some words. " * 15
    text = f"# Long\n\n{paragraph}\n\n{paragraph}\n\n- {paragraph}\n- {paragraph}\n"

    assert [each.partition(" ")[0] for each in said(text)] == ["#", "A", "-", "-"]
    assert {each.heading for each in passages(text)} == {"Long"}


def test_short_paragraphs_stay_together_until_there_is_enough() -> None:
    paragraph = "Nearly a hundred characters, so that four of them are enough for a passage, or so."
    text = "\n\n".join([paragraph] * 8)

    assert said(text) == ["\n\n".join([paragraph] * 4)] * 2


def test_a_paragraph_that_is_too_long_is_parted_at_sentences_and_at_last_at_words() -> None:
    talk = "This sentence is one of many in a line. " * 60
    found = said(talk)
    words = said("words " * 600)

    assert all(each.endswith("line.") for each in found)
    assert all(set(each.split()) == {"words"} for each in words)
    assert sum(len(each.split()) for each in words) == 600
    assert [len(each) for each in said("x" * 2000)] == [800, 800, 400]


@given(st.lists(st.sampled_from(["<!--", "-->", "a\n", "```\n", " b ", "~~~\n"])).map("".join))
def test_comments_are_blanks(text: str) -> None:
    plain = without_comments(text)

    assert len(plain) == len(text)
    assert all(one in (" ", other) for one, other in zip(plain, text, strict=True))
    if "```" not in text and "~~~" not in text:
        assert plain == re.sub(r"(?s)<!--.*?-->", lambda found: " " * len(found[0]), text)


def test_a_long_comment_is_in_no_passage() -> None:
    comment = "<!-- " + "For whoever writes here: do so.\n" * 60 + "-->"

    assert said(f"First.\n\n{comment}\n\nLast.") == ["First.", "Last."]
    assert said(comment) == []


def test_a_summary_and_what_it_sums_up_are_one_passage_where_there_is_room() -> None:
    head = "---\nsummary: about billing\n---\n\n"

    assert said(f"{head}# Title\n\nText.\n") == [f"{head}# Title\n\nText."]
    assert len(said(f"{head}# Title\n\n{'Text. ' * 130}")) == 2
    assert len(said(f"{head}### Entry\n\nText.\n")) == 2


def test_a_heading_of_a_page_is_no_name() -> None:
    text = f"# {'very long ' * 200}\n### {'title ' * 300}\n" + "Text. " * 400
    found = passages(text)

    assert max(len(each.heading) for each in found) <= 2 * NAMED + 3
    assert not any(each.entry for each in found)


@given(st.lists(st.text("ab漢", min_size=1, max_size=30)).map(" ".join))
def test_the_ends_of_a_neighbour_are_whole_words(text: str) -> None:
    words = text.split()

    for part, near in ((ending(text), words[::-1]), (beginning(text), words)):
        assert len(part) <= NEAR
        assert set(part.split()) <= set(words)
        assert len(text) > NEAR or part == text
        assert len(part) >= min(len(text), NEAR - 32)
        assert part.split() in (near[: len(part.split())], near[: len(part.split())][::-1])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
        ('He said "no." Then left.', ['He said "no.', "Then left."]),
        ("一。二！三？四", ["一。", "二！", "三？", "四"]),
        ("أين المفتاح؟ هو هنا", ["أين المفتاح؟", "هو هنا"]),
        ("यह है। वह था।", ["यह है।", "वह था।"]),
        ("version 3.14 of x.y", ["version 3.14 of x.y"]),
        ("one line\nanother", ["one line", "another"]),
        ("\n \n", []),
    ],
)
def test_a_text_has_sentences(text: str, found: list[str]) -> None:
    assert sentences(text) == found


def test_what_stands_below_a_heading_without_end_costs_no_more_than_it() -> None:
    text = "# " + "word " * 100_000

    assert sum(len(each.heading) for each in passages(text)) < len(text)
