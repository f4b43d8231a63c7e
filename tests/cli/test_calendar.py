"""Clocks, zones and dates at the ends of the calendar: an answer or a usage error, never a bug."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import Run

ROOT = Path(__file__).parents[2]
UNEXPECTED, USAGE = 1, 2
ZONES = ("Pacific/Kiritimati", "Pacific/Niue", "")
"""The first and the last on earth, and the machine's."""
LAYOUT = """\
gitmem: 1
layers:
  decisions: {kind: entries, path: decisions.md, ages: true}
  facts: {kind: notes, path: facts/*.md, ages: true, load: always}
  diary: {kind: journal, path: 'diary/{date}.md', load: recent 9}
"""
EDGES = (
    *("0001-01-01", "0001-01-01T00:00:00Z", "0001-01-01T00:00+14:00", "1969-12-31", "1970-01-01"),
    *("9999-12-31", "9999-12-31T23:59:59Z", "9999-12-31T23:59-12:00", "9999-12-31T23:59:59.999999"),
    *(
        "999999 years ago",
        "999999 months ago",
        "999999 days ago",
        "0000-01-01",
        "2026-01-01T00:00+99",
    ),
)
ASKED = (
    *(("read", "facts/a.md", "--at"), ("inject", "--at"), ("freshness", "--at"), ("list", "--at")),
    *(("log", "--since"), ("search", "tea", "--since")),
    *(("restore", "facts/a.md", "--at"), ("consolidate", "--at"), ("diff",)),
    *(("transcript", "prune", "--dry-run", "--before"), ("write", "diary", "x", "--date")),
    ("transcript", "add", "--chat", "c", "--from", "ada", "tea", "--at"),
)
COMMANDS = (
    *(("status",), ("log",), ("freshness",), ("inject", "--annotate"), ("search", "tea")),
    *(("consolidate",), ("check",), ("rotate",), ("snapshot",), ("rollup", "--dry-run"), ("lint",)),
    *(("maintain",), ("write", "diary", "x"), ("confirm", "facts/a.md"), ("schedule", "status")),
    ("transcript", "pending", "--chat", "c"),
)


@pytest.fixture(params=ZONES)
def calendar(gitmem: Run, request: pytest.FixtureRequest) -> Run:
    """A group in a zone, with files that name the first and the last day there is."""
    zone = f"timezone: {request.param}\n" if request.param else ""
    assert gitmem("write", "gitmem.yaml", LAYOUT + zone).code == 0
    for name, day in (("a", "0001-01-01"), ("b", "9999-12-31")):
        text = f"---\nupdated: {day}\ndate: {day}T00:00:00+14:00\n---\nAda drinks tea.\n"
        assert gitmem("write", f"facts/{name}.md", text).code == 0
        gitmem("write", f"diary/{day}.md", f"---\nsummary: {name}\n---\nx\n")
        gitmem("write", "decisions", "--entry", f"On {day}", "--set", f"Updated={day}")
    return gitmem


@pytest.mark.parametrize("asked", ASKED, ids=" ".join)
def test_a_date_at_the_ends_of_the_calendar_is_answered_or_refused(
    calendar: Run, asked: tuple[str, ...]
) -> None:
    for edge in EDGES:
        said = calendar(*asked, edge)
        assert said.code != UNEXPECTED, (edge, said.err)
        # A message has a year of its own to complain about.
        named = edge in said.err or "invalid year" in said.err
        assert said.code != USAGE or named, (edge, said.err)


@pytest.mark.parametrize(
    "now",
    [
        *("1971-01-01T00:00:00", "1971-01-01T00:00:00+14:00"),
        *("9997-12-31T23:59:59", "9997-12-31T23:59:59-12:00"),
    ],
)
def test_the_first_and_the_last_moment_of_the_clock_are_like_any_other(
    calendar: Run, now: str
) -> None:
    for command in COMMANDS:
        said = calendar(*command, GITMEM_NOW=now)
        assert said.code != UNEXPECTED, (command, said.err)


@pytest.mark.parametrize(
    "now",
    [
        *("0001-01-01T00:00:00", "0001-01-01T00:00:00+14:00", "1970-01-01T00:00:00Z"),
        *("9998-01-01T00:00:00Z", "9999-12-31T23:59:59", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_a_clock_beyond_them_is_refused_with_its_value(gitmem: Run, now: str) -> None:
    for command in (("status",), ("write", "a.md", "x"), ("inject",), ("mcp",)):
        said = gitmem(*command, GITMEM_NOW=now)
        assert said.code == USAGE
        assert repr(now) in said.err
        assert "unset it" in said.err
    assert gitmem("status", "--json", GITMEM_NOW=now).error["code"] == "bad-input"
    assert gitmem("read", "a.md").code != 0


@pytest.mark.parametrize("zone", ["UTC+99", "UTC-24", "AAA+3BBB+30"])
def test_a_zone_a_day_away_is_refused_with_its_name(gitmem: Run, home: Path, zone: str) -> None:
    def run(*args: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        env = os.environ | {"TZ": zone, "PYTHONPATH": str(ROOT), "GITMEM_HOME": str(home)}
        command = [sys.executable, "-m", "gitmem", *args]
        return subprocess.run(command, env=env, input=given, capture_output=True, check=False)

    said = run("write", "a.md", "x")
    assert (said.returncode, said.stdout) == (USAGE, b"")
    assert repr(zone).encode() in said.stderr
    assert b"Europe/Berlin" in said.stderr
    assert run("hook", "stop", given=b"{}").returncode == 1  # 2 would be a veto
    assert run("--version").returncode == 0
    assert gitmem("read", "a.md").code != 0


@pytest.mark.parametrize("zone", ["UTC+23", "Nowhere/Land", ":", "<x>+167", "x" * 400])
def test_any_other_zone_stops_nobody(gitmem: Run, home: Path, zone: str) -> None:
    env = os.environ | {"TZ": zone, "PYTHONPATH": str(ROOT), "GITMEM_HOME": str(home)}
    for command in ("write a.md x", "status", "log --since yesterday"):
        full = [sys.executable, "-m", "gitmem", *command.split()]
        done = subprocess.run(full, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
