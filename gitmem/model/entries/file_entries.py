"""An entry that is a file: a fact, a note. Its fields are those of its frontmatter."""

from __future__ import annotations

import re
from datetime import UTC, date

from gitmem.model.entries.blocks import Entry
from gitmem.model.layout.journal import day_from
from gitmem.model.text.plain_frontmatter import read_fields

OWN_DATES = ("updated", "confirmed", "date", "verified_at")
"""The fields that say when a file was last true."""
FIELDS = ("title", "status", "importance", "confirmed", "updated", "date", "type")


def file_entry(path: str, text: str) -> Entry:
    """The file at PATH as an entry; it has no slug, since its path is its address."""
    fields = read_fields(text) if text.removeprefix("\ufeff").startswith("---") else {}
    said = tuple((name, f"{fields[name]}") for name in FIELDS if fields.get(name) is not None)
    return Entry(_title(path, text, dict(said)), "", 0, text.count("\n"), said, text, text)


def _title(path: str, text: str, fields: dict[str, str]) -> str:
    if fields.get("title"):
        return " ".join(fields["title"].split())
    heading = re.search(r"^# +(.+?)(?: +#+)?[ \t\r]*$", text, re.MULTILINE)
    return heading[1] if heading else path.rpartition("/")[2].removesuffix(".md")


def own_day(data: bytes) -> date | None:
    """The newest day on which a file says that it was true."""
    if not data.lstrip(b"\xef\xbb\xbf").startswith(b"---"):
        return None
    fields = read_fields(data.decode("utf-8", "replace"))
    days = (day_from(fields.get(name), UTC).date for name in OWN_DATES)
    return max((date.fromisoformat(each) for each in days if each), default=None)
