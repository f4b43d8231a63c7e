"""What is left of the messages agrees with counting them one by one."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.intervals import Range, gaps, is_closed, range_of, read_range

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


@given(RANGES, NUMBERS)
def test_gaps_are_what_no_range_of_all_chats_has(closed: list[Range], last: int) -> None:
    found = gaps(closed, last)

    left = [number for gap in found for number in range(gap.first, gap.last + 1)]
    assert left == sorted(set(range(1, last + 1)) - counted(closed, ""))
    assert all(not gap.chat for gap in found)


@given(RANGES, NUMBERS)
def test_gaps_are_in_order_and_do_not_touch(closed: list[Range], last: int) -> None:
    found = gaps(closed, last)

    assert all(gap.first <= gap.last for gap in found)
    assert all(one.last + 1 < other.first for one, other in pairwise(found))


@given(RANGES, NUMBERS, st.sampled_from(["a", "b", "c"]))
def test_a_message_is_closed_if_a_range_of_all_chats_or_of_its_own_has_it(
    closed: list[Range], number: int, chat: str
) -> None:
    assert is_closed(closed, number, chat) == (number in counted(closed, chat))


def test_a_range_of_one_chat_leaves_the_others_open() -> None:
    assert gaps([Range(1, 9, "a"), Range(2, 3), Range(3, 5)], 8) == [Range(1, 1), Range(6, 8)]
    assert gaps([], 0) == []


@given(CHOSEN, st.sets(st.integers(1, 20)))
def test_a_range_has_what_was_chosen_and_nothing_else_that_is_there(
    chosen: list[int], others: set[int]
) -> None:
    there = sorted({*chosen, *others})

    found = range_of(chosen, there, "a")

    assert [number for number in there if found.has(number, "a")] == chosen
    assert not any(found.has(number, "b") for number in there)
    assert read_range(str(found), "a") == found


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
