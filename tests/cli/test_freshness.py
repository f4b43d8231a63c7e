"""`gitmem freshness` at the command line."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from gitmem.cli.app import app
from gitmem.cli.invocation import Invocation
from gitmem.cli.style import Style
from tests.support.cli import Run

OLD, LATER = "2025-10-01T12:00:00Z", "2026-01-20T12:00:00Z"


@pytest.fixture
def aged(run: Run) -> Run:
    assert run("init", GITMEM_NOW=OLD).code == 0
    first = ("write", "decisions", "--entry", "Use ESM", "--set", "Importance=1")
    assert run(*first, "--set", "Status=active", GITMEM_NOW=OLD).code == 0
    second = ("write", "decisions", "--entry", "Use tabs", "--set", "Status=active")
    assert run(*second, GITMEM_NOW=LATER).code == 0
    assert run("write", "facts/tea.md", "Ada drinks tea.\n", GITMEM_NOW=LATER).code == 0
    return run


def test_the_most_faded_comes_first_in_a_table(aged: Run) -> None:
    said = aged("freshness")

    first, *rest = said.out.splitlines()
    assert first.split() == [
        *("#...", "stale", "130d", "2025-10-01", "1", "immune", "active"),
        *("reference/decisions.md#use-esm", "Use", "ESM"),
    ]
    assert [line.split()[1:3] for line in rest] == [["aging", "19d"], ["aging", "19d"]]
    assert said.err == "note: 3 entries: 2 aging, 1 stale\n"


@pytest.mark.usefixtures("aged")
def test_a_terminal_shows_the_state_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Invocation, "style", Style(colour=True))

    stale, aging, _ = CliRunner().invoke(app, ["freshness"], color=True).stdout.splitlines()

    assert stale.startswith("\x1b[31m#...\x1b[0m  stale")
    assert aging.startswith("###.  aging")


def test_json_has_every_key(aged: Run) -> None:
    found = aged("freshness", "decisions", "--state", "fading,stale", "--json").document

    (entry,) = found["entries"]
    assert {
        *("path", "title", "address", "touched", "commit", "agent", "age_days", "state"),
        *("importance", "status", "immune", "confirmed"),
    } <= set(entry)
    assert (entry["age_days"], entry["immune"], entry["confirmed"]) == (130, True, None)
    assert found["date"] == "2026-02-08"


def test_what_has_faded_comes_with_the_command_for_it(aged: Run) -> None:
    said = aged("freshness", GITMEM_NOW="2026-03-01T12:00:00Z")

    assert said.err.endswith("; still accurate: gitmem confirm facts/tea.md\n")


def test_lines_are_shown_with_their_dates(aged: Run) -> None:
    said = aged("freshness", "decisions", "--lines")

    rows = [line.split(maxsplit=4) for line in said.out.splitlines()]
    assert ["2025-10-01", "agent", "stale", "### Use ESM"] in [row[1:] for row in rows]
    assert aged("freshness", "decisions", "--lines", "--json").document["lines"][0]["line"] == 1
    assert aged("freshness", "--lines").code == 2


def test_the_past_and_mistakes(aged: Run) -> None:
    (then,) = aged("freshness", "--at", "2025-12-31", "--json").document["entries"]
    assert (then["title"], then["age_days"]) == ("Use ESM", 91)
    assert aged("freshness", "--state", "stael").code == 2
    assert aged("freshness", "nowhere.md").code == 3
    assert aged("freshness", "--state", "active").err == "note: nothing is active\n"


def test_a_group_without_ages_says_so(gitmem: Run) -> None:
    said = gitmem("freshness")

    assert (said.code, said.out) == (0, "")
    assert said.err == "note: no entries that age yet\n"
