"""The zone in which a group's days begin."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.errors import BadInput
from gitmem.memory.clock import SystemZone, zone_of, zone_problem
from gitmem.memory.group import Group
from gitmem.memory.read.status import status
from tests.support.histories import put


@pytest.mark.parametrize("line", ["TZ=Asia/Tokyo", 'TZ="Asia/Tokyo"', "export TZ='Asia/Tokyo'"])
def test_the_zone_stands_in_the_stores_dotenv(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"OTHER=1\n{line}\n")

    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert noon.astimezone(zone_of(tmp_path)).hour == 21


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process whose environment says that it is in Tokyo."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("name", ["Nope/Zone", "CET-1CEST", "../etc/passwd", "/etc/localtime"])
def test_a_zone_that_does_not_exist_stops_nobody_and_is_told_with_its_file(
    tmp_path: Path, name: str, in_tokyo: None
) -> None:
    (tmp_path / ".env").write_text(f"TZ={name}\n")

    assert NOON.astimezone(zone_of(tmp_path)).hour == 21, "as the environment says"
    problem = zone_problem(tmp_path)
    assert f"{tmp_path / '.env'}" in problem
    assert name in problem
    assert "Europe/Berlin" in problem


@pytest.mark.parametrize("text", ["", "OTHER=1\n", "TZ=Europe/Berlin\n", "TZ=\n"])
def test_where_nothing_is_wrong_nothing_is_said(tmp_path: Path, text: str) -> None:
    (tmp_path / ".env").write_text(text)

    assert zone_problem(tmp_path) == ""
    assert zone_problem(tmp_path / "elsewhere") == ""


def test_the_dotenv_counts_before_the_environment_and_else_the_system_does(
    tmp_path: Path, in_tokyo: None
) -> None:
    assert NOON.astimezone(zone_of(tmp_path)).hour == 21

    (tmp_path / ".env").write_text("TZ=America/New_York\n")

    assert NOON.astimezone(zone_of(tmp_path)).hour == 8
    assert NOON.astimezone(zone_of(tmp_path, "Asia/Kolkata")).hour == 17, "a layout comes first"


def test_a_command_works_and_status_says_what_is_wrong_with_the_zone(group: Group) -> None:
    (group.store.root / ".env").write_text("TZ=CET-1CEST\n")
    put(group, "a.md", "x\n")

    found = status(group)

    assert "CET-1CEST" in found.zone_problem
    assert found.concerns == ("the time zone in .env is not known",)
    assert found.health == "attention"

    put(group, "gitmem.yaml", "gitmem: 1\ntimezone: UTC\n")

    assert status(group).zone_problem == "", "the layout's own counts"


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/New_York", "Pacific/Kiritimati"])
def test_the_systems_zone_is_right_on_every_date(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zoneinfo import ZoneInfo

    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        for hours in range(0, 24 * 366, 5):
            moment = start + timedelta(hours=hours)
            ours, theirs = moment.astimezone(SystemZone()), moment.astimezone(ZoneInfo(name))
            assert ours.replace(tzinfo=None) == theirs.replace(tzinfo=None)
            assert ours.utcoffset() == theirs.utcoffset()
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "America/Los_Angeles", "UTC"])
def test_the_machines_zone_counts_to_the_ends_of_the_calendar(
    monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        machine = SystemZone()
        for wall in (datetime.min, datetime.max):
            assert wall.replace(tzinfo=machine).isoformat()
        known = datetime(9999, 12, 30, 23, 59, tzinfo=UTC)
        assert known.astimezone(machine).astimezone(UTC) == known
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_machine_a_day_away_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC+99")
    time.tzset()
    try:
        with pytest.raises(BadInput, match="a day or more away"):
            NOON.astimezone(SystemZone()).utcoffset()
    finally:
        monkeypatch.undo()
        time.tzset()
