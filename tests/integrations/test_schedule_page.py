"""docs/schedules.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import gitmem
from gitmem.integrations.schedule.cron import block
from gitmem.integrations.schedule.plan import (
    JOBS,
    SchedulePlan,
    schedule_tasks,
    template,
    timetable,
)
from gitmem.integrations.schedule.systemd import MARK
from gitmem.memory.clock import SystemZone
from gitmem.memory.group import time_now
from gitmem.model.layout.layout import TranscriptSettings
from gitmem.resources import templates
from tests.support.pages import numbers

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "schedules.md").read_text("utf-8")


def fenced(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def test_the_page_has_the_jobs_and_their_times() -> None:
    table = PAGE.partition("## What runs when")[2].partition("## Tasks for an agent")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", table, re.MULTILINE)

    assert rows == [(each.name, each.time.words) for each in JOBS]


def test_the_example_of_other_times_can_be_read() -> None:
    found = timetable(yaml.safe_load(fenced("yaml")))

    assert [each.time.words for each in found] == ["daily 00:00", "daily 22:30", "Sat 04:00"]


SHIPPED = (templates() / "schedule" / "tasks" / "context-check.md").read_text("utf-8")


def check_context_check(text: str) -> None:
    """That the check asks first, stops below 70 %, syncs from there, and restarts from 85 % on."""
    steps = [" ".join(each.split()) for each in re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]]
    ask, below, sync, restart = steps
    assert "context usage" in ask
    assert "wait until the figure is there" in ask
    assert below.startswith('Below 70 %: answer "Context OK: X%"')
    assert "and stop." in below
    for each in (ask, below):
        assert not re.search(r"/gitmem-memory|sync|new session|call ", each)
    assert sync.startswith("From 70 % on: call /gitmem-memory.")
    assert "new session" not in sync
    assert re.match(r"From 85 % on: call /gitmem-memory, wait .* then start a new session", restart)


def test_the_text_for_an_agent_has_its_thresholds_in_order() -> None:
    check_context_check(SHIPPED)
    assert fenced("text") == SHIPPED
    assert numbers(PAGE, "| `context-check`", "minutes") == {30, 1}
    assert numbers(PAGE, "messages", "summarised") == {TranscriptSettings().threshold}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("and stop.", "and call /gitmem-memory."),
        ("and stop.", "sync memory and stop."),
        ("and stop.", "and go on."),
        ("Below 70 %", "Below 60 %"),
        ("From 70 % on: call /gitmem-memory", "From 70 % on: start a new session"),
        ("From 85 % on: call /gitmem-memory, wait", "From 85 % on: do not wait"),
        ("3. From 70 %", "3. From 50 %"),
        ("4. From 85 %", "4. From 95 %"),
        ('"Context OK: X%"', '"fine"'),
    ],
)
def test_a_text_with_other_thresholds_is_found_out(old: str, new: str) -> None:
    assert old in SHIPPED

    with pytest.raises(AssertionError):
        check_context_check(SHIPPED.replace(old, new))


def test_the_page_has_the_tasks_their_times_and_priorities() -> None:
    table = PAGE.partition("## Tasks for an agent")[2].partition("### ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| ([^|]+) \| (\d) \|", table, re.MULTILINE)
    now = time_now(None, SystemZone())
    plan = SchedulePlan(("/bin/gitmem",), "/store", "", JOBS, ("",), (), now, {})

    found = schedule_tasks(plan)

    assert rows == [(each.name, each.time, str(each.priority)) for each in found]
    assert all(each.require_idle for each in found)
    assert [each.cron for each in found] == [
        ("*/30 * * * *",),
        ("0 0 * * *",),
        ("0 23 * * *",),
        ("0 2 * * 0",),
    ]


def test_the_marks_on_the_page_are_those_that_are_written() -> None:
    now = time_now(None, SystemZone())
    plan = SchedulePlan(("/bin/gitmem",), "/store", "1f0c2ab9", JOBS, ("",), (), now, {})

    for each in (plan, plan._replace(label="")):
        first, *_, last = block(each).splitlines()
        assert f"`{first}`" in PAGE
        assert each.label or f"`{last}`" in PAGE


@pytest.mark.parametrize("name", ["gitmem.service", "gitmem.timer"])
def test_a_unit_says_in_its_first_line_whose_it_is(name: str) -> None:
    assert template(name).template.startswith(MARK)
