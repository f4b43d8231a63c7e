"""`gitmem rollup`: what is due, what was done, and why not."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.support.cli import Run

LAYOUT = """\
gitmem: 1
timezone: UTC
layers:
  diary: {kind: journal, path: "diary/{date}.md", rollup: keep}
  episodes: {kind: journal, path: "episodes/{date}.md", rollup: move}
"""


@pytest.fixture
def weeks(gitmem: Run) -> Run:
    assert gitmem("write", "gitmem.yaml", LAYOUT).code == 0
    for day in ("2026-01-27", "2026-01-29"):
        gitmem("write", f"episodes/{day}.md", "---\nsummary: s\n---\nsomething")
    return gitmem


def shown(out: str) -> str:
    return re.sub(r"\b[0-9a-f]{7}\b", "COMMIT", re.sub(r"\b[0-9a-f]{12}\b", "DIGEST", out))


def test_what_is_due_is_a_table_with_the_next_command(weeks: Run) -> None:
    said = weeks("rollup", "--due")

    assert said.code == 0
    assert shown(said.out) == (
        "2026-W05  episodes  2026-01-26 to 2026-02-01  2 pages  episodes/2026-W05.md\n\n"
        "next: gitmem rollup week 2026-W05 --layer episodes --if-match DIGEST --summary SUMMARY -\n"
        "2026-01 of episodes waits for 2026-W05\n"
    )
    assert "gitmem rollup --due --json" in said.err


def test_what_is_due_in_json_can_be_done_as_it_says(weeks: Run) -> None:
    (due,) = weeks("rollup", "--due", "--json").document["due"]

    assert list(due)[:7] == ["layer", "type", "period", "from", "to", "target", "sources"]
    assert (due["from"], due["to"]) == ("2026-01-26", "2026-02-01")
    assert [each["path"] for each in due["sources"]] == [
        "episodes/2026-01-27.md",
        "episodes/2026-01-29.md",
    ]
    assert due["sources"][0]["text"].endswith("something")
    (bare,) = weeks("rollup", "--due", "--json", "--no-text").document["due"]
    assert (bare["sources"][0]["text"], bare["sources"][0]["summary"]) == (None, "s")
    words = shlex.split(due["command"].replace("SUMMARY", "done"))
    assert weeks(*words[1:], input="The whole week.\n").code == 0
    found = weeks("rollup", "--due", "--json").document
    assert [(each["type"], each["period"]) for each in found["due"]] == [("month", "2026-01")]


def test_a_roll_up_says_what_moved_where(weeks: Run, files: Path) -> None:
    said = weeks("rollup", "week", "2026-W05", "--summary", "Two days", "- text with a dash")

    assert shown(said.out) == (
        "rolled up 2 pages of episodes as episodes/2026-W05.md COMMIT\n"
        "  episodes/2026-01-27.md -> archive/episodes/2026-01-27.md\n"
        "  episodes/2026-01-29.md -> archive/episodes/2026-01-29.md\n"
    )
    assert (files / "episodes/2026-W05.md").read_text().endswith("---\n- text with a dash\n")


def test_a_roll_up_in_json(weeks: Run) -> None:
    call = ("rollup", "week", "2026-W05", "--summary", "s", "text", "--id", "x", "--json")

    dry = weeks(*call, "--dry-run").document
    assert (dry["outcome"], dry["changed"], dry["path"]) == ("ready", False, "episodes/2026-W05.md")
    done = weeks(*call).document
    assert (done["outcome"], done["changed"]) == ("written", True)
    assert done["moved"][0] == {
        "from": "episodes/2026-01-27.md",
        "to": "archive/episodes/2026-01-27.md",
    }
    again = weeks(*call).document
    assert (again["outcome"], again["changed"], again["recognised"]) == ("written", False, True)
    assert (again["commit"], again["moved"]) == (done["commit"], done["moved"])


@pytest.mark.parametrize(
    ("args", "code", "outcome"),
    [
        (("week", "2026-W05"), 4, "exists"),
        (("week", "2026-W06"), 4, "not-over"),
        (("week", "2026-W02"), 3, "no-sources"),
        (("week", "2026-05"), 2, None),
        (("year", "2026"), 2, None),
        (("week",), 2, None),
        (("week", ""), 2, None),
        ((), 2, None),
        (("week", "2026-W05", "--due"), 2, None),
        (("week", "2026-W05", "--layer", "x"), 2, None),
    ],
)
def test_every_no_is_clear_and_has_its_word(
    weeks: Run, args: tuple[str, ...], code: int, outcome: str | None
) -> None:
    weeks("rollup", "week", "2026-W05", "--summary", "s", "text")
    before = weeks("log", "--json").out

    said = weeks("rollup", *args, "--summary", "s", "--json", input="text")

    assert (said.code, said.error.get("outcome")) == (code, outcome)
    assert said.error["hint"]
    assert weeks("log", "--json").out == before


def test_the_summary_and_the_text_are_wanted(weeks: Run) -> None:
    assert weeks("rollup", "week", "2026-W05", "text").code == 2
    assert weeks("rollup", "week", "2026-W05", "--summary", "", "text").code == 2
    assert weeks("rollup", "week", "2026-W05", "--summary", "s", input="").code == 2
    bad = weeks("rollup", "week", "2026-W05", "--summary", "s", "-", input=b"\xff")
    assert (bad.code, "UTF-8" in bad.err) == (2, True)


def test_nothing_due_late_and_undated_pages_are_all_told(weeks: Run) -> None:
    weeks("rollup", "week", "2026-W05", "--summary", "s", "text")
    weeks("rollup", "month", "2026-01", "--summary", "s", "text")
    assert weeks("rollup", "--due").out == "nothing is due in diary, episodes\n"
    weeks("write", "episodes/2026-W05.md", "by hand, later")
    weeks("write", "episodes/notes.md", "no date")

    said = weeks("rollup", "--due")

    assert said.out == (
        "nothing is due in diary, episodes\n"
        "late episodes/2026-W05.md: episodes/2026-01.md does not name it\n"
        "undated episodes/notes.md: no week or month has it\n"
    )
    assert "gitmem rm" in said.err


def test_a_group_without_such_layers_has_nothing_due(gitmem: Run) -> None:
    said = gitmem("rollup", "--due")

    assert (said.code, said.out) == (0, "")
    assert "rollup:" in said.err
    assert json.loads(gitmem("rollup", "--due", "--json").out)["due"] == []


def test_the_clock_of_the_settings_decides_what_is_over(weeks: Run) -> None:
    weeks("write", "episodes/2026-02-08.md", "sunday")
    week = ("rollup", "week", "2026-W06", "--summary", "s", "text")

    assert weeks(*week, GITMEM_NOW="2026-02-08T23:59:59Z").code == 4
    assert weeks(*week, GITMEM_NOW="2026-02-09T00:00:00Z").code == 0
