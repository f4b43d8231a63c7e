"""The short way to read frontmatter says what the YAML parser says, or nothing."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gitmem.model.text import frontmatter
from gitmem.model.text.plain_frontmatter import plain_fields, read_fields

WORDS = [
    "summary", "date", "type", "yes", "No", "null", "ON", "off", "y", "n", "2026-02-08", "7", "007",
    "1_000", "1.5", "0x1F", "12:30:45", "2026-02-30", "e5", "inf", "nan", ":", ": ", " #", "#", "-",
    "--- ", "'", '"', "&a", "*a", "!x", "[", "]", "{", "}", ",", "|", ">", "%", "@", "`", "?", "\\",
    "~", "=", "<<", " ", "  ", "\t", "\r", "\x85", "\u2028", "\ufeff", "\xa0", "é", "漢", "👍", "a",
    "Fixed the build", "a: b", "a:b", "a#b", "http://x.y/z#w",
]  # fmt: skip
values = st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4)), max_size=5).map("".join)
quoted = st.tuples(st.sampled_from("'\""), values).map(lambda each: f"{each[0]}{each[1]}{each[0]}")
keys = st.sampled_from(["summary", "date", "type", "yes", "Null", "on", "a_b", "x1", "1x", "a b"])
marks = st.sampled_from([": ", ":  ", ":"])
listed = st.lists(st.one_of(quoted, values), max_size=3).map(lambda each: f"[{', '.join(each)}]")
lines = st.tuples(keys, marks, st.one_of(values, quoted, listed)).map("".join)
newlines = st.sampled_from(["\n", "\r\n"])


@given(st.lists(st.one_of(lines, values), min_size=1, max_size=4), newlines)
def test_what_is_read_without_a_parser_is_what_the_parser_reads(
    block: list[str], newline: str
) -> None:
    text = newline.join(["---", *block, "---", "body"])
    found = frontmatter.split(text)
    assume(found is not None)
    assert found is not None
    plain = plain_fields(found.raw)

    assert plain is None or plain == frontmatter.read(text)
    assert plain is None or list(map(type, plain.values())) == list(
        map(type, frontmatter.read(text).values())
    )
    assert read_fields(text) == (frontmatter.read(text) or frontmatter.by_line(text))


@given(st.lists(lines, min_size=1, max_size=4))
def test_lines_of_plain_words_agree(block: list[str]) -> None:
    text = "\n".join(["---", *block, "---", ""])

    assert read_fields(text) == (frontmatter.read(text) or frontmatter.by_line(text))


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        ("summary: Fixed the build\n", {"summary": "Fixed the build"}),
        ("summary: it's [all] {of} it & more!\r\n", {"summary": "it's [all] {of} it & more!"}),
        ('summary: "a \\\\ and: \\\"b\\\" # c"\n', {"summary": 'a \\ and: "b" # c'}),
        ("summary: 'a: b'\nnote: \"\"\n", {"summary": "a: b", "note": ""}),
        ("summary: Über 修正\n", {"summary": "Über 修正"}),
        ("summary: one\ndate: 2026-02-08\nimportance: 2\n",
         {"summary": "one", "date": date(2026, 2, 8), "importance": 2}),
        ('sources: ["2026-02-08", "a: b # c"]\n', {"sources": ["2026-02-08", "a: b # c"]}),
    ],
)  # fmt: skip
def test_the_usual_block_needs_no_parser(raw: str, fields: dict[str, object]) -> None:
    assert plain_fields(raw) == fields


@pytest.mark.parametrize(
    "raw",
    ["", "\n", "summary:\n", "summary: |\n  a\n", "summary: >-\n  a\n", 'summary: "a\\n"\n',
     "summary: 'it''s'\n",
     "summary: a\n  more\n", "summary: yes\n", "a: b: c\n", "a: b #c\n", "a: b:\n", "- a\n",
     "summary: a\n\n", f"summary: {'a' * 9000}\n", "date: 2026-02-30\n", "tags: [a, b]\n"],
)  # fmt: skip
def test_everything_else_is_left_to_the_parser(raw: str) -> None:
    assert plain_fields(raw) is None


@pytest.mark.parametrize(
    ("raw", "fields"),
    [
        ("summary: Stock: counted\ndate: 2026-02-08\n",
         {"summary": "Stock: counted", "date": "2026-02-08"}),
        ("summary: Stock: counted\r\n", {"summary": "Stock: counted"}),
        ("summary: *Paper* is here\n", {"summary": "*Paper* is here"}),
        ("summary: @ada asked\n", {"summary": "@ada asked"}),
        ('summary: "Done" was said\n', {"summary": '"Done" was said'}),
        ("summary: [wip] stock\n", {"summary": "[wip] stock"}),
        ("title: a: b\nsummary: >-\n  one\n  two\ntype: day\n",
         {"title": "a: b", "summary": "one two", "type": "day"}),
        ("summary: |\r\n  one: 1\r\n\ttwo\r\nx: y: z\r\n", {"summary": "one: 1 two", "x": "y: z"}),
        ("- a: b: c\n", {}),
        (f"summary: a: {'b' * 9000}\n", {}),
    ],
)  # fmt: skip
def test_a_block_that_is_no_yaml_is_read_line_by_line(raw: str, fields: dict[str, object]) -> None:
    """People and models write `summary: Stock: counted`, and know what they mean."""
    text = f"---\n{raw}---\nbody\n"

    assert frontmatter.read(text) == {}
    assert read_fields(text) == fields
