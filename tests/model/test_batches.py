"""Messages are kept in batches that can be read back exactly."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.model.transcripts.batches import (
    FORGOTTEN,
    KEY,
    Message,
    batch_path,
    chat_name,
    decode,
    decode_keys,
    decode_one,
    encode,
    encode_keys,
    is_batch,
    key_of,
    redacted,
    span,
)
from tests.support.samples import in_context, narrow

texts = st.text(st.characters(exclude_categories=["Cs"]))
zones = st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone)
messages = st.builds(
    Message,
    st.integers(1, 10**18),
    texts,
    texts,
    texts,
    st.datetimes(timezones=st.just(UTC) | zones),
    texts,
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
GOOD = Message(7, "a", "c", "ada", datetime(2026, 2, 8, tzinfo=UTC), "hello")


def spoilt(**fields: object) -> bytes:
    """The line of a good message with some fields changed."""
    return json.dumps(json.loads(encode([GOOD])) | fields).encode() + b"\n"


@given(st.lists(messages))
def test_what_was_written_is_read_back(said: list[Message]) -> None:
    assert list(decode(encode(said))) == said


@given(st.lists(messages, unique_by=lambda each: each.number), st.binary(), st.booleans())
def test_one_is_found_among_the_others(
    said: list[Message], noise: bytes, is_written_by_others: bool
) -> None:
    data = encode(said)
    if is_written_by_others:
        rows = [json.loads(line) for line in data.splitlines()]
        data = b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)

    assert [decode_one(data, each.number) for each in said] == said
    assert decode_one(data, 0) is None
    decode_one(noise, 7)


@pytest.mark.parametrize("text", ['{"n": 8, "id"', '\n{"n": 8, "id": "x"}', '"n": 8'])
def test_a_text_that_looks_like_another_message_is_none(text: str) -> None:
    other = GOOD._replace(number=8)

    assert decode_one(encode([GOOD._replace(text=text), other]), 8) == other
    assert decode_one(encode([GOOD._replace(text=text)]), 8) is None


@given(st.text())
def test_every_message_is_one_line_whatever_is_in_it(text: str) -> None:
    data = encode([GOOD._replace(text=text), GOOD])

    assert data.count(b"\n") == 2
    assert len(list(decode(data))) == 2


def test_half_a_character_is_kept_too() -> None:
    broken = GOOD._replace(sender="\ud800", text="half of \udfff it")

    assert list(decode(encode([broken]))) == [broken]


@given(st.binary())
def test_no_bytes_make_reading_fail(data: bytes) -> None:
    list(decode(data))
    list(decode_keys(data))


@given(st.sampled_from(["n", "id", "chat", "from", "at", "text"]), anything)
@example("n", 0)
@example("n", -1)
@example("n", 2**63)
@example("n", 1.5)
@example("n", True)
@example("n", "1")
@example("at", "2026-02-30")
def test_a_line_that_is_no_message_is_passed_over(name: str, value: object) -> None:
    found = list(decode(spoilt(**{name: value}) + encode([GOOD])))

    assert found[-1] == GOOD
    for each in found:
        assert type(each.number) is int
        assert 0 < each.number <= 10**18
        assert all(isinstance(x, str) for x in (each.id, each.chat, each.sender, each.text))
        assert each.at.tzinfo is not None
    if name == "n" and not (type(value) is int and 0 < value <= 10**18):
        assert found == [GOOD]


def test_half_a_line_is_passed_over() -> None:
    data = b'{"n": 1}\n[1]\n' + encode([GOOD]) + encode([GOOD])[:20]

    assert list(decode(data)) == [GOOD]


def test_a_time_without_a_zone_is_universal() -> None:
    assert [each.at for each in decode(spoilt(at="2026-02-08T00:00:00"))] == [GOOD.at]


def test_a_batch_lies_under_its_day_and_hour_and_says_where_it_begins() -> None:
    came = datetime(2026, 2, 8, 23, 30, tzinfo=timezone(timedelta(hours=-5)))

    path = batch_path(came, 42)

    assert path == "2026-02-09/04/0000000042.jsonl"
    assert is_batch(path)
    assert not is_batch(FORGOTTEN)


@given(st.lists(st.integers(1, 10**10 - 1), min_size=2, max_size=2))
def test_batches_of_an_hour_are_in_order_by_name(numbers: list[int]) -> None:
    came = datetime(2026, 2, 8, tzinfo=UTC)

    assert sorted(batch_path(came, each) for each in numbers) == [
        batch_path(came, each) for each in sorted(numbers)
    ]


def test_a_message_is_known_by_its_chat_and_its_id() -> None:
    keys = {key_of(chat, id) for chat in ("a", "b", "ab", "") for id in ("a", "b", "ba", "\ud800")}

    assert len(keys) == 16
    assert {len(each) for each in keys} == {KEY}
    assert key_of("a", "1") == key_of("a", "1")


@given(st.lists(st.binary(min_size=KEY, max_size=KEY)))
def test_dropped_keys_are_read_back_each_once_whatever_their_order(keys: list[bytes]) -> None:
    data = encode_keys(keys)

    assert list(decode_keys(data)) == sorted(set(keys))
    assert encode_keys([*reversed(keys), *keys]) == data


def test_a_line_that_is_no_key_is_passed_over() -> None:
    key = bytes(range(KEY))

    assert list(decode_keys(b"zz\n00\n\xff\n\n" + encode_keys([key]) + key.hex().encode())) == [
        key,
        key,
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12-45", (12, 45)),
        ("1-1", (1, 1)),
        ("", (0, 0)),
        ("12", (0, 0)),
        ("-5", (0, 0)),
        ("1-", (0, 0)),
        ("1-2-3", (0, 0)),
        ("1 - 2", (0, 0)),
        ("1-2\n", (0, 0)),
        ("\u0661-\u0662", (0, 0)),
        (f"1-{'9' * 19}", (0, 0)),
        (f"1-{'9' * 5000}", (0, 0)),
    ],
)
def test_a_span_is_two_numbers_or_none(text: str, found: tuple[int, int]) -> None:
    assert span(text) == found


@given(st.text("0123456789-"))
def test_a_span_always_fits_into_a_table(text: str) -> None:
    assert all(0 <= each < 2**63 for each in span(text))


CREDENTIALS = [
    *(
        f"{before}{each}{after}"
        for kind in narrow().values()
        for each in kind
        for before, after in (("", ""), ("chat ", " of Ada"), ("token: ", ""))
    ),
    *(each for kind in in_context().values() for each, _ in kind),
]


@pytest.mark.parametrize("name", [each for each in CREDENTIALS if each.isprintable()])
def test_the_name_that_a_chat_gets_is_free_of_credentials_and_stays(name: str) -> None:
    kept, count = chat_name(name)

    assert (count > 0, redacted(kept)[1]) == (True, 0)
    assert chat_name(kept) == (kept, 0)
    assert chat_name(f"{name} x")[0] != f"{kept} x"
