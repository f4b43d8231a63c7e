"""Frontmatter is found, judged and read, and changed without touching another byte."""

from __future__ import annotations

from datetime import date

import pytest
from frontmatter.default_handlers import YAMLHandler
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from gitmem.errors import FrontmatterRefused
from gitmem.model.text.frontmatter import Block, by_line, check, read, set_field, split

NOTE = """\
---
# who wrote it
title: 'Use ESM only'   # quoted by hand
tags: [a, b]
summary: >-
  folded
  text

importance: 2
people:
  # the owner
  - Ada
  - Bob  # and his cat

# the last comment
---
# Body

---
not: frontmatter
---
"""


LINES = st.lists(
    st.sampled_from(["---", "--- ", "a: 1", "# why", "", "text", "- one", "--", "b: '---'"]),
    max_size=8,
)


@given(LINES)
@example(["a: 1", "---", "---", "text"])
def test_a_block_is_found_where_python_frontmatter_finds_it(lines: list[str]) -> None:
    text = "\n".join(["---", *lines, ""])
    library = YAMLHandler()

    block = split(text)

    try:
        raw, body = library.split(text)
    except ValueError:  # it found no second line of dashes
        assert block is None
        return
    assert block is not None
    # Its delimiter takes the blank lines behind it along, but not the last newline.
    assert (block.raw.strip("\n"), text[block.body :].lstrip("\n")) == (
        raw.strip("\n"),
        body.lstrip("\n"),
    )


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("----\nA page between two rules\n\n----\nMore\n", None),
        ("\ufeff---\na: 1\n---\n", "a: 1\n"),
        ("---\na: 1\n...\nbody\n", "a: 1\n"),
    ],
)
def test_a_block_is_found_where_python_frontmatter_errs(text: str, raw: str | None) -> None:
    block = split(text)

    assert (block.raw if block else None) == raw
    try:
        found = YAMLHandler().split(text)[0] if YAMLHandler().detect(text) else None
    except ValueError:
        found = None
    assert found != raw, "the library has learned it: split with it"


def test_a_block_is_found_with_its_place() -> None:
    block = split("---\na: 1\n---\nbody\n")

    assert block == Block("a: 1\n", 4, 9, 13, 2, "\n")


@pytest.mark.parametrize(
    ("text", "raw", "body"),
    [
        ("---\n---\n", "", ""),
        ("---\na: 1\n...\nbody", "a: 1\n", "body"),
        ("---\na: 1\n---", "a: 1\n", ""),
        ("---  \na: 1\n--- \t\nbody", "a: 1\n", "body"),
        ("\ufeff---\na: 1\n---\nbody", "a: 1\n", "body"),
        ("---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"),
        ("---\na: ---\n---\nbody", "a: ---\n", "body"),
    ],
)
def test_blocks(text: str, raw: str, body: str) -> None:
    block = split(text)

    assert block is not None
    assert block.raw == text[block.start : block.end] == raw
    assert text[block.body :] == body
    assert block.newline == ("\r\n" if "\r" in text else "\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "---\na: 1\n",
        "\n---\na: 1\n---\n",
        " ---\na: 1\n---\n",
        "----\na: 1\n---\n",
        "---\na: 1\n ---\n",
        "---\na: 1\n----\n",
        "--- a\n---\n",
        "text\n---\na: 1\n---\n",
    ],
)
def test_what_is_not_fenced_at_the_very_start_is_no_frontmatter(text: str) -> None:
    assert split(text) is None
    assert read(text) == {}
    check(text)


def test_values_are_read_by_a_real_parser() -> None:
    assert read(NOTE) == {
        "title": "Use ESM only",
        "tags": ["a", "b"],
        "summary": "folded text",
        "importance": 2,
        "people": ["Ada", "Bob"],
    }
    assert read("---\nd: 2026-02-08\nt: |\n  a\n  b\n---\n") == {
        "d": date(2026, 2, 8),
        "t": "a\nb\n",
    }
    assert read("\ufeff---\r\na: 'x'\r\nb: |\r\n  1\r\n  2\r\n---\r\n") == {"a": "x", "b": "1\n2\n"}
    assert read("---\n2026: year\n---\n") == {"2026": "year"}


