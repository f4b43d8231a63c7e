"""What an entry is known by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.entries.blocks import parse
from gitmem.model.entries.freshness import WHITE, blocks, key_of, key_of_file, part_that_differs

LINES = st.lists(
    st.sampled_from(
        [
            *("### One", "### Two ###", "###Glued", "###", "## Section", "# Top", "#### Deeper"),
            *("#tag", "- **Status:** active", "text", "", "```", "~~~", "<!-- x", "-->", "---"),
            *("  ### indented", "### T\r", "    code", "\ufeff### Marked"),
        ]
    ),
    max_size=14,
)


def said(data: bytes) -> list[bytes]:
    return [each.translate(None, WHITE) for each in blocks(data)]


def parsed(data: bytes) -> list[bytes]:
    found = parse(data.decode("utf-8", "surrogateescape"))
    return [each.block.encode("utf-8", "surrogateescape").translate(None, WHITE) for each in found]


@given(LINES, st.sampled_from(["", "\n"]))
def test_blocks_are_the_entries_that_are_read(lines: list[str], ending: str) -> None:
    data = ("\n".join(lines) + ending).encode()

    assert said(data) == parsed(data)


@given(LINES, LINES, LINES, LINES)
def test_outside_of_the_part_that_differs_all_blocks_are_the_same(
    above: list[str], one: list[str], other: list[str], below: list[str]
) -> None:
    old, new = (
        "".join(f"{line}\n" for line in (*above, *middle, *below)).encode()
        for middle in (one, other)
    )
    head = len("".join(f"{line}\n" for line in above).encode())
    tail = len("".join(f"{line}\n" for line in below).encode())

    before, after = part_that_differs(old, new, head, tail)

    whole, part = sorted(said(old)), said(before)
    for each in part:
        whole.remove(each)
    assert sorted([*whole, *said(after)]) == sorted(said(new))


def test_a_text_is_known_whatever_white_space_it_has() -> None:
    assert key_of(b"### A\n- b\n") == key_of(b"### A\r\n\r\n-\tb") != key_of(b"### A\n- c\n")
    assert key_of_file(b"### A\n") != key_of(b"### A\n")
