"""The one clock, and the time zone in which a group's days begin."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from stat import S_ISREG

from gitmem.errors import BadInput

Clock = Callable[[], datetime]
ENV = ".env"
MOST = 1 << 20
"""Bytes that a `.env` may have."""


class SystemZone(tzinfo):
    """The zone of the machine or of TZ, right for every date, not only for today's offset."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        """The offset of a local time."""
        return None if moment is None else _local(moment).utcoffset()

    def dst(self, moment: datetime | None) -> timedelta | None:
        """Unknown, and not needed."""
        return None

    def tzname(self, moment: datetime | None) -> str | None:
        """The abbreviation of a local time."""
        return None if moment is None else _local(moment).tzname()

    def fromutc(self, moment: datetime) -> datetime:
        """A moment in UTC as local time."""
        known = moment.replace(tzinfo=UTC)
        try:
            local = datetime.fromtimestamp(known.timestamp())
        except (ValueError, OverflowError):  # see _local
            local = known.astimezone(_usual_offset())
        return local.replace(microsecond=moment.microsecond, tzinfo=self)


def _local(moment: datetime) -> datetime:
    """A wall clock's time with the offset of the machine.

    Python goes by way of the days around it, and the first and the last one of the calendar have
    none: there the offset counts that the machine has without summer time.
    """
    wall = moment.replace(tzinfo=None)
    try:
        return wall.astimezone()
    except (ValueError, OverflowError):
        return wall.replace(tzinfo=_usual_offset())


def _usual_offset() -> timezone:
    try:
        return timezone(timedelta(seconds=-time.timezone))
    except ValueError as error:  # POSIX knows offsets of a day
        raise BadInput(
            f"the machine's time zone {time.tzname[0]!r} is a day or more away from UTC",
            hint="set TZ to a name such as Europe/Berlin or UTC, or unset it",
        ) from error


def zone_of(store: Path, name: str = "") -> tzinfo:
    """The zone called NAME, else the TZ of the store's `.env`, else the system's.

    A TZ that names no zone stops nobody: `zone_problem` tells of it, and the system's counts.
    """
    if name:
        return named_zone(name)
    found = settings_in(store).get("TZ", "")
    with suppress(BadInput):
        return named_zone(found) if found else SystemZone()
    return SystemZone()


def zone_problem(store: Path) -> str:
    """What is wrong with the TZ of the store's `.env`, and what to write there; or nothing."""
    found = settings_in(store).get("TZ", "")
    try:
        if found:
            named_zone(found)
    except BadInput as error:
        return f"TZ in {store / ENV}: {error.message}, and the machine's is used; {error.hint}"
    return ""


def named_zone(name: str) -> tzinfo:
    """A zone of the IANA database."""
    from zoneinfo import ZoneInfo  # only where a zone is named

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise BadInput(
            f"no time zone {name!r}", hint="use a name such as Europe/Berlin or UTC"
        ) from error


def settings_in(store: Path) -> dict[str, str]:
    """The values of the store's `.env`: none where it is no plain file of a sensible size."""
    try:
        found = (store / ENV).stat()
        if not S_ISREG(found.st_mode) or found.st_size > MOST:
            return {}
        text = (store / ENV).read_text("utf-8", "replace")
    except OSError:
        return {}
    from gitmem.model.text.dotenv import values  # only where there is a file to read

    return values(text)
