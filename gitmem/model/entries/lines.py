"""The lines of a Markdown file: headings, quoted lines, fields of entries, sections.

A line ends with a newline, as git counts lines, and keeps its ending. Fields are read in every form
that people write: any bullet or none, bold or (for known names) plain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from io import StringIO
from typing import NamedTuple

from gitmem.model.text import frontmatter

BOM = frontmatter.BOM
TAB = 4
NESTED = 2
"""From this column on, a line belongs to the list item above it."""
ENTRY_LEVEL = 3
"""`### ` begins an entry; fewer marks end it, more belong to it."""
KNOWN = (
    *("Date", "Decided by", "Decision", "Context", "Status", "Importance", "Type", "Started"),
    *("Updated", "Description", "Date observed", "Applies to", "Source", "Related", "Confirmed"),
)
"""Names that are fields anywhere in an entry, bold or not."""

_BULLET = r"[ \t]*(?:(?:[-*+•◦‣\u2013\u2014]|[0-9]{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?"
_NAME = r"[^*:\uff1a\s](?:[^*:\uff1a\n]{0,58}[^*:\uff1a\s])?"
_BOLD = (
    rf"(?P<bullet>{_BULLET})(?P<mark>\*\*|__)[ \t]*(?P<name>{_NAME})[ \t]*"
    r"(?:[:\uff1a][ \t]*(?P=mark)|(?P=mark)[ \t]*[:\uff1a])[ \t]*"
)
_PLAIN = rf"(?P<bullet>{_BULLET})(?P<name>{_NAME})[ \t]*(?::(?=[ \t]|$)|\uff1a)[ \t]*"
_DEEPEST = 6
_DEEPER = r"#{4,6}[ \t]"
_QUOTES = ("```", "~~~", "<!--")
_FENCE = r" {0,3}(`{3,}(?=[^`]*$)|~{3,})"


class Heading(NamedTuple):
    """A heading that begins or ends an entry."""

    line: int
    level: int
    title: str


class FieldSpan(NamedTuple):
    """A field on the lines START to END of its file."""

    name: str
    value: str
    start: int
    end: int
    prefix: str
    """The text before the value on its first line."""


class ScannedLines(NamedTuple):
    """A text by its lines. Shared between callers: do not change the lists."""

    lines: list[str]
    quoted: list[bool]
    """True inside code blocks and comments, where nothing is a heading or a field."""
    headings: list[Heading]


@lru_cache(maxsize=8)  # one write of an entry asks for the same file about ten times
def scan(text: str) -> ScannedLines:
    """Split TEXT into lines and find its headings; frontmatter counts as quoted.

    The last few texts are remembered, so scanning the same text again is free.
    """
    lines = split_lines(text)
    block = frontmatter.split(text)
    quoted = _quoted(text, lines, text.count("\n", 0, block.body) if block else 0)
    marked = [at for at, line in enumerate(lines) if line[0] == "#" or at == 0]
    headings = [heading_of(at, lines[at]) for at in marked if not quoted[at]]
    found = [each for each in headings if each and each.level <= ENTRY_LEVEL]
    return ScannedLines(lines, quoted, found)


def split_lines(text: str) -> list[str]:
    """Return the lines of TEXT with their endings; joined they are TEXT."""
    return list(StringIO(text, newline="\n"))


def ending(line: str) -> str:
    """Return the line ending of LINE; empty if it has none."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def newline_before(lines: Sequence[str], at: int) -> str:
    """Return the nearest line ending above line AT, else below it."""
    nearest = (ending(lines[each]) for each in (*range(at - 1, -1, -1), *range(at, len(lines))))
    return next(filter(None, nearest), "\n")


def is_blank(line: str) -> bool:
    """Whether LINE is blank."""
    return not line.strip()


def bare(line: str) -> str:
    """LINE without its ending."""
    return line.removesuffix("\n").removesuffix("\r")


def trimmed(lines: list[str]) -> list[str]:
    """Return LINES without blank ones at the end."""
    filled = [at for at, line in enumerate(lines) if not is_blank(line)]
    return lines[: filled[-1] + 1] if filled else []


