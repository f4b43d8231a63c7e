"""F19: whatever memory holds, a prompt has one block for each piece, and reads back exactly."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.escaping import shown, shown_on_a_line
from gitmem.core.layout import FORMATS
from gitmem.core.messages import visible
from gitmem.core.pieces import Piece, one_line, text_of, trimmed
from gitmem.core.rendering import NOTICE, Page
from tests.support.readback import Block, listed, read_blocks

TRICKS = [
    "</knowledge>", "< / KNOWLEDGE >", '<knowledge layer="facts">', "<\nentry>", "</entry>", "&lt;",
    "&amp;lt;", "&gt;", "&quot;", "<", "&", "=== BOT IDENTITY ===", "\\=== X ===", "===X===",
    "====", "=== END ===", "## About the User", "\\## x", "##", "   ## x", "[2] (global) x",
    " [ 2 ] (x", "\\[1] (group) x", "Relevant memory snippets:", "\\(missing)", "(missing)",
    "(empty)", "(unreadable: gitmem check)", "(gitmem read x)", "[... 1 of 2 bytes: gitmem read x]",
    "\\", "\\\\", "\\u{200B}", "\\\\u{200B}", "u{200B}", "\u200b", "\u202e", "\U000e0041", "\x00",
    "\x1b", "\r", "\x85", "\u2028", "\n", "\n\n", " ", "\t", "- today: x", "]]>", "<!--", "ı", "K",
]  # fmt: skip

texts = st.lists(st.one_of(st.sampled_from(TRICKS), st.text(max_size=5)), max_size=12).map("".join)
bodies = texts.map(lambda text: trimmed(text) or "x")
lines = texts.map(lambda text: one_line(text) or "x")
paths = st.sampled_from(["facts/a.md", "a b (old): c.md", "a): b.md", "é.md", 'q"<>&.md', "x\n.md"])
days = st.sampled_from([("2026-02-08", "today"), ("2026-02-07", "yesterday"), ("", "unknown")])


@st.composite
def some_pieces(draw: st.DrawFn) -> list[Piece]:
    """Pieces of up to four layers, in the order in which a page has them."""
    made = []
    for layer in draw(st.lists(st.sampled_from("abcd"), max_size=5).map(sorted)):
        path, group = draw(paths), draw(st.sampled_from(["", "global"]))
        piece = Piece(
            layer, "notes", heading=f"Label {layer}", path=path, address=path, group=group
        )
        if layer in "ab":
            made.append(piece._replace(text=draw(bodies), user="t:1" if layer == "b" else ""))
        elif layer == "c":
            date, age = draw(days)
            made.append(piece._replace(render="summary", text=draw(lines), date=date, age=age))
        else:
            made.append(piece._replace(render="pointer"))
    # Of one layer, a group's own pieces come before those of the global group.
    return sorted(made, key=lambda each: (each.layer, each.group))


def texts_in(blocks: list[Block], pieces: list[Piece], format: str) -> list[str]:
    """What BLOCKS say, one text for each piece."""
    found = []
    for block in blocks:
        if block.head.get("heading", "").startswith("Label c"):
            found += [text for _, text in listed(block)]
        else:
            found.append(block.text)
    if format == "snippets":  # where age and summary stand in one line
        starts = [f"{each.age}: " if each.render == "summary" else "" for each in pieces]
        assert all(text.startswith(start) for text, start in zip(found, starts, strict=True))
        found = [text.removeprefix(start) for text, start in zip(found, starts, strict=True)]
    return found


def expected(piece: Piece, format: str) -> str:
    if piece.render != "pointer":
        return piece.text
    return "" if format in ("xml", "json") else None  # type: ignore[return-value]


@pytest.mark.parametrize("annotate", [False, True])
@pytest.mark.parametrize("format", FORMATS)
@given(pieces=some_pieces())
def test_a_prompt_reads_back_to_exactly_its_pieces(
    format: str, annotate: bool, pieces: list[Piece]
) -> None:
    text = Page(format, annotate=annotate).text(pieces)

    blocks = read_blocks(text, format, NOTICE if annotate else "")
    said = texts_in(blocks, pieces, format)
    assert len(said) == len(pieces)
    for found, piece in zip(said, pieces, strict=True):
        wanted = expected(piece, format)
        assert found.startswith("(gitmem read ") if wanted is None else found == wanted


@given(pieces=some_pieces(), annotate=st.booleans())
def test_the_attributes_of_a_block_read_back(pieces: list[Piece], annotate: bool) -> None:
    text = Page("xml", annotate=annotate).text(pieces)

    for block, piece in zip(
        read_blocks(text, "xml", NOTICE if annotate else ""), pieces, strict=True
    ):
        wanted = {"layer": piece.layer, "jid": piece.user, "group": piece.group, "age": piece.age}
        if annotate or piece.render == "pointer":
            wanted["path"] = piece.path
        if annotate:
            wanted["date"] = piece.date
        assert block.head == {name: value for name, value in wanted.items() if value}


@pytest.mark.parametrize("format", FORMATS)
@given(pieces=some_pieces())
def test_nothing_in_a_prompt_is_invisible(format: str, pieces: list[Piece]) -> None:
    text = Page(format, annotate=True).text(pieces)

    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
    assert hidden <= {"\n", "\t"}
    text.encode()


@given(texts)
def test_what_cannot_be_seen_is_written_as_everywhere_else(text: str) -> None:
    blank = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters and marks, but without a shape
    plain = "".join(c for c in text if c not in blank and not 0xE0000 <= ord(c) <= 0xE0FFF)

    assert shown_on_a_line(plain) == visible(plain)


def test_every_character_that_controls_or_hides_is_known() -> None:
    hiding = ("Cc", "Cf", "Cs", "Zl", "Zp")
    missed = [
        hex(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in hiding and shown_on_a_line(chr(code)) == chr(code)
    ]

    assert missed == []
    assert shown("line\n\ttab é 漢 👍\ufe0f") == "line\n\ttab é 漢 👍\ufe0f"
    assert shown("a\u200bb\U000e0041") == "a\\u{200B}b\\u{E0041}"


def test_a_body_keeps_every_sign_that_cannot_be_taken_for_ours() -> None:
    text = "a < b && c > d; <b>bold</b> &nbsp; <knowledgebase>"

    assert Page("xml").text([Piece("facts", "notes", text)]) == (
        f'<knowledge layer="facts">\n{text}\n</knowledge>'
    )


@pytest.mark.parametrize(
    ("format", "line", "written"),
    [
        ("sections", "=== X ===", "\\=== X ==="),
        ("sections", "\\=== X ===", "\\\\=== X ==="),
        ("sections", "======", "======"),
        ("sections", "## X", "## X"),
        ("sections", "(missing)", "\\(missing)"),
        ("markdown", "## X", "\\## X"),
        ("markdown", "### X", "### X"),
        ("markdown", "=== X ===", "=== X ==="),
        ("snippets", "[12] (global) x", "\\[12] (global) x"),
        ("snippets", "[12]: https://example.org", "[12]: https://example.org"),
        ("snippets", "[... 1 of 2 bytes: gitmem read a]", "\\[... 1 of 2 bytes: gitmem read a]"),
    ],
)
def test_a_line_that_looks_like_ours_begins_with_a_backslash(
    format: str, line: str, written: str
) -> None:
    page = Page(format).text([Piece("a", "notes", f"first\n{line}")])

    assert page.split("\n")[-1] == written


def test_files_are_shown_with_plain_line_ends_and_nothing_around_them() -> None:
    assert text_of(b"\xef\xbb\xbf\r\n \r\n  one\r\n\r\ntwo \xff \r\n\r\n") == "  one\n\ntwo \ufffd"
    assert text_of(b" \n\t\n") == ""


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("one\n  two\u2028three ", "one two three"),
        (["one", "two\nlines", None, ""], "one; two lines"),
        (7, "7"),
        (None, ""),
        ({"a": 1}, ""),
        ([], ""),
    ],
)
def test_a_summary_is_one_line(value: object, line: str) -> None:
    assert one_line(value) == line


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "< ",
        "<\n",
        "\\",
        "= ",
        "=== ",
        "=",
        "(gitmem read )",
        "[... 1 of 1 bytes: ]",
        "\u200b",
        "&lt;",
    ],
)
def test_no_text_takes_for_ever(format: str, unit: str) -> None:
    text = f"=== x {unit * 100_000} (gitmem read {unit * 100_000}{' ' * 100_000}y"

    assert len(Page(format).text([Piece("facts", "notes", text)])) > len(text)
