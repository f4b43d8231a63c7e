"""What fits best comes first, by scores that can be compared; no question can break it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gitmem.cache.database import Connection
from gitmem.cache.scoring import BALLAST, WEIGHTS, WORDS, Accepts, Rarity, find, match, terms_in
from gitmem.model.language.prompts import Sentence, query_sentences
from gitmem.model.language.ranking import Found
from gitmem.model.language.words import terms_of

VOCABULARY = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
ROWS = st.lists(
    st.tuples(*(st.lists(st.sampled_from(VOCABULARY), max_size=6).map(" ".join) for _ in WEIGHTS)),
    max_size=12,
)
SENTENCES = st.lists(
    st.builds(
        Sentence,
        st.lists(st.sampled_from(VOCABULARY), min_size=1, unique=True).map(tuple),
        st.sampled_from([1.0, 1.3]),
    ),
    min_size=1,
    max_size=3,
)
Row = tuple[str, ...]


@contextmanager
def table(rows: Sequence[Row], documents: Sequence[int] = ()) -> Iterator[Connection]:
    """A table of passages: their own terms, and those before, after and above them."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE TABLE passages (id INTEGER PRIMARY KEY, document INTEGER)")
        connection.executescript(WORDS)
        connection.execute(BALLAST)
        for number, row in enumerate(rows, 1):
            document = documents[number - 1] if documents else number
            connection.execute("INSERT INTO passages VALUES (?, ?)", (number, document))
            padded = (*row, "", "", "")[: len(WEIGHTS)]
            connection.execute(
                "INSERT INTO words(rowid, text, before, after, head) VALUES (?, ?, ?, ?, ?)",
                (number, *padded),
            )
        yield connection
    finally:
        connection.close()


def found_in(
    connection: Connection,
    *sentences: Sentence,
    limit: int = 100,
    wanted: Accepts | None = None,
) -> list[Found]:
    rarity = Rarity(connection, sentences)
    return find(connection, sentences, rarity, limit=limit, accepts=wanted)


def scores(rows: Sequence[Row], *sentences: Sentence) -> dict[int, float]:
    with table(rows) as connection:
        return {each.document: each.score for each in found_in(connection, *sentences)}


@given(ROWS, SENTENCES)
def test_scores_are_shares_and_the_best_comes_first(
    rows: list[Row], sentences: list[Sentence]
) -> None:
    with table(rows) as connection:
        found = found_in(connection, *sentences)

    assert [each.score for each in found] == sorted((x.score for x in found), reverse=True)
    assert all(0 < each.score <= 1 for each in found)
    assert len({each.id for each in found}) == len(found)


@given(ROWS, SENTENCES)
def test_what_has_any_term_of_a_sentence_is_found_and_nothing_else(
    rows: list[Row], sentences: list[Sentence]
) -> None:
    asked = {term for each in sentences for term in each.terms}
    having = {at for at, row in enumerate(rows, 1) if asked & set(" ".join(row).split())}

    assert scores(rows, *sentences).keys() == having


@given(ROWS, SENTENCES)
def test_a_passage_counts_by_the_sentence_that_it_fits_best(
    rows: list[Row], sentences: list[Sentence]
) -> None:
    with table(rows) as connection:
        together = found_in(connection, *sentences)
        rarity = Rarity(connection, sentences)
        reach = max(map(rarity.reach, sentences))
        alone = [
            {found.id: found.score * rarity.reach(each) for found in found_in(connection, each)}
            for each in sentences
        ]

    for found in together:
        best = max(each.get(found.id, 0.0) for each in alone)
        assert found.score == pytest.approx(best / reach)
        assert alone[found.sentence][found.id] == pytest.approx(best)


@given(ROWS, st.sampled_from(VOCABULARY))
def test_the_order_is_that_of_bm25(rows: list[Row], term: str) -> None:
    weights = ", ".join(map(str, WEIGHTS.values()))
    with table(rows) as connection:
        found = found_in(connection, Sentence((term,)))
        query = f"SELECT rowid, -bm25(words, {weights}) FROM words WHERE words MATCH ?"
        second = dict(connection.execute(query, (f'"{term}"',)).fetchall())

    assert [second[each.id] for each in found] == sorted(second.values(), reverse=True)


