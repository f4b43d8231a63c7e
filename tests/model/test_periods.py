"""Every day is in one week, every week in one month, and each knows when it is over."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.errors import BadInput
from gitmem.model.layout.journal import day_of, type_of
from gitmem.model.layout.rollups import FORMS, month_of, period_of, week_of

days = st.dates(date(1900, 1, 1), date(2200, 12, 31))


@pytest.mark.parametrize(
    ("day", "week", "month"),
    [
        (date(2026, 2, 8), "2026-W06", "2026-02"),
        (date(2026, 2, 1), "2026-W05", "2026-01"),  # a Sunday: its Monday is in January
        (date(2026, 3, 1), "2026-W09", "2026-02"),
        (date(2026, 3, 2), "2026-W10", "2026-03"),
        (date(2024, 2, 29), "2024-W09", "2024-02"),
        (date(2025, 12, 29), "2026-W01", "2025-12"),
        (date(2026, 1, 4), "2026-W01", "2025-12"),
        (date(2026, 12, 31), "2026-W53", "2026-12"),
        (date(2027, 1, 3), "2026-W53", "2026-12"),
        (date(2027, 1, 4), "2027-W01", "2027-01"),
    ],
)
def test_a_day_has_one_week_and_that_week_one_month(day: date, week: str, month: str) -> None:
    assert (week_of(day).name, month_of(day).name) == (week, month)


@pytest.mark.parametrize(
    ("type", "name", "first", "last"),
    [
        ("week", "2026-W07", date(2026, 2, 9), date(2026, 2, 15)),
        ("week", "2026-W53", date(2026, 12, 28), date(2027, 1, 3)),
        ("week", "2026-W01", date(2025, 12, 29), date(2026, 1, 4)),
        ("month", "2026-02", date(2026, 2, 2), date(2026, 3, 1)),
        ("month", "2026-06", date(2026, 6, 1), date(2026, 7, 5)),
        ("month", "2026-12", date(2026, 12, 7), date(2027, 1, 3)),
        ("month", "2024-02", date(2024, 2, 5), date(2024, 3, 3)),
    ],
)
def test_a_period_is_known_by_its_name(type: str, name: str, first: date, last: date) -> None:
    found = period_of(type, name)

    assert (found.type, found.name, found.first, found.last) == (type, name, first, last)
    assert not found.is_over(last)
    assert found.is_over(last + timedelta(1))


@pytest.mark.parametrize(
    ("type", "name"),
    [
        ("week", "2025-W53"), ("week", "2026-W00"), ("week", "2026-W54"), ("week", "2026-07"),
        ("week", "2026-W7"), ("week", "2026W07"), ("week", ""), ("week", "last"),
        ("week", "0000-W01"), ("week", "9999-W52"), ("week", "2026-W07 "), ("week", "２026-W07"),
        ("month", "2026-W07"), ("month", "2026-13"), ("month", "2026-00"), ("month", "2026-2"),
        ("month", "9999-12"), ("month", "2026-02-08"), ("month", "../2026-02"),
    ],
)  # fmt: skip
def test_what_is_no_period_is_refused_with_the_form(type: str, name: str) -> None:
    with pytest.raises(BadInput) as caught:
        period_of(type, name)

    assert FORMS[type] in caught.value.hint


@pytest.mark.parametrize("type", ["day", "year", "", "Week"])
def test_there_are_weeks_and_months_and_nothing_else(type: str) -> None:
    with pytest.raises(BadInput):
        period_of(type, "2026-02")


@given(days)
def test_weeks_make_up_months_without_gaps(day: date) -> None:
    week, month = week_of(day), month_of(day)

    assert week.first <= day <= week.last
    assert month.first <= week.first
    assert week.last <= month.last
    assert (week.last - week.first).days == 6
    assert (month.last - month.first).days in (27, 34)
    after = month_of(month.last + timedelta(1))
    assert (after.first, after.name > month.name) == (month.last + timedelta(1), True)
    assert month.name == f"{week.first:%Y-%m}"


@given(days)
def test_names_are_read_back_here_and_in_a_journal(day: date) -> None:
    for found in (week_of(day), month_of(day)):
        assert period_of(found.type, found.name) == found
        assert type_of(found.name) == found.type
        inside = date.fromisoformat(day_of(found.name).date)
        assert found.first <= inside <= found.last
        assert (month_of(inside) if found.is_month else week_of(inside)) == found


@given(days)
def test_a_week_comes_before_the_month_that_needs_it(day: date) -> None:
    assert week_of(day) < month_of(day)
