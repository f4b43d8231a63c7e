"""Where entries stand in a file: added, removed, replaced, restored, moved to another section."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import Entry, find, parse, wording
from gitmem.model.entries.lines import (
    BOM,
    ENTRY_LEVEL,
    Heading,
    bare,
    ending,
    is_blank,
    newline_before,
    scan,
    split_lines,
    trimmed,
)
from gitmem.model.entries.rules import one_of, status_of
from gitmem.model.layout.layout import Layer

if TYPE_CHECKING:
    from gitmem.model.text.merge import Differ


def take(text: str, name: str) -> tuple[str, str]:
    """Return TEXT without the entry NAME, and that entry's lines."""
    rest, (block,) = take_all(text, [find(parse(text), name)])
    return rest, block


def take_all(text: str, entries: Sequence[Entry]) -> tuple[str, tuple[str, ...]]:
    """Return TEXT without ENTRIES, and the lines of each."""
    lines = split_lines(text)
    gone = {at for each in entries for at in range(each.start, each.end)}
    rest = [line for at, line in enumerate(lines) if at not in gone]
    if gone and max(gone) == len(lines) - 1:
        rest = trimmed(rest)
    mark = BOM if 0 in gone and text.startswith(BOM) else ""
    blocks = ("".join(trimmed(lines[each.start : each.end])) for each in entries)
    return mark + "".join(rest), tuple(each.removeprefix(BOM) for each in blocks)


def add(text: str, block: str, layer: Layer | None = None) -> str:
    """Return TEXT with the entry BLOCK added, in the line endings of TEXT.

    Where headings name statuses of LAYER it goes under the matching one, else after the last entry.
    """
    entries = parse(block) if layer else ()
    at = line_for_new(text, entries[0], layer) if entries else None
    if at is None:
        return add_all(text, [block])
    changed = inserted(text, trimmed(split_lines(block)), at)
    _added_entry(text, changed, block)
    return changed


def add_all(text: str, blocks: Sequence[str]) -> str:
    """Return TEXT with BLOCKS after its last entry, in the line endings of TEXT."""
    parted = [line for each in blocks for line in (*trimmed(split_lines(each)), "\n")]
    changed = appended(text, parted[:-1])
    before, after = parse(text), parse(changed)
    added = [wording(each.block) for each in after[len(before) :]]
    if added != [wording(each) for each in blocks]:
        raise _not_apart()
    return changed


def _not_apart() -> BadInput:
    return BadInput(
        "the added text would not be an entry of its own",
        hint="look for a code block (```) or a comment (<!--) that is never closed",
    )


def _added_entry(text: str, changed: str, block: str) -> Entry:
    """The entry BLOCK in CHANGED; BadInput unless it is the only difference to TEXT."""
    before = [wording(each.block) for each in parse(text)]
    after = parse(changed)
    texts = [wording(each.block) for each in after]
    for at, each in enumerate(after):
        if texts[at] == wording(block) and texts[:at] + texts[at + 1 :] == before:
            return each
    raise _not_apart()


def appended(text: str, block: list[str]) -> str:
    """Return TEXT with BLOCK after its last entry, between blank lines."""
    entries = parse(text)
    return inserted(text, block, entries[-1].end if entries else len(split_lines(text)))


def inserted(text: str, block: list[str], at: int) -> str:
    """Return TEXT with BLOCK before its line AT, between blank lines."""
    if at == 0 and text.startswith(BOM):  # the mark stays first
        return BOM + inserted(text.removeprefix(BOM), block, at)
    lines = split_lines(text)
    newline = newline_before(lines, at)
    above, below = lines[:at], lines[at:]
    added = [bare(each) + newline for each in block] + [newline] * bool(below)
    if "".join(above) in ("", BOM):
        return "".join([*above, *added, *below])
    apart = [] if is_blank(above[-1]) else [newline]
    return "".join([*ended(above, newline), *apart, *added, *below])


def ended(lines: list[str], newline: str) -> list[str]:
    """Return LINES with a line ending on the last one, too."""
    return lines if ending(lines[-1]) else [*lines[:-1], lines[-1] + newline]


