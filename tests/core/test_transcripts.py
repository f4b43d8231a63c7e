"""Messages are kept in batches that can be read back exactly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.transcripts import Message, batch_path, decode, encode, first_number

texts = st.text(st.characters(exclude_categories=["Cs"]))
messages = st.builds(
    Message,
    st.integers(1, 10**9),
    texts,
    texts,
    texts,
    st.datetimes(timezones=st.just(UTC)),
    texts,
)


@given(st.lists(messages))
def test_what_was_written_is_read_back(said: list[Message]) -> None:
    assert list(decode(encode(said))) == said


@given(st.binary())
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    list(decode(data))


def test_a_line_that_is_no_message_is_passed_over() -> None:
    good = Message(1, "a", "c", "ada", datetime(2026, 2, 8, tzinfo=UTC), "hello")

    assert list(decode(b'{"n": 1}\n[1]\n' + encode([good]) + b'{"n": 2, "id": "b"')) == [good]


def test_a_batch_lies_under_its_day_and_hour_and_says_where_it_begins() -> None:
    came = datetime(2026, 2, 8, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    path = batch_path(came, 42)

    assert path == "2026-02-09/04/0000000042.jsonl"
    assert first_number(path) == 42
    assert first_number("forgotten") == 0
