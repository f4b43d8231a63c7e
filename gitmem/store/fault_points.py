"""The named points of everything that writes, for tests that let a process die there."""

from __future__ import annotations


def reached(step: str) -> None:
    """A point of the protocol. Does nothing; fault tests put a process's death here."""
