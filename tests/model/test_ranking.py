"""The best comes first, one document does not crowd out the others, and nobody gets too much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.entries.freshness import STATES
from gitmem.model.language.ranking import DOCUMENT, Found, RetrievalLimits, choose, lifted, push

SCORES = st.floats(0, 1, exclude_min=True)
FOUND = st.lists(st.tuples(st.integers(1, 4), SCORES)).map(
    lambda rows: [Found(number, *row, 0) for number, row in enumerate(rows)]
)


def best_of(found: Sequence[Found]) -> dict[int, float]:
    best: dict[int, float] = {}
    for each in found:
        best[each.document] = max(each.score, best.get(each.document, 0.0))
    return best


@given(FOUND)
def test_a_lifted_score_is_still_a_share(found: list[Found]) -> None:
    after = lifted(found)

    assert [(each.id, each.document) for each in after] == [
        (each.id, each.document) for each in found
    ]
    assert all(0 < each.score <= 1 for each in after)


@given(FOUND)
def test_no_passage_sinks_and_the_best_of_a_document_stays_its_best(found: list[Found]) -> None:
    best = best_of(found)

    for before, after in zip(found, lifted(found), strict=True):
        assert before.score - 1e-12 <= after.score <= best[before.document] + 1e-12
        if before.score == best[before.document]:
            mine = [each.score for each in lifted(found) if each.document == before.document]
            assert after.score == max(mine)


@given(FOUND, st.integers(0, 5))
def test_a_document_is_not_lifted_by_how_many_passages_it_has(
    found: list[Found], more: int
) -> None:
    weaker = [each._replace(id=-each.id, score=each.score / 2) for each in found] * more

    assert lifted([*found, *weaker])[: len(found)] == lifted(found)


def test_the_best_passage_of_a_document_helps_the_others() -> None:
    strong, weak, alone = Found(1, 1, 0.9, 0), Found(2, 1, 0.3, 0), Found(3, 2, 0.4, 0)

    scores = {each.id: each.score for each in lifted([strong, weak, alone])}

    assert scores[1] == 0.9
    assert abs(scores[2] - (0.3 + DOCUMENT * 0.9) / (1 + DOCUMENT)) < 1e-12
    assert scores[2] > scores[3]


@given(st.sampled_from([*STATES, "", "archived"]), st.none() | st.integers(-1, 9))
def test_freshness_and_importance_push_gently(state: str, importance: int | None) -> None:
    whole, partly = (push(state, importance, is_whole=each) for each in (True, False))

    assert 0.9 < whole <= 1
    assert partly <= min(push(each, rank) for each in STATES for rank in range(6))


def test_what_is_fresher_or_more_important_is_pushed_less() -> None:
    by_age = [push(state, 3) for state in STATES]
    by_rank = [push("active", rank) for rank in (1, 2, 3, 4, 5)]

    assert by_age == sorted(by_age, reverse=True)
    assert by_rank == sorted(by_rank, reverse=True)
    assert len({*by_age}) == 4
    assert len({*by_rank}) == 5
    assert push("active", None) == push("", 3)


FILES = st.lists(st.sampled_from("abc"), max_size=12)
LIMITS = st.builds(RetrievalLimits, st.integers(1, 8), st.integers(1, 4))


@given(FILES, LIMITS, st.lists(st.integers(1, 5), min_size=12, max_size=12), st.integers(0, 40))
@example(["a", "a", "a", "b"], RetrievalLimits(3, 2), [1] * 12, 40)
def test_nobody_gets_more_than_the_limits(
    files: list[str], limits: RetrievalLimits, sizes: list[int], room: int
) -> None:
    def fits(taken: Sequence[int]) -> bool:
        assert list(taken) == sorted(set(taken))
        return sum(sizes[at] for at in taken) <= room

    why = choose(files, limits, fits)
    taken = [at for at, reason in enumerate(why) if not reason]
    left = [at for at, reason in enumerate(why) if reason]

    assert len(why) == len(files)
    assert len(taken) <= limits.top
    assert fits(taken)
    for at in left:
        assert len(taken) == limits.top or not fits(sorted((*taken, at)))


@given(FILES, LIMITS)
def test_a_file_has_more_than_its_share_only_where_the_others_do_not_fill_it(
    files: list[str], limits: RetrievalLimits
) -> None:
    why = choose(files, limits, lambda _: True)
    taken = Counter(file for file, reason in zip(files, why, strict=True) if not reason)
    waiting = {file for file, reason in zip(files, why, strict=True) if reason}

    assert taken.total() == min(limits.top, len(files))
    if max(taken.values(), default=0) > limits.per_file:
        assert all(taken[file] >= limits.per_file for file in waiting)


def test_the_best_that_fit_are_taken_in_order() -> None:
    assert choose(list("abcd"), RetrievalLimits(2, 2), lambda _: True) == [
        "",
        "",
        "only 2 are taken",
        "only 2 are taken",
    ]


def test_others_have_their_turn_before_a_third_of_one_file() -> None:
    assert choose(list("aaab"), RetrievalLimits(3, 2), lambda _: True) == [
        "",
        "",
        "2 of its file come before it",
        "",
    ]
    assert choose(list("aaab"), RetrievalLimits(4, 2), lambda _: True) == [""] * 4


def test_what_does_not_fit_leaves_its_room_to_what_does() -> None:
    sizes = [5, 9, 4]

    why = choose(
        list("abc"), RetrievalLimits(3, 2), lambda taken: sum(sizes[at] for at in taken) <= 10
    )

    assert why == ["", "no room is left", ""]
