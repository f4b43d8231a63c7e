"""Which pages of a journal wait for the summary of their week or month, and which have it.

A day belongs to its week, and both belong to the month of that week. A page is covered when the
summary of its week or month names it among its sources. Days that a week's summary does not name
go to the month, and what neither of them names is late: it is told of, and never left out unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from functools import cached_property
from typing import NamedTuple

from gitmem.model.layout.journal import Day, day_of
from gitmem.model.layout.layout import Layer, filled, variables_in
from gitmem.model.layout.periods import WEEK, Period, month_of, week_of
from gitmem.model.text.frontmatter import set_field

DAY = "day"
LISTED_BYTES = 4096
"""How long the list of sources may be: frontmatter must stay small. Beyond that it is a number."""


class Page(NamedTuple):
    """A file of a journal that has a date."""

    day: Day
    path: str
    name: str
    """What stands for the date in its path."""
    type: str
    """day, week or month"""
    blob: str = ""
    covers: frozenset[str] | None = frozenset()
    """The names of the pages that it sums up; None for all of its period."""
    again: bool = False
    """True when a page of its name is in the archive: whatever was covered, it was that one."""


class Waiting(NamedTuple):
    """A month that could be summed up if its weeks were."""

    period: Period
    weeks: tuple[str, ...]


def place_of(layer: Layer, type: str) -> str:
    """The pattern of the pages of that TYPE: beside the days, or apart where the days stay.

    A journal that shows its newest days would else show a week beside them, or in place of some.
    """
    parts = layer.path.split("/")
    if layer.rollup == "keep":
        parts.insert(next(at for at, part in enumerate(parts) if "{" in part), type)
    return "/".join(parts)


def target_of(layer: Layer, period: Period) -> str:
    """Where the summary of PERIOD goes."""
    (variable,) = variables_in(layer.path)
    return filled(place_of(layer, period.type), {variable: period.name})


def named_sources(value: object) -> frozenset[str] | None:
    """What a page says of its `sources`: names, with or without folder and ending; a number is all.

    A page that says nothing covers nothing: better something is told twice than not at all.
    """
    if str(value).isdecimal():
        return None
    listed = value if isinstance(value, list | tuple) else ()
    names = (str(each).rpartition("/")[2] for each in listed)
    return frozenset(name.removesuffix(".md") for name in names)


def names_of(pages: Iterable[Page]) -> tuple[str, ...]:
    """What PAGES are called among the sources of a summary, each once."""
    return tuple(dict.fromkeys(each.name for each in pages))


def composed(text: str, summary: str, period: Period, pages: Iterable[Page]) -> bytes:
    """TEXT as the page of PERIOD, which sums up PAGES."""
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


class Shelf:
    """The pages of one journal up to today, by week and by month."""

    def __init__(self, pages: Iterable[Page], today: date) -> None:
        self._today = today
        self._above: dict[Page, tuple[Period, ...]] = {}
        self._below: dict[Period, list[Page]] = {}
        self._summaries: dict[Period, list[Page]] = {}
        for page in sorted(pages):
            # What is still to come has no period that could be over.
            if page.day.date <= f"{today}":
                self._put(page)

    def _put(self, page: Page) -> None:
        day = date.fromisoformat(page.day.date)
        week, month = week_of(day), month_of(day)
        if page.type != DAY:
            self._summaries.setdefault(week if page.type == WEEK else month, []).append(page)
        above = {DAY: (week, month), WEEK: (month,)}.get(page.type, ())
        self._above[page] = above
        for period in above:
            self._below.setdefault(period, []).append(page)

    def summary(self, period: Period) -> Page | None:
        """The summary that PERIOD has."""
        return next(iter(self._summaries.get(period, ())), None)

    def sources(self, period: Period) -> tuple[Page, ...]:
        """The pages of PERIOD that no summary covers, the oldest first."""
        return tuple(each for each in self._below.get(period, ()) if not self._is_covered(each))

    def due(self) -> list[Period]:
        """The periods that are over, have pages and no summary; of a month the weeks come first."""
        return [each for each in self._lacking if each not in self._weeks_lacking]

    def waiting(self) -> list[Waiting]:
        """The months that would be due if their weeks had their summaries."""
        weeks = self._weeks_lacking
        return [Waiting(each, tuple(weeks[each])) for each in self._lacking if each in weeks]

    def late(self) -> Iterator[tuple[Page, Page]]:
        """Pages that came too late for every summary above them, with the last of those."""
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

    def _is_covered(self, page: Page) -> bool:
        if page.again:
            return False
        above = self._above[page]
        summaries = (each for period in above for each in self._summaries.get(period, ()))
        return any(each.covers is None or page.name in each.covers for each in summaries)
