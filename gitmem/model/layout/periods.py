"""Weeks and months, as the days of a journal are rolled up into them.

A week is an ISO week. A month is made of whole weeks: those whose Monday falls in it. So every day
is in one week, every week is in one month, and no page can be counted twice or fall between two. A
month is therefore over when the last of its weeks is, up to six days after its last day.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from gitmem.errors import BadInput

WEEK, MONTH = "week", "month"
FORMS = {WEEK: "2026-W07", MONTH: "2026-02"}
"""How a period of each type is called, by an example."""

_DAYS = 7
_LONGEST_MONTH = 31


class Period(NamedTuple):
    """A span of whole weeks; of two, the one that ends first comes first, a week before a month."""

    last: date
    is_month: bool
    first: date
    name: str

    @property
    def type(self) -> str:
        """Which kind of span it is."""
        return MONTH if self.is_month else WEEK

    def is_over(self, today: date) -> bool:
        """Whether TODAY is after its last day."""
        return today > self.last


def week_of(day: date) -> Period:
    """The week in which DAY is."""
    monday = _monday(day)
    year, week, _ = monday.isocalendar()
    return Period(monday + timedelta(_DAYS - 1), False, monday, f"{year:04}-W{week:02}")


def month_of(day: date) -> Period:
    """The month to which the week of DAY belongs."""
    return _month(_monday(day))


def period_of(type: str, name: str) -> Period:
    """The week or month called NAME, or BadInput saying how they are called."""
    if type not in FORMS:
        raise BadInput(
            f"there is nothing to roll up into a {type!r}",
            hint="days are rolled up into a week, and weeks into a month",
        )
    try:
        found = _named(type, name)
    except (ValueError, OverflowError) as error:
        raise _no_period(type, name) from error
    if found is None:
        raise _no_period(type, name)
    return found


def _named(type: str, name: str) -> Period | None:
    digits = re.fullmatch(r"([0-9]{4})-(W?)([0-9]{2})", name)
    if digits is None or bool(digits[2]) != (type == WEEK):
        return None
    year, number = int(digits[1]), int(digits[3])
    if type == WEEK:
        return week_of(date.fromisocalendar(year, number, 1))
    return _month(date(year, number, 1))


def _no_period(type: str, name: str) -> BadInput:
    return BadInput(f"there is no {type} {name!r}", hint=f"a {type} is written {FORMS[type]}")


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())


def _month(day: date) -> Period:
    """The month by whose name DAY goes."""
    first = day.replace(day=1)
    following = (first + timedelta(_LONGEST_MONTH)).replace(day=1)
    last = _first_monday(following) - timedelta(1)
    return Period(last, True, _first_monday(first), f"{day.year:04}-{day.month:02}")


def _first_monday(first: date) -> date:
    """The first Monday from FIRST on."""
    return first + timedelta(-first.weekday() % _DAYS)