def test_a_term_counts_most_in_a_passage_and_above_it() -> None:
    rows = [("alpha", "beta", "beta", "beta"), ("beta", "alpha", "beta", "beta"),
            ("beta", "beta", "alpha", "beta"), ("beta", "beta", "beta", "alpha")]  # fmt: skip

    found = scores(rows, Sentence(("alpha",)))

    assert found[1] == found[4] > found[2] > found[3]


def test_who_has_more_of_a_sentence_or_its_rarer_part_comes_first() -> None:
    rows = [
        ("alpha beta x x",),
        ("alpha x x x",),
        ("beta x x x",),
        ("x x x x",),
        *[("beta x x x",)] * 5,
    ]

    found = scores(rows, Sentence(("alpha", "beta")))

    assert found[1] > found[2] > found[3]
    assert 4 not in found


@given(
    st.lists(st.sets(st.sampled_from(VOCABULARY)), min_size=1, max_size=10),
    st.sets(st.sampled_from(VOCABULARY), min_size=1).map(sorted),
)
def test_of_two_passages_of_one_length_the_one_with_more_of_a_sentence_wins(
    kinds: list[set[str]], terms: list[str]
) -> None:
    rows = [(" ".join([*sorted(kind), *["other"] * (6 - len(kind))]),) for kind in kinds]
    found = scores(rows, Sentence(tuple(terms)))
    shares = [found.get(at, 0.0) for at in range(1, len(rows) + 1)]

    for one, share in zip(kinds, shares, strict=True):
        for other, less in zip(kinds, shares, strict=True):
            if one & set(terms) > other & set(terms):
                assert share > less


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_a_term_that_most_of_a_small_memory_has_still_counts(count: int) -> None:
    rows = [("deploy on fridai never",)] * count + [("ada like short answer",)]

    found = scores(rows, Sentence(("deploy",)))

    assert len(found) == count
    assert min(found.values()) > 0.1


def test_a_question_counts_more_than_what_is_said_beside_it() -> None:
    rows = [("alpha",), ("beta",)]

    found = scores(rows, Sentence(("alpha",), 1.0), Sentence(("beta",), 1.3))

    assert found[2] > found[1]


SHUFFLED = st.lists(st.integers(1, 4), min_size=1, max_size=30).flatmap(
    lambda repeats: st.tuples(st.just(repeats), st.permutations(range(len(repeats))))
)


