"""No page of a journal is forgotten, and none is summed up twice."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.model.layout.journal import day_of, type_of
from gitmem.model.layout.layout import Layer
from gitmem.model.layout.rollups import (
    LISTED_BYTES,
    JournalPage,
    JournalPages,
    Period,
    composed,
    month_of,
    named_sources,
    names_of,
    pattern_of,
    period_of,
    target_of,
    week_of,
)
from gitmem.model.text.frontmatter import read

EPISODES = Layer("episodes", "journal", "episodes/{date}.md", rollup="move")
DIARY = Layer("diary", "journal", "diary/{date}.md", rollup="keep")
START = date(2025, 11, 20)


def page(name: str, *names: str, folder: str = "episodes") -> JournalPage:
    return JournalPage(
        day_of(name), f"{folder}/{name}.md", name, type_of(name), covers=frozenset(names)
    )


def shelf(today: str, *pages: str | JournalPage) -> JournalPages:
    found = [page(each) if isinstance(each, str) else each for each in pages]
    return JournalPages(found, date.fromisoformat(today))


def due(found: JournalPages) -> list[str]:
    return [each.name for each in found.due()]


def sources(found: JournalPages, type: str, name: str) -> list[str]:
    return [each.name for each in found.sources(period_of(type, name))]


def test_a_week_is_due_when_it_is_over_and_not_a_day_earlier() -> None:
    assert due(shelf("2026-02-15", "2026-02-09")) == []
    assert due(shelf("2026-02-16", "2026-02-09")) == ["2026-W07"]


def test_a_week_without_pages_is_not_due() -> None:
    assert due(shelf("2026-02-28", "2026-02-09")) == ["2026-W07"]


def test_a_month_waits_for_its_weeks() -> None:
    found = shelf("2026-03-02", "2026-02-09", "2026-02-16")

    assert due(found) == ["2026-W07", "2026-W08"]
    (waiting,) = found.waiting()
    assert (waiting.period.name, waiting.weeks) == ("2026-02", ("2026-W07", "2026-W08"))


def test_a_month_is_due_when_its_last_week_is_over() -> None:
    assert due(shelf("2026-03-01", "2026-W07", "2026-W08")) == []
    assert due(shelf("2026-03-02", "2026-W07", "2026-W08")) == ["2026-02"]


def test_the_oldest_comes_first() -> None:
    found = shelf("2026-03-20", "2026-W07", "2026-03-04", "2026-03-10", "2025-12-03")

    assert due(found) == ["2025-W49", "2026-02", "2026-W10", "2026-W11"]


def test_a_week_goes_to_the_month_of_its_monday() -> None:
    found = shelf("2026-03-20", "2026-W05", "2026-W06", "2026-W09", "2026-W10")

    assert sources(found, "month", "2026-01") == ["2026-W05"]
    assert sources(found, "month", "2026-02") == ["2026-W06", "2026-W09"]


def test_a_day_that_its_week_does_not_name_goes_to_the_month() -> None:
    found = shelf("2026-03-02", page("2026-W07", "2026-02-09"), "2026-02-09", "2026-02-10")

    assert due(found) == ["2026-02"]
    assert sources(found, "month", "2026-02") == ["2026-02-10", "2026-W07"]
    assert list(found.late()) == []


def test_what_no_summary_names_is_late() -> None:
    month = page("2026-02", "2026-W07")
    found = shelf("2026-03-02", month, page("2026-W07"), "2026-02-10", "2026-W08")

    assert [(each.name, last.name) for each, last in found.late()] == [
        ("2026-02-10", "2026-02"),
        ("2026-W08", "2026-02"),
    ]
    assert due(found) == []


def test_a_day_of_a_month_that_has_its_summary_still_gets_its_week() -> None:
    found = shelf("2026-03-02", page("2026-02", "2026-W07"), "2026-02-17")

    assert due(found) == ["2026-W08"]


def test_what_stands_in_the_archive_under_its_name_does_not_count_for_a_new_page() -> None:
    again = page("2026-02-09")._replace(again=True)
    found = shelf("2026-03-02", page("2026-W07", "2026-02-09"), again)

    assert sources(found, "month", "2026-02") == ["2026-02-09", "2026-W07"]


def test_a_number_of_sources_covers_all_and_no_sources_cover_none() -> None:
    everything = page("2026-W07")._replace(covers=named_sources(400))

    assert sources(shelf("2026-03-02", everything, "2026-02-10"), "week", "2026-W07") == []
    listless = page("2026-W07")._replace(covers=named_sources(None))
    assert sources(shelf("2026-03-02", listless, "2026-02-10"), "week", "2026-W07") == [
        "2026-02-10"
    ]


def test_several_pages_of_a_day_are_all_sources_in_their_order() -> None:
    names = ["2026-02-09T08-00-00", "2026-02-09T20-15-00", "2026-02-10", "2026-02-10-2", "20260211"]

    found = shelf("2026-02-16", *reversed(names))

    assert sources(found, "week", "2026-W07") == names


def test_days_to_come_are_left_alone() -> None:
    assert due(shelf("2026-02-16", "9999-12-31", "2026-02-16", "2026-W09", "2027-01")) == []


def test_names_of_sources_are_read_in_every_form() -> None:
    listed = ["2026-02-09", date(2026, 2, 10), 20260211, "20260212.md", "diary/20260213.md"]

    assert named_sources(listed) == {
        "2026-02-09", "2026-02-10", "20260211", "20260212", "20260213",
    }  # fmt: skip
    assert named_sources("all of them") == frozenset()


@pytest.mark.parametrize(
    ("layer", "week", "month"),
    [
        (EPISODES, "episodes/2026-W07.md", "episodes/2026-02.md"),
        (DIARY, "diary/week/2026-W07.md", "diary/month/2026-02.md"),
        (DIARY._replace(path="{datetime}.md"), "week/2026-W07.md", "month/2026-02.md"),
        (
            DIARY._replace(path="d/{date}/log.md"),
            "d/week/2026-W07/log.md",
            "d/month/2026-02/log.md",
        ),
        (EPISODES._replace(path="log-{date}.md"), "log-2026-W07.md", "log-2026-02.md"),
    ],
)
def test_where_a_summary_goes(layer: Layer, week: str, month: str) -> None:
    assert target_of(layer, period_of("week", "2026-W07")) == week
    assert target_of(layer, period_of("month", "2026-02")) == month
    assert layer.holds(week) == (layer.rollup == "move")
    assert layer._replace(path=pattern_of(layer, "week")).holds(week)


def test_a_page_says_what_it_sums_up() -> None:
    pages = [page("2026-02-09"), page("2026-02-10")]

    text = composed("All well.", "A: quiet week", period_of("week", "2026-W07"), pages).decode()

    assert text == (
        '---\nsummary: "A: quiet week"\ndate: 2026-02-15\ntype: week\nperiod: "2026-W07"\n'
        'sources: ["2026-02-09", "2026-02-10"]\n---\nAll well.\n'
    )


def test_frontmatter_of_the_text_itself_stays() -> None:
    text = "---\nmood: good\ntype: day\n---\nAll well.\n"

    found = composed(text, "quiet", period_of("month", "2026-02"), [page("2026-W07")]).decode()

    fields = read(found)
    assert (fields["mood"], fields["type"], fields["sources"]) == ("good", "month", ["2026-W07"])
    assert fields["date"] == date(2026, 2, 28)
    assert found.endswith("---\nAll well.\n")


def test_more_sources_than_frontmatter_can_hold_become_a_number() -> None:
    names = [f"2026-02-09T{n // 3600:02}-{n // 60 % 60:02}-{n % 60:02}" for n in range(500)]
    pages = [page(each) for each in names]
    assert sum(map(len, names)) > LISTED_BYTES

    found = composed("x", "busy", period_of("week", "2026-W07"), pages).decode()

    assert named_sources(read(found)["sources"]) is None
    assert names_of(pages) == tuple(names)


offsets = st.sets(st.integers(0, 150), max_size=40)


@given(offsets, st.integers(0, 200))
def test_every_page_of_a_week_that_is_over_is_in_exactly_one_due_week(
    days: set[int], now: int
) -> None:
    today = START + timedelta(now)
    names = [f"{START + timedelta(each)}" for each in days]

    found = shelf(f"{today}", *names)

    weeks = [each for each in found.due() if not each.is_month]
    listed = [each.name for week in weeks for each in found.sources(week)]
    over = [each for each in names if week_of(date.fromisoformat(each)).last < today]
    assert sorted(listed) == sorted(over)


def rolled(
    pages: dict[str, JournalPage], period: Period, found: JournalPages, *, move: bool
) -> None:
    """What a roll-up does to PAGES."""
    sources = found.sources(period)
    for each in sources if move else ():
        del pages[each.name]
    pages[period.name] = page(period.name, *names_of(sources))


@given(offsets, st.integers(0, 200), st.booleans(), offsets)
def test_rolling_up_all_that_is_due_ends_and_forgets_nothing(
    days: set[int], now: int, move: bool, later: set[int]
) -> None:
    today = START + timedelta(now)
    pages: dict[str, JournalPage] = {}
    summed: list[str] = []
    for some in (days, later):
        fresh = {f"{START + timedelta(each)}" for each in some} - set(summed)
        pages |= {each: page(each) for each in fresh if each not in pages}
        while (found := JournalPages(pages.values(), today)).due():
            period = found.due()[0]
            summed += [each.name for each in found.sources(period)]
            rolled(pages, period, found, move=move)

    found = JournalPages(pages.values(), today)
    assert found.waiting() == []
    names = [each for each in summed if type_of(each) == "day"]
    assert len(names) == len(set(names)), "no day is summed up twice"
    late = {each.name for each, _ in found.late()}
    for offset in days | later:
        day = START + timedelta(offset)
        still = not month_of(day).is_over(today)  # it waits for the month to be over
        assert f"{day}" in summed or f"{day}" in late or still
