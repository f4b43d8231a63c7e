"""Splitting a text into passages for search.

Borders are headings, entries, paragraphs and list items; a longer text is split at lines, then at
sentences, then at words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from gitmem.model.entries.blocks import Entry, parse
from gitmem.model.entries.lines import ENTRY_LEVEL, Heading, ScannedLines, heading_of, scan
from gitmem.model.language.unicode import FENCED, SENTENCE_END
from gitmem.model.text.frontmatter import split

MOST = 800
"""The size of a passage in characters: a shorter entry or paragraph is not split."""
ENOUGH = 320
"""From this size on, no further paragraph is added to a passage."""
NEAR = 200
"""Characters of its neighbours that are indexed with a passage."""
NAMED = 200
"""Characters of a heading that are indexed with its passages."""
ABOVE = " > "
_ITEM = re.compile(r" ?(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Passage(NamedTuple):
    """A part of a text: its characters from START to STOP, its lines from LINE to LAST."""

    start: int
    stop: int
    line: int
    last: int
    heading: str
    """The headings above it, the outermost first."""
    entry: Entry | None = None
    """Its entry, if it is part of one."""


class _Section(NamedTuple):
    """The lines START to END under one heading; the text begins at BODY."""

    start: int
    body: int
    end: int
    heading: str
    entry: Entry | None = None


def passages(text: str) -> list[Passage]:
    """Return the passages of TEXT in order, without blank lines and comments."""
    found = scan(text)
    headings = _headings(found)
    starts = _starts(found, headings)
    offsets = list(accumulate(map(len, found.lines), initial=0))
    parts: list[Passage] = []
    for section in _sections(text, found, headings):
        for start, stop in _parts(text, starts, offsets, section):
            line, last = bisect_right(offsets, start), bisect_right(offsets, stop - 1)
            parts.append(Passage(start, stop, line, last, section.heading, section.entry))
    return _with_frontmatter(text, parts)


def _with_frontmatter(text: str, parts: list[Passage]) -> list[Passage]:
    """Join frontmatter with the first passage, if that is short: the summary leads to its text."""
    block = split(text)
    if block is None or len(parts) < 2 or parts[0].start >= block.body:  # noqa: PLR2004 - a pair
        return parts
    head, first, *rest = parts
    if first.entry is not None or first.stop - head.start > MOST:
        return parts
    return [first._replace(start=head.start, line=head.line), *rest]


def without_comments(text: str) -> str:
    """Return TEXT with its comments, outside of code, replaced by blanks."""
    parts, at = [], 0
    for start, stop in _comments(text) if "<!--" in text else ():
        parts += [text[at:start], " " * (stop - start)]
        at = stop
    return "".join((*parts, text[at:]))


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """The spans of closed comments."""
    opening = re.compile(rf"{FENCED}|<!--")
    at = 0
    while found := opening.search(text, at):
        at = found.end()
        if found[0] == "<!--":
            end = text.find("-->", at)
            if end < 0:
                return
            at = end + len("-->")
            yield found.start(), at


def parted(text: str) -> Iterable[tuple[int, int]]:
    """Return the spans of the passages of a message, which has no Markdown structure."""
    if len(text) <= MOST:
        return _trimmed(text, [(0, len(text))])
    return _packed(_trimmed(text, _shortened(text, [(0, len(text))])))


def ending(text: str) -> str:
    """Return the end of TEXT, from the start of a word."""
    return text if len(text) <= NEAR else text[-NEAR:].partition(" ")[2]


def beginning(text: str) -> str:
    """Return the beginning of TEXT, to the end of a word."""
    return text if len(text) <= NEAR else text[:NEAR].rpartition(" ")[0]


def _sections(text: str, found: ScannedLines, headings: Sequence[Heading]) -> Iterable[_Section]:
    found_entries = parse(text) if "###" in text else ()
    entries = {each.start: each for each in found_entries if len(each.title) <= MOST}
    sections = _under_headings(found, headings, entries)
    return _whole_entries(sections) if entries else sections


def _under_headings(
    found: ScannedLines, headings: Sequence[Heading], entries: Mapping[int, Entry]
) -> Iterator[_Section]:
    ends = [*headings, Heading(len(found.lines), 0, "")]
    if ends[0].line:
        yield _Section(0, 0, ends[0].line, "")
    above: list[Heading] = []
    entry: Entry | None = None
    for heading, following in pairwise(ends):
        line, level, _ = heading
        while above and above[-1].level >= level:
            above.pop()
        above.append(heading)
        entry = entries.get(line) if level <= ENTRY_LEVEL else entry
        # A heading right above a deeper one has no text of its own.
        leads = following.level > level and _are_blank(found.lines[line + 1 : following.line])
        is_whole = entry is not None and entry.start == line and _is_short(entry)
        if is_whole or not leads:
            titles = ABOVE.join([each.title[:NAMED] for each in above if each.title])
            yield _Section(line, line + 1, following.line, titles, entry)


def _are_blank(lines: Iterable[str]) -> bool:
    return all(map(str.isspace, lines))


def _headings(found: ScannedLines) -> Sequence[Heading]:
    """All headings: those around entries, and the deeper ones."""
    deep = [at for at, line in enumerate(found.lines) if line.startswith("####")]
    deeper = [heading_of(at, found.lines[at]) for at in deep if not found.quoted[at]]
    below = [each for each in deeper if each]
    return sorted((*found.headings, *below)) if below else found.headings


def _whole_entries(sections: Iterable[_Section]) -> Iterator[_Section]:
    """SECTIONS with a short entry, headings inside included, as one section."""
    last = None
    for section in sections:
        entry = section.entry
        if entry is None or not _is_short(entry):
            yield section
        elif entry is not last:
            yield section._replace(start=entry.start, end=entry.end)
        last = entry


def _is_short(entry: Entry) -> bool:
    return len(entry.block) <= MOST


def _parts(
    text: str, starts: Sequence[int], offsets: Sequence[int], section: _Section
) -> Iterable[tuple[int, int]]:
    """The spans of the passages of a section."""
    begin, stop = offsets[section.start], offsets[section.end]
    first, behind = bisect_left(starts, section.body), bisect_left(starts, section.end)
    is_one = behind - first <= 1 and stop - begin <= MOST
    if is_one or (section.entry is not None and _is_short(section.entry)):
        return _trimmed(text, [(begin, stop)])
    inner = [offsets[each] for each in starts[first + 1 : behind]]
    spans = pairwise([begin, *inner, stop])
    return _packed(_trimmed(text, _shortened(text, _trimmed(text, spans))))


def _starts(found: ScannedLines, headings: Sequence[Heading]) -> list[int]:
    """The lines on which a paragraph or a list item begins."""
    starts = []
    is_heading = {each.line for each in headings}
    blank, quoted = True, False
    for at, line in enumerate(found.lines):
        inside = quoted and found.quoted[at]
        quoted = found.quoted[at]
        if at in is_heading or (not inside and line.isspace()):
            blank = True
            continue
        if not inside and (blank or _ITEM.match(line)):
            starts.append(at)
        blank = False
    return starts


def _shortened(text: str, spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """SPANS with the long ones split: at lines, at sentences, or at blanks."""
    for start, stop in spans:
        if stop - start <= MOST:
            yield start, stop
        else:
            yield from _packed(_cut(text, start, stop), MOST)


def _cut(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    for line in re.finditer(r"[^\n]*\n?", text[start:stop]):
        if len(line[0]) <= MOST:
            if line[0]:
                yield start + line.start(), start + line.end()
            continue
        at = start + line.start()
        ends = [at + each.end() for each in re.finditer(SENTENCE_END, line[0])]
        for end in [*ends, start + line.end()]:
            while end - at > MOST:
                blank = text.rfind(" ", at + 1, at + MOST)
                cut = blank + 1 if blank > 0 else at + MOST
                yield at, cut
                at = cut
            if end > at:
                yield at, end
            at = end


def _trimmed(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """SPANS without white space around them, and without blank or commented ones."""
    found = []
    for start, stop in spans:
        rest = text[start:stop].lstrip()
        bare = rest.rstrip()
        if bare and not _is_comment(bare):
            at = stop - len(rest)
            found.append((at, at + len(bare)))
    return found


def _is_comment(text: str) -> bool:
    if not (text.startswith("<!--") and text.endswith("-->")):
        return False
    return not _COMMENT.sub("", text).strip()


def _packed(spans: Iterable[tuple[int, int]], enough: int = ENOUGH) -> Iterator[tuple[int, int]]:
    """Join neighbouring SPANS until a passage has ENOUGH characters."""
    begun: tuple[int, int] | None = None
    for start, stop in spans:
        if begun and (begun[1] - begun[0] >= enough or stop - begun[0] > MOST):
            yield begun
            begun = None
        begun = (begun[0] if begun else start), stop
    if begun:
        yield begun
