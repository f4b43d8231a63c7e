"""Which lines stood there before: the quick way and git's way must say the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.store.history.blame import _compared, common_ends, kept_lines, line_count

LINES = st.lists(
    st.sampled_from(["", "a", "b", " a", "a ", "- x", "### a", "\r", "same", "same", "\f", "\v a"]),
    max_size=12,
)
ENDINGS = st.sampled_from(["", "\n"])


@st.composite
def texts(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two texts that have much in common, some of them long enough to have their tail cut off."""
    tail = draw(st.sampled_from(["", "tail of it\n" * 120, "x\n" * 600]))
    above, below = draw(LINES), draw(LINES)
    one, other = draw(LINES), draw(LINES)
    ending = draw(ENDINGS)
    old, new = ("\n".join([*above, *middle, *below]) + ending + tail for middle in (one, other))
    return old.encode(), new.encode()


def marks(kept: tuple[tuple[int, int, int], ...]) -> dict[int, int]:
    return {b + at: a + at for a, b, count in kept for at in range(count)}


@given(texts())
def test_the_quick_way_says_what_the_diff_says(pair: tuple[bytes, bytes]) -> None:
    old, new = pair

    quick = kept_lines(old, new, *common_ends(old, new))

    assert marks(quick) == marks(_compared(old, new))


@given(texts())
def test_common_ends_are_whole_lines_and_do_not_overlap(pair: tuple[bytes, bytes]) -> None:
    old, new = pair

    head, tail = common_ends(old, new)

    assert old[:head] == new[:head]
    assert old[len(old) - tail :] == new[len(new) - tail :]
    assert head + tail <= min(len(old), len(new))
    for text in pair:
        assert head == 0 or text[head - 1 : head] == b"\n"
        border = len(text) - tail
        assert not tail or border == head or text[border - 1 : border] == b"\n"


@given(st.binary(max_size=40))
def test_lines_are_counted_as_git_counts_them(data: bytes) -> None:
    assert line_count(data) == len(data.split(b"\n")) - (data.endswith(b"\n") or not data)
