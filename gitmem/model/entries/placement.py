"""An entry in its place: changed where it stands, or put back where it stood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
from gitmem.model.text.merge import Differ, merge


def take(text: str, name: str) -> tuple[str, str]:
    """TEXT without the entry NAME, and that entry's own lines."""
    rest, (block,) = take_all(text, [find(parse(text), name)])
    return rest, block


def take_all(text: str, entries: Sequence[Entry]) -> tuple[str, tuple[str, ...]]:
    """TEXT without ENTRIES, which are entries of it, and the lines of each."""
    lines = split_lines(text)
    gone = {at for each in entries for at in range(each.start, each.end)}
    rest = [line for at, line in enumerate(lines) if at not in gone]
    if gone and max(gone) == len(lines) - 1:
        rest = trimmed(rest)
    mark = BOM if 0 in gone and text.startswith(BOM) else ""
    blocks = ("".join(trimmed(lines[each.start : each.end])) for each in entries)
    return mark + "".join(rest), tuple(each.removeprefix(BOM) for each in blocks)


def add(text: str, block: str, layer: Layer | None = None) -> str:
    """TEXT with the lines of an entry, in the line endings of TEXT.

    Where headings name statuses of LAYER, it comes under the one that fits, else behind the last.
    """
    entries = parse(block) if layer else ()
    at = line_for_new(text, entries[0], layer) if entries else None
    if at is None:
        return add_all(text, [block])
    changed = inserted(text, trimmed(split_lines(block)), at)
    _come(text, changed, block)
    return changed


def add_all(text: str, blocks: Sequence[str]) -> str:
    """TEXT with the lines of entries behind its last one, in the line endings of TEXT."""
    parted = [line for each in blocks for line in (*trimmed(split_lines(each)), "\n")]
    changed = appended(text, parted[:-1])
    before, after = parse(text), parse(changed)
    added = [wording(each.block) for each in after[len(before) :]]
    if added != [wording(each) for each in blocks]:
        raise _not_apart()
    return changed


def _not_apart() -> BadInput:
    return BadInput(
        "what would be added does not stay an entry of its own there",
        hint="look for a code block (```) or a comment (<!--) that is never closed",
    )


def _come(text: str, changed: str, block: str) -> Entry:
    """The entry that CHANGED has and TEXT has not, if it is BLOCK and nothing else differs."""
    before = [wording(each.block) for each in parse(text)]
    after = parse(changed)
    said = [wording(each.block) for each in after]
    for at, each in enumerate(after):
        if said[at] == wording(block) and said[:at] + said[at + 1 :] == before:
            return each
    raise _not_apart()


def appended(text: str, block: list[str]) -> str:
    """TEXT with BLOCK behind its last entry, set apart by blank lines."""
    entries = parse(text)
    return inserted(text, block, entries[-1].end if entries else len(split_lines(text)))


def inserted(text: str, block: list[str], at: int) -> str:
    """TEXT with BLOCK before its line AT, set apart by blank lines."""
    if at == 0 and text.startswith(BOM):  # which is no part of the first line
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
    """LINES, of which the last one has an ending, too."""
    return lines if ending(lines[-1]) else [*lines[:-1], lines[-1] + newline]


def moved_to_section(text: str, entry: Entry, layer: Layer) -> tuple[str, Entry]:
    """TEXT with ENTRY under the heading that fits its status, and the entry as it stands there."""
    at = line_for_moved(text, entry, layer)
    if at is None:
        return text, entry
    rest, (block,) = take_all(text, [entry])
    at -= entry.end - entry.start if at > entry.start else 0
    changed = inserted(rest, split_lines(block), min(at, len(split_lines(rest))))
    return changed, _come(rest, changed, block)


def replace(text: str, entry: Entry, block: str) -> str:
    """TEXT with the lines of BLOCK instead of those of ENTRY, in the line endings in use there."""
    lines = split_lines(text)
    newline = ending(lines[entry.start]) or newline_before(lines, entry.start)
    return splice(text, entry, "".join(bare(each) + newline for each in split_lines(block)))


def splice(text: str, entry: Entry, block: str) -> str:
    """TEXT with BLOCK as it is instead of ENTRY; empty lines behind an entry are not its own."""
    return splice_all(text, [(entry, block)])


