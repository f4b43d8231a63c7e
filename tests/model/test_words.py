"""Words are found in any language, whatever their case, accents and Unicode form."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.language.common_words import IDLE_TERMS, REPLIES, STOP_WORDS
from gitmem.model.language.stems import stem
from gitmem.model.language.words import (
    LONGEST,
    content_words,
    query_terms,
    term_spans,
    terms_of,
    words_of,
)

SCRIPTS = [
    "the quick Deployments of AT&T",
    "数据库备份在法兰克福",
    "データベースのバックアップ",
    "데이터베이스 백업은 프랑크푸르트에",
    "ฐานข้อมูลสำรองอยู่ที่แฟรงก์เฟิร์ต",
    "डेटाबेस का बैकअप फ़्रैंकफ़र्ट में है",
    "النسخ الاحتياطي لقاعدة البيانات",
    "Резервные копии базы данных во Франкфурте",
    "Straße, Äpfel und Größenwahn",
    "😀 ⭐ ⚠️ ✅ 👨‍👩‍👧 🇩🇪",
    "ｶﾞｽ ﾊﾟﾝ ＡＢＣ１２３ ㎏ ½ ﬁne İstanbul",
]
PIECES = st.sampled_from([*" .,-_*\"'#\n\0é\u0301\u1112\u1161\u11ab漢か゛ำ가😀½ﬁ\ud800", *SCRIPTS])
TEXTS = st.one_of(st.text(), st.lists(PIECES | st.text(max_size=3)).map("".join))


@contextmanager
def rows_of(*texts: str) -> Iterator[sqlite3.Connection]:
    """A table that holds TEXTS as the index does."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'ascii')")
        connection.execute("CREATE VIRTUAL TABLE there USING fts5vocab(words, 'instance')")
        connection.executemany("INSERT INTO words VALUES (?)", ((each,) for each in texts))
        yield connection
    finally:
        connection.close()


def is_found(term: str, text: str) -> bool:
    """Whether SQLite finds TERM in what TEXT is known by."""
    with rows_of(terms_of(text)) as connection:
        quoted = f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"'
        found = connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (quoted,))
        return bool(found.fetchone()[0])


def finds(query: str, text: str) -> bool:
    """Whether every term of QUERY finds TEXT."""
    terms = query_terms(query)
    return bool(terms) and all(is_found(each, text) for each in terms)


def shown(text: str, query: str) -> list[str]:
    """The parts of TEXT that are marked for QUERY."""
    return [text[start:end] for start, end in term_spans(text, query_terms(query))]


@given(TEXTS)
def test_a_term_has_no_blank_and_no_sign_that_a_query_could_stumble_over(text: str) -> None:
    for term in terms_of(text).split(" ") if terms_of(text) else ():
        assert term
        assert not any(map(str.isspace, term))
        assert all(char.isalnum() and char == char.lower() for char in term if char.isascii())


@given(TEXTS)
@example("\ufdfa\u20a8\u337f\u3371")
def test_sqlite_takes_the_terms_as_they_are(text: str) -> None:
    with rows_of(terms_of(text)) as connection:
        stored = Counter(term for (term,) in connection.execute("SELECT term FROM there"))

    assert stored == Counter(terms_of(text).split())


@given(TEXTS)
def test_a_text_is_found_by_each_term_that_it_is_asked_for_by(text: str) -> None:
    assert [each for each in query_terms(text) if not is_found(each, text)] == []


@given(TEXTS)
@example("M:\u0300")
def test_what_is_asked_for_is_asked_for_once(text: str) -> None:
    terms = query_terms(text)

    assert len(terms) == len(set(terms))
    assert bool(terms) == bool(terms_of(text))


@given(st.text(st.characters(max_codepoint=0x24F)) | st.sampled_from(SCRIPTS))
def test_case_does_not_matter(text: str) -> None:
    plain = text.translate(dict.fromkeys(map(ord, "ıŉǰẗ")))

    assert terms_of(plain.upper()) == terms_of(plain) == terms_of(plain.lower())


@given(TEXTS)
@example("한국어漢字")
@example("갓을")
def test_the_unicode_form_does_not_matter(text: str) -> None:
    composed, apart = normalize("NFC", text), normalize("NFD", text)

    assert terms_of(composed) == terms_of(apart)
    assert query_terms(composed) == query_terms(apart)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Crème brûlée", "creme brulee"),
        ("STRASSE", "Straße"),
        ("ＡＰＩ　２", "api 2"),
        ("ｶﾞｽ", "ガス"),
        ("ﬁle", "file"),
        ("Ёлка", "елка"),
        ("Ελλάς", "ΕΛΛΑΣ"),
        ("مُحَمَّد", "محمد"),
        ("שָׁלוֹם", "שלום"),
        ("don’t", "don't"),
        ("İstanbul", "istanbul"),
        ("naïvely", "naively"),
        ("snake_case-words", "snake case words"),
        ("½", "1/2"),
    ],
)
def test_forms_that_a_reader_takes_for_the_same_are_the_same(one: str, other: str) -> None:
    assert terms_of(one) == terms_of(other)
    assert terms_of(one)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("deployment", "We never deploy on Fridays."),
        ("children", "She has one child."),
        ("备份", "数据库备份在法兰克福"),
        ("法兰克福", "数据库备份在法兰克福"),
        ("福", "数据库备份在法兰克福"),
        ("库", "数据库备份在法兰克福"),
        ("バックアップ", "データベースのバックアップ"),
        ("백업", "데이터베이스 백업은 프랑크푸르트에"),
        ("สำรอง", "ฐานข้อมูลสำรองอยู่ที่"),
        ("बैकअप", "डेटाबेस का बैकअप"),
        ("البيانات", "النسخ الاحتياطي لقاعدة البيانات"),
        ("копии", "Резервные копии базы"),
        ("ÄPFEL", "Sie isst äpfel."),
        ("⭐", "five ⭐⭐⭐⭐⭐"),
        ("🚀", "to the moon 🚀!"),
        ("v2", "the API v2 is public"),
        ("invoice's", "an invoice"),
    ],
)
def test_a_text_is_found_in_its_own_language(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [("份据", "数据库备份在法兰克福"), ("copy", "copper"), ("福", "祝你好"), ("कब", "का बैकअप")],
)
def test_a_text_is_not_found_by_what_is_not_in_it(query: str, text: str) -> None:
    assert not finds(query, text)


