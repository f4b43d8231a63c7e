"""Which pages of a journal wait for the summary of their week or month, and which have it.

A day belongs to its week, and both belong to the month of that week. A page is covered when the
summary of its week or month names it among its sources. Days that a week's summary does not name
go to the month, and what neither of them names is late: it is told of, and never left out unseen.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from functools import cached_property
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.model.layout.journal import Day, day_of
from gitmem.model.layout.layout import Layer, filled, variables_in
from gitmem.model.text.frontmatter import set_field

WEEK, MONTH = "week", "month"
FORMS = {WEEK: "2026-W07", MONTH: "2026-02"}
"""An example of the name of each type of period."""

_DAYS = 7
_LONGEST_MONTH = 31


class Period(NamedTuple):
    """A span of whole weeks; sorts by its end, a week before a month."""

    last: date
    is_month: bool
    first: date
    name: str

    @property
    def type(self) -> str:
        """`week` or `month`."""
        return MONTH if self.is_month else WEEK

    def is_over(self, today: date) -> bool:
        """Whether TODAY is after its last day."""
        return today > self.last


def week_of(day: date) -> Period:
    """Return the week of DAY."""
    monday = _monday(day)
    year, week, _ = monday.isocalendar()
    return Period(monday + timedelta(_DAYS - 1), False, monday, f"{year:04}-W{week:02}")


def month_of(day: date) -> Period:
    """Return the month that the week of DAY belongs to."""
    return _month(_monday(day))


def period_of(type: str, name: str) -> Period:
    """Return the week or month NAME, or raise BadInput."""
    if type not in FORMS:
        raise BadInput(
            f"invalid period type {type!r}",
            hint="use week or month: days are rolled up into a week, weeks into a month",
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
    return BadInput(f"invalid {type} {name!r}", hint=f"write it like {FORMS[type]}")


def _monday(day: date) -> date:
    return day - timedelta(day.weekday())


def _month(day: date) -> Period:
    """The month that is named after DAY."""
    first = day.replace(day=1)
    following = (first + timedelta(_LONGEST_MONTH)).replace(day=1)
    last = _first_monday(following) - timedelta(1)
    return Period(last, True, _first_monday(first), f"{day.year:04}-{day.month:02}")


def _first_monday(first: date) -> date:
    """The first Monday from FIRST on."""
    return first + timedelta(-first.weekday() % _DAYS)


DAY = "day"
LISTED_BYTES = 4096
"""The longest list of sources, since frontmatter must stay small; a longer one is a number."""


class JournalPage(NamedTuple):
    """A dated file of a journal."""

    day: Day
    path: str
    name: str
    """The date as its path writes it."""
    type: str
    """day, week or month"""
    blob: str = ""
    covers: frozenset[str] | None = frozenset()
    """The names of the pages that it summarises; None for all of its period."""
    again: bool = False
    """Whether the archive has a page of this name: then summaries cover that one."""


class WaitingMonth(NamedTuple):
    """A month that is due once its weeks have summaries."""

    period: Period
    weeks: tuple[str, ...]


def pattern_of(layer: Layer, type: str) -> str:
    """Return the path pattern of summaries of TYPE: beside the days, or in a folder if days stay.

    Otherwise a journal that shows its newest pages would show a week among its days.
    """
    parts = layer.path.split("/")
    if layer.rollup == "keep":
        parts.insert(next(at for at, part in enumerate(parts) if "{" in part), type)
    return "/".join(parts)


def target_of(layer: Layer, period: Period) -> str:
    """Return the path of the summary of PERIOD."""
    (variable,) = variables_in(layer.path)
    return filled(pattern_of(layer, period.type), {variable: period.name})


def named_sources(value: object) -> frozenset[str] | None:
    """Return the page names in the frontmatter field `sources`; None for a number, which means all.

    A page without `sources` covers nothing: a page summarised twice is better than one missed.
    """
    if str(value).isdecimal():
        return None
    listed = value if isinstance(value, list | tuple) else ()
    names = (str(each).rpartition("/")[2] for each in listed)
    return frozenset(name.removesuffix(".md") for name in names)


def names_of(pages: Iterable[JournalPage]) -> tuple[str, ...]:
    """Return the names of PAGES for the `sources` of a summary, each once."""
    return tuple(dict.fromkeys(each.name for each in pages))


def composed(text: str, summary: str, period: Period, pages: Iterable[JournalPage]) -> bytes:
    """Return TEXT as the page of PERIOD, with frontmatter that names PAGES as sources."""
    names = names_of(pages)
    fits = sum(len(each.encode()) + len('"", ') for each in names) <= LISTED_BYTES
    for key, value in (
        ("summary", summary),
        ("date", day_of(period.name).date),
        ("type", period.type),
        ("period", period.name),
        ("sources", names if fits else f"{len(names)}"),
    ):
        text = set_field(text, key, value)
    return text.encode() if text.endswith("\n") else f"{text}\n".encode()


class JournalPages:
    """The pages of one journal up to today, by week and by month."""

    def __init__(self, pages: Iterable[JournalPage], today: date) -> None:
        self._today = today
        self._above: dict[JournalPage, tuple[Period, ...]] = {}
        self._below: dict[Period, list[JournalPage]] = {}
        self._summaries: dict[Period, list[JournalPage]] = {}
        for page in sorted(pages):
            # A page in the future has no period that is over.
            if page.day.date <= f"{today}":
                self._put(page)

    def _put(self, page: JournalPage) -> None:
        day = date.fromisoformat(page.day.date)
        week, month = week_of(day), month_of(day)
        if page.type != DAY:
            self._summaries.setdefault(week if page.type == WEEK else month, []).append(page)
        above = {DAY: (week, month), WEEK: (month,)}.get(page.type, ())
        self._above[page] = above
        for period in above:
            self._below.setdefault(period, []).append(page)

    def summary(self, period: Period) -> JournalPage | None:
        """Return the summary of PERIOD; None if it has none."""
        return next(iter(self._summaries.get(period, ())), None)

    def sources(self, period: Period) -> tuple[JournalPage, ...]:
        """Return the pages of PERIOD that no summary covers, the oldest first."""
        return tuple(each for each in self._below.get(period, ()) if not self._is_covered(each))

    def due(self) -> list[Period]:
        """Return the periods that are over, have pages and no summary; a month after its weeks."""
        return [each for each in self._lacking if each not in self._weeks_lacking]

    def waiting(self) -> list[WaitingMonth]:
        """Return the months that wait for summaries of their weeks."""
        weeks = self._weeks_lacking
        return [WaitingMonth(each, tuple(weeks[each])) for each in self._lacking if each in weeks]

    def late(self) -> Iterator[tuple[JournalPage, JournalPage]]:
        """Yield pages that every summary above them missed, each with the last of those."""
        for page, above in self._above.items():
            summaries = [found for period in above if (found := self.summary(period))]
            if above and len(summaries) == len(above) and not self._is_covered(page):
                yield page, summaries[-1]

    @cached_property
    def _lacking(self) -> list[Period]:
        """The periods that are over, have pages and no summary, in order."""
        return sorted(
            each
            for each in self._below
            if each.is_over(self._today) and not self.summary(each) and self.sources(each)
        )

    @cached_property
    def _weeks_lacking(self) -> dict[Period, list[str]]:
        """Those of them that are weeks, by the month they are part of."""
        found: dict[Period, list[str]] = {}
        for each in self._lacking:
            if not each.is_month:
                found.setdefault(month_of(each.first), []).append(each.name)
        return found

    def _is_covered(self, page: JournalPage) -> bool:
        if page.again:
            return False
        above = self._above[page]
        summaries = (each for period in above for each in self._summaries.get(period, ()))
        return any(each.covers is None or page.name in each.covers for each in summaries)