@pytest.mark.parametrize(
    ("raw", "line", "rule"),
    [
        ("a: 1\ntitle: Foo: bar\n", 3, "not-yaml"),
        ("a: 1\nb: @home\n", 3, "not-yaml"),
        ("a: 1\n\tb: 2\n", 3, "not-yaml"),
        ("a: 1\nb: {{ name }}\n", 3, "not-yaml"),
        ('a: 1\nb: "never closed\nc: 2\n', 3, "not-yaml"),
        ("a: 1\nb: !tag x\n", 3, "not-yaml"),
        ("a: 1\nb: 2026-02-31\n", 3, "not-yaml"),
        ("a: [1, 2]\nb: {c: !!int x}\n", 3, "not-yaml"),
        ("a: 1\nb: !!timestamp x\n", 3, "not-yaml"),
        ("a: 1\nb: !!bool x\n", 3, "not-yaml"),
        ("a: 1\nb: bell \x07\n", 3, "not-yaml"),
        ("a: 1\nb: half \ud800\n", 3, "not-yaml"),
        ("a: &x 1\nb: 2\n", 2, "alias"),
        ("a: 1\nb: *x\n", 3, "alias"),
        ("a: 1\nb: **bold**\n", 3, "not-yaml"),
        ("a: " + "[" * 40 + "]" * 40 + "\n", 2, "too-deep"),
        ("- " * 4000 + "\n", 2, "too-deep"),
        ("a: " + "x" * 8189 + "\n", 2, "too-big"),
        ("a: 1\n--- b\n", 3, "not-yaml"),
        ("a: x\u2028y\nb: [\n", 3, "not-yaml"),
    ],
)
def test_an_unsafe_block_is_refused_with_its_line_and_reads_as_nothing(
    raw: str, line: int, rule: str
) -> None:
    text = f"---\n{raw}---\nbody\n"

    with pytest.raises(FrontmatterRefused) as refused:
        check(text)

    assert refused.value.facts == {"line": line, "rule": rule}
    assert refused.value.hint
    assert read(text) == {}


def test_the_way_on_fits_the_mistake() -> None:
    with pytest.raises(FrontmatterRefused, match="line 2") as colon:
        check("---\ntitle: Foo: bar\n---\n")
    with pytest.raises(FrontmatterRefused) as tab:
        check("---\na:\n\t- b\n---\n")

    assert "double quotes" in colon.value.hint
    assert "spaces" in tab.value.hint


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "\n",
        "# only a comment\n",
        "A sentence between two rules.\n",
        "- a list\n- between rules\n",
        "a: 1 & 2 * 3\n",
        "a: '*'\n",
        "a: " + "x" * 8188 + "\n",
        "a: " + "[" * 20 + "]" * 20 + "\n",
    ],
)
def test_harmless_blocks_are_let_through(raw: str) -> None:
    check(f"---\n{raw}---\n")


