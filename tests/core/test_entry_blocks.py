"""What two blocks have in common, and what reading many of them costs."""

from __future__ import annotations

from time import perf_counter

import pytest

from gitmem.core.entry_blocks import parse, wording

BLOCK = "### Tea\n- **Status:** active\n\nGreen,  not black.\n"


@pytest.mark.parametrize(
    "other",
    [BLOCK, BLOCK + "\n\n", BLOCK.replace("\n", "\r\n"), "\ufeff" + BLOCK, BLOCK.rstrip()],
)
def test_line_endings_and_what_stands_behind_change_no_word(other: str) -> None:
    assert wording(other) == wording(BLOCK)


@pytest.mark.parametrize(
    "other",
    [
        BLOCK.replace("Green", "green"),
        BLOCK.replace("  ", " "),
        BLOCK.replace("\n\n", "\n"),
        BLOCK.replace("black.", "black.\u2028And hot."),
        "x" + BLOCK,
    ],
)
def test_everything_else_is_another_wording(other: str) -> None:
    assert wording(other) != wording(BLOCK)


def test_twice_as_many_entries_take_twice_as_long() -> None:
    def seconds(count: int) -> float:
        text = "".join(BLOCK.replace("Tea", f"Tea {number}") for number in range(count))
        starts = []
        for _ in range(3):
            start = perf_counter()
            assert len(parse(text)) == count
            starts.append(perf_counter() - start)
        return min(starts)

    # A search through all headings for each entry would take 64 times as long.
    assert seconds(4000) < 24 * seconds(500)
