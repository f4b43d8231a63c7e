"""Ignore patterns: files that stay on disk and out of memory, and the rules of a `.gitignore`.

A pattern without a slash matches a name in any folder; one with a slash starts at the group's root.
`*` and `?` stay within one part, `**` matches any number of folders, a final slash means a folder.
Everything below a matching folder is ignored, too. git reads `exclude_line` in the same way.

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
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import FILE as LAYOUT_FILE

ANY = "**"
WILD = frozenset("*?[")
MOST = 500
"""The longest pattern, in characters."""
EXAMPLES = Hint(
    "for example ", call("held ignore", "*.pdf"), " or ", call("held ignore", "attachments/")
)


def check_pattern(text: str) -> str:
    """Return the pattern TEXT unchanged, or raise BadInput."""
    parts = [part for part in text.split("/") if part]
    if not parts or {".", ".."} & set(parts) or not text.isprintable() or len(text) > MOST:
        raise BadInput(f"invalid pattern {text!r}", hint=EXAMPLES, pattern=text)
    if text.startswith(("!", "#")):
        raise BadInput(
            f"invalid pattern {text!r}: it begins with {text[0]!r}",
            hint=Hint("name the file by its path: ", call("held ignore", f"./{text}")),
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
    """Return the pattern that matches PATH alone, and what lies below it."""
    return f"/{escape(path)}{'/' * folder}"


def is_pattern(text: str) -> bool:
    """Whether TEXT has a wildcard."""
    return bool(WILD & set(text))


def exclude_line(pattern: str) -> str:
    """Return PATTERN as a line of `info/exclude`, where a backslash escapes."""
    line = pattern.replace("\\", "\\\\")
    return line[:-1] + "\\ " if line.endswith(" ") else line


class IgnorePattern:
    """A parsed pattern."""

    def __init__(self, text: str) -> None:
        self.text = text
        parts = [part for part in text.split("/") if part]
        anchored = "/" in text.rstrip("/")
        self._parts = parts if anchored else [ANY, *parts]
        self._folder = text.endswith("/")

    def fits(self, path: str) -> bool:
        """Whether PATH, or a folder above it, matches; the path of a folder ends with a slash."""
        names = path.split("/")
        if self._folder or not names[-1]:
            names = names[:-1]  # it is above what lies in it
        return _fits(self._parts, names)

    def is_of(self, path: str) -> bool:
        """Whether PATH itself matches; the path of a folder ends with a slash."""
        folder = path.endswith("/")
        if self._folder and not folder:
            return False
        return _is_whole(self._parts, path.rstrip("/").split("/"))


class IgnoreRules:
    """The rules of one `.gitignore`, for paths relative to its folder; the last match counts."""

    def __init__(self, text: str) -> None:
        lines = text.removeprefix("\ufeff").splitlines()
        kept = [line for line in map(_trimmed, lines) if line.strip("!/") and line[0] != "#"]
        self._rules = [(line[0] == "!", IgnorePattern(_plain(line))) for line in kept]

    def says(self, path: str) -> bool | None:
        """Whether PATH is ignored; None where no rule matches. A folder ends with a slash."""
        fitting = (not negated for negated, each in reversed(self._rules) if each.is_of(path))
        return next(fitting, None)


def _trimmed(line: str) -> str:
    """LINE without trailing blanks, except one that a backslash escapes."""
    bare = line.rstrip(" ")
    return f"{bare} " if bare.endswith("\\") and bare != line else bare


def _plain(rule: str) -> str:
    """The pattern of RULE, with its backslash escapes as character classes."""
    return re.sub(
        r"\\(.)",
        lambda sign: f"[{sign[1]}]" if sign[1] in WILD else sign[1],
        rule.removeprefix("!"),
    )


def _fits(pattern: Sequence[str], names: Sequence[str]) -> bool:
    """Whether PATTERN matches NAMES, or a beginning of them.

    It tracks the set of positions reached, so one pass is enough for any pattern.
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
    """Whether PATTERN matches all of NAMES; a `**` at its end needs at least one name."""
    reached, stay = _skipped(pattern, {0}), set[int]()
    for name in names:
        within = {at for at in reached if at < len(pattern)}
        stay = {at for at in within if pattern[at] == ANY}
        moved = {at + 1 for at in within - stay if fnmatchcase(name, pattern[at])}
        reached = _skipped(pattern, stay | moved)
    return len(pattern) - 1 in stay if pattern[-1] == ANY else len(pattern) in reached


def _skipped(pattern: Sequence[str], positions: set[int]) -> set[int]:
    """POSITIONS, and those behind a `**` that matches no folder."""
    found = set(positions)
    for at in sorted(positions):
        here = at
        while here < len(pattern) and pattern[here] == ANY:
            here += 1
            found.add(here)
    return found