def test_a_rule_in_markdown_is_not_frontmatter() -> None:
    text = "---\nA sentence between two rules.\n---\n"

    assert read(text) == {}
    assert set_field(text, "a", "b") == "---\na: b\n---\n" + text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "---\nk: new\n---\n"),
        ("body", "---\nk: new\n---\nbody"),
        ("\ufeffbody", "\ufeff---\nk: new\n---\nbody"),
        ("a\r\nb\n", "---\r\nk: new\r\n---\r\na\r\nb\n"),
        ("---\n---\n", "---\nk: new\n---\n"),
        ("---\n# c\n---\n", "---\n# c\nk: new\n---\n"),
        ("---\n~\n---\n", "---\nk: new\n---\n---\n~\n---\n"),
        ("---\na: 1\n---\n", "---\na: 1\nk: new\n---\n"),
        ("---\n  a: 1\n---\n", "---\n  a: 1\n  k: new\n---\n"),
        ("---\nk: old\n---\n", "---\nk: new\n---\n"),
        ("---\nk: old # why\nb: 1\n---\n", "---\nk: new # why\nb: 1\n---\n"),
        ("---\nk:   'old'\n---\n", "---\nk:   new\n---\n"),
        ("---\n'k' : old\n---\n", "---\n'k' : new\n---\n"),
        ("---\nk:\nb: 1\n---\n", "---\nk: new\nb: 1\n---\n"),
        ("---\nk: # why\nb: 1\n---\n", "---\nk: new # why\nb: 1\n---\n"),
        ("---\nk: |\n  a\n\n  b\n\n# c\nb: 1\n---\n", "---\nk: new\n\n# c\nb: 1\n---\n"),
        ("---\nk: >-\n  a\n  b\nb: 1\n---\n", "---\nk: new\nb: 1\n---\n"),
        ("---\nk: |+\n  a\n\n\n---\n", "---\nk: new\n\n\n---\n"),
        ("---\nk: two\n  lines\nb: 1\n---\n", "---\nk: new\nb: 1\n---\n"),
        ('---\nk: "two\n  lines"  # c\n---\n', "---\nk: new  # c\n---\n"),
        ("---\nk:\n  old\nb: 1\n---\n", "---\nk: new\nb: 1\n---\n"),
        (
            "---\nk:\n  # c\n  - a\n  - b\n\n# d\nb: 1\n---\n",
            "---\nk: new\n  # c\n\n# d\nb: 1\n---\n",
        ),
        ("---\nk: # c\n- a\n- b\nb: 1\n---\n", "---\nk: new # c\nb: 1\n---\n"),
        ("---\nk:\n  a: 1\n  b:\n    - c\n---\n", "---\nk: new\n---\n"),
        ("---\nk: [a,\n  b] # c\n---\n", "---\nk: new # c\n---\n"),
        ("---\nk: !!str old\n---\n", "---\nk: new\n---\n"),
        ("---\n? k\n: old\n---\n", "---\n? k\n: new\n---\n"),
        ("---\nk: 1\nk: 2\n---\n", "---\nk: 1\nk: new\n---\n"),
        ("---\nb:\n  k: 1\n---\n", "---\nb:\n  k: 1\nk: new\n---\n"),
        ("---\nb: |\n  k: 1\n\n---\n", "---\nb: |\n  k: 1\n\nk: new\n---\n"),
        ("---\n{}\n---\n", '---\n{"k": "new"}\n---\n'),
        ("---\n{a: 1}\n---\n", '---\n{a: 1, "k": "new"}\n---\n'),
        ("---\n{a: 1,}\n---\n", '---\n{a: 1,"k": "new"}\n---\n'),
        ('---\n{"k": 1, "b": 2}\n---\n', '---\n{"k": "new", "b": 2}\n---\n'),
        ("\ufeff---\r\nk: |\r\n  a\r\nb: 1\r\n---\r\nx", "\ufeff---\r\nk: new\r\nb: 1\r\n---\r\nx"),
    ],
)
def test_one_field_is_set_and_nothing_else_moves(before: str, after: str) -> None:
    assert set_field(before, "k", "new") == after
    assert read(after)["k"] == "new"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("plain words", "plain words"),
        ("ünïcode 日記", "ünïcode 日記"),
        ("2026-02-08", "2026-02-08"),
        ("2026-02-31", '"2026-02-31"'),
        ("true", '"true"'),
        ("No", '"No"'),
        ("null", '"null"'),
        ("42", '"42"'),
        ("", '""'),
        (" edge ", '" edge "'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ("- a", '"- a"'),
        ('say "hi"', r'"say \"hi\""'),
        ("two\nlines", r'"two\nlines"'),
        ("\u2028", r'"\u2028"'),
    ],
)
def test_a_value_is_quoted_where_yaml_would_read_something_else(value: str, written: str) -> None:
    assert set_field("", "k", value) == f"---\nk: {written}\n---\n"


@pytest.mark.parametrize("key", ["on", "2026", "a b", "a: b", "<<", "=", "", "日", "#", "?"])
def test_any_key_can_be_set(key: str) -> None:
    once = set_field("---\non: 1\n2026: 2\n---\n", key, "x")

    assert read(once)[key] == "x"
    assert read(set_field(once, key, "y"))[key] == "y"
    assert len(set_field(once, key, "y")) == len(once)


@pytest.mark.parametrize(
    ("text", "key", "value", "rule"),
    [
        ("---\na: b: c\n---\n", "k", "v", "not-yaml"),
        ("---\na: &x 1\n---\n", "k", "v", "alias"),
        ("", "k", "v" * 8200, "too-big"),
        ("", "k", "half \ud800", "not-yaml"),
        ("---\n? k\n---\n", "k", "v", "not-settable"),
        ("---\na: b: c\nk: d: e\n---\n", "k", "v", "not-yaml"),
        ("---\nk: &x 1\nj: *x\n---\n", "k", "v", "alias"),
    ],
)
def test_what_cannot_be_set_safely_is_refused(text: str, key: str, value: str, rule: str) -> None:
    with pytest.raises(FrontmatterRefused) as refused:
        set_field(text, key, value)

    assert refused.value.facts["rule"] == rule


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("---\nk: b: c\na: 1\n---\nx\n", '---\nk: "v: w"\na: 1\n---\nx\n'),
        ("---\r\na: 1\r\nk: *b* c\r\n---\r\nx", '---\r\na: 1\r\nk: "v: w"\r\n---\r\nx'),
        ("---\nk: [b] c\n---\n", '---\nk: "v: w"\n---\n'),
    ],
)
def test_a_value_that_keeps_the_block_from_being_yaml_can_be_replaced(
    text: str, wanted: str
) -> None:
    assert read(text) == {}
    assert set_field(text, "k", "v: w") == wanted


