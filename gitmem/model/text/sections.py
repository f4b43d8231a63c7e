"""Sections of a Markdown file that are to stand in another one.

A section begins with a heading that starts as wanted and goes to the next line that begins with
`## `. In a block of code or a comment nothing is a heading.
"""

from __future__ import annotations

from typing import NamedTuple

from gitmem.model.entries.lines import scan

NEXT = b"## "
INSTALLED = "<!-- gitmem:begin -->"
"""Begins the section that `gitmem install` keeps in a host's CLAUDE.md or AGENTS.md."""


class Parted(NamedTuple):
    """A file without some of its sections, and those."""

    rest: bytes
    sections: tuple[bytes, ...]


def part(data: bytes, start: str) -> Parted:
    """DATA without the sections whose heading begins with START."""
    rest: list[bytes] = []
    sections: list[list[bytes]] = []
    inside = False
    # Byte for byte: what is looked for is ASCII, and what is not must come out as it went in.
    found = scan(data.decode("latin-1"))
    for quoted, text in zip(found.quoted, found.lines, strict=True):
        line = text.encode("latin-1")
        if not quoted and line.startswith(start.encode()):
            inside = True
            sections.append([])
        elif not quoted and line.startswith(NEXT):
            inside = False
        (sections[-1] if inside else rest).append(line)
    return Parted(b"".join(rest), tuple(b"".join(each) for each in sections))


def joined(data: bytes, *more: bytes) -> bytes:
    """DATA and what is added to it, with an empty line between each two, and a line end at last."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    parts = [each.rstrip(b"\r\n") for each in (data, *more)]
    return (newline * 2).join(each for each in parts if each.strip()) + newline
