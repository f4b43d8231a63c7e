"""Entries: the `### Title` blocks of a file, read, addressed, changed and moved.

An entry goes from its heading to the next of the same level or a higher one. It has fields
(`- **Status:** active`) and free text. Whatever is done to one entry, no other line of the file
changes, and what was written is read back before it is given away.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from gitmem.core.entry_blocks import (
    Entry,
    find,
    matching,
    parse,
    slug_of,
    split_address,
    wording,
)
from gitmem.core.entry_input import (
    Fields,
    Wanted,
    checked_title,
    field_name,
    free_text,
    rank,
    wanted,
)
from gitmem.core.entry_lines import (
    BOM,
    NESTED,
    Lines,
    Spot,
    bare,
    column,
    ending,
    fold,
    is_blank,
    newline_before,
    scan,
    split_lines,
    spots,
    trimmed,
    written,
)
from gitmem.errors import BadInput

__all__ = [
    "Entry",
    "Put",
    "add",
    "add_all",
    "field_name",
    "find",
    "matching",
    "parse",
    "put",
    "slug_of",
    "split_address",
    "take",
    "take_all",
]


class Put(NamedTuple):
    """A text in which one entry was put."""

    text: str
    slug: str
    created: bool


def put(
    text: str, name: str, fields: Fields = (), body: str | None = None, order: Sequence[str] = ()
) -> Put:
    """TEXT with the entry NAME, a title or the slug of one there is, saying FIELDS and BODY.

    A field that is there gets its value replaced where it stands; a new one comes to its place in
    ORDER, others behind. BODY becomes the free text after the fields; fields that stand in it count
    as given, but FIELDS come first. Nothing is ever removed: no BODY leaves the text that is there,
    and an empty value is BadInput.
    """
    title = checked_title(name)
    wish = wanted(title, fields, body or "", order)
    known = matching(parse(text, order), title)
    changed = _updated(text, known, wish) if known else _created(text, title, wish)
    return _read_back(text, changed, known, title, wish)


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


def add(text: str, block: str) -> str:
    """TEXT with the lines of an entry behind its last one, in the line endings of TEXT."""
    return add_all(text, [block])


def add_all(text: str, blocks: Sequence[str]) -> str:
    """TEXT with the lines of entries behind its last one, in the line endings of TEXT."""
    parted = [line for each in blocks for line in (*trimmed(split_lines(each)), "\n")]
    changed = _appended(text, parted[:-1])
    before, after = parse(text), parse(changed)
    added = [wording(each.block) for each in after[len(before) :]]
    if added != [wording(each) for each in blocks]:
        raise BadInput(
            "what would be added does not stay an entry of its own there",
            hint="look for a code block (```) or a comment (<!--) that is never closed",
        )
    return changed


def _created(text: str, title: str, wish: Wanted) -> str:
    # Marks at the end of a heading are decoration, unless there are more behind them.
    closing = " ###" if re.search(r"(^|\s)#+$", title) else ""
    block = [f"### {title}{closing}\n"]
    for name, value in wish.fields:
        block += written(f"- **{name}:**", value, "\n")
    if wish.body:
        block += ["\n", *split_lines(f"{wish.body}\n")]
    return _appended(text, block)


def _appended(text: str, block: list[str]) -> str:
    """TEXT with BLOCK behind its last entry, set apart by blank lines."""
    entries, lines = parse(text), split_lines(text)
    at = entries[-1].end if entries else len(lines)
    newline = newline_before(lines, at)
    above, below = lines[:at], lines[at:]
    added = [bare(each) + newline for each in block] + [newline] * bool(below)
    if "".join(above) in ("", BOM):
        return "".join([*above, *added, *below])
    apart = [] if is_blank(above[-1]) else [newline]
    return "".join([*_ended(above, newline), *apart, *added, *below])


def _updated(text: str, entry: Entry, wish: Wanted) -> str:
    for pair in wish.fields:
        text = _with_field(text, entry.start, pair, wish)
    return _with_body(text, entry.start, wish) if wish.body else text


def _standing(text: str, start: int, known: Collection[str]) -> tuple[Lines, list[Spot], int]:
    """The file, the fields of the entry at START, and where that entry ends."""
    found = scan(text)
    ends = (each.line for each in found.headings if each.line > start)
    end = next(ends, len(found.lines))
    return found, spots(found, start, end, known), end


def _with_field(text: str, start: int, pair: tuple[str, str], wish: Wanted) -> str:
    found, fields, end = _standing(text, start, wish.known)
    lines, (name, value) = found.lines, pair
    old = next((each for each in fields if fold(each.name) == fold(name)), None)
    if old is None:
        return "".join(_with_new(lines, (start, end), fields, pair, wish.order))
    if old.value == value:
        return text
    newline = ending(lines[old.start]) or newline_before(lines, old.start)
    new = written(old.prefix, value, newline)
    if not ending(lines[old.end - 1]):
        new[-1] = bare(new[-1])
    return "".join([*lines[: old.start], *new, *lines[old.end :]])


def _with_new(
    lines: list[str],
    span: tuple[int, int],
    fields: Sequence[Spot],
    pair: tuple[str, str],
    order: Sequence[str],
) -> list[str]:
    if not fields:
        return _with_first(lines, span, pair)
    place = rank(pair[0], order)
    before = [each for each in fields if rank(each.name, order) <= place]
    anchor = before[-1] if before else fields[0]
    at = anchor.end if before else anchor.start
    newline = newline_before(lines, at)
    new = written(_prefix(anchor, pair[0]), pair[1], newline)
    return [*_ended(lines[:at], newline), *new, *lines[at:]]


def _with_first(lines: list[str], span: tuple[int, int], pair: tuple[str, str]) -> list[str]:
    """A field where there is none yet: above the text, unless that would be read as its value."""
    start, end = span
    said = [at for at in range(start + 1, end) if not is_blank(lines[at])]
    indented = bool(said) and column(lines[said[0]]) >= NESTED
    at = said[-1] + 1 if indented else start + 1
    newline = newline_before(lines, at)
    new = written(f"- **{pair[0]}:**", pair[1], newline)
    if indented:
        new = [newline, *new]
    elif said and said[0] == at:
        new = [*new, newline]
    return [*_ended(lines[:at], newline), *new, *lines[at:]]


def _ended(lines: list[str], newline: str) -> list[str]:
    """LINES, of which the last one has an ending, too."""
    return lines if ending(lines[-1]) else [*lines[:-1], lines[-1] + newline]


def _prefix(anchor: Spot, name: str) -> str:
    """A new field looks like its neighbour, if that one is bold and so can carry any name."""
    before, _, after = anchor.prefix.rpartition(anchor.name)
    return f"{before}{name}{after}" if re.search(r"\*\*|__", before) else f"- **{name}:**"


def _with_body(text: str, start: int, wish: Wanted) -> str:
    found, fields, end = _standing(text, start, wish.known)
    lines = found.lines
    first = fields[-1].end if fields else start + 1
    if len(scan(f"{''.join(lines[start:end])}\n### \n").headings) == 1:
        raise BadInput(
            "the entry has a code block (```) or a comment (<!--) that is never closed, "
            "so it cannot be told where it ends",
            hint="close it first, with `gitmem edit`",
        )
    last = max([first, *(at + 1 for at in range(first, end) if not is_blank(lines[at]))])
    if free_text("".join(lines[first:last])) == wish.body:
        return text
    newline = newline_before(lines, first)
    body = [bare(each) + newline for each in split_lines(f"{wish.body}\n")]
    apart = [newline] if last < len(lines) and not is_blank(lines[last]) else []
    return "".join([*_ended(lines[:first], newline), newline, *body, *apart, *lines[last:]])


def _read_back(text: str, changed: str, known: Entry | None, title: str, wish: Wanted) -> Put:
    """The judge is the reader: better no change than one that says something else."""
    before, after = list(parse(text, wish.order)), list(parse(changed, wish.order))
    at = before.index(known) if known else len(before)
    found = after[at] if at < len(after) else None
    others = [wording(each.block) for each in before[:at] + before[at + 1 :]]
    if found is None or others != [wording(each.block) for each in after[:at] + after[at + 1 :]]:
        raise _unreadable()
    expected = _firsts(known.fields if known else ()) | {fold(x): value for x, value in wish.fields}
    standing = _firsts(found.fields)
    if any(standing.get(name, "") != value for name, value in expected.items()):
        raise _unreadable()
    if found.title != (known.title if known else title):
        raise _unreadable()
    return Put(changed, found.slug, known is None)


def _firsts(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """FIELDS by folded names; of several that are one, the first counts."""
    found: dict[str, str] = {}
    for name, value in fields:
        found.setdefault(fold(name), value)
    return found


def _unreadable() -> BadInput:
    return BadInput(
        "the entry would not read back as it was given",
        hint="look for a code block (```) or a comment (<!--) in the file that is never closed, "
        "and for indented text that would go on with a field",
    )
