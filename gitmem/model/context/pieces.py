"""A piece of memory for a prompt."""

from __future__ import annotations

import re

from gitmem.model.record import Record

WHOLE_KINDS = ("document", "log")
"""Kinds that are cut to fit; pieces of other kinds are kept or dropped whole."""
FILE_KINDS = (*WHOLE_KINDS, "profile")
"""Kinds whose piece is one whole file."""


PASSAGE = "passage"
"""The kind of a retrieved piece."""


class Piece(Record):
    """A document, a log, one file of a journal, of notes or of a user, or one entry of a file."""

    layer: str
    kind: str
    text: str = ""
    """Its text; for `render: summary` one line."""
    heading: str = ""
    """Its heading, for formats with headings."""
    render: str = "whole"
    """whole, summary or pointer"""
    group: str = ""
    """`global` for pieces from there; empty for the group itself."""
    path: str = ""
    address: str = ""
    """The path, and the slug of an entry after `#`."""
    user: str = ""
    date: str = ""
    age: str = ""
    type: str = ""
    """day, week or month, if known."""
    state: str = ""
    """Its freshness, if known."""
    change: str = ""
    """The change of its file since the session saw it, if that is why it is here."""
    importance: int = 3
    """Its own, else that of its layer: 1 is dropped last, 5 first."""
    vital: bool = False
    """Whether its layer has importance 1: it is cut only when nothing else is left."""
    blob: str = ""
    why: str = ""
    """The rule that loaded it."""
    queried: bool = False
    """Whether its layer is loaded by query only."""
    lack: str = ""
    """missing, empty or unreadable, instead of a text."""
    lines: str = ""
    """Its lines in the file, if it is a part of one."""
    score: float = 0.0
    """Its score, if a prompt retrieved it."""
    whole: int | None = None
    """Its size in bytes before it was cut; None if it was not."""
    budget: int = 0
    """The budget of its layer in bytes; 0 for none."""

    @property
    def heads(self) -> str:
        """Its heading, else the name of its layer."""
        return self.heading or self.layer

    @property
    def is_document(self) -> bool:
        """Whether it is a whole file loaded by rule, not by a query."""
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
    """Return a file for display: LF line endings, no blank lines around it, no byte order mark."""
    return trimmed(data.decode("utf-8", "replace").removeprefix("\ufeff"))


def trimmed(text: str) -> str:
    """Return TEXT without blank lines around it, with LF line endings."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if text[:1] in (" ", "\t", "\n"):
        text = re.sub(r"\A(?:[ \t]*\n)+", "", text)
    return text.rstrip(" \t\n")


def one_line(value: object) -> str:
    """Return a frontmatter value on one line: lists are joined, lines folded."""
    if value is None or isinstance(value, dict):
        return ""
    if isinstance(value, list | tuple | set):
        return "; ".join(filter(None, map(one_line, value)))
    try:
        return " ".join(str(value).split())
    except ValueError:  # a number with too many digits for Python
        return ""
