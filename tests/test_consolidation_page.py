"""docs/consolidation.md says what the report and a plan have, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import gitmem
from gitmem.memory.curate.plan import ACTIONS, read_plan
from gitmem.model import report as reported
from gitmem.model.entries.freshness import STATES, state_of
from gitmem.model.report import Condition, Findings, Suggestion, suggest

PAGE = (Path(gitmem.__file__).parents[1] / "docs" / "consolidation.md").read_text("utf-8")


def section(title: str) -> str:
    return re.split(r"^## ", PAGE.split(f"## {title}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every row of the tables in TEXT, without the heads."""
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [each for each in cells if each[0] not in ("key", "action", "days")]


def words(cell: str) -> list[str]:
    return re.findall(r"`([\w-]+)`", cell)


def test_the_page_documents_every_key_of_the_report_and_no_other() -> None:
    first, second, zylos = re.split(r"\n\n(?=\| key)", section("The report"))[1:]
    records = [each for each in vars(reported).values() if hasattr(each, "_fields")]
    others = (reported.Report, Condition, Findings, Suggestion)
    inner = {name for each in records if each not in others for name in each._fields}

    assert [words(row[0])[0] for row in rows(first)] == list(reported.Report._fields)
    assert {word for row in rows(second) for word in words(row[0])} == inner
    assert {"timestamp", "memoryDir", "sessions"} <= {words(row[0])[0] for row in rows(zylos)}


def test_the_page_has_the_states_with_their_days() -> None:
    found = rows(section("How old an entry is"))

    assert tuple(words(row[1])[0] for row in found) == STATES
    for days, state, *_ in found:
        for day in re.findall(r"\d+", days):
            assert f"`{state_of(int(day))}`" == state


def test_the_page_has_the_actions_that_are_suggested() -> None:
    conditions = [
        Condition("stale", 100, status, retired, False, None, known)
        for status, retired, known in (
            ("over", True, False),
            ("on", False, True),
            ("", False, False),
        )
    ]

    assert [words(row[0])[0] for row in rows(section("What is suggested"))] == [
        suggest(each).action for each in conditions
    ]


def test_the_page_has_the_form_of_every_decision() -> None:
    found = rows(section("`--plan`"))

    assert [words(row[0])[0] for row in found] == list(ACTIONS)
    for action, needs, may, _ in found:
        form = ACTIONS[words(action)[0]]
        assert words(needs) == [*form.needs, *form.any_of]
        assert words(may) == [*form.may, "reason"]


def test_the_plan_on_the_page_can_be_read() -> None:
    (text,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    plan = read_plan(text.encode())

    assert plan.base == json.loads(text.splitlines()[0])["base"]
    assert [each.action for each in plan.decisions] == list(ACTIONS)
