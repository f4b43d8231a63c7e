"""Patterns of files that stay on disk and out of memory, as `held ignore` takes them.

A pattern without a slash fits a name in any folder; one with a slash begins at the group's root.
`*` and `?` stay within a part, `**` is any number of folders, a slash at the end means a folder.
What lies below a folder that fits is ignored, too. git reads `exclude_line` of it in the same way.
`Rules` are those of a `.gitignore` that somebody has, with its exceptions.

By hand instead of pygit2's `path_is_ignored`: a group is opened as a bare repository, and for one
that answers False to every path. With a work tree it obeys our own block in `info/exclude`, which
names everything that is not memory, and the rules of the operator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from glob import escape

from gitmem.errors import BadInput
from gitmem.model.layout.layout import FILE as LAYOUT_FILE

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
    if all(set(part) == {"*"} for part in parts) or IgnorePattern(text).fits(LAYOUT_FILE):
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


class IgnorePattern:
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

    def is_of(self, path: str) -> bool:
        """Whether PATH itself fits, whatever is above it; a folder has a slash at its end."""
        folder = path.endswith("/")
        if self._folder and not folder:
            return False
        return _is_whole(self._parts, path.rstrip("/").split("/"))


class IgnoreRules:
    """The rules of a `.gitignore` about paths from its own folder on; the last that fits counts."""

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").splitlines()
        kept = [line for line in map(_trimmed, lines) if line.strip("!/") and line[0] != "#"]
        self._rules = [(line[0] == "!", IgnorePattern(_plain(line))) for line in kept]

    def says(self, path: str) -> bool | None:
        """Whether PATH is ignored; None where no rule is about it. A folder ends with a slash."""
        fitting = (not negated for negated, each in reversed(self._rules) if each.is_of(path))
        return next(fitting, None)


def _trimmed(line: str) -> str:
    """LINE without the blanks at its end, but for one behind a backslash."""
    bare = line.rstrip(" ")
    return f"{bare} " if bare.endswith("\\") and bare != line else bare


def _plain(rule: str) -> str:
    """The pattern of a RULE, where a backslash takes the meaning of the sign behind it away."""
    return re.sub(
        r"\\(.)",
        lambda sign: f"[{sign[1]}]" if sign[1] in WILD else sign[1],
        rule.removeprefix("!"),
    )


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


def _is_whole(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether PATTERN fits all of NAMES; a `**` at its end stands for something."""
    reached, stay = _skipped(pattern, {0}), set[int]()
    for name in names:
        within = {at for at in reached if at < len(pattern)}
        stay = {at for at in within if pattern[at] == ANY}
        moved = {at + 1 for at in within - stay if fnmatchcase(name, pattern[at])}
        reached = _skipped(pattern, stay | moved)
    return len(pattern) - 1 in stay if pattern[-1] == ANY else len(pattern) in reached


def _skipped(pattern: Sequence[str], places: set[int]) -> set[int]:
    """PLACES, and those behind a `**` that stands for no folder at all."""
    found = set(places)
    for at in sorted(places):
        here = at
        while here < len(pattern) and pattern[here] == ANY:
            here += 1
            found.add(here)
    return found
