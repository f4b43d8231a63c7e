"""Changing the fields and the text of an entry.

An entry goes from its `### Title` to the next heading of the same or a higher level. It has fields
(`- **Status:** active`) and free text. A change leaves every other line of the file as it is, and
is read back before it is returned.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.model.entries.blocks import (
    Entry,
    find,
    matching,
    names_known,
    parse,
    same_title,
    wording,
)
from gitmem.model.entries.lines import (
    NESTED,
    FieldSpan,
    ScannedLines,
    bare,
    column,
    ending,
    field_lines,
    field_spans,
    fold,
    is_blank,
    newline_before,
    scan,
    split_lines,
    tidy,
)
from gitmem.model.entries.placement import (
    appended,
    ended,
    inserted,
    line_for_new,
    moved_to_section,
)
from gitmem.model.entries.rules import status_of
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer

Fields = Mapping[str, str] | Iterable[tuple[str, str]]

MAX_NAME = 60
MAX_TITLE = 200


class EntryInput(NamedTuple):
    """The fields and the text that an entry gets, checked."""

    fields: list[tuple[str, str]]
    body: str
    order: tuple[str, ...]
    known: Collection[str]


def field_name(name: str, order: Sequence[str] = ()) -> str:
    """Return NAME in the spelling of ORDER; BadInput if it is not a valid field name."""
    found = " ".join(name.split())
    plain = found.isprintable() and not set(found) & set("*:\uff1a")
    if not plain or not any(map(str.isalnum, found)) or len(found) > MAX_NAME:
        raise BadInput(
            f"invalid field name {name!r}",
            hint=f"use up to {MAX_NAME} letters, digits and blanks, for example Decided by",
            field=name,
        )
    return next((each for each in order if fold(each) == fold(found)), found)


def checked_title(name: str) -> str:
    """Return NAME as the title of an entry, or raise BadInput."""
    title = " ".join(name.split())
    if not title or len(title) > MAX_TITLE or any(map(_is_control, name.strip())):
        raise BadInput(
            f"invalid entry title {name!r}",
            hint=f"use one line of up to {MAX_TITLE} characters",
            title=name,
        )
    return title


def _is_control(char: str) -> bool:
    if char.isprintable():
        return False
    import unicodedata  # only for a title with something odd in it

    return unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")


def checked_input(title: str, fields: Fields, body: str, order: Sequence[str]) -> EntryInput:
    """Check FIELDS and BODY; fields inside BODY count as given, after FIELDS."""
    known = names_known(order)
    given: dict[str, tuple[str, str]] = {}
    for name, value in fields.items() if isinstance(fields, Mapping) else fields:
        _give(given, name, value, order)
    lifted: dict[str, tuple[str, str]] = {}
    rest = _checked_body(_headless(free_text(body), title))
    inside = field_spans(rest, 0, len(rest.lines), known)
    for each in inside:
        if each.value or fold(each.name) not in given:
            _give(lifted, each.name, each.value, order)
    pairs = sorted({**lifted, **given}.values(), key=lambda pair: rank(pair[0], order))
    return EntryInput(pairs, free_text(_without(rest, inside)), tuple(order), known)


def _headless(body: str, title: str) -> str:
    """BODY without the heading of the entry itself."""
    first, _, rest = body.partition("\n")
    own = scan(first).headings
    return rest if own and same_title(own[0].title, title) else body


def _checked_body(body: str) -> ScannedLines:
    """The lines of an entry with BODY; BadInput if it has a heading or an open code block."""
    found = scan(f"### \n{body}\n### \n").headings
    if len(found) > 2:  # noqa: PLR2004 - the entry's own and the next one's
        raise BadInput(
            f"the text of the entry contains the heading {found[1].title!r}",
            hint="use #### or deeper inside an entry, or write a second entry",
        )
    if len(found) == 1:
        raise BadInput(
            "the text has a code block (```) or a comment (<!--) that is never closed",
            hint="close it",
        )
    return scan(f"### \n{body}\n")


def _give(given: dict[str, tuple[str, str]], name: str, value: str, order: Sequence[str]) -> None:
    name = field_name(name, order)
    if fold(name) in given:
        raise BadInput(f"the field {name} is given twice", hint="give it once", field=name)
    if not tidy(value):
        raise BadInput(
            f"the field {name} has no value",
            hint="fields are not removed; give a value such as `none`",
            field=name,
        )
    given[fold(name)] = (name, tidy(value))


def _without(found: ScannedLines, inside: Sequence[FieldSpan]) -> str:
    taken = {at for each in inside for at in range(each.start, each.end)}
    return "".join(line for at, line in enumerate(found.lines) if at and at not in taken)


def free_text(text: str) -> str:
    """Return TEXT without blank lines around it, its first line not indented."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    return "\n".join(lines[filled[0] : filled[-1] + 1]).strip() if filled else ""