def splice_all(text: str, blocks: Iterable[tuple[Entry, str]]) -> str:
    """The same for several entries of TEXT at once."""
    lines, said = split_lines(text), {each.start: wording(each.block) for each in parse(text)}
    # From the end, so that the lines above keep their numbers.
    for entry, block in sorted(blocks, key=lambda each: -each[0].start):
        old, new = trimmed(lines[entry.start : entry.end]), trimmed(split_lines(block))
        if not ending(old[-1]):
            new[-1] = bare(new[-1])
        if old[0].startswith(BOM):
            new[0] = BOM + new[0].removeprefix(BOM)
        lines[entry.start : entry.start + len(old)] = new
        said[entry.start] = wording(block)
    changed = "".join(lines)
    if _wordings(changed) != list(said.values()):
        raise BadInput(
            "what would stand there is not one entry, or changes another one",
            hint="look for a code block (```) or a comment (<!--) that is never closed",
        )
    return changed


def put_back(
    text: str, block: str, old: str, entry: Entry, differ: Differ, *, layer: Layer | None = None
) -> str:
    """TEXT with BLOCK where ENTRY stood in OLD; where LAYER has new ones if that cannot be told.

    It is a merge: of OLD without the entry, OLD added the entry, and TEXT all that came since.
    """
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
    before, after, said = _wordings(text), _wordings(changed), wording(block)
    if said not in after or _line_counts(changed) != _line_counts(text) + _line_counts(block):
        return False
    without = [after[:at] + after[at + 1 :] for at, each in enumerate(after) if each == said]
    return before in without


def _line_counts(text: str) -> Counter[str]:
    lines = (line.strip(f"{BOM} \t\r\n") for line in text.split("\n"))
    return Counter(line for line in lines if line)


def undone(
    before: str, after: str, current: str, differ: Differ, layer: Layer | None = None
) -> str | None:
    """CURRENT without what AFTER changed in BEFORE, entry by entry.

    For a change that only took entries out of a file or put some in. None where it did more than
    that, or where what it put in is no longer there word for word.
    """
    old, new = _by_wording(before), _by_wording(after)
    come = [new[said][at] for said in new for at in range(len(old.get(said, ())), len(new[said]))]
    gone = [old[said][at] for said in old for at in range(len(new.get(said, ())), len(old[said]))]
    if _lines_outside(before) != _lines_outside(after):
        return None
    now = _by_wording(current)
    taken = [each for entry in come for each in now.get(wording(entry.block), ())[-1:]]
    if len(taken) != len(come):
        return None
    text = take_all(current, taken)[0] if taken else current
    for entry in sorted(gone, key=lambda each: each.start):
        block = entry.block.removeprefix(BOM)
        text = put_back(text, block, before, entry, differ, layer=layer)
    return text


def _by_wording(text: str) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for each in parse(text):
        found.setdefault(wording(each.block), []).append(each)
    return found


def _lines_outside(text: str) -> list[str]:
    """The lines that belong to no entry."""
    lines = split_lines(text)
    inside = {at for each in parse(text) for at in range(each.start, each.end)}
    rest = (line for at, line in enumerate(lines) if at not in inside)
    return [line.strip() for line in rest if line.strip()]


_DECORATION = r"[\W\d_]+"
"""What may stand before the word: an emoji, a number, the marks of bold text."""


class StatusSection(NamedTuple):
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


def sections_of(text: str, layer: Layer | None) -> tuple[StatusSection, ...]:
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
    """The status with which HEADING begins."""
    return one_of(re.sub(f"^{_DECORATION}", "", heading.title), known)


def line_for_new(text: str, entry: Entry, layer: Layer | None) -> int | None:
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


def line_for_moved(text: str, entry: Entry, layer: Layer | None) -> int | None:
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


def _fitting(sections: Sequence[StatusSection], status: str, layer: Layer) -> StatusSection | None:
    """The first section for STATUS; one that is unknown, or none, is not taken for retired."""
    exact = (each for each in sections if each.status and each.status == status)
    is_retired = status in layer.retired
    alike = (
        each for each in sections if each.status and (each.status in layer.retired) == is_retired
    )
    return next(exact, None) or next(alike, None)
