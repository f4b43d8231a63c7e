"""Entries put into a file and taken out of it, line for line."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import Entry, find, parse, wording
from gitmem.model.entries.lines import (
    BOM,
    bare,
    ending,
    is_blank,
    newline_before,
    split_lines,
    trimmed,
)
from gitmem.model.entries.sections import place_of_moved, place_of_new
from gitmem.model.layout.layout import Layer


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
    at = place_of_new(text, entries[0], layer) if entries else None
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
    at = place_of_moved(text, entry, layer)
    if at is None:
        return text, entry
    rest, (block,) = take_all(text, [entry])
    at -= entry.end - entry.start if at > entry.start else 0
    changed = inserted(rest, split_lines(block), min(at, len(split_lines(rest))))
    return changed, _come(rest, changed, block)