def rank(name: str, order: Sequence[str]) -> int:
    """Return the position of a field in ORDER; an unlisted one comes last."""
    names = [fold(each) for each in order]
    return names.index(fold(name)) if fold(name) in names else len(names)


class Put(NamedTuple):
    """A file in which one entry was put."""

    text: str
    slug: str
    created: bool


def put(
    text: str,
    name: str,
    fields: Fields = (),
    body: str | None = None,
    order: Sequence[str] = (),
    *,
    layer: Layer | None = None,
) -> Put:
    """Return TEXT with the entry NAME, a title or an existing slug, updated by FIELDS and BODY.

    The value of an existing field is replaced in place; a new field is inserted by ORDER. BODY
    replaces the free text; fields inside it count as given, but FIELDS take precedence. Nothing is
    removed: without BODY the text stays, and an empty value raises BadInput. Where headings name
    statuses of LAYER, a new entry goes under the matching one, and a changed status moves it there.
    """
    title = checked_title(name)
    given = checked_input(title, fields, body or "", order)
    known = matching(parse(text, order), title)
    changed = _updated(text, known, given) if known else _created(text, title, given, layer)
    done = _read_back(text, changed, known, title, given)
    return done if known is None else under_its_status(done, known, layer)


def under_its_status(done: Put, before: Entry, layer: Layer | None) -> Put:
    """Return DONE with the entry moved under the heading of its status, if that changed."""
    entry = find(parse(done.text), done.slug)
    if layer is None or status_of(entry, layer) == status_of(before, layer):
        return done
    text, found = moved_to_section(done.text, entry, layer)
    return Put(text, found.slug, done.created)


def _created(text: str, title: str, given: EntryInput, layer: Layer | None) -> str:
    # A closing ### keeps the `#` at the end of a title, which Markdown would drop.
    closing = " ###" if re.search(r"(^|\s)#+$", title) else ""
    block = [f"### {title}{closing}\n"]
    for name, value in given.fields:
        block += field_lines(f"- **{name}:**", value, "\n")
    if given.body:
        block += ["\n", *split_lines(f"{given.body}\n")]
    entries = parse("".join(block), given.order) if layer else ()
    at = line_for_new(text, entries[0], layer) if entries else None
    return appended(text, block) if at is None else inserted(text, block, at)


def _updated(text: str, entry: Entry, given: EntryInput) -> str:
    for pair in given.fields:
        text = _with_field(text, entry.start, pair, given)
    return _with_body(text, entry.start, given) if given.body else text


def _fields_of(
    text: str, start: int, known: Collection[str]
) -> tuple[ScannedLines, list[FieldSpan], int]:
    """The file, the fields of the entry at START, and the end of that entry."""
    found = scan(text)
    ends = (each.line for each in found.headings if each.line > start)
    end = next(ends, len(found.lines))
    return found, field_spans(found, start, end, known), end


def _with_field(text: str, start: int, pair: tuple[str, str], given: EntryInput) -> str:
    found, fields, end = _fields_of(text, start, given.known)
    lines, (name, value) = found.lines, pair
    old = next((each for each in fields if fold(each.name) == fold(name)), None)
    if old is None:
        return "".join(_with_new(lines, (start, end), fields, pair, given.order))
    if old.value == value:
        return text
    newline = ending(lines[old.start]) or newline_before(lines, old.start)
    new = field_lines(old.prefix, value, newline)
    if not ending(lines[old.end - 1]):
        new[-1] = bare(new[-1])
    return "".join([*lines[: old.start], *new, *lines[old.end :]])