def moved_to_section(text: str, entry: Entry, layer: Layer) -> tuple[str, Entry]:
    """Return TEXT with ENTRY under the heading of its status, and the entry there."""
    at = line_for_moved(text, entry, layer)
    if at is None:
        return text, entry
    rest, (block,) = take_all(text, [entry])
    at -= entry.end - entry.start if at > entry.start else 0
    changed = inserted(rest, split_lines(block), min(at, len(split_lines(rest))))
    return changed, _added_entry(rest, changed, block)


def replace(text: str, entry: Entry, block: str) -> str:
    """Return TEXT with BLOCK instead of ENTRY, in the line endings of ENTRY."""
    lines = split_lines(text)
    newline = ending(lines[entry.start]) or newline_before(lines, entry.start)
    return splice(text, entry, "".join(bare(each) + newline for each in split_lines(block)))


def splice(text: str, entry: Entry, block: str) -> str:
    """Return TEXT with BLOCK instead of ENTRY, byte for byte; blank lines after ENTRY stay."""
    return splice_all(text, [(entry, block)])


def splice_all(text: str, blocks: Iterable[tuple[Entry, str]]) -> str:
    """Do the same for several entries of TEXT; BadInput if another entry would change."""
    lines = split_lines(text)
    expected = {each.start: wording(each.block) for each in parse(text)}
    # From the end, so that the lines above keep their numbers.
    for entry, block in sorted(blocks, key=lambda each: -each[0].start):
        old, new = trimmed(lines[entry.start : entry.end]), trimmed(split_lines(block))
        if not ending(old[-1]):
            new[-1] = bare(new[-1])
        if old[0].startswith(BOM):
            new[0] = BOM + new[0].removeprefix(BOM)
        lines[entry.start : entry.start + len(old)] = new
        expected[entry.start] = wording(block)
    changed = "".join(lines)
    if _wordings(changed) != list(expected.values()):
        raise BadInput(
            "the new text is not one entry, or changes another one",
            hint="look for a code block (```) or a comment (<!--) that is never closed",
        )
    return changed


def put_back(
    text: str, block: str, old: str, entry: Entry, differ: Differ, *, layer: Layer | None = None
) -> str:
    """Return TEXT with BLOCK where ENTRY stood in OLD; added as a new entry if that is unclear.

    It is a merge whose base is OLD without the entry.
    """
    from gitmem.model.text.merge import merge  # only to restore and undo

    rest, (before,) = take_all(old, [entry])
    then = old if wording(before) == wording(block) else replace(old, entry, block)
    merged = merge(rest.encode(), text.encode(), then.encode(), differ)
    found = merged.data.decode()
    clear = not merged.conflicts and _is_more(text, found, block)
    return found if clear else add(text, block, layer)


def _wordings(text: str) -> list[str]:
    return [wording(each.block) for each in parse(text)]


def _is_more(text: str, changed: str, block: str) -> bool:
    """Whether CHANGED is TEXT with BLOCK as one more entry, and nothing else."""
    before, after, new = _wordings(text), _wordings(changed), wording(block)
    if new not in after or _line_counts(changed) != _line_counts(text) + _line_counts(block):
        return False
    without = [after[:at] + after[at + 1 :] for at, each in enumerate(after) if each == new]
    return before in without


def _line_counts(text: str) -> Counter[str]:
    lines = (line.strip(f"{BOM} \t\r\n") for line in text.split("\n"))
    return Counter(line for line in lines if line)


def undone(
    before: str, after: str, current: str, differ: Differ, layer: Layer | None = None
) -> str | None:
    """Return CURRENT without the change from BEFORE to AFTER, entry by entry.

    None if the change did more than add and remove entries, or if an added one has changed since.
    """
    old, new = _by_wording(before), _by_wording(after)
    added, removed = _beyond(new, old), _beyond(old, new)
    if _lines_outside(before) != _lines_outside(after):
        return None
    now = _by_wording(current)
    taken = [each for entry in added for each in now.get(wording(entry.block), ())[-1:]]
    if len(taken) != len(added):
        return None
    text = take_all(current, taken)[0] if taken else current
    for entry in sorted(removed, key=lambda each: each.start):
        block = entry.block.removeprefix(BOM)
        text = put_back(text, block, before, entry, differ, layer=layer)
    return text


