"""A change that needs no libgit2 is seen as libgit2 sees it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.text.hunks import Hunk, one_hunk
from gitmem.store.history.diff import compare, hunks, hunks_of

LINES = st.lists(st.sampled_from([b"a", b"b", b"  b", b"# c", b"", b"d\x0ce", b"\x00", b"x\r"]))
TEXTS = st.builds(lambda lines, end: b"\n".join(lines) + end, LINES, st.sampled_from([b"", b"\n"]))


@given(old=TEXTS, new=TEXTS)
def test_any_change_is_as_libgit2_sees_it(old: bytes, new: bytes) -> None:
    assert hunks(old, new) == hunks_of(compare(old, new))


@given(kept=LINES, come=LINES)
def test_an_addition_is_as_libgit2_sees_it(kept: list[bytes], come: list[bytes]) -> None:
    old = b"".join(line + b"\n" for line in kept)
    new = old + b"".join(line + b"\n" for line in come)

    assert hunks(old, new) == hunks_of(compare(old, new))


def test_plain_changes_need_no_libgit2() -> None:
    assert one_hunk(b"", b"a\nb\n") == Hunk(0, 0, 0, 2)
    assert one_hunk(b"a\nb\n", b"c\n") == Hunk(0, 2, 0, 1)
    assert one_hunk(b"a\nb\n", b"a\nb\nc\n") == Hunk(2, 2, 2, 3)


def test_what_could_be_seen_in_two_ways_does() -> None:
    assert one_hunk(b"a\n", b"a\na\n") is None
    assert one_hunk(b"a\nx\nb\n", b"c\nx\nd\n") is None
