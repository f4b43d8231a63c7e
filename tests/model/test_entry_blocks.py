"""What two blocks have in common."""

from __future__ import annotations

import pytest

from gitmem.model.entries.blocks import parse, wording

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


def test_each_of_many_is_found() -> None:
    text = "".join(BLOCK.replace("Tea", f"Tea {number}") for number in range(4000))

    assert len(parse(text)) == 4000