def _beyond(some: dict[str, list[Entry]], others: dict[str, list[Entry]]) -> list[Entry]:
    """The entries of SOME that OTHERS lack, counted by their text."""
    return [entry for text in some for entry in some[text][len(others.get(text, ())) :]]


def _by_wording(text: str) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for each in parse(text):
        found.setdefault(wording(each.block), []).append(each)
    return found


def _lines_outside(text: str) -> list[str]:
    """The lines outside of entries."""
    lines = split_lines(text)
    inside = {at for each in parse(text) for at in range(each.start, each.end)}
    rest = (line for at, line in enumerate(lines) if at not in inside)
    return [line.strip() for line in rest if line.strip()]


_DECORATION = r"[\W\d_]+"
"""Before the status in a heading: an emoji, a number, bold marks."""


class StatusSection(NamedTuple):
    """The lines START to END under a heading that may name a status.

    An entry belongs under the heading with its status, else under one of the same kind: a paused
    project under `## Active`, an abandoned one under `## Completed`.
    """

    start: int
    end: int
    status: str
    """The status that its heading names; empty for another heading."""
    level: int
    """The level of its heading: 2, or 1 if only such headings name a status."""
    part: int
    """The number of the first-level heading above it; each may have its own sections."""

    def holds(self, line: int) -> bool:
        """Whether LINE is in this section."""
        return self.start < line < self.end


def sections_of(text: str, layer: Layer | None) -> tuple[StatusSection, ...]:
    """Return the sections of TEXT; none if no heading names a status of LAYER."""
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
    # A single one is the title of the file, and so are those above the first with a status.
    return firsts[named:] if len(firsts) > 1 and named is not None else ()


def _seconds(above: Sequence[Heading], end: int, known: Sequence[str]) -> Iterator[StatusSection]:
    ends = [*(each.line for each in above[1:]), end]
    part = 0
    for heading, behind in zip(above, ends, strict=False):
        if heading.level > 1:
            yield StatusSection(heading.line, behind, _named(heading, known), heading.level, part)
        else:
            part += 1


def _firsts(above: Sequence[Heading], end: int, known: Sequence[str]) -> Iterator[StatusSection]:
    own = [each for each in above if each.level == 1]
    ends = [*(each.line for each in own[1:]), end]
    for heading, behind in zip(own, ends, strict=False):
        yield StatusSection(heading.line, behind, _named(heading, known), heading.level, 0)


def _named(heading: Heading, known: Sequence[str]) -> str:
    """The status at the start of HEADING."""
    return one_of(re.sub(f"^{_DECORATION}", "", heading.title), known)


def line_for_new(text: str, entry: Entry, layer: Layer | None) -> int | None:
    """Return the line before which the new ENTRY goes; None for after the last entry."""
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
        return sections[0].start  # better under no heading than under Completed
    return None


def line_for_moved(text: str, entry: Entry, layer: Layer | None) -> int | None:
    """Return the line before which ENTRY belongs after a change of status; None if it stays."""
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
        return beside[0].start  # better under no heading than under Completed
    if fit is None or (here and here.status == fit.status):
        return None
    fits_as_well = (
        here and here.status and (here.status in retired) == (fit.status in retired)
    ) and fit.status != status
    return None if fits_as_well else fit.end


def _part_at(text: str, line: int) -> int:
    return sum(each.level == 1 and each.line < line for each in scan(text).headings)


def _fitting(sections: Sequence[StatusSection], status: str, layer: Layer) -> StatusSection | None:
    """The first section for STATUS; an unknown status does not count as retired."""
    exact = (each for each in sections if each.status and each.status == status)
    is_retired = status in layer.retired
    alike = (
        each for each in sections if each.status and (each.status in layer.retired) == is_retired
    )
    return next(exact, None) or next(alike, None)
