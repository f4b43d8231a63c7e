"""A piece of memory, as it may stand in a prompt."""

from __future__ import annotations

import re

from gitmem.model.record import Record

WHOLE_KINDS = ("document", "log")
"""Kinds that are cut when there is no room; pieces of the others stay or go as a whole."""
FILE_KINDS = (*WHOLE_KINDS, "profile")
"""Kinds whose piece is one whole file."""


PASSAGE = "passage"
"""The kind of a piece that a prompt chose."""


class Piece(Record):
    """A document, a log, one file of a journal, of notes or of a user, or one entry of a file."""

    layer: str
    kind: str
    text: str = ""
    """What it says; a summary on one line, where that is what is shown."""
    heading: str = ""
    """What stands above it, where a format has headings."""
    render: str = "whole"
    """whole, summary or pointer"""
    group: str = ""
    """`global` for what comes from there; nothing for the group itself."""
    path: str = ""
    address: str = ""
    """The path, and for an entry its name behind `#`."""
    user: str = ""
    date: str = ""
    age: str = ""
    type: str = ""
    """day, week or month, where it is known."""
    state: str = ""
    """How fresh it is, where that is known."""
    change: str = ""
    """What became of its file since a session was shown it, where that is why it is here."""
    importance: int = 3
    """Its own, else that of its layer: 1 is the last to go, 5 the first."""
    vital: bool = False
    """True in a layer of importance 1: it is touched only when nothing else is left."""
    blob: str = ""
    why: str = ""
    """For which rule it is here."""
    queried: bool = False
    """True in a layer that a prompt is looked up in, and that is not loaded by itself."""
    lack: str = ""
    """missing, empty or unreadable, in place of a text."""
    lines: str = ""
    """Which lines of its file it is, where it is a part of one."""
    score: float = 0.0
    """How well it fits a prompt, where that is why it is here."""
    whole: int | None = None
    """How many bytes it had before it was cut; None when it was not."""
    budget: int = 0
    """How many bytes its layer allows; 0 for any number."""

    @property
    def heads(self) -> str:
        """What stands above it."""
        return self.heading or self.layer

    @property
    def is_document(self) -> bool:
        """Whether it is a file that is loaded by rule: part of what a model is, not of a search."""
        return self.kind in FILE_KINDS and not self.queried

    @property
    def is_over(self) -> bool:
        """Whether its text is longer than its layer allows."""
        return bool(self.budget) and self.size > self.budget

    @property
    def size(self) -> int:
        """The bytes of its text."""
        return len(self.text.encode("utf-8", "surrogatepass"))


def text_of(data: bytes) -> str:
    """A file as it is shown: LF line ends, no blank lines around it, no byte order mark."""
    return trimmed(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def trimmed(text: str) -> str:
    """TEXT without the blank lines around it, lines ending in LF."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text[:1] in (" ", "\t", "\n"):
        text = re.sub(r"\A(?:[ \t]*\n)+", "", text)
    return text.rstrip(" \t\n")


def one_line(value: object) -> str:
    """A summary as its frontmatter has it, on one line: lists are joined, lines are folded."""
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list | tuple | set):
        return "; ".join(filter(None, map(one_line, value)))
    try:
        return " ".join(str(value).split())
    except ValueError:  # a number with more digits than Python likes to write
        return ""
