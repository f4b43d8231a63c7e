"""The days of a journal: names in every form, ages by the calendar."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.layout.journal import NEVER, Day, age_label, day_from, day_of, type_of


@pytest.mark.parametrize(
    ("name", "day"),
    [
        ("2026-02-08", Day("2026-02-08")),
        ("20260208", Day("2026-02-08")),
        ("2026-02-08T14-30-00", Day("2026-02-08", "14-30-00")),
        ("20260208T14-30-00", Day("2026-02-08", "14-30-00")),
        ("2026-02-08-2", Day("2026-02-08", "", 2)),
        ("20260208-12", Day("2026-02-08", "", 12)),
        ("2026-02-08T14-30-00-1", Day("2026-02-08", "14-30-00", 1)),
        ("2026-W06", Day("2026-02-08")),
        ("2026-02", Day("2026-02-28")),
        ("2024-02", Day("2024-02-29")),
        ("2026-12", Day("2026-12-31")),
    ],
)
def test_a_name_is_read_in_every_form(name: str, day: Day) -> None:
    assert day_of(name) == day


@pytest.mark.parametrize(
    "name",
    ["notes", "", "2026-02-30", "20261301", "2026-00-01", "2026-W54", "2026-13", "2026-0208",
     "202602-08", "2026-02-08T25-00-00", "2026-02-08T14-61-00", "2026-02-08T14:30:00",
     "x2026-02-08", "2026-02-08x", "0000-01-01", "9999-99-99", "2026-02-08-", "٢٠٢٦-02-08"],
)  # fmt: skip
def test_a_name_that_is_no_date_is_undated(name: str) -> None:
    assert day_of(name) == NEVER


@given(st.dates(min_value=date(1000, 1, 1)), st.integers(0, 99))
def test_the_forms_of_one_day_agree(day: date, number: int) -> None:
    long, short = f"{day}", f"{day:%Y%m%d}"

    assert day_of(f"{long}-{number}") == day_of(f"{short}-{number}") == Day(long, "", number)
    assert day_of(f"{long}T01-02-03").date == day_of(long).date
    assert day_of(long) < day_of(f"{long}T00-00-00") < day_of(f"{day + timedelta(days=1)}")


def test_the_last_day_of_all_has_no_month_after_it() -> None:
    assert day_of("9999-11") == Day("9999-11-30")
    assert day_of("9999-12") in (NEVER, Day("9999-12-31"))


def test_the_span_of_a_page_is_in_its_name() -> None:
    names = ["2026-02-08", "2026-W06", "2026-02", "20260208-1", "notes"]

    assert [type_of(name) for name in names] == ["day", "week", "month", "day", "day"]


@pytest.mark.parametrize(
    ("days", "label"),
    [
        (-300, "today"), (-1, "today"), (0, "today"), (1, "yesterday"), (2, "2 days ago"),
        (6, "6 days ago"), (7, "1 week ago"), (13, "1 week ago"), (14, "2 weeks ago"),
        (20, "2 weeks ago"), (21, "3 weeks ago"), (365, "52 weeks ago"),
    ],
)  # fmt: skip
def test_ages_count_calendar_days(days: int, label: str) -> None:
    today = date(2026, 2, 8)

    assert age_label(f"{today - timedelta(days=days)}", today) == label


def test_what_has_no_date_has_an_unknown_age() -> None:
    assert age_label("", date(2026, 2, 8)) == "unknown"


@pytest.mark.parametrize(
    ("value", "day"),
    [
        (date(2026, 2, 8), Day("2026-02-08")),
        ("2026-02-08", Day("2026-02-08")),
        (" 20260208 ", Day("2026-02-08")),
        (datetime(2026, 2, 8, 14, 30), Day("2026-02-08", "14-30-00")),
        (datetime(2026, 2, 8, 23, 30, tzinfo=UTC), Day("2026-02-09", "13-30-00")),
        ("2026-02-08T23:30:00Z", Day("2026-02-09", "13-30-00")),
        ("soon", NEVER),
        (None, NEVER),
        (20260208, NEVER),
        (["2026-02-08"], NEVER),
    ],
)
def test_a_date_in_frontmatter_is_taken_in_the_zone_of_the_group(value: object, day: Day) -> None:
    assert day_from(value, timezone(timedelta(hours=14))) == day


zones = st.one_of(
    st.timedeltas(timedelta(hours=-23, minutes=-59), timedelta(hours=23, minutes=59)).map(timezone),
    st.sampled_from(["Europe/Berlin", "Pacific/Kiritimati", "Pacific/Pago_Pago"]).map(ZoneInfo),
)
edges = st.sampled_from([datetime.min, datetime.max, datetime(2026, 2, 8)])


@given(st.one_of(edges, st.datetimes()), zones, zones, st.booleans())
def test_no_moment_is_too_early_or_too_late_to_be_read(
    wall: datetime, own: tzinfo, zone: tzinfo, spelled: bool
) -> None:
    moment = wall.replace(tzinfo=own)

    day = day_from(moment.isoformat() if spelled else moment, zone)

    if 1 < wall.year < 9999:
        assert day.date == f"{moment.astimezone(zone).date()}"
    else:
        assert day == NEVER or abs(date.fromisoformat(day.date) - wall.date()).days <= 2


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-11:00"])
def test_a_moment_outside_of_the_calendar_is_none(moment: str) -> None:
    assert day_from(moment, UTC) == day_from(datetime.fromisoformat(moment), UTC) == NEVER


def test_a_moment_in_frontmatter_knows_summer_time() -> None:
    berlin = ZoneInfo("Europe/Berlin")

    assert day_from("2026-07-01T22:30:00Z", berlin).date == "2026-07-02"
    assert day_from("2026-01-01T22:30:00Z", berlin).date == "2026-01-01"