FIELDS = [
    "{key}: plain{nl}",
    "{key}:   'quoted'  # comment{nl}",
    "{key}:{nl}",
    "{key}: # nothing yet{nl}",
    '{key}: "double \\" quoted"{nl}',
    "{key}: |{nl}  block{nl}  scalar{nl}{nl}",
    "{key}: >-{nl}    folded{nl}{nl}    text{nl}",
    "{key}: [1, two,{nl}  three]{nl}",
    "{key}:{nl}  - a{nl}  - b: 1{nl}    c: 2{nl}",
    "{key}:{nl}- a{nl}- - b{nl}",
    "{key}: {{a: 1}}   # flow{nl}",
    "{key}: two{nl}  lines{nl}",
    "{key}: 2026-02-08{nl}",
    "'{key}' : ünïcode 日記 🎉{nl}",
]
BETWEEN = ["", "# a comment{nl}", "{nl}", "{nl}# a: b{nl}{nl}"]


def test_a_broken_key_that_stands_twice_is_not_set() -> None:
    text = "---\nsummary: one: two\nsummary: three: four\n---\nBody.\n"

    with pytest.raises(FrontmatterRefused, match="line 3 has the key 'summary' a second time"):
        set_field(text, "summary", "new")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_lines_of_a_broken_value_are_read_and_replaced(newline: str) -> None:
    lines = [
        "---",
        "summary: one: two",
        "  three",
        "  four",
        "date: 2026-02-08",
        "---",
        "Body.",
        "",
    ]
    text = newline.join(lines)

    assert by_line(text) == {"summary": "one: two three four", "date": "2026-02-08"}
    assert read(set_field(text, "summary", "new"))["summary"] == "new"


@given(st.lists(st.text(), max_size=5), st.lists(st.text(), max_size=5), st.booleans())
def test_a_list_reads_back_as_the_texts_it_was_made_of(
    one: list[str], other: list[str], flow: bool
) -> None:
    text = "---\n{a: 1}\n---\nbody\n" if flow else "---\na: 1\n---\nbody\n"

    once = set_field(text, "k", one)
    again = set_field(once, "k", other)

    assert read(once) == {"a": 1, "k": one}
    assert read(again) == {"a": 1, "k": other}
    assert again.endswith("---\nbody\n")


@st.composite
def files(draw: st.DrawFn) -> tuple[str, str, str, list[str], str]:
    """A file as mark, opening, the pieces of its block, and the rest."""
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    pieces = []
    for number in range(draw(st.integers(0, 5))):
        pieces.append(draw(st.sampled_from(BETWEEN)).format(nl=newline))
        pieces.append(draw(st.sampled_from(FIELDS)).format(key=f"key{number}", nl=newline))
    pieces.append(draw(st.sampled_from(BETWEEN)).format(nl=newline))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    rest = draw(st.sampled_from(["---", "..."])) + newline + draw(st.text())
    return mark, newline, f"---{newline}", pieces, rest


@given(files(), st.integers(0, 6), st.text())
@settings(max_examples=300)
def test_a_set_field_reads_back_and_every_other_byte_stays(
    file: tuple[str, str, str, list[str], str], number: int, value: str
) -> None:
    mark, newline, opening, pieces, rest = file
    key, text = f"key{number}", mark + opening + "".join(pieces) + rest
    before = read(text)

    after = set_field(text, key, value)

    assert read(after) == {**before, key: value}
    at = 2 * number + 1
    if at >= len(pieces):
        assert after.startswith(mark + opening + "".join(pieces))
        assert after.endswith(newline + rest)
        return
    head, tail = "".join(pieces[:at]), "".join(pieces[at + 1 :])
    assert after.startswith(mark + opening + head)
    assert after.endswith(tail + rest)
    field = after[len(mark + opening + head) : len(after) - len(tail + rest)]
    assert field.count("#") - value.count("#") == pieces[at].count("#")
    assert set_field(after, key, value) == after


@given(st.text(), st.text(min_size=1), st.text())
@example("\r", "k", "v")
@example("---\n", "k", "v")
def test_a_file_without_frontmatter_keeps_its_body(text: str, key: str, value: str) -> None:
    assume(split(text) is None)

    after = set_field(text, key, value)

    assert read(after) == {key: value}
    assert after.endswith(text.removeprefix("\ufeff"))
    assert after.startswith("\ufeff") == text.startswith("\ufeff")


@given(st.text("ab:-?&*!|>'\"%@`{}[], #\n\t1", max_size=60))
@settings(max_examples=400)
def test_any_block_is_read_or_refused_and_setting_never_lies(raw: str) -> None:
    text = f"---\n{raw}\n---\nbody"
    try:
        after = set_field(text, "key", "value")
    except FrontmatterRefused:
        return

    assert read(after)["key"] == "value"
    assert after.endswith("---\nbody")
    old, new = split(text), split(after)
    assert old is not None
    assert new is not None
    assert {**read(text), "key": "value"} == read(after)
