"""Names as they can be typed in a shell."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.model.text.format import quoted
from tests.support.cli import shell_words

names = st.text(
    st.characters(exclude_characters="\0", exclude_categories=("Cs",)), min_size=1, max_size=30
)


@settings(max_examples=25)  # each asks a shell about many names
@given(st.lists(names, min_size=10, max_size=40))
def test_a_shell_reads_back_every_name(given: list[str]) -> None:
    words = shell_words(" ".join(map(quoted, given)))

    assert [word.removeprefix("./") for word in words] == [x.removeprefix("./") for x in given]


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        ("notes/a.md", "notes/a.md"),
        ("it's.md", "'it'\"'\"'s.md'"),
        ("-dash.md", "./-dash.md"),
        ("--at.md", "./--at.md"),
        ("a\nb c.md", "$'a\\x0ab c.md'"),
        ("`id`.md", "$'\\x60id\\x60.md'"),
        ("caf\udce9.md", "$'caf\\xe9.md'"),
    ],
)
def test_a_name_is_one_word_and_never_an_option(name: str, typed: str) -> None:
    assert quoted(name) == typed
    assert shell_words(typed)[0] in (name, f"./{name}")
