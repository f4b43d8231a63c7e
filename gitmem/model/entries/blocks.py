"""Entries of a file: parsed, and found by address, slug or title."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date
from functools import lru_cache
from typing import NamedTuple

from gitmem.errors import NotFound
from gitmem.model.entries.lines import (
    BOM,
    ENTRY_LEVEL,
    KNOWN,
    Heading,
    ScannedLines,
    field_spans,
    fold,
    scan,
)
from gitmem.model.language.unicode import normal_form
from gitmem.model.layout.journal import day_from
from gitmem.model.paths import fold as path_fold
from gitmem.model.text.plain_frontmatter import read_fields

DATES = ("Updated", "Confirmed", "Date", "Date observed", "Started")
"""The fields with a date on which an entry was true."""

_KNOWN = frozenset(fold(each) for each in KNOWN)
_LINK = r"\[[^\[\]\n]{0,200}\]\(<?([^()<>\s]{1,200})>?\)"
_IMPORTANCE = r"[\s*_`\"'(\[#]*([1-5])(?:\s*/\s*5\b)?(?!\w|\.\d|\s*[-\u2013\u2014|,/]\s*\d)"
_DAY = r"(?<![0-9])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])"
# A status is often followed by a remark: superseded by ..., completed on ...
_STATUS_END = (
    r"[.,;:!(\[\u2013\u2014\u2192\n]|\s-|\s(?=\d)"
    r"|\s(?:by|since|until|because|as of|in favou?r|on(?=\s\d))\b"
)


class Entry(NamedTuple):
    """One entry of a file."""

    title: str
    slug: str
    """The part of its address after `#`, unique in the file."""
    start: int
    end: int
    """Its lines are START up to END, counted from 0."""
    fields: tuple[tuple[str, str], ...]
    block: str
    """Its whole text, as in the file."""
    prose: str
    """The text that is neither title nor field."""
    section: str = ""
    """The `## ` heading above it."""

    @property
    def line(self) -> int:
        """The line of its heading, counted from 1."""
        return self.start + 1

    def field(self, name: str) -> str:
        """Return the value of the first field NAME, in any case; empty if missing."""
        folded = fold(name)
        return next((value for key, value in self.fields if fold(key) == folded), "")

    @property
    def importance(self) -> int | None:
        """1 (critical) to 5 (minor), also from `2/5` and `2 (high)`; None if missing."""
        found = re.match(_IMPORTANCE, self.field("Importance"))
        return int(found[1]) if found else None

    @property
    def status(self) -> str:
        """The status in lower case, without remarks: `Active. (Since May)` is `active`."""
        return _word(self.field("Status"))

    @property
    def type(self) -> str:
        """The type in lower case, without remarks."""
        return _word(self.field("Type"))

    @property
    def related(self) -> tuple[str, ...]:
        """The comma-separated values of `Related`; of a link its target."""
        parts = re.split("[,;]", re.sub(_LINK, r"\1", self.field("Related")))
        return tuple(filter(None, (each.strip() for each in parts)))

    @property
    def date(self) -> dt.date | None:
        """The newest day in its date fields."""
        days = (_day(self.field(name)) for name in DATES)
        return max(filter(None, days), default=None)

    @property
    def confirmed(self) -> dt.date | None:
        """The day on which it was last confirmed."""
        return _day(self.field("Confirmed"))


def parse(text: str, known: Iterable[str] = ()) -> tuple[Entry, ...]:
    """Return the entries of TEXT in order. Any text can be parsed.

    KNOWN adds names of fields that count without bold marks. The last few texts are remembered, so
    parsing the same text again is free.
    """
    return _parsed(text, tuple(known))


@lru_cache(maxsize=8)
def _parsed(text: str, known: tuple[str, ...]) -> tuple[Entry, ...]:
    found = scan(text)
    names = names_known(known)
    entries = [_entry(found, heading, end, names) for heading, end in _spans(found)]
    sections = _sections(found)
    slugs = _unique([slug_of(each.title) for each in entries])
    return tuple(
        each._replace(slug=slug, section=sections[each.start])
        for each, slug in zip(entries, slugs, strict=True)
    )


def names_known(known: Iterable[str] = ()) -> Collection[str]:
    """Return the folded names of fields that count without bold marks."""
    return _KNOWN.union(map(fold, known)) if known else _KNOWN


def slug_of(title: str) -> str:
    """Return TITLE as a slug: lower-case letters and digits of any script, joined by dashes."""
    text = title.lower()
    if not text.isascii():
        import unicodedata  # a megabyte that plain titles never need

        text = normal_form("NFC", text)
        text = "".join(x if x.isalnum() or unicodedata.category(x)[0] == "M" else "-" for x in text)
        slug = "-".join(filter(None, text.split("-")))
    else:
        slug = "-".join(re.findall(r"[a-z0-9]+", text))
    if any(map(str.isalnum, slug)):
        return slug
    from zlib import crc32  # a title without letters gets a stable address, too

    return f"entry-{crc32(title.encode('utf-8', 'surrogatepass')):08x}" if title else "entry"


def split_address(address: str) -> tuple[str, str]:
    """Split ADDRESS into the path and the name of the entry, which is empty for a plain path."""
    path, mark, name = address.partition(".md#")
    if mark:
        return f"{path}.md", name
    path, _, name = address.rpartition("#")
    return (path, name) if path and name and not set(name) & set("./") else (address, "")


def same_title(one: str, other: str) -> bool:
    """Whether two titles are equal but for case, Unicode form and blanks."""
    return path_fold(one).split() == path_fold(other).split()


def wording(block: str) -> str:
    """Return BLOCK for comparison, without line endings and trailing blank lines."""
    return block.replace("\r\n", "\n").removeprefix(BOM).rstrip()


def matching(entries: Sequence[Entry], title: str) -> Entry | None:
    """Return the entry with TITLE: exact, then but for case and blanks, then by slug; else None."""
    exact = next((each for each in entries if each.title == title), None)
    near = exact or next((each for each in entries if same_title(each.title, title)), None)
    return near or next((each for each in entries if each.slug == title), None)


def find(entries: Sequence[Entry], name: str) -> Entry:
    """Return the entry with the address, slug or title NAME; NotFound lists similar ones."""
    found = named(entries, name)
    if found is None:
        raise _unknown(entries, name)
    return found


def named(entries: Sequence[Entry], name: str) -> Entry | None:
    """Return the entry with the address, slug or title NAME; else None."""
    for part in filter(None, dict.fromkeys((name, split_address(name)[1]))):
        by_slug = next((each for each in entries if each.slug == part), None)
        found = by_slug or matching(entries, part)
        if found:
            return found
    return None


def _unknown(entries: Sequence[Entry], name: str) -> NotFound:
    from difflib import get_close_matches  # only for an error

    slug = slug_of(split_address(name)[1] or name)
    slugs = [each.slug for each in entries]
    near = get_close_matches(slug, slugs, 3, 0.5) or slugs[:3]
    titles = ", ".join(f"{each.title} (#{each.slug})" for each in entries if each.slug in near)
    hint = f"did you mean {titles}?" if near else "the file has no entries"
    return NotFound(f"no entry {name!r}", hint=hint, entry=name, near=near)


def _spans(found: ScannedLines) -> list[tuple[Heading, int]]:
    ends = [*(each.line for each in found.headings[1:]), len(found.lines)]
    pairs = zip(found.headings, ends, strict=False)
    return [(each, end) for each, end in pairs if each.level == ENTRY_LEVEL]


def _sections(found: ScannedLines) -> dict[int, str]:
    """The section of each entry, by the line of its heading."""
    section, sections = "", {}
    for each in found.headings:
        if each.level < ENTRY_LEVEL:
            section = each.title if each.level == ENTRY_LEVEL - 1 else ""
        sections[each.line] = section
    return sections


def _entry(found: ScannedLines, heading: Heading, end: int, known: Collection[str]) -> Entry:
    start = heading.line
    fields = field_spans(found, start, end, known)
    taken = {at for each in fields for at in range(each.start, each.end)}
    prose = "".join(found.lines[at] for at in range(start + 1, end) if at not in taken)
    pairs = tuple((each.name, each.value) for each in fields)
    block = "".join(found.lines[start:end])
    return Entry(heading.title, "", start, end, pairs, block, prose.strip())


def _unique(slugs: Sequence[str]) -> list[str]:
    """SLUGS with a number where they repeat; the first one stays as it is."""
    taken, numbers, found = set(slugs), dict.fromkeys(slugs, 0), []
    for slug in slugs:
        numbers[slug] += 1
        free = slug
        while numbers[slug] > 1 and free in taken:
            free = f"{slug}-{numbers[slug]}"
            numbers[slug] += free in taken
        found.append(free)
    return found


def _word(value: str) -> str:
    word = re.split(_STATUS_END, value.strip("*_`\"' \t"), maxsplit=1)[0]
    return " ".join(word.strip("*_`\"' \t").casefold().split())


def _day(value: str) -> dt.date | None:
    found = re.search(_DAY, value)
    try:
        return dt.date.fromisoformat(found[0]) if found else None
    except ValueError:
        return None


OWN_DATES = ("updated", "confirmed", "date", "verified_at")
"""The frontmatter fields with a date on which a file was true."""
FIELDS = ("title", "status", "importance", "confirmed", "updated", "date", "type")


def file_entry(path: str, text: str) -> Entry:
    """Return the file at PATH as an entry, without a slug: its path is its address."""
    fields = read_fields(text) if text.removeprefix("\ufeff").startswith("---") else {}
    pairs = tuple((name, f"{fields[name]}") for name in FIELDS if fields.get(name) is not None)
    return Entry(_title(path, text, dict(pairs)), "", 0, text.count("\n"), pairs, text, text)


def _title(path: str, text: str, fields: dict[str, str]) -> str:
    if fields.get("title"):
        return " ".join(fields["title"].split())
    heading = re.search(r"^# +(.+?)(?: +#+)?[ \t\r]*$", text, re.MULTILINE)
    return heading[1] if heading else path.rpartition("/")[2].removesuffix(".md")


def own_day(data: bytes) -> date | None:
    """Return the newest day in the date fields of a file."""
    if not data.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        return None
    fields = read_fields(data.decode("utf-8", "replace"))
    days = (day_from(fields.get(name), UTC).date for name in OWN_DATES)
    return max((date.fromisoformat(each) for each in days if each), default=None)
