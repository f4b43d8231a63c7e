"""What is remembered of texts that stand nowhere any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.entries import dates as chronicle
from gitmem.model.entries.dates import KEY, PATH_KEY, RecordLog

RECORDS = st.lists(st.binary(min_size=3, max_size=3), max_size=30)


@given(RECORDS, RECORDS, st.binary(min_size=2, max_size=2))
def test_the_newest_record_is_found_and_never_half_of_two(
    old: list[bytes], new: list[bytes], key: bytes
) -> None:
    memory = RecordLog(3, lambda: b"".join(old))
    for record in new:
        memory.add(record)

    fitting = [each for each in (*old, *new) if each.startswith(key)]

    assert memory.last(key) == (fitting[-1] if fitting else None)
    assert memory.all() == b"".join((*old, *new))


@given(RECORDS, RECORDS)
def test_the_oldest_are_forgotten(old: list[bytes], new: list[bytes]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chronicle, "REMEMBERED", 5)
        memory = RecordLog(3, lambda: b"".join(old[-5:]))
        for record in new:
            memory.add(record)

        known = [*old, *new][-5:]

        assert memory.all() == b"".join(known)
        assert all((memory.last(each) is not None) == (each in known) for each in (*old, *new))


def test_a_run_knows_only_what_came_before_it() -> None:
    memory = RecordLog(3, lambda: b"k-0")
    one, other = memory.new_run(), memory.new_run()
    memory.add(b"k-1", one)
    memory.add(b"k-2", other)

    assert memory.last(b"k-", {one}) == b"k-1"
    assert memory.last(b"k-", {other}) == b"k-2"
    assert memory.last(b"k-", ()) == b"k-0"

    last = memory.new_run(joins_all=True)
    assert memory.last(b"k-", {last}) == b"k-2"


PLACED = st.tuples(st.sampled_from((b"a", b"b")), st.sampled_from((b"x", b"y")), st.integers(0, 3))


@given(st.lists(PLACED, max_size=12), st.lists(PLACED, max_size=30), st.sets(st.integers(0, 3)))
def test_a_table_finds_what_a_search_finds(
    old: list[tuple[bytes, bytes, int]], new: list[tuple[bytes, bytes, int]], runs: set[int]
) -> None:
    def record(number: int, text: bytes, place: bytes) -> bytes:
        return text * KEY + place * PATH_KEY + number.to_bytes(4, "little")

    first = [record(number, text, place) for number, (text, place, _) in enumerate(old)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chronicle, "REMEMBERED", 8)
        searched, looked_up = (
            RecordLog(KEY + PATH_KEY + 4, lambda: b"".join(first[-8:])) for _ in range(2)
        )
        for number, (text, place, run) in enumerate(new, len(old)):
            for memory in (searched, looked_up):
                memory.add(record(number, text, place), run)
            for key in (text * KEY, text * KEY + place * PATH_KEY):
                patch.setattr(chronicle, "FEW", 1 << 30)
                expected = searched.last(key, runs)
                patch.setattr(chronicle, "FEW", 0)
                assert looked_up.last(key, runs) == expected
