"""What is remembered of texts that stand nowhere any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import chronicle
from gitmem.core.chronicle import Memory

RECORDS = st.lists(st.binary(min_size=3, max_size=3), max_size=30)


@given(RECORDS, RECORDS, st.binary(min_size=2, max_size=2))
def test_the_newest_record_is_found_and_never_half_of_two(
    old: list[bytes], new: list[bytes], key: bytes
) -> None:
    memory = Memory(3, lambda: b"".join(old))
    for record in new:
        memory.add(record)

    fitting = [each for each in (*old, *new) if each.startswith(key)]

    assert memory.last(key) == (fitting[-1] if fitting else None)
    assert memory.all() == b"".join((*old, *new))


@given(RECORDS, RECORDS)
def test_the_oldest_are_forgotten(old: list[bytes], new: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chronicle, "REMEMBERED", 5)
        memory = Memory(3, lambda: b"".join(old[-5:]))
        for record in new:
            memory.add(record)

        known = [*old, *new][-5:]

        assert memory.all() == b"".join(known)
        assert all((memory.last(each) is not None) == (each in known) for each in (*old, *new))


def test_a_run_knows_only_what_came_before_it() -> None:
    memory = Memory(3, lambda: b"k-0")
    one, other = memory.new_run(), memory.new_run()
    memory.add(b"k-1", one)
    memory.add(b"k-2", other)

    assert memory.last(b"k-", {one}) == b"k-1"
    assert memory.last(b"k-", {other}) == b"k-2"
    assert memory.last(b"k-", ()) == b"k-0"

    last = memory.new_run(joins_all=True)
    assert memory.last(b"k-", {last}) == b"k-2"
