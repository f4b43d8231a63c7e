"""The rules of a log that begins anew every day."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import Conflict
from gitmem.model.hints import call
from gitmem.model.layout.archives import (
    MOST_LOGS,
    header_day,
    new_log,
    rotated_day,
    rotated_path,
    with_header,
)
from tests.support.days import LAYER

DAY = date(2026, 2, 7)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Session Log: 2026-02-07\n\n- x\n", DAY),
        ("# Session Log: 2026-02-07", DAY),
        ("# Session Log: 2026-02-07 \t\r\n- x\r\n", DAY),
        ("notes first\n\n# Session Log: 2026-02-07\n", DAY),
        ("\ufeff# Session Log: 2026-02-07\n", DAY),
        ("# Session Log: 2026-02-07\n# Session Log: 2026-02-09\n", DAY),
        ("# Session Log: 2026-02-30\n# Session Log: 2026-02-07\n", DAY),
        ("# Session Log: 2999-01-01\n", date(2999, 1, 1)),
        ("# Session Log: 2026-02-07 evening\n", None),
        (" # Session Log: 2026-02-07\n", None),
        ("## Session Log: 2026-02-07\n", None),
        ("# session log: 2026-02-07\n", None),
        ("# Session Log: 2026-2-7\n", None),
        ("# Session Log: ٢٠٢٦-02-07\n", None),
        ("", None),
    ],
)
def test_the_header_is_found_wherever_it_stands(text: str, found: date | None) -> None:
    assert header_day(LAYER, text.encode()) == found


def test_bytes_that_are_no_text_hide_no_header() -> None:
    assert header_day(LAYER, b"\xff\xfe\n# Session Log: 2026-02-07\n\xff") == DAY


def test_the_header_is_the_layouts_own() -> None:
    layer = LAYER._replace(header="= {date} =")

    assert header_day(layer, b"= 2026-02-07 =\n") == DAY
    assert header_day(layer, b"# Session Log: 2026-02-07\n") is None
    assert header_day(LAYER._replace(header=""), b"2026-02-07\n") is None
    assert new_log(layer, DAY) == b"= 2026-02-07 =\n\n"
    assert new_log(LAYER._replace(header=""), DAY) == b""


@given(st.dates(min_value=date(1000, 1, 1)), st.binary(max_size=60))
def test_a_log_that_got_its_header_is_of_that_day_and_loses_nothing(day: date, data: bytes) -> None:
    whole = with_header(LAYER, day, data)

    assert header_day(LAYER, whole) == day
    assert whole.endswith(data.removeprefix(b"\xef\xbb\xbf"))


def test_a_header_put_in_front_ends_its_line_as_the_others_do() -> None:
    assert with_header(LAYER, DAY, b"\xef\xbb\xbfa\r\n") == (
        b"\xef\xbb\xbf# Session Log: 2026-02-07\r\n\r\na\r\n"
    )


def test_a_name_that_is_taken_gets_a_number_up_to_a_hundred() -> None:
    names = ["sessions/2026-02-07.md", *(f"sessions/2026-02-07-{n}.md" for n in range(1, 101))]
    for count, name in enumerate(names):
        assert rotated_path(LAYER, DAY, lambda p, n=count: p in names[:n]) == name  # type: ignore[misc]

    with pytest.raises(Conflict, match="too many logs for 2026-02-07") as caught:
        rotated_path(LAYER, DAY, lambda _: True)
    assert caught.value.facts == {"path": names[0], "date": "2026-02-07"}
    assert call("rm", "sessions/2026-02-07-1.md") in caught.value.hint.parts


@pytest.mark.parametrize(
    ("rotated", "first", "second"),
    [
        ("log/{date}", "log/2026-02-07", "log/2026-02-07-1"),
        ("v1.2/{date}", "v1.2/2026-02-07", "v1.2/2026-02-07-1"),
        ("{month}/{week}-{date}.log.md", "2026-02/2026-W06-2026-02-07.log.md", None),
    ],
)
def test_a_log_goes_where_the_layout_says(rotated: str, first: str, second: str | None) -> None:
    layer = LAYER._replace(rotated=rotated)

    assert rotated_path(layer, DAY, lambda _: False) == first
    if second:
        assert rotated_path(layer, DAY, lambda path: path == first) == second
    assert rotated_day(layer, first) == (DAY, 0)


@given(st.dates(), st.integers(0, MOST_LOGS))
def test_the_day_of_a_past_log_can_be_read_from_its_name(day: date, number: int) -> None:
    taken = iter([True] * number)

    path = rotated_path(LAYER, day, lambda _: next(taken, False))

    assert rotated_day(LAYER, path) == (day, number)


@pytest.mark.parametrize(
    "path",
    ["sessions/current.md", "sessions/2026-02-30.md", "2026-02-07.md", "sessions/2026-02-07.txt"],
)
def test_other_files_are_no_past_logs(path: str) -> None:
    assert rotated_day(LAYER, path) is None
