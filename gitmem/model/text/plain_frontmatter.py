"""Plain `key: words` frontmatter, read without a YAML parser.

Most frontmatter is `summary: some words`, and loading a parser for it costs more than the rest of
an injection. YAML reads these lines in the same way, which a test checks; other blocks fall back to
`frontmatter.read`.

By hand instead of python-frontmatter: importing it makes a process start 1.6 times as slowly, and
reading a page of a diary takes 3.4 times as long (`python -m benchmarks by_hand`).
"""

from __future__ import annotations

import re
from datetime import date

from gitmem.model.text import frontmatter

_KEY = r"[A-Za-z][A-Za-z0-9_]{0,63}"
_LINE = rf"({_KEY}): +([^ ].*)"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_NUMBER = r"[1-9][0-9]{0,8}"
_QUOTED = r"""'([^']*)'|"((?:[^"\\]|\\["\\])*)\""""
_LIST = r'\["[^"\\]*"(?:, "[^"\\]*")*\]'
# The start of a comment or of another key.
_MARKS = (": ", " #")
# Words that YAML does not read as texts.
_VALUES = frozenset({"yes", "no", "true", "false", "on", "off", "null"})


def read_fields(text: str) -> dict[str, object]:
    """Return the frontmatter fields of TEXT; of an invalid block, its `key: value` lines."""
    block = frontmatter.split(text)
    if block is None:
        return {}
    found = plain_fields(block.raw)
    return (frontmatter.read(text) or frontmatter.by_line(text)) if found is None else found


def plain_fields(raw: str) -> dict[str, object] | None:
    """Return the fields of a block of plain `key: words` lines; None for any other."""
    if (
        len(raw) * 4 > frontmatter.MAX_BYTES
        and len(raw.encode("utf-8", "surrogatepass")) > frontmatter.MAX_BYTES
    ):
        return None
    fields: dict[str, object] = {}
    for line in raw.removesuffix("\n").split("\n"):
        found = re.fullmatch(_LINE, line.removesuffix("\r"))
        if found is None or found[1].lower() in _VALUES:
            return None
        value = _value(found[2].rstrip(" "))
        if value is None:
            return None
        fields[found[1]] = value
    return fields


def _value(words: str) -> object:
    """The YAML value of WORDS; None if that needs a parser."""
    if not words.isprintable():
        return None
    if words[0] in "'\"":
        return _unquoted(words)
    if words[0] == "[":
        return words[2:-2].split('", "') if re.fullmatch(_LIST, words) else None
    if words[0] in "0123456789":
        return _dated_or_counted(words)
    odd = words.endswith(":") or any(mark in words for mark in _MARKS)
    return None if odd or not words[0].isalpha() or words.lower() in _VALUES else words


def _unquoted(words: str) -> str | None:
    found = re.fullmatch(_QUOTED, words)
    if found is None:
        return None
    return found[1] if found[2] is None else re.sub(r"\\(.)", r"\1", found[2])


def _dated_or_counted(words: str) -> object:
    if re.fullmatch(_NUMBER, words):
        return int(words)
    try:
        return date.fromisoformat(words) if re.fullmatch(_DATE, words) else None
    except ValueError:
        return None
