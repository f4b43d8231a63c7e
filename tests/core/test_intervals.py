"""What is left of the messages agrees with counting them one by one."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.intervals import Range, gaps, is_closed

NUMBERS = st.integers(0, 20)
RANGES = st.lists(st.builds(Range, NUMBERS, NUMBERS, st.sampled_from(["", "", "", "a", "b"])))


def counted(ranges: list[Range], chat: str) -> set[int]:
    """The numbers that ranges of all chats, or of CHAT, have."""
    return {
        number
        for each in ranges
        if each.chat in ("", chat)
        for number in range(each.first, each.last + 1)
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