@given(SHUFFLED, st.integers(1, 12))
@example(([1] * 30, range(29, -1, -1)), 4)
def test_which_passages_are_found_does_not_depend_on_who_came_first(
    shuffled: tuple[list[int], Sequence[int]], limit: int
) -> None:
    repeats, order = shuffled
    rows = [(" ".join(["alpha"] * repeat + ["other"] * (5 - repeat)),) for repeat in repeats]

    def documents(order: Sequence[int]) -> dict[int, float]:
        with table([rows[at] for at in order], order) as connection:
            found = found_in(connection, Sentence(("alpha",)), limit=limit)
        return {each.document: each.score for each in found}

    assert documents(range(len(rows))) == documents(order)


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_however_few_are_wanted_the_best_are_found(limit: int) -> None:
    rows = [(" ".join(["alpha"] * count + ["other"] * (9 - count)),) for count in range(10)]

    with table(rows) as connection:
        found = found_in(connection, Sentence(("alpha",)), limit=limit)

    assert [each.id for each in found[: max(1, limit // 2)]] == [10, 9, 8, 7, 6, 5, 4, 3, 2][
        : max(1, limit // 2)
    ]


def test_what_is_wanted_is_found_however_far_down_it_stands() -> None:
    rows = [("alpha alpha alpha",)] * 3000 + [("alpha " + "other " * 50,)]

    with table(rows) as connection:
        found = found_in(
            connection, Sentence(("alpha",)), limit=10, wanted=lambda _, document: document == 3001
        )
        nothing = found_in(connection, Sentence(("alpha",)), limit=10, wanted=lambda *_: False)

    assert [each.id for each in found] == [3001]
    assert nothing == []


SIGNS = [*"\"*():^-+{}\\'\0", "NEAR(", " AND ", " OR ", " NOT ", "text:", "漢", "가é"]
NASTY = st.sampled_from(SIGNS)


@given(st.lists(NASTY | st.text()).map("".join))
@example('"')
@example("a* AND (b")
@settings(max_examples=100)
def test_no_question_is_an_error(query: str) -> None:
    with table([(terms_of(query),), ("alpha",)]) as connection:
        sentences = query_sentences(query, anything=True)
        found = found_in(connection, *sentences)

    assert bool(found) == bool(sentences)


def test_a_long_sentence_can_be_looked_for() -> None:
    terms = tuple(f"term{count}" for count in range(400))

    with table([(" ".join(terms),), ("term7",)]) as connection:
        assert [each.id for each in found_in(connection, Sentence(terms))] == [1, 2]


def test_a_match_finds_any_of_its_terms_and_what_begins_so() -> None:
    with table([("alpha",), ("alphabet",), ("beta",), ("or",)]) as connection:

        def ids(*terms: str) -> list[int]:
            query = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid"
            return [row for (row,) in connection.execute(query, (match(*terms),))]

        assert ids("alpha") == [1]
        assert ids("alpha*") == [1, 2]
        assert ids("beta", "or") == [3, 4]


@given(ROWS, st.lists(st.sampled_from([*VOCABULARY, "nowhere", "al*"]), min_size=1, unique=True))
def test_coverage_is_the_share_of_a_sentence_that_stands_there(
    rows: list[Row], terms: list[str]
) -> None:
    sentence = Sentence(tuple(terms))
    with table(rows) as connection:
        rarity = Rarity(connection, [sentence])

    met = rarity.coverage(sentence, ["alpha" if each == "al*" else each for each in terms])
    assert met == 1 or (met < 1 and rarity.of(terms[0]) < rarity.of_nothing / 2)
    assert rarity.coverage(sentence, ["other"]) == 0
    shares = [rarity.coverage(sentence, terms[:count]) for count in range(len(terms) + 1)]
    assert shares == sorted(shares)
    assert all(0 <= each <= 1 for each in shares)


def test_a_rare_word_covers_more_than_a_common_one() -> None:
    sentence = Sentence(("alpha", "beta"))
    with table([("beta",)] * 8 + [("alpha",)]) as connection:
        rarity = Rarity(connection, [sentence])

    assert rarity.of("alpha") > rarity.of("beta")
    assert rarity.coverage(sentence, ["alpha"]) > 0.5 > rarity.coverage(sentence, ["beta"])


def test_a_word_that_all_passages_have_asks_for_none_of_them() -> None:
    everywhere, rare = Sentence(("alpha",)), Sentence(("beta",))
    with table([("alpha",)] * 200 + [("alpha beta",)]) as connection:
        rarity = Rarity(connection, [everywhere, rare])

    assert rarity.coverage(everywhere, ["alpha"]) < 0.1
    assert rarity.coverage(rare, ["beta"]) == 1


def test_nobody_answers_each_word_of_a_long_sentence() -> None:
    sentence = Sentence(tuple(f"term{count}" for count in range(60)))
    with table([("alpha",)]) as connection:
        rarity = Rarity(connection, [sentence])

    assert rarity.coverage(sentence, sentence.terms[:6]) == pytest.approx(1)
    assert rarity.coverage(sentence, sentence.terms[:3]) == pytest.approx(0.5)


def test_terms_are_those_of_a_passage_and_of_what_stands_above_it() -> None:
    with table([("alpha beta", "gamma", "delta", "zeta"), ("beta",)] * 600) as connection:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 999)
        found = terms_in(connection, range(1, 1201))

    assert len(found) == 1200
    assert found[1] == {"alpha", "beta", "zeta"}
    assert found[1200] == {"beta"}


def test_what_fills_a_small_table_is_never_found() -> None:
    with table([("alpha",)]) as connection:
        everything = found_in(connection, *query_sentences("alpha \ue000", anything=True))

    assert [each.id for each in everything] == [1]
