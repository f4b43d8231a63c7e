"""The zone in which a group's days begin."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gitmem.errors import BadInput
from gitmem.operations.clock import SystemZone, zone_of


@pytest.mark.parametrize("line", ["TZ=Asia/Tokyo", 'TZ="Asia/Tokyo"', "export TZ='Asia/Tokyo'"])
def test_the_zone_stands_in_the_stores_dotenv(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"OTHER=1\n{line}\n")

    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    assert noon.astimezone(zone_of(tmp_path)).hour == 21


def test_a_zone_that_does_not_exist_is_told_with_its_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TZ=Nope/Zone\n")

    with pytest.raises(BadInput, match=r"Nope/Zone.*\.env"):
        zone_of(tmp_path)


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
