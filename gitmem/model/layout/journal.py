"""Dates of journal pages: the date that a file name means, and its age.

All common forms are read, whichever a layout writes: `2026-02-08`, `20260208`,
`2026-02-08T14-30-00`, each also with a suffix `-2`, `2026-W06` and `2026-02`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

TYPES = ("day", "week", "month")
UNKNOWN = "unknown"
"""The age of a page without a date."""

_FORMS = (
    r"(?P<y>[0-9]{4})(?P<dash>-?)(?P<m>[0-9]{2})(?P=dash)(?P<d>[0-9]{2})"
    r"(?:T(?P<time>[0-9]{2}-[0-9]{2}-[0-9]{2}))?(?:-(?P<n>[0-9]{1,6}))?"
)
_WEEK = r"([0-9]{4})-W([0-9]{2})"
_MONTH = r"([0-9]{4})-([0-9]{2})"
_TIME = r"(?:[01][0-9]|2[0-3])-[0-5][0-9]-[0-5][0-9]"
_WEEK_DAYS = 7
_DATE = len("2026-02-08")
# Not by strftime, which uses the locale of the process.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Day(NamedTuple):
    """A date that sorts: a later one is greater, and no date is the least."""

    date: str = ""
    """YYYY-MM-DD; of a week or a month, its last day."""
    time: str = ""
    number: int = 0
    """The suffix that distinguishes two of the same day or second."""


NEVER = Day()


def is_day(name: str) -> bool:
    """Whether NAME is a plain date, which sorts as a text, too."""
    if len(name) != _DATE or not name[4] == name[7] == "-":
        return False
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True


def day_of(name: str) -> Day:
    """Return the day of a journal page by its NAME without extension; NEVER for no date."""
    if not name[:4].isdecimal():
        return NEVER
    if is_day(name):
        return Day(name)
    try:
        found = re.fullmatch(_FORMS, name)
        if found is None:
            return Day(_last_day(name))
        day = date(int(found["y"]), int(found["m"]), int(found["d"]))
    except (ValueError, OverflowError):
        return NEVER
    time = found["time"] or ""
    if time and not re.fullmatch(_TIME, time):
        return NEVER
    return Day(f"{day}", time, int(found["n"] or 0))


def type_of(name: str) -> str:
    """Return the span of a journal page by its NAME: day, week or month."""
    if len(name) > len("2026-W06"):
        return "day"
    if re.fullmatch(_WEEK, name):
        return "week"
    return "month" if re.fullmatch(_MONTH, name) else "day"


def day_from(value: object, zone: tzinfo) -> Day:
    """Return the day in a frontmatter VALUE; NEVER for no date."""
    if isinstance(value, str):
        words = value.strip()
        try:
            value = (
                date.fromisoformat(words) if len(words) <= _DATE else datetime.fromisoformat(words)
            )
        except ValueError:
            return NEVER
    if isinstance(value, datetime):
        try:
            local = value.astimezone(zone) if value.tzinfo else value
        except (ValueError, OverflowError):  # before the first day of the calendar in ZONE
            return NEVER
        return Day(f"{local.date()}", local.strftime("%H-%M-%S"))
    return Day(f"{value}") if isinstance(value, date) else NEVER


def age_label(day: str, today: date) -> str:
    """Return the age of DAY in calendar days before TODAY, in words."""
    if not day:
        return UNKNOWN
    days = (today - date.fromisoformat(day)).days
    if days <= 1:
        return "yesterday" if days == 1 else "today"
    if days < _WEEK_DAYS:
        return f"{days} days ago"
    weeks = days // _WEEK_DAYS
    return "1 week ago" if weeks == 1 else f"{weeks} weeks ago"


def _last_day(name: str) -> str:
    """The last day of the week or month NAME; nothing for another name."""
    week = re.fullmatch(_WEEK, name)
    if week:
        return f"{date.fromisocalendar(int(week[1]), int(week[2]), _WEEK_DAYS)}"
    month = re.fullmatch(_MONTH, name)
    if not month:
        return ""
    first = date(int(month[1]), int(month[2]), 1)
    return f"{(first + timedelta(days=31)).replace(day=1) - timedelta(days=1)}"


def spelled(day: str) -> str:
    """Return DAY, a YYYY-MM-DD, in words: `8 February 2026, Sunday`; nothing for another text."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return ""
    month, weekday = _MONTHS[found.month - 1], _WEEKDAYS[found.weekday()]
    return f"{found.day} {month} {found.year}, {weekday}"
