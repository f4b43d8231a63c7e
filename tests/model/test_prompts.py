"""A prompt is looked for by what it says at its end, not by what stands around that."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.cache.scoring import match
from gitmem.model.language.common_words import STOP_WORDS
from gitmem.model.language.prompts import (
    LAST,
    LONGEST,
    QUESTION,
    Sentence,
    prompt_text,
    query_sentences,
)
from gitmem.model.language.words import terms_of

QUERY = "why does the deployment fail?"
LOG = "a line of a log\n" * 6000
ASKED = Sentence(("deploy", "fail"), QUESTION)
FENCES = st.sampled_from(["```", "````", "~~~", "```py", "[10:00] ada: ", "<b>", "user: ", "\r\n"])
SIGNS = st.sampled_from([*"\"*():^-+{}[]<>NEAR AND OR NOT\\'\0\ud800漢가é"])
PROMPTS = st.lists(st.text() | FENCES | SIGNS | st.just("\n")).map("".join)


def asked(prompt: str) -> list[str]:
    """The terms of each sentence of PROMPT."""
    return [" ".join(each.terms) for each in query_sentences(prompt)]


@pytest.mark.parametrize(
    "prompt",
    [
        QUERY,
        f"[10:00] Ada: {QUERY}",
        f"[2026-02-08 10:00] [work] Ada Lovelace (she): {QUERY}",
        f"[Telegram +49 151 1234567] ada: {QUERY}",
        f"user: {QUERY}",
        f"  Human: {QUERY}",
        f"ASSISTANT:  {QUERY}",
        f"<user_query>{QUERY}</user_query>",
        f'<message from="ada" at="10:00">\n{QUERY}\n</message>',
        f"<br/>{QUERY}",
        f"```\ncode here\n```\n{QUERY}",
        f"```python\ncode here\n```  \n{QUERY}",
        f"```\r\ncode here\r\n```\r\n{QUERY}",
        f"````\ncode ```\n```\nhere\n````\n{QUERY}",
        f"~~~\ncode\n```\nhere\n~~~\n{QUERY}",
        f"   ```\n   code\n   ```\n{QUERY}",
        f"{QUERY}\n```\ncode without an end",
        f"{QUERY}\n\n```\n{LOG}```\n",
        f"```\n{LOG}```\n\n{QUERY}",
    ],
)
def test_what_stands_around_a_question_is_not_looked_for(prompt: str) -> None:
    assert query_sentences(prompt) == (ASKED,)


@pytest.mark.parametrize(
    ("prompt", "terms"),
    [
        ("which operating system: linux or bsd", ["oper system linux bsd"]),
        ("the superuser: rights", ["superus right"]),
        ("[x] deploy: tomorrow", ["x deploy tomorrow"]),
        ("[billing] invoices: late", ["bill invoic late"]),
        ("broken\n```npm install```\nthe lock file", ["break", "npm instal", "lock file"]),
        ("x < y and z > w: the limit", ["x y z w limit"]),
        ("billing: invoices late", ["bill invoic late"]),
        ("[10:02] Where does the heron live? Hint: near water", ["heron live", "hint near water"]),
        (
            "[10:02] Reminder about the heron in the old canal: tomorrow",
            ["remind heron old canal tomorrow"],
        ),
    ],
)
def test_what_only_looks_like_that_is_kept(prompt: str, terms: list[str]) -> None:
    assert asked(prompt) == terms


def test_a_prompt_of_nothing_but_code_is_looked_for_by_its_code() -> None:
    assert asked("```\nimport billing\n```") == ["import bill"]
    assert asked("<billing>") == ["bill"]


def test_who_looks_for_something_means_all_of_it() -> None:
    for query, terms in (("List<Heron>", "list heron"), ("nice work", "nice work"), ("who", "who")):
        assert [" ".join(each.terms) for each in query_sentences(query, anything=True)] == [terms]


@pytest.mark.parametrize(
    "reply", ["nice work", "OK, do it", "Looks fine to me.", "try the next one"]
)
def test_a_reply_asks_for_nothing(reply: str) -> None:
    assert query_sentences(reply) == ()
    assert asked(f"{reply} billing") != []


def test_each_sentence_is_looked_for_by_itself() -> None:
    prompt = "Hello there! The invoices are late. Did the billing service fail? Thanks"

    assert query_sentences(prompt) == (
        Sentence(("invoic", "late"), 1.0),
        Sentence(("bill", "servic", "fail"), QUESTION),
    )


@pytest.mark.parametrize(
    "question", ["where is the key?", 'is it "the key?"', "钥匙在哪里？", "أين المفتاح؟", "(key?)"]
)
def test_a_question_counts_more_than_what_is_merely_said(question: str) -> None:
    assert [each.weight for each in query_sentences(f"{question} The invoice.")] == [QUESTION, 1.0]
    assert [each.weight for each in query_sentences(f"The invoice. {question}")] == [1.0, QUESTION]


def test_the_last_sentences_count() -> None:
    numbers = [f"number{count}" for count in range(40)]

    assert asked("\n".join(numbers)) == numbers[-LAST:]


def test_a_sentence_without_end_is_parted_between_words() -> None:
    words = [f"word{count}" for count in range(200)]

    found = asked(" ".join(words))

    assert " ".join(found).split() == words
    assert all(LONGEST / 2 < len(each) <= LONGEST for each in found[:-1])
    assert asked("7" * 900) == ["7" * 64] * 3


@pytest.mark.parametrize("prompt", ["", "  \n", "who is it?", "What should we do?", "...", "```"])
def test_a_prompt_that_tells_nothing_asks_for_nothing(prompt: str) -> None:
    assert query_sentences(prompt) == ()


@given(st.lists(st.sampled_from(sorted(STOP_WORDS))).map(" ".join))
def test_common_words_count_for_who_means_them(prompt: str) -> None:
    assert query_sentences(prompt) == ()
    wanted = {term for each in query_sentences(prompt, anything=True) for term in each.terms}
    assert wanted <= set(terms_of(prompt).split())
    assert bool(wanted) == bool(prompt)


def test_who_means_anything_means_what_tells_something_first() -> None:
    assert query_sentences("Who is it? The invoice.", anything=True) == (Sentence(("invoic",)),)
    assert query_sentences("the who", anything=True) == (Sentence(("the", "who")),)


@given(PROMPTS, st.booleans())
@example('"', True)
@example("NEAR(a b) -c ^d e* text:f {g}", True)
def test_any_prompt_can_be_looked_for(prompt: str, anything: bool) -> None:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(text, tokenize = 'ascii')")
        text = prompt if anything else prompt_text(prompt)
        connection.execute("INSERT INTO words VALUES (?)", (terms_of(text),))
        for each in query_sentences(prompt, anything=anything):
            query = "SELECT count(*) FROM words WHERE words MATCH ?"
            assert connection.execute(query, (match(*each.terms),)).fetchone() == (1,)
    finally:
        connection.close()


@given(PROMPTS)
def test_there_are_never_too_many_sentences_and_none_is_empty(prompt: str) -> None:
    found = query_sentences(prompt, anything=True)

    assert len(found) <= LAST
    assert all(each.terms and each.weight in (1.0, QUESTION) for each in found)