def test_a_question_is_about_the_words_that_tell_something() -> None:
    assert content_words("Where did we put the billing key?") == ["put", "billing", "key"]
    assert query_terms("Where did we put the billing key?") == ["put", "bill", "key"]
    assert content_words("What went well? Said who?") == []


def test_of_common_words_a_question_is_made_only_if_it_has_no_other() -> None:
    assert query_terms("what is this") == ["what", "is", "thi"]
    assert query_terms("what is this invoice") == ["invoic"]
    assert {each for each in STOP_WORDS if content_words(each)} == set()


@pytest.mark.parametrize("word", ["फ़्रैंकफ़र्ट", "கோப்பு", "ব্যাকআপ", "مُحَمَّد", "cafe\u0301", "йод"])
def test_marks_belong_to_the_letters_before_them(word: str) -> None:
    assert words_of(word) == [word]


def test_a_single_character_of_a_script_without_blanks_is_what_something_begins_with() -> None:
    assert query_terms("福") == ["福*"]
    assert query_terms("法兰克福") == ["法兰", "兰克", "克福"]
    assert terms_of("法兰克福") == "法兰 兰克 克福 福"


def test_of_a_word_that_is_a_digest_only_the_beginning_counts() -> None:
    assert terms_of("7" * 500) == "7" * LONGEST
    assert terms_of("é" * 500) == "e" * LONGEST


@given(TEXTS, TEXTS)
@example("ｶﾞｽ管", "ガス")
@example("สำรอง", "สำ")
@example("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한")
def test_what_is_marked_means_what_was_asked_for(text: str, query: str) -> None:
    wanted = query_terms(query)
    begin = tuple(each[:-1] for each in wanted if each.endswith("*"))
    last = 0

    for start, end in term_spans(text, wanted):
        assert last <= start < end <= len(text)
        last = end
        terms = terms_of(text[start:end]).split()
        assert set(terms) & set(wanted) or any(each.startswith(begin) for each in terms)


@given(TEXTS)
@example("㐀゛")
def test_who_asks_for_a_text_finds_something_of_it_marked(text: str) -> None:
    assert bool(list(term_spans(text, query_terms(text)))) == bool(query_terms(text))


@pytest.mark.parametrize(
    ("text", "query", "parts"),
    [
        ("Deployments: never deploy!", "deploying", ["Deployments", "deploy"]),
        ("数据库备份在法兰克福", "备份 法兰克福", ["备份", "法兰克福"]),
        ("数据库备份在法兰克福", "福", ["福"]),
        ("백업은 한국에", "백업", ["백업"]),
        ("Straße: STRASSE, Strauß", "straße", ["Straße", "STRASSE"]),
        ("ｶﾞｽ管 と ガス管", "ガス", ["ｶﾞｽ管", "ガス"]),
        ("nothing of that", "invoice", []),
        ("", "invoice", []),
    ],
)
def test_a_reader_sees_why_something_was_found(text: str, query: str, parts: list[str]) -> None:
    assert shown(text, query) == parts


def test_the_words_of_a_text_are_the_same_beside_a_word_of_another_language() -> None:
    text = "Plain words_of 3 kinds: e-mail, AT&T, it's"

    assert [each.lower() for each in words_of(f"{text} é")] == [*words_of(text), "é"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("数据库备份在哪里？", ["数据", "据库", "库备", "备份"]),
        ("返金は誰の承認ですか", ["返金", "承認", "認で"]),
        ("这是什么", ["这是", "是什", "什么"]),
        ("Wo liegen die Sicherungen?", ["liegen", "die", "sicherungen"]),
    ],
    ids=["chinese", "japanese", "nothing else", "german"],
)
def test_what_holds_a_sentence_together_is_not_looked_for(text: str, terms: list[str]) -> None:
    assert query_terms(text) == [stem(each) for each in terms]


def test_the_terms_of_idle_words_are_written_down() -> None:
    made = frozenset(map(stem, (*REPLIES, *STOP_WORDS)))

    assert made == IDLE_TERMS, " ".join(sorted(made))
