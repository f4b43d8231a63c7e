"""docs/schedules.md says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import gitmem
from gitmem.hosts.schedule.cron import block
from gitmem.hosts.schedule.plan import Plan, template
from gitmem.hosts.schedule.systemd import MARK
from gitmem.hosts.schedule.times import JOBS, timetable
from gitmem.operations.clock import SystemZone
from gitmem.operations.group import time_now

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "schedules.md").read_text("utf-8")


def fenced(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    return str(found)


def test_the_page_has_the_jobs_and_their_times() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE)

    assert rows == [(each.name, each.time.words) for each in JOBS]


def test_the_example_of_other_times_can_be_read() -> None:
    found = timetable(yaml.safe_load(fenced("yaml")))

    assert [each.time.words for each in found] == ["daily 00:00", "daily 22:30", "Sat 04:00"]


def test_the_text_for_an_agent_has_its_thresholds_in_order() -> None:
    text = fenced("text")

    assert re.findall(r"\d+ %", text) == ["70 %", "70 %", "85 %"]
    assert '"Context OK: X%"' in text
    assert text.index("/gitmem-memory") < text.index("new session")
    assert "every 30 minutes" in PAGE.lower()
    assert "More than 30 messages" in PAGE


def test_the_marks_on_the_page_are_those_that_are_written() -> None:
    now = time_now(None, SystemZone())
    plan = Plan(("/bin/gitmem",), "/store", "1f0c2ab9", JOBS, ("",), (), now, {})

    for each in (plan, plan._replace(label="")):
        first, *_, last = block(each).splitlines()
        assert f"`{first}`" in PAGE
        assert each.label or f"`{last}`" in PAGE


@pytest.mark.parametrize("name", ["gitmem.service", "gitmem.timer"])
def test_a_unit_says_in_its_first_line_whose_it_is(name: str) -> None:
    assert template(name).template.startswith(MARK)
