"""The lines of an entries file: which are headings, which are quoted, and which are fields.

A line ends with a newline, as git counts lines, and keeps whatever ending it has. Fields are read
in every form that a person can read too: any bullet or none, bold or (for known names) plain.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
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
"""Names that are fields wherever they stand in an entry, and without being bold."""

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
    """A field as it stands in its file, on the lines START to END."""

    name: str
    value: str
    start: int
    end: int
    prefix: str
    """What stands before the value on its first line."""


class ScannedLines(NamedTuple):
    """A text by its lines, with what has been found out about them."""

    lines: list[str]
    quoted: list[bool]
    """True inside code blocks and comments, where nothing is a heading or a field."""
    headings: list[Heading]


def scan(text: str) -> ScannedLines:
    """Take TEXT apart; its frontmatter counts as quoted."""
    lines = split_lines(text)
    block = frontmatter.split(text)
    quoted = _quoted(text, lines, text.count("\n", 0, block.body) if block else 0)
    marked = [at for at, line in enumerate(lines) if line[0] == "#" or at == 0]
    headings = [heading_of(at, lines[at]) for at in marked if not quoted[at]]
    found = [each for each in headings if each and each.level <= ENTRY_LEVEL]
    return ScannedLines(lines, quoted, found)


def split_lines(text: str) -> list[str]:
    """The lines of TEXT with their endings; together they are TEXT."""
    return list(StringIO(text, newline="\n"))


def ending(line: str) -> str:
    """How LINE ends; the last one of a file may do without."""
    if line.endswith("\r\n"):
        return "\r\n"
    return "\n" if line.endswith("\n") else ""


def newline_before(lines: Sequence[str], at: int) -> str:
    """The ending in use above line AT, else in the file."""
    nearest = (ending(lines[each]) for each in (*range(at - 1, -1, -1), *range(at, len(lines))))
    return next(filter(None, nearest), "\n")


def is_blank(line: str) -> bool:
    """Whether LINE says nothing."""
    return not line.strip()


def bare(line: str) -> str:
    """LINE without its ending."""
    return line.removesuffix("\n").removesuffix("\r")


def trimmed(lines: list[str]) -> list[str]:
    """LINES without the blank ones behind the last that says something."""
    said = [at for at, line in enumerate(lines) if not is_blank(line)]
    return lines[: said[-1] + 1] if said else []


def fold(name: str) -> str:
    """NAME as it is compared: case, blanks and dashes do not matter."""
    return " ".join(name.casefold().replace("_", " ").replace("-", " ").split())


def tidy(value: str) -> str:
    """VALUE as it reads back: no blanks at the ends of lines, no empty lines around it."""
    if "\n" in value or "\r" in value:
        lines = value.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        value = "\n".join(line.rstrip() for line in lines)
    return value.strip()


def field_spans(
    found: ScannedLines, start: int, end: int, known: Collection[str]
) -> list[FieldSpan]:
    """The fields among the lines after the heading at START; KNOWN holds folded names.

    What stands under a heading of its own inside the entry is text.
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
    """The lines of a field: a value of several lines goes on below, indented."""
    first, *rest = tidy(value).split("\n")
    lead = prefix if prefix.endswith((" ", "\t")) else f"{prefix} "
    indent = re.match(r"[ \t]*", prefix)
    nested = (indent[0] if indent else "") + " " * NESTED
    return [f"{lead}{first}{newline}", *(f"{nested if x else ''}{x}{newline}" for x in rest)]


def column(line: str) -> int:
    """How far LINE is indented."""
    width = 0
    for char in line:
        if char not in " \t":
            break
        width = width + 1 if char == " " else (width // TAB + 1) * TAB
    return width


def heading_level(line: str) -> int:
    """How many marks the heading LINE has; 0 where it is none."""
    said = line.rstrip("\r\n")
    return _level(said, said.lstrip("#"))


def _level(said: str, rest: str) -> int:
    """How many marks the heading SAID has, of which REST stands behind them; 0 for no heading."""
    level = len(said) - len(rest)
    if level > _DEEPEST:
        return 0
    if not rest or rest[0] in " \t":
        return level
    # Without a blank it is no heading by the book, but nobody means anything else by it.
    is_glued = level == ENTRY_LEVEL and rest[0].isalnum() and not rest[0].isdecimal()
    return level if is_glued else 0


def heading_of(at: int, line: str) -> Heading | None:
    """The heading that LINE is, which stands at AT; of any level."""
    said = (line[len(BOM) :] if at == 0 and line.startswith(BOM) else line).rstrip("\r\n")
    rest = said.lstrip("#")
    level = _level(said, rest)
    if not level:
        return None
    title = rest.strip()
    if title.endswith("#"):
        bare = title.rstrip("#")
        if not bare or bare[-1].isspace():
            title = bare.rstrip()
    return Heading(at, level, title)


def _quoted(text: str, lines: Sequence[str], first: int) -> list[bool]:
    """Which LINES of TEXT are frontmatter, those before FIRST, a code block or a comment.

    What opens inside a list item ends with it, whether it was closed or not.
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
    """What would close the block that LINE opens; nothing when it opens none."""
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
    said = lines[at].rstrip("\r\n")
    found = _bold(said, above, known) or _plain(said, above, known)
    if not found:
        return None
    deep = column(said) + NESTED
    stop = _value_end(lines, at, end, deep)
    more = (_dedented(line.rstrip(), deep) for line in lines[at + 1 : stop])
    value = tidy("\n".join([said[found.end() :], *more]))
    return FieldSpan(found["name"], value, at, stop, found[0])


def _bold(said: str, above: str, known: Collection[str]) -> re.Match[str] | None:
    """A bold name: one that nobody knows is a field only in the company of fields.

    Further down it is a remark that begins with a bold word.
    """
    found = re.match(_BOLD, said) if "**" in said or "__" in said else None
    if not found or fold(found["name"]) in known or above == "field":
        return found
    return found if above == "heading" and found["bullet"].strip() else None


def _plain(said: str, above: str, known: Collection[str]) -> re.Match[str] | None:
    found = re.match(_PLAIN, said)
    if not found or fold(found["name"]) not in known:
        return None
    return found if found["bullet"].strip() or above in ("heading", "field") else None


def _value_end(lines: Sequence[str], at: int, end: int, deep: int) -> int:
    """Behind the last line that goes on from the field at AT."""
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
"""Begins the section that `gitmem install` keeps in a host's CLAUDE.md or AGENTS.md."""


class SplitSections(NamedTuple):
    """A file without some of its sections, and those."""

    rest: bytes
    sections: tuple[bytes, ...]


def split_sections(data: bytes, start: str) -> SplitSections:
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
        elif not quoted and line.startswith(_NEXT):
            inside = False
        (sections[-1] if inside else rest).append(line)
    return SplitSections(b"".join(rest), tuple(b"".join(each) for each in sections))


def join_sections(data: bytes, *more: bytes) -> bytes:
    """DATA and what is added to it, with an empty line between each two, and a line end at last."""
    newline = b"\r\n" if b"\r\n" in data else b"\n"
    parts = [each.rstrip(b"\r\n") for each in (data, *more)]
    return (newline * 2).join(each for each in parts if each.strip()) + newline