def _with_new(
    lines: list[str],
    span: tuple[int, int],
    fields: Sequence[FieldSpan],
    pair: tuple[str, str],
    order: Sequence[str],
) -> list[str]:
    if not fields:
        return _with_first(lines, span, pair)
    position = rank(pair[0], order)
    before = [each for each in fields if rank(each.name, order) <= position]
    anchor = before[-1] if before else fields[0]
    at = anchor.end if before else anchor.start
    newline = newline_before(lines, at)
    new = field_lines(_prefix(anchor, pair[0]), pair[1], newline)
    return [*ended(lines[:at], newline), *new, *lines[at:]]


def _with_first(lines: list[str], span: tuple[int, int], pair: tuple[str, str]) -> list[str]:
    """Insert the first field: above the text, unless indented text would become its value."""
    start, end = span
    filled = [at for at in range(start + 1, end) if not is_blank(lines[at])]
    indented = bool(filled) and column(lines[filled[0]]) >= NESTED
    at = filled[-1] + 1 if indented else start + 1
    newline = newline_before(lines, at)
    new = field_lines(f"- **{pair[0]}:**", pair[1], newline)
    if indented:
        new = [newline, *new]
    elif filled and filled[0] == at:
        new = [*new, newline]
    return [*ended(lines[:at], newline), *new, *lines[at:]]


def _prefix(anchor: FieldSpan, name: str) -> str:
    """The prefix of a new field, like its neighbour's if that is bold."""
    before, _, after = anchor.prefix.rpartition(anchor.name)
    return f"{before}{name}{after}" if re.search(r"\*\*|__", before) else f"- **{name}:**"


def _with_body(text: str, start: int, given: EntryInput) -> str:
    found, fields, end = _fields_of(text, start, given.known)
    lines = found.lines
    first = fields[-1].end if fields else start + 1
    if len(scan(f"{''.join(lines[start:end])}\n### \n").headings) == 1:
        raise BadInput(
            "the entry has a code block (```) or a comment (<!--) that is never closed",
            hint=Hint("close it first: ", call("edit")),
        )
    last = max([first, *(at + 1 for at in range(first, end) if not is_blank(lines[at]))])
    if free_text("".join(lines[first:last])) == given.body:
        return text
    newline = newline_before(lines, first)
    body = [bare(each) + newline for each in split_lines(f"{given.body}\n")]
    apart = [newline] if last < len(lines) and not is_blank(lines[last]) else []
    return "".join([*ended(lines[:first], newline), newline, *body, *apart, *lines[last:]])


def _read_back(text: str, changed: str, known: Entry | None, title: str, given: EntryInput) -> Put:
    """Parse CHANGED and raise BadInput unless it has the expected entry, all others unchanged."""
    before, after = list(parse(text, given.order)), list(parse(changed, given.order))
    at = before.index(known) if known else _first_new(before, after)
    found = after[at] if at < len(after) else None
    own = 1 if known else 0
    others = [wording(each.block) for each in before[:at] + before[at + own :]]
    if found is None or others != [wording(each.block) for each in after[:at] + after[at + 1 :]]:
        raise _unreadable()
    expected = _firsts(known.fields if known else ()) | {
        fold(x): value for x, value in given.fields
    }
    actual = _firsts(found.fields)
    if any(actual.get(name, "") != value for name, value in expected.items()):
        raise _unreadable()
    if found.title != (known.title if known else title):
        raise _unreadable()
    return Put(changed, found.slug, known is None)


def _first_new(before: Sequence[Entry], after: Sequence[Entry]) -> int:
    """The first position at which AFTER differs from BEFORE."""
    pairs = zip(before, after, strict=False)
    same = (wording(one.block) == wording(other.block) for one, other in pairs)
    return next((at for at, is_same in enumerate(same) if not is_same), len(before))


def _firsts(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """FIELDS by folded name; of duplicates the first counts."""
    found: dict[str, str] = {}
    for name, value in fields:
        found.setdefault(fold(name), value)
    return found


def _unreadable() -> BadInput:
    return BadInput(
        "the entry would not read back as given",
        hint="look for a code block (```) or a comment (<!--) in the file that is never closed, "
        "and for indented text that would continue a field",
    )
