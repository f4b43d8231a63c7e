"""The days of a journal: which date a file's name means, and how long ago that was.

Names are read in every form that is in use, whatever form a layout writes: `2026-02-08`,
`20260208`, `2026-02-08T14-30-00`, each also with `-2` behind it, `2026-W06` and `2026-02`.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, tzinfo
from typing import NamedTuple

TYPES = ("day", "week", "month")
UNKNOWN = "unknown"
"""The age of what has no date."""

_FORMS = (
    r"(?P<y>[0-9]{4})(?P<dash>-?)(?P<m>[0-9]{2})(?P=dash)(?P<d>[0-9]{2})"
    r"(?:T(?P<time>[0-9]{2}-[0-9]{2}-[0-9]{2}))?(?:-(?P<n>[0-9]{1,6}))?"
)
_WEEK = r"([0-9]{4})-W([0-9]{2})"
_MONTH = r"([0-9]{4})-([0-9]{2})"
_TIME = r"(?:[01][0-9]|2[0-3])-[0-5][0-9]-[0-5][0-9]"
_WEEK_DAYS = 7
_DATE = len("2026-02-08")
# Not by strftime, which speaks the language of whoever runs it.
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class Day(NamedTuple):
    """When something happened; of two, the later one is greater. No date is the earliest."""

    date: str = ""
    """As YYYY-MM-DD; a week and a month count from their last day."""
    time: str = ""
    number: int = 0
    """What tells two of the same day or second apart."""


NEVER = Day()


def is_day(name: str) -> bool:
    """Whether NAME is just a date: of those, the later one is also the greater word."""
    if len(name) != _DATE or not name[4] == name[7] == "-":
        return False
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True


def day_of(name: str) -> Day:
    """The day that a journal's file NAME, without its ending, stands for; NEVER for no date."""
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
    """Which span a journal's file stands for by its NAME: day, week or month."""
    if len(name) > len("2026-W06"):
        return "day"
    if re.fullmatch(_WEEK, name):
        return "week"
    return "month" if re.fullmatch(_MONTH, name) else "day"


def day_from(value: object, zone: tzinfo) -> Day:
    """The day that a field of frontmatter says; NEVER where that is no date."""
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
        except (ValueError, OverflowError):  # in ZONE it would be before the first day of all
            return NEVER
        return Day(f"{local.date()}", local.strftime("%H-%M-%S"))
    return Day(f"{value}") if isinstance(value, date) else NEVER


def age_label(day: str, today: date) -> str:
    """How many calendar days before TODAY the date DAY is, in words."""
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
    """The last day of the week or month called NAME; nothing where it is none."""
    week = re.fullmatch(_WEEK, name)
    if week:
        return f"{date.fromisocalendar(int(week[1]), int(week[2]), _WEEK_DAYS)}"
    month = re.fullmatch(_MONTH, name)
    if not month:
        return ""
    first = date(int(month[1]), int(month[2]), 1)
    return f"{(first + timedelta(days=31)).replace(day=1) - timedelta(days=1)}"


def spelled(day: str) -> str:
    """A day as people name it, for a YYYY-MM-DD: `8 February 2026, Sunday`; nothing for no day."""
    try:
        found = date.fromisoformat(day)
    except ValueError:
        return ""
    month, weekday = _MONTHS[found.month - 1], _WEEKDAYS[found.weekday()]
    return f"{found.day} {month} {found.year}, {weekday}"
