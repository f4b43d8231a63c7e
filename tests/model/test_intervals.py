"""What is left of the messages agrees with counting them one by one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.transcripts.intervals import Closed, Range, brief, range_of, read_range

NUMBERS = st.integers(0, 20)
CHOSEN = st.sets(st.integers(1, 20), min_size=1).map(sorted)
CHATS = st.sampled_from(["", "", "", "a", "b"])
RANGES = st.lists(
    st.builds(Range, NUMBERS, NUMBERS, CHATS, st.just(()))
    | st.builds(lambda chosen, chat: range_of(chosen, range(1, 21), chat), CHOSEN, CHATS)
)


def counted(ranges: list[Range], chat: str) -> set[int]:
    """The numbers that ranges of all chats, or of CHAT, have."""
    return {
        number
        for each in ranges
        if each.chat in ("", chat)
        for first, last in each.stretches()
        for number in range(first, last + 1)
    }


SOME_CHATS = st.sampled_from(["", "a", "b", "c"])


@given(RANGES, SOME_CHATS, NUMBERS, NUMBERS)
def test_gaps_are_what_no_range_of_all_chats_or_of_this_one_has(
    ranges: list[Range], chat: str, begin: int, end: int
) -> None:
    found = list(Closed(ranges).gaps(chat, begin, end))

    left = [number for first, last in found for number in range(first, last + 1)]
    assert left == sorted(set(range(begin, end + 1)) - counted(ranges, chat))


@given(RANGES, SOME_CHATS, NUMBERS, NUMBERS)
def test_gaps_are_in_order_and_do_not_touch(
    ranges: list[Range], chat: str, begin: int, end: int
) -> None:
    found = list(Closed(ranges).gaps(chat, begin, end))

    assert all(first <= last for first, last in found)
    assert all(one[1] + 1 < other[0] for one, other in pairwise(found))


@given(RANGES, NUMBERS, SOME_CHATS)
def test_a_message_is_closed_if_a_range_of_all_chats_or_of_its_own_has_it(
    ranges: list[Range], number: int, chat: str
) -> None:
    assert Closed(ranges).has(number, chat) == (number in counted(ranges, chat))


def test_a_range_of_one_chat_leaves_the_others_open() -> None:
    closed = Closed([Range(1, 9, "a"), Range(2, 3), Range(3, 5)])

    assert list(closed.gaps("b", 1, 8)) == [(1, 1), (6, 8)]
    assert list(closed.gaps("a", 1, 10)) == [(10, 10)]
    assert list(Closed().gaps("a", 1, 0)) == []


@given(CHOSEN, st.sets(st.integers(1, 20)))
def test_a_range_has_what_was_chosen_and_nothing_else_that_is_there(
    chosen: list[int], others: set[int]
) -> None:
    there = sorted({*chosen, *others})

    found = range_of(chosen, there, "a")

    assert [number for number in there if found.has(number, "a")] == chosen
    assert not any(found.has(number, "b") for number in there)
    assert read_range(str(found), "a") == found


@given(CHOSEN, CHATS, NUMBERS, SOME_CHATS)
def test_a_number_belongs_to_a_range_if_one_of_its_stretches_has_it(
    chosen: list[int], own: str, number: int, chat: str
) -> None:
    found = range_of(chosen, range(1, 21), own)

    inside = any(first <= number <= last for first, last in found.stretches())
    assert found.has(number, chat) == (inside and own in ("", chat))


def test_of_many_stretches_few_are_looked_at() -> None:
    asked: list[int] = []

    class Number(int):
        def __lt__(self, other: int) -> bool:
            asked.append(other)
            return int(self) < int(other)

    holes = tuple((Number(each), Number(each)) for each in range(2, 40_000, 2))
    found = Range(1, 40_001, "", holes)

    assert found.has(20_001, "a")
    assert not found.has(20_002, "a")
    assert 0 < len(asked) < 100


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("12-45", "12-45"),
        ("1-1,3-3,5-5,7-7", "1-1,3-3,5-5,7-7"),
        ("1-1,3-3,5-5,7-7,9-9", "1-1,3-3,… (5 parts) …,9-9"),
        (
            ",".join(f"{each}-{each}" for each in range(1, 40_000, 2)),
            "1-1,3-3,… (20,000 parts) …,39999-39999",
        ),
    ],
)
def test_a_range_of_many_parts_is_told_in_few(text: str, told: str) -> None:
    assert brief(text) == told


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12-45", Range(12, 45)),
        ("1-1,3-3", Range(1, 3, "", ((2, 2),))),
        ("1-4,9-9,12-20", Range(1, 20, "", ((5, 8), (10, 11)))),
        ("1-2,3-4", Range(1, 4)),
        ("", None),
        ("x", None),
        ("0-3", None),
        ("3-1", None),
        ("5-9,1-2", None),
        ("1-2,2-3", None),
        ("1-2,", None),
    ],
)
def test_a_range_is_read_as_it_is_written(text: str, found: Range | None) -> None:
    assert read_range(text) == found
