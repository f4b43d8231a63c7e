"""Entries are read as people write them, and changed without touching another line."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gitmem.errors import BadInput, NotFound
from gitmem.model.entries.blocks import find, parse, slug_of, split_address
from gitmem.model.entries.edit import put
from gitmem.model.entries.lines import KNOWN, fold, split_lines, tidy
from gitmem.model.entries.placement import add, add_all, take

DECISION = ("Date", "Decided by", "Decision", "Context", "Status", "Importance", "Type")
FILE = """\
# Decisions

Choices that close off others.

## Code

### Use ESM only
- **Date:** 2026-01-02
- **Decided by:** the team
- **Decision:** Modules are ESM.
- **Status:** active
- **Importance:** 2
- **Type:** procedural

Old bundles stay as they are.

### Keep the monorepo
- **Date:** 2026-01-03
- **Status:** superseded

## Notes

Nothing here.
"""


def test_an_entry_has_title_fields_text_section_and_place() -> None:
    first, second = parse(FILE)

    assert (first.title, first.slug, first.section) == ("Use ESM only", "use-esm-only", "Code")
    assert first.fields[1] == ("Decided by", "the team")
    assert first.prose == "Old bundles stay as they are."
    assert split_lines(FILE)[first.start] == "### Use ESM only\n"
    assert first.line == first.start + 1
    assert second.block.startswith("### Keep the monorepo\n")
    assert "Notes" not in second.block
    assert (first.importance, first.status, first.type) == (2, "active", "procedural")
    assert first.date == date(2026, 1, 2)
    assert first.field("decided BY") == "the team"
    assert first.field("Nothing") == ""


@pytest.mark.parametrize(
    "line",
    [
        "- **Status:** active",
        "* **Status**: active",
        "+ **Status :** active",
        "   - **status:**   active   ",
        "\t- **STATUS:** active",
        "**Status:** active",
        "**Status**: active",
        "1. **Status:** active",
        "- [ ] **Status:** active",
        "- __Status:__ active",
        "- Status: active",
        "* status : active",
        "Status: active",
        "• **Status:** active",
        "- **Status:**active",
        "- **Status\uff1a** active",
        "- **Status:**\n  active",
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_a_field_is_read_in_every_form_that_a_person_can_read(
    line: str, newline: str, final: bool
) -> None:
    text = f"### T\n{line}" + ("\n" if final else "")

    (entry,) = parse(text.replace("\n", newline))

    assert entry.field("Status") == "active"
    assert entry.prose == ""


def test_fields_may_stand_apart_and_below_text() -> None:
    (entry,) = parse("### T\n\nWhy not.\n\n**Date:** 2026-01-02\n\n**Status:** raw\n\n- Type: x\n")

    assert [name for name, _ in entry.fields] == ["Date", "Status", "Type"]
    assert entry.prose == "Why not."


def test_a_bold_word_that_nobody_knows_is_text_unless_it_stands_among_fields() -> None:
    (entry,) = parse("### T\n- **Owner:** Ada\n- **Due:** May\n\n**Note:** mind\n- **Pro:** x\n")

    assert entry.fields == (("Owner", "Ada"), ("Due", "May"))
    assert parse("### T\n\n**Note:** mind\n")[0].fields == ()


def test_what_stands_under_a_deeper_heading_is_text() -> None:
    text = "### T\n- **Date:** 2026-01-02\n\n#### Rejected\n- **Status:** dropped\n"

    assert parse(text)[0].fields == (("Date", "2026-01-02"),)
    assert put(text, "T", {"Status": "raw"}).text == text.replace(
        "02\n\n", "02\n- **Status:** raw\n\n"
    )


def test_a_plain_name_is_a_field_only_when_it_is_known_or_given() -> None:
    text = "### T\n- Reviewer: Ada\n- Status: raw\n"

    assert parse(text)[0].fields == (("Status", "raw"),)
    assert parse(text, ["Reviewer"])[0].field("reviewer") == "Ada"


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("### Title", "Title"),
        ("###   Title  ", "Title"),
        ("###\tTitle", "Title"),
        ("### Title ###", "Title"),
        ("### Title #", "Title"),
        ("### C#", "C#"),
        ("###Title", "Title"),
        ("\ufeff### Title", "Title"),
        ("###", ""),
    ],
)
def test_headings(heading: str, title: str) -> None:
    for newline in ("", "\n", "\r\n"):
        assert [each.title for each in parse(heading + newline)] == [title]


@pytest.mark.parametrize(
    "text",
    [
        "#### Deeper\n",
        "Title\n-----\n",
        "```\n### Code\n```\n",
        "~~~~ md\n### Code\n~~~\n### Code\n~~~~\n",
        "````\n```\n### Code\n````\n",
        "<!--\n### Format\n- **Date:** 2026-01-02\n-->\n",
        "---\n### yaml: comment\n---\ntext\n",
        "```\n### never closed\n",
        "    ### indented code\n",
        "###123\n",
        "",
        "\n\n",
    ],
)
def test_what_is_no_entry(text: str) -> None:
    assert parse(text) == ()


@pytest.mark.parametrize("text", ["a ``` b\n### T\n", "``` a`b\n### T\n", "<!-- a -->\n### T\n"])
def test_what_quotes_nothing(text: str) -> None:
    assert len(parse(text)) == 1


def test_deeper_headings_and_quoted_ones_belong_to_the_entry() -> None:
    text = "### A\n#### Why\n```md\n### not me\n- **Status:** no\n```\n### B\n"

    first, second = parse(text)

    assert (first.title, first.fields, second.title) == ("A", (), "B")


def test_a_code_block_inside_a_list_item_ends_with_the_item() -> None:
    assert [each.title for each in parse("### A\n- item\n  ```\n  code\n### B\n")] == ["A", "B"]


def test_a_value_goes_on_where_lines_are_indented() -> None:
    text = "### A\n- **Context:** one\n  two\n\n  - three\n\ttabbed\n- **Status:** raw\nafter\n"

    (entry,) = parse(text)

    assert entry.field("Context") == "one\ntwo\n\n- three\ntabbed"
    assert entry.field("Status") == "raw"
    assert entry.prose == "after"


@pytest.mark.parametrize(
    ("value", "number"),
    [
        ("2", 2),
        ("2 (high)", 2),
        ("2/5", 2),
        ("2 / 5", 2),
        ("**3**", 3),
        ("5.", 5),
        ("4, as ever", 4),
        ("1-5", None),
        ("1 | 2", None),
        ("2.5", None),
        ("12", None),
        ("-3", None),
        ("3/10", None),
        ("2/55", None),
        ("0", None),
        ("6", None),
        ("high", None),
        ("", None),
    ],
)
def test_importance(value: str, number: int | None) -> None:
    assert parse(f"### T\n- **Importance:** {value}\n")[0].importance == number


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("Active.", "active"),
        ("ACTIVE (since May)", "active"),
        ("`active`", "active"),
        ("active - mostly", "active"),
        ("ready-to-commit", "ready-to-commit"),
        ("In  Progress", "in progress"),
        ("superseded by Daily commit", "superseded"),
        ("completed on 2026-01-02", "completed"),
        ("completed 2026-01-02", "completed"),
        ("On hold", "on hold"),
        ("", ""),
    ],
)
def test_status(value: str, status: str) -> None:
    assert parse(f"### T\n- **Status:** {value}\n")[0].status == status


def test_the_date_of_an_entry_is_the_newest_that_parses() -> None:
    (entry,) = parse(
        "### T\n- **Date:** 2026-02-30\n- **Started:** 2026-01-01 (about)\n"
        "- **Updated:** [2026-01-05]\n- **Confirmed:** last week\n"
    )

    assert entry.date == date(2026, 1, 5)
    assert parse("### T\n- **Date observed:** 2026-03-01\n")[0].date == date(2026, 3, 1)
    assert parse("### T\n- **Date:** 12026-01-01\n")[0].date is None


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Use ESM only", "use-esm-only"),
        ("  C++ & Rust!", "c-rust"),
        ("Größe: straße", "größe-straße"),
        ("E\u0301tude", "étude"),
        ("使用 ESM", "使用-esm"),
        ("हिन्दी में", "हिन्दी-में"),
        ("snake_case", "snake-case"),
        ("", "entry"),
    ],
)
def test_slugs(title: str, slug: str) -> None:
    assert slug_of(title) == slug


def test_a_title_of_signs_alone_has_a_slug_that_stays() -> None:
    assert slug_of("???") == slug_of("???") != slug_of("!!!")
    assert slug_of("???").startswith("entry-")


def test_slugs_are_unique_even_where_a_title_ends_in_a_number() -> None:
    text = "### Use ESM\n### Use ESM\n### Use ESM 2\n### use esm\n### use-esm-2\n"

    slugs = [each.slug for each in parse(text)]

    assert slugs == ["use-esm", "use-esm-3", "use-esm-2", "use-esm-4", "use-esm-2-2"]


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("reference/decisions.md#use-esm", ("reference/decisions.md", "use-esm")),
        ("decisions.md#Use C#", ("decisions.md", "Use C#")),
        ("decisions.md", ("decisions.md", "")),
        ("decisions#use-esm", ("decisions", "use-esm")),
        ("notes/c#.md", ("notes/c#.md", "")),
        ("notes/c#.md#x", ("notes/c#.md", "x")),
        ("#use-esm", ("#use-esm", "")),
    ],
)
def test_addresses(address: str, parts: tuple[str, str]) -> None:
    assert split_address(address) == parts


@pytest.mark.parametrize(
    "name", ["use-esm-only", "Use ESM only", "use esm  ONLY", "d.md#use-esm-only"]
)
def test_an_entry_is_found_by_address_slug_or_title(name: str) -> None:
    assert find(parse(FILE), name).title == "Use ESM only"


def test_who_is_not_found_is_told_of_near_ones() -> None:
    with pytest.raises(NotFound, match="use-ems-only") as caught:
        find(parse(FILE), "d.md#use-ems-only")

    assert "Use ESM only (#use-esm-only)" in caught.value.hint
    with pytest.raises(NotFound) as caught:
        find((), "x")
    assert "no entries" in caught.value.hint


def test_a_new_entry_comes_last_with_its_fields_in_order() -> None:
    done = put(
        "# Ideas\n\n(No ideas yet.)\n",
        "Try  gleam",
        {"Mood": "keen", "type": "strategic", "Date": "2026-02-08"},
        "It looks neat.\n",
        DECISION,
    )

    assert (done.slug, done.created) == ("try-gleam", True)
    assert done.text == (
        "# Ideas\n\n(No ideas yet.)\n\n### Try gleam\n- **Date:** 2026-02-08\n"
        "- **Type:** strategic\n- **Mood:** keen\n\nIt looks neat.\n"
    )


def test_a_new_entry_comes_behind_the_last_one_and_before_a_section_without_any() -> None:
    done = put(FILE, "New", {"Status": "active"})

    assert "superseded\n\n### New\n- **Status:** active\n\n## Notes\n" in done.text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "### T\n"),
        ("\ufeff", "\ufeff### T\n"),
        ("a", "a\n\n### T\n"),
        ("a\r\n", "a\r\n\r\n### T\r\n"),
        ("---\nx: 1\n---\n", "---\nx: 1\n---\n\n### T\n"),
        ("### A\n## B\n", "### A\n\n### T\n\n## B\n"),
    ],
)
def test_a_new_entry_is_set_apart_in_the_line_endings_of_the_file(text: str, wanted: str) -> None:
    assert put(text, "T").text == wanted


def test_a_field_that_is_there_is_replaced_where_it_stands() -> None:
    done = put(FILE, "use esm ONLY", {"status": "superseded"}, None, DECISION)

    before, after = FILE.splitlines(), done.text.splitlines()
    assert [(x, y) for x, y in zip(before, after, strict=True) if x != y] == [
        ("- **Status:** active", "- **Status:** superseded")
    ]
    assert not done.created


def test_a_field_that_is_new_comes_to_its_place_in_the_order() -> None:
    done = put(
        FILE, "keep-the-monorepo", {"Context": "size", "Type": "x", "Zeal": "9"}, "", DECISION
    )

    assert (
        "- **Date:** 2026-01-03\n- **Context:** size\n- **Status:** superseded\n"
        "- **Type:** x\n- **Zeal:** 9\n\n## Notes"
    ) in done.text


def test_a_changed_field_keeps_bullet_indent_and_line_ending() -> None:
    text = "### T\r\n  * **Status**: raw\r\n    more\r\n\r\ntext\r\n"

    done = put(text, "T", {"Status": "dropped", "Type": "x"})

    assert done.text == "### T\r\n  * **Status**: dropped\r\n  * **Type**: x\r\n\r\ntext\r\n"


def test_a_file_that_ends_without_a_newline_still_does_after_a_change() -> None:
    assert put("### T\n- **Status:** raw", "T", {"Status": "x"}).text == "### T\n- **Status:** x"


def test_text_that_is_there_already_keeps_its_spacing() -> None:
    text = "### T\n- **Status:** raw\n\n\nbody\n"

    assert put(text, "T", (), "body\n").text == text


def test_a_field_beside_plain_ones_is_bold_so_that_it_reads_back() -> None:
    done = put("### T\n- Status: raw\n", "T", {"Mood": "keen"})

    assert done.text == "### T\n- Status: raw\n- **Mood:** keen\n"


def test_a_first_field_is_set_apart_from_text_behind_it() -> None:
    assert put("### T\ntext", "T", {"Type": "x"}).text == "### T\n- **Type:** x\n\ntext"


def test_a_first_field_comes_below_text_that_would_be_taken_for_its_value() -> None:
    text = "### T\n\n    indented\n\n### U\n"

    done = put(text, "T", {"Status": "raw", "Date": "2026-01-02"}, None, DECISION)

    assert done.text == (
        "### T\n\n    indented\n\n- **Date:** 2026-01-02\n- **Status:** raw\n\n### U\n"
    )


def test_a_value_of_several_lines_goes_on_indented_and_reads_back() -> None:
    value = "one\n### two\n\n- **Status:** three\n  deeper\n```\nnever closed"
    text = put(FILE, "T", {"Context": value, "Status": "active"}, "", DECISION).text

    assert "- **Context:** one\n  ### two\n\n  - **Status:** three\n    deeper\n" in text
    assert find(parse(text), "t").field("Context") == value
    assert find(parse(text), "t").status == "active"
    shorter = put(text, "T", {"Context": "one"}, "", DECISION).text
    assert find(parse(shorter), "t").field("Context") == "one"
    assert "deeper" not in shorter


def test_text_replaces_the_text_after_the_fields_and_nothing_else() -> None:
    text = "### A\nabove\n- **Status:** raw\n\nbelow\nand on\n\n### B\nother\n"

    done = put(text, "A", (), "new\n\nlines")

    assert done.text == "### A\nabove\n- **Status:** raw\n\nnew\n\nlines\n\n### B\nother\n"


def test_fields_that_stand_in_the_text_count_as_given() -> None:
    body = "- **Status:** raw\n- Date: 2026-01-02\n\nIt looks neat.\n"

    done = put("", "T", {"Status": "dropped"}, body, DECISION)

    assert done.text == "### T\n- **Date:** 2026-01-02\n- **Status:** dropped\n\nIt looks neat.\n"


def test_a_text_may_begin_with_the_heading_of_the_entry_itself() -> None:
    done = put("", "Use ESM", (), "### use  esm\n- **Status:** raw\n\nNeat.\n", DECISION)

    assert done.text == "### Use ESM\n- **Status:** raw\n\nNeat.\n"


def test_text_is_set_apart_from_a_heading_right_below() -> None:
    assert put("### A\n### B\n", "A", (), "text").text == "### A\n\ntext\n\n### B\n"


def test_no_text_leaves_the_text_that_is_there() -> None:
    assert put(FILE, "Use ESM only", (), "  \n").text == FILE


def test_an_entry_is_matched_by_title_before_slug() -> None:
    text = "### B!\n### b\n"

    assert put(text, "b", {"Type": "x"}).text == "### B!\n### b\n- **Type:** x\n"


@pytest.mark.parametrize(
    "title", ["C #", "#", "# x", "x ##", "- a", "**b**", "x #y", "👨\u200d👩\u200d👧"]
)
def test_titles_with_marks_read_back(title: str) -> None:
    text = put("", title).text

    assert [each.title for each in parse(text)] == [title]
    assert put(text, title, {"Type": "x"}).created is False


@pytest.mark.parametrize("title", ["", "  ", "a\nb", "a\x00b", "a\x1bb", "a\u2028b", "x" * 201])
def test_titles_that_cannot_be(title: str) -> None:
    with pytest.raises(BadInput, match="title"):
        put("", title)


@pytest.mark.parametrize("name", ["", " ", "a*b", "a:b", "a\nb\x07", "--", "x" * 61, "a\uff1ab"])
def test_names_of_fields_that_cannot_be(name: str) -> None:
    with pytest.raises(BadInput, match="invalid field name"):
        put("", "T", {name: "x"})


@pytest.mark.parametrize("value", ["", "  ", "\n\n"])
def test_a_field_without_a_value_is_refused(value: str) -> None:
    with pytest.raises(BadInput, match="Status has no value"):
        put(FILE, "Use ESM only", {"Status": value})


def test_a_field_given_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="twice"):
        put(FILE, "T", [("Status", "a"), ("status", "b")])
    with pytest.raises(BadInput, match="twice"):
        put(FILE, "T", (), "- **Status:** a\n- **Status:** b\n")


def test_a_text_that_would_begin_another_entry_is_refused() -> None:
    with pytest.raises(BadInput, match="heading 'Two'") as caught:
        put(FILE, "T", (), "one\n### Two\n")

    assert "####" in caught.value.hint
    assert put(FILE, "T", (), "one\n#### Two\n```\n### code\n```").created


@pytest.mark.parametrize("body", ["```\nx", "<!-- x", "~~~\n```\n"])
def test_a_text_that_would_swallow_what_follows_is_refused(body: str) -> None:
    with pytest.raises(BadInput, match="never closed"):
        put(FILE, "Use ESM only", (), body)


def test_a_file_that_ends_inside_a_code_block_takes_no_new_entry() -> None:
    with pytest.raises(BadInput) as caught:
        put("# X\n```\nopen\n", "T")
    assert "never closed" in caught.value.hint
    with pytest.raises(BadInput):
        add("# X\n```\nopen\n", "### T\n")


def test_an_entry_is_taken_out_and_added_elsewhere() -> None:
    rest, block = take(FILE, "use-esm-only")

    assert rest == FILE.replace(block + "\n", "")
    assert add("# Ideas\r\n", block) == "# Ideas\r\n\r\n" + block.replace("\n", "\r\n")


def test_taking_the_last_entry_leaves_no_empty_lines_behind() -> None:
    assert take("# X\n\n### A\n\n### B\nb", "b") == ("# X\n\n### A\n", "### B\nb")
    assert take("\ufeff### A\na\n\n### B\n", "a") == ("\ufeff### B\n", "### A\na\n")


# Laws.

words = st.text(
    st.characters(codec="utf-8", exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=12
)
odd_lines = st.one_of(
    st.sampled_from(
        [
            *("", "# Top", "## Section", "### Use ESM", "### use esm 2", "### C#", "#### Deep"),
            *("### Title ###", "###Glued", "###", "- **Status:** active", "* **Status**: raw"),
            *("**Date:** 2026-01-02", "- Importance: 2", "  going on", "\ttabbed", "```", "~~~"),
            *("  ```", "<!--", "-->", "---", "plain text", "Status: x", "- **Owner:** Ada", "  "),
        ]
    ),
    words,
)
texts = st.builds(
    lambda lines, newline, final, bom: ("\ufeff" if bom else "") + newline.join(lines) + final,
    st.lists(odd_lines, max_size=25),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n", "\n\n"]),
    st.booleans(),
)
blocks = st.builds(
    lambda heading, lines: [heading, *lines],
    st.sampled_from(["### Use ESM", "### use esm 2", "### Use ESM", "### C#", "### Two ##"]),
    st.lists(odd_lines.filter(lambda line: line.strip() not in ("```", "~~~", "<!--")), max_size=8),
)
files = st.builds(
    lambda parts, newline, final: newline.join(["# Top", *(x for y in parts for x in y)]) + final,
    st.lists(blocks, min_size=1, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", "\r\n"]),
)
any_text = st.one_of(st.text(st.characters(exclude_categories=("Cs",))), texts, files)
titles = st.one_of(
    st.sampled_from(["Use ESM", "use esm 2", "use-esm-2", "C#", "New one"]),
    words.filter(lambda title: title.isprintable() and title.strip()),
)
# A text, and more often than not the title of an entry in it.
aims = st.one_of(
    st.tuples(any_text, titles),
    files.flatmap(
        lambda text: st.tuples(
            st.just(text), st.sampled_from([x.title or x.slug for x in parse(text)])
        )
    ),
)
values = st.one_of(
    st.sampled_from(
        ["active", "one\n  two\n\nthree", "### x\n```", "**b:** c", ": d", "- Date: x"]
    ),
    st.text(st.characters(exclude_categories=("Cs",))),
).filter(tidy)
fields = st.dictionaries(st.sampled_from([*DECISION, "Mood", "status of it"]), values, max_size=4)
bodies = st.one_of(
    st.sampled_from(
        ["", "text", "  indented\n\nand on  \n", "- **Pro:** x\n- **Status:** y", "# h"]
    ),
    st.text(st.characters(exclude_categories=("Cs",)), max_size=40),
)


def said(text: str) -> list[str]:
    """The lines of TEXT, whatever their endings."""
    return [line.rstrip("\r\n") for line in split_lines(text.removeprefix("\ufeff"))]


@given(any_text)
def test_any_text_parses_and_nothing_of_it_is_lost(text: str) -> None:
    entries = parse(text)

    lines, at, whole = split_lines(text), 0, ""
    for each in entries:
        whole += "".join(lines[at : each.start]) + each.block
        at = each.end
    assert whole + "".join(lines[at:]) == text


@given(any_text)
@example("### a\n### a\n### a 2\n### a-2\n### a 2\n")
def test_addresses_are_unique_and_lead_to_their_entry(text: str) -> None:
    entries = parse(text)

    assert len({each.slug for each in entries}) == len(entries)
    for each in entries:
        assert find(entries, each.slug) is each
        assert find(entries, f"reference/x.md#{each.slug}") is each
        assert split_address(f"reference/x.md#{each.slug}") == ("reference/x.md", each.slug)


@given(aims, fields, bodies)
@example(("### A\n- **Status:** x\n\n    code\n", "A"), {}, "body")
@example(("### A\n", "A"), {}, "- **Pro:** x\n- **Con:** y")
@example(("a\n### Use ESM\n```\n", "Use ESM"), {"Status": "x"}, "")
def test_what_was_put_reads_back_and_no_other_line_changed(
    aim: tuple[str, str], given_fields: dict[str, str], body: str
) -> None:
    text, title = aim
    try:
        done = put(text, title, given_fields, body, DECISION)
    except BadInput:
        assume(False)
    entries = parse(done.text, DECISION)
    entry = next(each for each in entries if each.slug == done.slug)

    for name, value in given_fields.items():
        assert entry.field(name) == tidy(value)
    before, lines, added = said(text), said(done.text), entry.end - entry.start
    old = next((each for each in parse(text, DECISION) if each.start == entry.start), None)
    if done.created:
        assert without_blanks(lines[: entry.start] + lines[entry.end :]) == without_blanks(before)
    else:
        assert old is not None
        assert old.title == entry.title
        assert lines[: entry.start] + lines[entry.end :] == before[: old.start] + before[old.end :]
    assert added >= 1


@given(aims, fields, bodies)
@example(("### A\n", "A"), {}, "- **Pro:** x\n- **Con:** y")
@example(("### A\n- **Status:** x", "A"), {"Status": "y", "Type": "z"}, "b")
def test_putting_the_same_twice_changes_nothing(
    aim: tuple[str, str], given_fields: dict[str, str], body: str
) -> None:
    text, title = aim
    try:
        once = put(text, title, given_fields, body, DECISION)
    except BadInput:
        assume(False)

    twice = put(once.text, title, given_fields, body, DECISION)

    assert twice == (once.text, once.slug, False)


@given(texts, texts, st.data())
def test_moving_an_entry_conserves_every_line(here: str, there: str, data: st.DataObject) -> None:
    entries = parse(here)
    assume(entries)
    entry = data.draw(st.sampled_from(entries))

    rest, block = take(here, entry.slug)
    try:
        target = add(there, block)
    except BadInput:
        assume(False)

    lines = Counter(without_blanks(said(here) + said(there)))
    assert Counter(without_blanks(said(rest) + said(target))) == lines
    assert len(parse(rest)) == len(entries) - 1
    assert parse(target)[-1].fields == entry.fields


def without_blanks(lines: list[str]) -> list[str]:
    """What says something, without the mark that a file may begin with."""
    return [line.removeprefix("\ufeff") for line in lines if line.removeprefix("\ufeff").strip()]


def test_the_names_that_are_known_are_those_of_the_formats() -> None:
    assert {fold(each) for each in DECISION} <= {fold(each) for each in KNOWN}


@pytest.mark.parametrize("opened", ["```\ncode", "~~~\ncode", "<!-- a remark"])
def test_an_entry_that_swallows_the_rest_is_not_given_another_text(opened: str) -> None:
    text = f"### One\n{opened}\n\n### Two\n- **Status:** active\n\nImportant.\n"

    with pytest.raises(BadInput, match="never closed"):
        put(text, "One", (), "A new body.")


BLOCKS = st.lists(
    st.sampled_from(
        ["### A\n", "### A\n- **Status:** raw\n\nText.\n\n\n", "### B\r\n\r\nText.\r\n", "### C"]
    ),
    min_size=1,
    max_size=5,
)
PLACES = st.sampled_from(
    [
        "",
        "\ufeff",
        "# Title\n",
        "# Title\n\n### One\n\nText.",
        "### One\r\n\r\n",
        "### One\n\n## Later\n",
    ]
)


@given(PLACES, BLOCKS)
def test_many_are_added_as_one_would_add_each(text: str, blocks: list[str]) -> None:
    one_by_one = text
    for each in blocks:
        one_by_one = add(one_by_one, each)

    assert add_all(text, blocks) == one_by_one


@given(PLACES)
def test_of_many_that_cannot_all_be_added_none_is(text: str) -> None:
    with pytest.raises(BadInput):
        add_all(text, ["### A\n\n```\nnever closed\n", "### B\n"])
