"""Forms of a word share a stem; SQLite, which knows the same rules, is the second opinion."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.language.stems import IRREGULAR, PREFIXES, stem

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ENDINGS = st.sampled_from(
    [
        "s",
        "es",
        "ies",
        "sses",
        "ed",
        "eed",
        "ing",
        "at",
        "bl",
        "iz",
        "ly",
        "y",
        "ational",
        "tional",
        "enci",
        "izer",
        "bli",
        "alli",
        "entli",
        "eli",
        "ousli",
        "ization",
        "ation",
        "ator",
        "alism",
        "iveness",
        "fulness",
        "ousness",
        "aliti",
        "iviti",
        "biliti",
        "logi",
        "icate",
        "ative",
        "alize",
        "iciti",
        "ical",
        "ful",
        "ness",
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ant",
        "ement",
        "ment",
        "ent",
        "ion",
        "ou",
        "ism",
        "ate",
        "iti",
        "ous",
        "ive",
        "ize",
        "e",
        "ll",
        "tt",
        "ss",
        "zz",
    ]
)
BEGINNINGS = st.text("aeioubdlnrstwxyz", min_size=1, max_size=6)
MADE_UP = st.builds(lambda head, tail: head + "".join(tail), BEGINNINGS, st.lists(ENDINGS))
TOO_SHORT = {"eed", "eeds", "ies", "sses"}
"""Words that are nothing but an ending."""


def second_opinion(words: Collection[str]) -> dict[str, str]:
    """What SQLite's Porter makes of WORDS, which are in small letters."""
    numbered = dict(enumerate(words))
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE said USING fts5(word, tokenize = 'porter ascii')")
        connection.execute("CREATE VIRTUAL TABLE stems USING fts5vocab(said, 'instance')")
        connection.executemany("INSERT INTO said(rowid, word) VALUES (?, ?)", numbered.items())
        rows = connection.execute("SELECT doc, term FROM stems")
        return {numbered[row]: term for row, term in rows}
    finally:
        connection.close()


def is_regular(word: str) -> bool:
    rests = {word.removeprefix(each) for each in (*PREFIXES, "")}
    return not {*rests, word.removesuffix("s")} & IRREGULAR.keys() and word not in TOO_SHORT


def differs_on_purpose(word: str) -> bool:
    """A last `y` stays one behind a vowel, and is `i` where there is none; `use` is not `us`."""
    return re.search(r"[aeiouy]y|^[^aeiou]*y|^us(e|es|ed|ing)$", word) is not None


@pytest.mark.parametrize(
    ("form", "word"),
    [
        ("rebuilt", "rebuild"),
        ("reran", "rerun"),
        ("redid", "redo"),
        ("undone", "undo"),
        ("overwrote", "overwrite"),
        ("underwent", "undergo"),
        ("mistook", "mistake"),
        ("goes", "go"),
    ],
)
def test_a_prefix_changes_nothing_in_the_forms_of_a_word(form: str, word: str) -> None:
    assert stem(form) == stem(word)


def test_every_word_of_the_documents_has_the_stem_that_sqlite_finds() -> None:
    found = {
        word
        for page in PAGES
        for word in re.findall(r"\b[a-z]+\b", page.read_text("utf-8").lower())
    }
    words = [each for each in found if is_regular(each) and not differs_on_purpose(each)]

    assert len(words) > 1500
    assert {each: stem(each) for each in words} == second_opinion(words)


@given(st.sets(MADE_UP.filter(is_regular).filter(lambda word: len(word) <= 60)))
def test_any_word_has_the_stem_that_sqlite_finds_but_for_a_last_y(words: set[str]) -> None:
    there = second_opinion(words)

    for word in words:
        if not differs_on_purpose(word):
            assert stem(word) == there[word]


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "pay pays paid paying",
        "fly flies flying flew flown",
        "reply replies replied replying",
        "index indexes indexing indexed indices",
        "child children",
        "use uses used using",
        "person people",
        "bit bits",
        "thought thoughts think thinks thinking",
        "run runs running ran",
        "hope hopes hoped hoping",
        "hop hops hopped hopping",
        "buzz buzzed buzzing",
        "miss missed missing",
        "fill filled filling",
        "connect connected connecting connection connections",
        "relational relate relation relations related",
        "invoice invoices invoicing invoiced",
    ],
)
def test_forms_of_a_word_share_a_stem(forms: str) -> None:
    assert len({stem(each) for each in forms.split()}) == 1


@pytest.mark.parametrize(
    "pair", ["hope hop", "use us", "test text", "cat cat5", "live life", "show snow"]
)
def test_words_that_mean_different_things_stay_apart(pair: str) -> None:
    one, other = map(stem, pair.split())

    assert one != other


def test_an_irregular_form_leads_to_its_base_and_so_does_its_plural() -> None:
    assert [form for form, base in IRREGULAR.items() if stem(form) != stem(base)] == []
    assert [each for each in IRREGULAR if each[-1] != "s" and stem(f"{each}s") != stem(each)] == []


def test_a_base_is_the_form_of_nothing_else() -> None:
    assert not IRREGULAR.keys() & set(IRREGULAR.values())


@given(st.text())
def test_any_text_has_a_stem_and_one_of_another_language_is_its_own(word: str) -> None:
    found = stem(word)

    assert bool(found) == bool(word)
    if not word.isascii() or any(map(str.isdigit, word)):
        assert found == word
