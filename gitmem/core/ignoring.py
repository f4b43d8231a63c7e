"""Patterns of files that stay on disk and out of memory, as `held ignore` takes them.

A pattern without a slash fits a name in any folder; one with a slash begins at the group's root.
`*` and `?` stay within a part, `**` is any number of folders, a slash at the end means a folder.
What lies below a folder that fits is ignored, too. git reads `exclude_line` of it in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import escape

from gitmem.core.layout import FILE as LAYOUT_FILE
from gitmem.errors import BadInput

ANY = "**"
WILD = frozenset("*?[")
MOST = 500
"""Characters that a pattern may have."""
EXAMPLES = "for example `gitmem held ignore '*.pdf'` or `gitmem held ignore attachments/`"


def check_pattern(text: str) -> str:
    """Give the pattern TEXT, or raise BadInput where it cannot be one."""
    parts = [part for part in text.split("/") if part]
    if not parts or {".", ".."} & set(parts) or not text.isprintable() or len(text) > MOST:
        raise BadInput(f"invalid pattern {text!r}", hint=EXAMPLES, pattern=text)
    if text.startswith(("!", "#")):
        raise BadInput(
            f"a pattern cannot begin with {text[0]!r}: {text!r}",
            hint=f"name the file by its path: `gitmem held ignore './{text}'`",
            pattern=text,
        )
    if all(set(part) == {"*"} for part in parts) or Pattern(text).fits(LAYOUT_FILE):
        raise BadInput(
            f"the pattern {text!r} would ignore every file, or the layout",
            hint=EXAMPLES,
            pattern=text,
        )
    return text


def literal(path: str, *, folder: bool = False) -> str:
    """The pattern that fits PATH alone, and what lies below it."""
    return f"/{escape(path)}{'/' * folder}"


def is_pattern(text: str) -> bool:
    """Whether TEXT has a sign that stands for others."""
    return bool(WILD & set(text))


def exclude_line(pattern: str) -> str:
    """PATTERN as git reads it in `info/exclude`: there a backslash takes a sign's meaning away."""
    line = pattern.replace("\\", "\\\\")
    return line[:-1] + "\\ " if line.endswith(" ") else line


class Pattern:
    """A pattern, ready to be compared."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = [part for part in text.split("/") if part]
        anchored = "/" in text.rstrip("/")
        self._parts = parts if anchored else [ANY, *parts]
        self._folder = text.endswith("/")

    def fits(self, path: str) -> bool:
        """Whether PATH, or a folder above it, fits; a folder has a slash at its end."""
        names = path.split("/")
        if self._folder or not names[-1]:
            names = names[:-1]  # it is above what lies in it
        return _fits(self._parts, names)


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether PATTERN fits the first of NAMES, or all of them.

    By the set of places reached, so that the work is that of one pass, whatever the pattern.
    """
    reached = _skipped(pattern, {0})
    for name in names:
        stay = {at for at in reached if pattern[at] == ANY}
        moved = {at + 1 for at in reached if pattern[at] != ANY and fnmatchcase(name, pattern[at])}
        if pattern[-1] == ANY and len(pattern) - 1 in stay:
            return True
        reached = _skipped(pattern, stay | moved)
        if len(pattern) in reached and pattern[-1] != ANY:
            return True
        reached.discard(len(pattern))
    return False


def _skipped(pattern: Sequence[str], places: set[int]) -> set[int]:
    """PLACES, and those behind a `**` that stands for no folder at all."""
    found = set(places)
    for at in sorted(places):
        here = at
        while here < len(pattern) and pattern[here] == ANY:
            here += 1
            found.add(here)
    return found
