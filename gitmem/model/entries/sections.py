"""Sections of an entries file that are named after a status: `## Active`, `## Completed`.

An entry belongs under the heading that names its status, else under one of the same kind: a paused
project under `## Active`, an abandoned one under `## Completed`. Headings that name no status of
the layer are nobody's business here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitmem.model.entries.blocks import Entry, parse
from gitmem.model.entries.lines import ENTRY_LEVEL, Heading, scan
from gitmem.model.entries.rules import one_of, status_of
from gitmem.model.layout.layout import Layer

_DECORATION = r"[\W\d_]+"
"""What may stand before the word: an emoji, a number, the marks of bold text."""


class Section(NamedTuple):
    """What stands under a heading, on the lines START to END."""

    start: int
    end: int
    status: str
    """The status of the layer that its heading names; empty for any other heading."""
    level: int
    """That of its heading: the second, or the first where only such headings name a status."""
    part: int
    """The number of the first-level heading above it: work and home may have sections each."""

    def holds(self, line: int) -> bool:
        """Whether the line with this number stands in it."""
        return self.start < line < self.end


def sections_of(text: str, layer: Layer | None) -> tuple[Section, ...]:
    """The sections of TEXT; none where the layer knows no status, or no heading names one."""
    known = layer.statuses + layer.retired if layer else ()
    if not known or "#" not in text:
        return ()
    lines, _, headings = scan(text)
    above = [each for each in headings if each.level < ENTRY_LEVEL]
    found = tuple(_seconds(above, len(lines), known))
    if any(each.status for each in found):
        return found
    firsts = tuple(_firsts(above, len(lines), known))
    named = next((at for at, each in enumerate(firsts) if each.status), None)
    # A single one is the title of the file, and what stands above the first with a status as well.
    return firsts[named:] if len(firsts) > 1 and named is not None else ()


def _seconds(above: Sequence[Heading], end: int, known: Sequence[str]) -> Iterator[Section]:
    ends = [*(each.line for each in above[1:]), end]
    part = 0
    for heading, behind in zip(above, ends, strict=False):
        if heading.level > 1:
            yield Section(heading.line, behind, _named(heading, known), heading.level, part)
        else:
            part += 1


def _firsts(above: Sequence[Heading], end: int, known: Sequence[str]) -> Iterator[Section]:
    own = [each for each in above if each.level == 1]
    ends = [*(each.line for each in own[1:]), end]
    for heading, behind in zip(own, ends, strict=False):
        yield Section(heading.line, behind, _named(heading, known), heading.level, 0)


def _named(heading: Heading, known: Sequence[str]) -> str:
    """The status with which HEADING begins."""
    return one_of(re.sub(f"^{_DECORATION}", "", heading.title), known)


def place_of_new(text: str, entry: Entry, layer: Layer | None) -> int | None:
    """The line before which ENTRY, which is new in TEXT, comes; None for behind the last entry."""
    sections = sections_of(text, layer)
    if not sections or layer is None:
        return None
    status = status_of(entry, layer)
    fit = _fitting(sections, status, layer)
    if fit is not None:
        return fit.end
    known = parse(text)
    behind = known[-1].end - 1 if known else sections[-1].end - 1
    last = next((each for each in sections if each.start <= behind < each.end), None)
    if last and last.status in layer.retired and status not in layer.retired:
        return sections[0].start  # rather under no heading than under Completed
    return None


def place_of_moved(text: str, entry: Entry, layer: Layer | None) -> int | None:
    """The line before which ENTRY of TEXT belongs, whose status has changed; None: it stays."""
    sections = sections_of(text, layer)
    if not sections or layer is None:
        return None
    status, retired = status_of(entry, layer), layer.retired
    here = next((each for each in sections if each.holds(entry.start)), None)
    part = (here or sections[0]).part
    if here is None and sections[0].level > 1:
        part = _part_at(text, entry.start)
    beside = [each for each in sections if each.part == part]
    fit = _fitting(beside, status, layer)
    if fit is None and here and here.status in retired and status not in retired:
        return beside[0].start  # rather under no heading than under Completed
    if fit is None or (here and here.status == fit.status):
        return None
    fits_as_well = (
        here and here.status and (here.status in retired) == (fit.status in retired)
    ) and fit.status != status
    return None if fits_as_well else fit.end


def _part_at(text: str, line: int) -> int:
    return sum(each.level == 1 and each.line < line for each in scan(text).headings)


def _fitting(sections: Sequence[Section], status: str, layer: Layer) -> Section | None:
    """The first section for STATUS; one that is unknown, or none, is not taken for retired."""
    exact = (each for each in sections if each.status and each.status == status)
    is_retired = status in layer.retired
    alike = (
        each for each in sections if each.status and (each.status in layer.retired) == is_retired
    )
    return next(exact, None) or next(alike, None)
