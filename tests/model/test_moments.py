"""A date as people write it is an interval in the group's zone, also when the clocks change."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gitmem.errors import BadInput
from gitmem.model.moments import Moment, age, parse_moment

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
KIRITIMATI = ZoneInfo("Pacific/Kiritimati")  # UTC+14
PAGO_PAGO = ZoneInfo("Pacific/Pago_Pago")  # UTC-11
APIA = ZoneInfo("Pacific/Apia")  # had no 30 December 2011
BEIRUT = ZoneInfo("Asia/Beirut")  # clocks change at midnight
TORONTO = ZoneInfo("America/Toronto")  # in 1919 from 23:30 to 00:30
ZONES = [UTC, BERLIN, NEW_YORK, KIRITIMATI, PAGO_PAGO, APIA, BEIRUT, TORONTO]

TICK = timedelta(microseconds=1)
NOW = datetime(2026, 2, 8, 15, 4, 5, 678, tzinfo=UTC)

zones = st.sampled_from(ZONES)
days = st.dates(date(1970, 1, 1), date(2100, 1, 1))
moments = st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1), timezones=st.just(UTC))
expressions = st.one_of(
    st.sampled_from(["now", "today", "yesterday", "a day ago", "an hour ago", "3d", "2W", "90s"]),
    st.builds(
        "{} {}s ago".format,
        st.integers(0, 600),
        st.sampled_from(["second", "minute", "hour", "day", "week", "month"]),
    ),
    st.builds(str, days),
    st.builds("{:%Y-%m-%d %H:%M}".format, moments),
    st.builds("{:%Y-%m-%dT%H:%M:%S}".format, moments),
    st.builds(datetime.isoformat, moments),
)


def parsed(text: str, zone: tzinfo = UTC, now: datetime = NOW) -> Moment:
    moment = parse_moment(text, now, zone)
    assert moment is not None
    return moment


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "start", "end"),
    [
        ("2026-02-08", UTC, "2026-02-08T00:00", "2026-02-08T23:59:59.999999"),
        ("2026-2-8", UTC, "2026-02-08T00:00", "2026-02-08T23:59:59.999999"),
        ("2026-02-08", BERLIN, "2026-02-07T23:00", "2026-02-08T22:59:59.999999"),
        ("2026-02-08", KIRITIMATI, "2026-02-07T10:00", "2026-02-08T09:59:59.999999"),
        ("2026-02-08", PAGO_PAGO, "2026-02-08T11:00", "2026-02-09T10:59:59.999999"),
        ("2026-03-29", BERLIN, "2026-03-28T23:00", "2026-03-29T21:59:59.999999"),
        ("2026-10-25", BERLIN, "2026-10-24T22:00", "2026-10-25T22:59:59.999999"),
        ("2026-03-08", NEW_YORK, "2026-03-08T05:00", "2026-03-09T03:59:59.999999"),
        ("2026-11-01", NEW_YORK, "2026-11-01T04:00", "2026-11-02T04:59:59.999999"),
        ("2026-03-29", BEIRUT, "2026-03-28T22:00", "2026-03-29T20:59:59.999999"),
        ("2025-10-25", BEIRUT, "2025-10-24T21:00", "2025-10-25T21:59:59.999999"),
        ("1919-03-30", TORONTO, "1919-03-30T05:00", "1919-03-31T04:29:59.999999"),
        ("1919-03-31", TORONTO, "1919-03-31T04:30", "1919-04-01T03:59:59.999999"),
        ("2011-12-29", APIA, "2011-12-29T10:00", "2011-12-30T09:59:59.999999"),
        ("2011-12-30", APIA, "2011-12-30T10:00", "2011-12-30T10:00"),
        ("2011-12-31", APIA, "2011-12-30T10:00", "2011-12-31T09:59:59.999999"),
        ("2026-02-08T14:30", BERLIN, "2026-02-08T13:30", "2026-02-08T13:30:59.999999"),
        ("2026-02-08 14:30", BERLIN, "2026-02-08T13:30", "2026-02-08T13:30:59.999999"),
        ("2026-02-08t14:30:15", BERLIN, "2026-02-08T13:30:15", "2026-02-08T13:30:15.999999"),
        ("2026-02-08T14:30:15.25", UTC, "2026-02-08T14:30:15.25", "2026-02-08T14:30:15.25"),
        ("2026-02-08T14:30Z", BERLIN, "2026-02-08T14:30", "2026-02-08T14:30:59.999999"),
        ("2026-02-08T14:30+02:00", NEW_YORK, "2026-02-08T12:30", "2026-02-08T12:30:59.999999"),
        ("2026-02-08 14:30:00 -0330", BERLIN, "2026-02-08T18:00", "2026-02-08T18:00:00.999999"),
        # The clock shows 02:30 twice that night: both are meant.
        ("2026-10-25T02:30", BERLIN, "2026-10-25T00:30", "2026-10-25T01:30:59.999999"),
        # It never shows it that night: the instant it jumped over it.
        ("2026-03-29T02:30", BERLIN, "2026-03-29T01:00", "2026-03-29T01:00"),
        ("now", BERLIN, "2026-02-08T15:04:05.000678", "2026-02-08T15:04:05.000678"),
        ("today", UTC, "2026-02-08T00:00", "2026-02-08T23:59:59.999999"),
        ("today", KIRITIMATI, "2026-02-08T10:00", "2026-02-09T09:59:59.999999"),
        ("yesterday", PAGO_PAGO, "2026-02-07T11:00", "2026-02-08T10:59:59.999999"),
        ("  Yesterday ", UTC, "2026-02-07T00:00", "2026-02-07T23:59:59.999999"),
        ("3  DAYS \t ago", UTC, "2026-02-05T00:00", "2026-02-05T23:59:59.999999"),
        ("1 day ago", UTC, "2026-02-07T00:00", "2026-02-07T23:59:59.999999"),
        ("a day ago", UTC, "2026-02-07T00:00", "2026-02-07T23:59:59.999999"),
        ("2 weeks ago", UTC, "2026-01-25T00:00", "2026-01-25T23:59:59.999999"),
        ("1 month ago", UTC, "2026-01-08T00:00", "2026-01-08T23:59:59.999999"),
        ("14 months ago", UTC, "2024-12-08T00:00", "2024-12-08T23:59:59.999999"),
        ("a year ago", UTC, "2025-02-08T00:00", "2025-02-08T23:59:59.999999"),
        ("5 hours ago", BERLIN, "2026-02-08T10:04:05.000678", "2026-02-08T10:04:05.000678"),
        ("30 minutes ago", UTC, "2026-02-08T14:34:05.000678", "2026-02-08T14:34:05.000678"),
        ("90 seconds ago", UTC, "2026-02-08T15:02:35.000678", "2026-02-08T15:02:35.000678"),
        ("3d", UTC, "2026-02-05T00:00", "2026-02-05T23:59:59.999999"),
        ("2w", UTC, "2026-01-25T00:00", "2026-01-25T23:59:59.999999"),
        ("5h", UTC, "2026-02-08T10:04:05.000678", "2026-02-08T10:04:05.000678"),
        ("30m", UTC, "2026-02-08T14:34:05.000678", "2026-02-08T14:34:05.000678"),
    ],
)
def test_an_expression_denotes_an_interval(text: str, zone: tzinfo, start: str, end: str) -> None:
    assert parsed(text, zone) == Moment(utc(start), utc(end))


@pytest.mark.parametrize(
    ("now", "text", "day"),
    [
        ("2026-03-31T12:00", "1 month ago", "2026-02-28"),
        ("2024-03-31T12:00", "1 month ago", "2024-02-29"),
        ("2024-02-29T12:00", "1 year ago", "2023-02-28"),
        ("2026-01-31T12:00", "2 months ago", "2025-11-30"),
        ("2026-12-31T12:00", "12 months ago", "2025-12-31"),
    ],
)
def test_a_month_ago_is_the_same_day_or_the_last_of_a_shorter_month(
    now: str, text: str, day: str
) -> None:
    assert parsed(text, now=utc(now)) == parsed(day)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "main",
        "HEAD~3",
        "deadbeef",
        "1234567d",
        "20260208",
        "2026",
        "snapshot/2026-02-08",
        "2026-02-08-before-the-move",
        "2026-02-08T14",
        "last week",
        "tomorrow",
        "3 days",
        "-3 days ago",
        "days ago",
        "3 days ago today",
        "٣ days ago",
        "9999999 days ago",
    ],
)
def test_other_words_are_left_to_commits_and_tags(text: str) -> None:
    assert parse_moment(text, NOW, BERLIN) is None


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-30",
        "2025-02-29",
        "2026-13-01",
        "2026-00-10",
        "0000-01-01",
        "2026-02-08T24:00",
        "2026-02-08T14:60",
        "2026-02-08T14:30:60",
        "2026-02-08T14:30+25:00",
        "2026-02-08T14:30+02:75",
        "0001-01-01T00:00+02:00",
        "9999-12-31T23:59-02:00",
        "999999 weeks ago",
        "99999 months ago",
        "999999 days ago",
    ],
)
def test_an_impossible_date_is_refused_with_the_forms_that_work(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_moment(text, NOW, UTC)

    assert text in caught.value.message
    assert "2026-02-08" in caught.value.hint


@given(expressions, moments, zones)
def test_every_interval_has_a_start_and_then_an_end(text: str, now: datetime, zone: tzinfo) -> None:
    moment = parse_moment(text, now + timedelta(days=20_000), zone)

    assert moment is not None
    assert moment.start <= moment.end
    assert moment.start.utcoffset() == moment.end.utcoffset() == timedelta()


@given(days, zones)
@example(date(2026, 3, 29), BERLIN)
@example(date(2026, 10, 25), BERLIN)
def test_a_day_is_what_the_wall_calendar_shows(day: date, zone: tzinfo) -> None:
    moment = parsed(str(day), zone)
    noon = datetime.combine(day, time(12), tzinfo=zone).astimezone(UTC)

    if day != date(2011, 12, 30):
        assert moment.start <= noon <= moment.end
        assert moment.start.astimezone(zone).date() == day
        assert moment.end.astimezone(zone).date() == day
    assert (moment.start - TICK).astimezone(zone).date() < day


@given(days, zones)
def test_days_follow_each_other_without_gap_or_overlap(day: date, zone: tzinfo) -> None:
    following = parsed(str(day + timedelta(days=1)), zone)

    if date(2011, 12, 30) not in (day, day + timedelta(days=1)):
        assert parsed(str(day), zone).end + TICK == following.start


@given(moments, zones)
def test_a_moment_written_out_whole_is_that_moment(moment: datetime, zone: tzinfo) -> None:
    written = moment.astimezone(zone).isoformat(timespec="microseconds")

    assert parsed(written, NEW_YORK) == Moment(moment, moment)


@pytest.mark.parametrize(
    ("then", "now", "zone", "expected"),
    [
        ("2026-02-08T12:00", "2026-02-08T12:00", UTC, "just now"),
        ("2026-02-08T12:00", "2026-02-08T12:00:59", UTC, "just now"),
        ("2026-02-08T12:00", "2026-02-08T12:01", UTC, "1 minute ago"),
        ("2026-02-08T12:00", "2026-02-08T12:05:59", UTC, "5 minutes ago"),
        ("2026-02-08T12:00", "2026-02-08T12:59:59", UTC, "59 minutes ago"),
        ("2026-02-07T23:50", "2026-02-08T00:10", UTC, "20 minutes ago"),
        ("2026-02-08T12:00", "2026-02-08T13:00", UTC, "1 hour ago"),
        ("2026-02-08T12:00", "2026-02-08T15:59", UTC, "3 hours ago"),
        ("2026-02-08T00:00", "2026-02-08T23:59", UTC, "23 hours ago"),
        ("2026-02-07T20:00", "2026-02-08T01:00", UTC, "yesterday"),
        ("2026-02-07T20:00", "2026-02-08T01:00", PAGO_PAGO, "5 hours ago"),
        ("2026-02-08T08:00", "2026-02-08T12:00", KIRITIMATI, "yesterday"),
        ("2026-02-07T00:00", "2026-02-08T23:59", UTC, "yesterday"),
        ("2026-02-06T23:59", "2026-02-08T00:01", UTC, "2 days ago"),
        ("2026-02-05T12:00", "2026-02-08T12:00", UTC, "3 days ago"),
        ("2026-02-02T12:00", "2026-02-08T12:00", UTC, "6 days ago"),
        ("2026-02-01T12:00", "2026-02-08T12:00", UTC, "1 week ago"),
        ("2026-01-25T12:00", "2026-02-08T12:00", UTC, "2 weeks ago"),
        ("2026-01-09T12:00", "2026-02-08T12:00", UTC, "4 weeks ago"),
        ("2026-01-08T12:00", "2026-02-08T12:00", UTC, "1 month ago"),
        ("2025-10-08T12:00", "2026-02-08T12:00", UTC, "4 months ago"),
        ("2025-02-09T12:00", "2026-02-08T12:00", UTC, "11 months ago"),
        ("2025-02-08T12:00", "2026-02-08T12:00", UTC, "1 year ago"),
        ("2024-01-01T12:00", "2026-02-08T12:00", UTC, "2 years ago"),
        ("2026-02-08T12:00:01", "2026-02-08T12:00", UTC, "in the future"),
        # 02:30 and again 02:30 on the same wall clock, an hour apart.
        ("2026-10-25T00:30", "2026-10-25T01:30", BERLIN, "1 hour ago"),
    ],
)
def test_an_age_is_said_as_people_say_it(then: str, now: str, zone: tzinfo, expected: str) -> None:
    assert age(utc(then), utc(now), zone) == expected
    assert age(utc(then).astimezone(zone), utc(now).astimezone(zone), zone) == expected


@given(moments, st.timedeltas(timedelta(hours=1), timedelta(days=6)), zones)
def test_an_age_in_days_leads_back_to_its_day(
    now: datetime, passed: timedelta, zone: tzinfo
) -> None:
    then = now - passed
    said = age(then, now, zone)

    if said == "yesterday" or "day" in said:
        moment = parsed(said, zone, now)
        assert moment.start <= then <= moment.end
    else:
        assert then.astimezone(zone).date() == now.astimezone(zone).date()
