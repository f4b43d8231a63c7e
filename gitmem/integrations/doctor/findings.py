"""What the doctor has to say."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """Something that is not as it should be, and what to do about it."""

    code: str
    message: str
    hint: str


class Running(NamedTuple):
    """The gitmem that looks."""

    words: tuple[str, ...]
    """How it is called, by its place."""
    python: tuple[int, ...]
    has_mcp: bool
    """Whether the package is there that an MCP server needs."""


class Wiring(NamedTuple):
    """One host in one scope."""

    host: str
    scope: str
    settings: str
    """The file that tells the host to call us."""
    events: tuple[str, ...] = ()
    """The events that we answer."""
    commands: tuple[tuple[str, ...], ...] = ()
    """In which ways we are called, up to the word `hook`."""
    skills: int = 0
    section: bool = False
    mcp: bool = False
    plugin: str = ""
    problem: str = ""
    """Why the settings cannot be read."""
