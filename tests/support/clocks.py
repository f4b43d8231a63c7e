"""A clock that only a test moves."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 2, 8, 12, 0, tzinfo=UTC)


class Clock:
    """Each look at it is a second later than the one before; it can be set."""

    def __init__(self, start: datetime = START) -> None:
        self.time = start

    def __call__(self) -> datetime:
        """The time; then it moves on."""
        self.time += timedelta(seconds=1)
        return self.time

    def set(self, text: str) -> None:
        """Put it to a moment such as 2026-02-08T12:00:00Z."""
        self.time = datetime.fromisoformat(text)

    def advance(self, **units: float) -> None:
        """Move it on, by hours=3 for instance."""
        self.time += timedelta(**units)
