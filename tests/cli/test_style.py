"""Columns, colours and harmless text."""

from __future__ import annotations

from unicodedata import category

from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.style import Style, columns, delta, text_lines, visible, visible_text, width
from gitmem.model.text.format import counted


def test_columns_are_aligned_and_lines_not_padded() -> None:
    assert list(columns([("a", "long one", "x"), ("bb", "y", "")])) == [
        "a   long one  x",
        "bb  y",
    ]


def test_wide_characters_take_two_cells() -> None:
    assert width("日本") == 4
    assert width("e\u0301") == 1
    assert list(columns([("日本", "x"), ("abc", "y")])) == ["日本  x", "abc   y"]


def test_colours_do_not_count_as_width() -> None:
    style = Style(colour=True)

    lines = list(columns([("a", "x"), ("bbb", "y")], (style.bad,)))

    assert lines == ["\x1b[31ma\x1b[0m    x", "\x1b[31mbbb\x1b[0m  y"]


def test_without_colours_text_stays_text() -> None:
    assert Style(colour=False).bad("a") == "a"


def test_numbers_read_well() -> None:
    assert [counted(1, "byte"), counted(1204, "byte")] == ["1 byte", "1,204 bytes"]
    assert [delta(3, 1), delta(0, 2), delta(1, 0), delta(0, 0)] == ["+3 -1", "-2", "+1", ""]


@given(st.text())
def test_text_for_people_controls_hides_and_reorders_nothing(text: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}

    assert not hidden & {category(each) for each in visible(text)}
    assert not hidden & {category(each) for each in Style(False).line(text) if each != "\t"}
    assert not hidden & {category(each) for each in visible_text(text) if each not in "\n\t"}


def test_a_name_is_one_line_and_a_text_keeps_its_lines_and_tabs() -> None:
    assert visible("a\n\tb\x07") == "a\\u{000A}\\u{0009}b\\u{0007}"
    assert list(text_lines("a\n\tb\x07\n")) == ["a", "\tb\\u{0007}"]
    assert list(text_lines("")) == []


def test_only_our_own_colours_pass() -> None:
    style = Style(True)

    assert style.line(style.bold("a") + style.bad("b")) == style.bold("a") + style.bad("b")
    assert style.line("\x1b[2J" + style.bold("a")) == "\\u{001B}[2J" + style.bold("a")
    assert Style(False).line("\x1b[31mred") == "\\u{001B}[31mred"


def test_one_long_name_does_not_push_the_other_rows_away() -> None:
    lines = list(columns([("n" * 500, "x"), ("a", "y")]))

    assert lines == ["n" * 500 + "  x", "a" + " " * 61 + "y"]
