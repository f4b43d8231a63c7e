"""Date expressions such as `2026-02-08`, `yesterday` or `3 days ago`, and ages for people.

A calendar expression denotes an interval in a time zone. Intervals are in UTC: two datetimes of one
zone compare by their wall clocks, which are wrong twice a year.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from typing import NamedTuple

from gitmem.errors import BadInput

TICK = timedelta(microseconds=1)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
DAYS_A_WEEK = 7
MONTHS_A_YEAR = 12

CALENDAR = (
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"(?:(?:t| )([0-9]{1,2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(?: ?(z|utc|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
AGO = r"([0-9]{1,6}|an?) (second|minute|hour|day|week|month|year)s? ago"
# Three digits at most: `1234567d` is a commit.
SHORT = r"([0-9]{1,3})([smhdw])"
SHORT_UNITS = {"s": "second", "m": "minute", "h": "hour", "d": "day", "w": "week"}
CLOCK_UNITS = {"second": SECOND, "minute": MINUTE, "hour": HOUR}
FORMS = "write 2026-02-08, 2026-02-08T14:30, yesterday, `3 days ago` or `5 hours ago`"


class Moment(NamedTuple):
    """The interval that an expression denotes, both ends included, in UTC."""

    start: datetime
    end: datetime


def parse_moment(text: str, now: datetime, zone: tzinfo) -> Moment | None:
    """Parse a date expression as of NOW in ZONE; None for any other text, such as a commit or tag.

    Raises BadInput for an impossible date.
    """
    words = " ".join(text.lower().split())
    try:
        found = _named(words, now, zone) or _calendar(words, zone) or _ago(words, now, zone)
        for edge in found or ():
            edge.astimezone(zone)  # fails here for a day outside the calendar, not in the caller
        return found
    except (ValueError, OverflowError) as error:
        raise BadInput(
            f"no such moment: {text.strip()!r} ({error})", hint=FORMS, text=text
        ) from error


def age(then: datetime, now: datetime, zone: tzinfo) -> str:
    """Return how long ago THEN was, for people: by the clock within a day, then by calendar."""
    passed = now.astimezone(UTC) - then.astimezone(UTC)
    if passed < timedelta():
        return "in the future"
    minutes = passed // MINUTE
    if passed < HOUR:
        return _counted(minutes, "minute") if minutes else "just now"
    first, last = then.astimezone(zone).date(), now.astimezone(zone).date()
    days = (last - first).days
    if days <= 1:
        return "yesterday" if days else _counted(passed // HOUR, "hour")
    return _counted_days(first, last, days)


def _counted_days(first: date, last: date, days: int) -> str:
    months = (
        (last.year - first.year) * MONTHS_A_YEAR + last.month - first.month - (last.day < first.day)
    )
    if months >= MONTHS_A_YEAR:
        return _counted(months // MONTHS_A_YEAR, "year")
    if months:
        return _counted(months, "month")
    return _counted(days, "day") if days < DAYS_A_WEEK else _counted(days // DAYS_A_WEEK, "week")


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'} ago"


def _named(words: str, now: datetime, zone: tzinfo) -> Moment | None:
    if words == "now":
        return _instant(now)
    if words in ("today", "yesterday"):
        return _day(_today(now, zone) - (DAY if words == "yesterday" else timedelta()), zone)
    return None


def _calendar(words: str, zone: tzinfo) -> Moment | None:
    found = re.fullmatch(CALENDAR, words)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, offset = found.groups()
    day_named = date(int(year), int(month), int(day))
    if hour is None:
        return _day(day_named, zone)
    micros = int((fraction or "").ljust(6, "0")[:6])
    start = datetime.combine(day_named, time(int(hour), int(minute), int(second or 0), micros))
    width = TICK if fraction else (SECOND if second else MINUTE)
    return _interval(start, start + (width - TICK), _offset(offset) if offset else zone)


def _offset(text: str) -> tzinfo:
    if text in ("z", "utc"):
        return UTC
    minutes = timedelta(minutes=int(text[3:].lstrip(":") or 0))
    if minutes >= HOUR:
        raise ValueError("minutes of an offset must be in 0..59")
    ahead = int(text[1:3]) * HOUR + minutes
    return timezone(-ahead if text[0] == "-" else ahead)


def _ago(words: str, now: datetime, zone: tzinfo) -> Moment | None:
    found = re.fullmatch(AGO, words) or re.fullmatch(SHORT, words)
    if not found:
        return None
    count = 1 if found[1] in ("a", "an") else int(found[1])
    unit = SHORT_UNITS.get(found[2], found[2])
    if unit in CLOCK_UNITS:
        return _instant(now.astimezone(UTC) - count * CLOCK_UNITS[unit])
    today = _today(now, zone)
    if unit in ("month", "year"):
        return _day(_months_before(today, count * (MONTHS_A_YEAR if unit == "year" else 1)), zone)
    return _day(today - count * (DAY if unit == "day" else DAYS_A_WEEK * DAY), zone)


def _months_before(day: date, months: int) -> date:
    """The same day MONTHS earlier, or the last day of a shorter month."""
    year, month = divmod(day.year * MONTHS_A_YEAR + day.month - 1 - months, MONTHS_A_YEAR)
    first = date(year, month + 1, 1)
    length = ((first + 31 * DAY).replace(day=1) - first).days
    return first.replace(day=min(day.day, length))


def _today(now: datetime, zone: tzinfo) -> date:
    return now.astimezone(zone).date()


def _instant(moment: datetime) -> Moment:
    return Moment(moment.astimezone(UTC), moment.astimezone(UTC))


def _day(day: date, zone: tzinfo) -> Moment:
    return _interval(datetime.combine(day, time.min), datetime.combine(day, time.max), zone)


def _interval(first: datetime, last: datetime, zone: tzinfo) -> Moment:
    """From the first time the wall clock showed FIRST to the last time it showed LAST."""
    start = _edge(first, zone, last=False)
    # If the clock jumped over all of it, the instant of the jump is left.
    return Moment(start, max(start, _edge(last, zone, last=True)))


def _edge(wall: datetime, zone: tzinfo, *, last: bool) -> datetime:
    early = wall.replace(tzinfo=zone, fold=0).astimezone(UTC)
    late = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    if early <= late:
        return late if last else early
    # The wall clock never showed it: PEP 495 then puts fold=1 before the jump and fold=0 after it.
    jump = _jump_between(late, early, zone)
    return jump - TICK if last else jump


def _jump_between(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The first instant after BEFORE with another offset from UTC."""
    offset = before.astimezone(zone).utcoffset()
    while after - before > TICK:
        middle = before + (after - before) // 2
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after