def fold(name: str) -> str:
    """Return NAME for comparison, without case, blanks and dashes."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def tidy(value: str) -> str:
    """Return VALUE as it reads back: no trailing blanks, no empty lines around it."""
    if "\n" in value or "\r" in value:
        lines = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        value = "\n".join(line.rstrip() for line in lines)
    return value.strip()


def field_spans(
    found: ScannedLines, start: int, end: int, known: Collection[str]
) -> list[FieldSpan]:
    """Return the fields of the entry from START to END; KNOWN has folded names.

    A field below a deeper heading is text.
    """
    lines, fields, above, at = found.lines, [], "heading", start + 1
    while at < end and (found.quoted[at] or not re.match(_DEEPER, lines[at])):
        if is_blank(lines[at]):
            above = above if above == "heading" else "gap"
            at += 1
            continue
        spot = None if found.quoted[at] else _field(lines, at, end, above, known)
        above = "field" if spot else "text"
        if spot:
            fields.append(spot)
        at = spot.end if spot else at + 1
    return fields


def field_lines(prefix: str, value: str, newline: str) -> list[str]:
    """Return the lines of a field; further lines of its value are indented."""
    first, *rest = tidy(value).split("\n")
    lead = prefix if prefix.endswith((" ", "\t")) else f"{prefix} "
    indent = re.match(r"[ \t]*", prefix)
    nested = (indent[0] if indent else "") + " " * NESTED
    return [f"{lead}{first}{newline}", *(f"{nested if x else ''}{x}{newline}" for x in rest)]


def column(line: str) -> int:
    """Return the indentation of LINE in columns."""
    width = 0
    for char in line:
        if char not in " \t":
            break
        width = width + 1 if char == " " else (width // TAB + 1) * TAB
    return width


def heading_level(line: str) -> int:
    """Return the level of the heading LINE; 0 if it is not a heading."""
    bare_line = line.rstrip("\r\n")
    return _level(bare_line, bare_line.lstrip("#"))


def _level(line: str, rest: str) -> int:
    """The level of the heading LINE, whose text without `#` is REST; 0 for no heading."""
    level = len(line) - len(rest)
    if level > _DEEPEST:
        return 0
    if not rest or rest[0] in " \t":
        return level
    # `###Title` is not a heading in CommonMark, but people mean one.
    is_glued = level == ENTRY_LEVEL and rest[0].isalnum() and not rest[0].isdecimal()
    return level if is_glued else 0


def heading_of(at: int, line: str) -> Heading | None:
    """Return the heading at line AT, of any level; None if LINE is not one."""
    plain = (line[len(BOM) :] if at == 0 and line.startswith(BOM) else line).rstrip("\r\n")
    rest = plain.lstrip("#")
    level = _level(plain, rest)
    if not level:
        return None
    title = rest.strip()
    if title.endswith("#"):
        bare = title.rstrip("#")
        if not bare or bare[-1].isspace():
            title = bare.rstrip()
    return Heading(at, level, title)


def _quoted(text: str, lines: Sequence[str], first: int) -> list[bool]:
    """Which LINES of TEXT are frontmatter (before FIRST), code blocks or comments.

    A block that opens inside a list item ends with it, closed or not.
    """
    quoted = [True] * first + [False] * (len(lines) - first)
    if not any(mark in text for mark in _QUOTES):
        return quoted
    end, nested = "", False
    for at in range(first, len(lines)):
        line = lines[at] if at else lines[at].removeprefix(BOM)
        if end and nested and line.strip() and column(line) < NESTED:
            end = ""
        if end:
            quoted[at] = True
            end = "" if _closes(line, end) else end
        elif any(mark in line for mark in _QUOTES):
            end = _opened(line)
            quoted[at], nested = bool(end), column(line) >= NESTED
    return quoted


def _opened(line: str) -> str:
    """The text that closes the block which LINE opens; empty if it opens none."""
    fence = re.match(_FENCE, line.rstrip("\r\n"))
    if fence:
        return fence[1]
    opens = re.match(r" {0,3}<!--", line) is not None and "-->" not in line
    return "-->" if opens else ""


def _closes(line: str, end: str) -> bool:
    if end == "-->":
        return end in line
    mark = line.strip()
    return len(mark) >= len(end) and mark == end[0] * len(mark) and column(line) < TAB


def _field(
    lines: Sequence[str], at: int, end: int, above: str, known: Collection[str]
) -> FieldSpan | None:
    line = lines[at].rstrip("\r\n")
    found = _bold(line, above, known) or _plain(line, above, known)
    if not found:
        return None
    deep = column(line) + NESTED
    stop = _value_end(lines, at, end, deep)
    more = (_dedented(each.rstrip(), deep) for each in lines[at + 1 : stop])
    value = tidy("\n".join([line[found.end() :], *more]))
    return FieldSpan(found["name"], value, at, stop, found[0])


def _bold(line: str, above: str, known: Collection[str]) -> re.Match[str] | None:
    """Match a bold name; an unknown one is a field only next to other fields.

    Further down it is a paragraph that begins with a bold word.
    """
    found = re.match(_BOLD, line) if "**" in line or "__" in line else None
    if not found or fold(found["name"]) in known or above == "field":
        return found
    return found if above == "heading" and found["bullet"].strip() else None


def _plain(line: str, above: str, known: Collection[str]) -> re.Match[str] | None:
    found = re.match(_PLAIN, line)
    if not found or fold(found["name"]) not in known:
        return None
    return found if found["bullet"].strip() or above in ("heading", "field") else None


def _value_end(lines: Sequence[str], at: int, end: int, deep: int) -> int:
    """The line after the last one that continues the field at AT."""
    last = following = at + 1
    while following < end:
        line = lines[following]
        following += 1
        if is_blank(line):
            continue
        if column(line) < deep:
            break
        last = following
    return last


def _dedented(line: str, deep: int) -> str:
    width = 0
    for at, char in enumerate(line):
        if width >= deep or char not in " \t":
            return line[at:]
        width = width + 1 if char == " " else (width // TAB + 1) * TAB
    return ""


_NEXT = b"## "
INSTALLED = "<!-- gitmem:begin -->"
"""Begins the section that the installer maintains in a host's CLAUDE.md or AGENTS.md."""


class SplitSections(NamedTuple):
    """A file without some of its sections, and those sections."""

    rest: bytes
    sections: tuple[bytes, ...]


def split_sections(data: bytes, start: str) -> SplitSections:
    """Split off the sections of DATA whose heading begins with START.

    A section ends before the next line that begins with `## `.
    """
    rest: list[bytes] = []
    sections: list[list[bytes]] = []
    inside = False
    # As latin-1: headings are compared in ASCII, and every other byte must survive.
    found = scan(data.decode("latin-1"))
    for quoted, text in zip(found.quoted, found.lines, strict=True):
        line = text.encode("latin-1")
        if not quoted and line.startswith(start.encode()):
            inside = True
            sections.append([])
        elif not quoted and line.startswith(_NEXT):
            inside = False
        (sections[-1] if inside else rest).append(line)
    return SplitSections(b"".join(rest), tuple(b"".join(each) for each in sections))


def join_sections(data: bytes, *more: bytes) -> bytes:
    """Return DATA and MORE, with one empty line between them and a final newline."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    parts = [each.rstrip(b"\r\n") for each in (data, *more)]
    return (newline * 2).join(each for each in parts if each.strip()) + newline
