"""The grammar of paths and group names, case twins, and globs over paths.

Only the text is checked here, before anything is opened. `store/worktree` checks for links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count

from gitmem.errors import GroupRefused, PathRefused
from gitmem.model.record import Record

MAX_DEPTH = 8
MAX_PART_BYTES = 200
MAX_PATH_BYTES = 1024
MAX_GROUP_BYTES = 100
MAX_ENDING = 40
"""The longest file extension, in bytes."""

# Patterns are strings, so that importing this module compiles nothing; `re` keeps what it compiled.
# Almost every real path matches this: it breaks no rule about characters.
_PLAIN_PART = r"[A-Za-z0-9_](?:[A-Za-z0-9_ -]|\.(?=[A-Za-z0-9_-]))*+(?<! )"
_PLAIN = rf"{_PLAIN_PART}(?:/{_PLAIN_PART})*+"
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_DRIVE = r"[A-Za-z]:(?:/|$)"
_ESCAPE = r"%([0-9A-Fa-f]{2})"
# C0 and C1 are never UTF-8: they only serve to spell a dot or a slash the long way.
_OVERLONG = r"%[cC][01]"
_SHORT_GIT = r"git~[0-9]+"
_DOTS = frozenset({".", ".."})
# Letters and marks that are invisible, though Unicode does not class them as format characters.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u3164\uffa0")
_INVISIBLE = frozenset({"Cf", "Zl", "Zp"})


class _Broken(Record):
    rule: str
    why: str
    hint: str


def check_path(path: str) -> str:
    """Return PATH unchanged, or raise PathRefused, which names the part and the rule."""
    broken = _broken_path(path)
    if broken is not None:
        raise PathRefused(
            f"path refused: {broken.why}", hint=broken.hint, path=path, rule=broken.rule
        )
    return path


def is_path(path: str) -> bool:
    """Whether PATH breaks no rule."""
    return _broken_path(path) is None


def is_inside(path: str) -> bool:
    """Whether PATH stays inside its folder, whatever its characters."""
    return "\0" not in path and all(part[:1] not in ("", ".") for part in path.split("/"))


def check_group(name: str) -> str:
    """Return NAME unchanged, or raise GroupRefused: a group is one part of the path grammar."""
    broken = _broken_group(name)
    if broken is not None:
        raise GroupRefused(
            f"group name refused: {broken.why}", hint=broken.hint, group=name, rule=broken.rule
        )
    return name


def fold(name: str) -> str:
    """Return the key under which case twins and Unicode-form twins of NAME are equal."""
    if name.isascii():
        return name.lower()
    # Decomposed first: a composed letter may fold to one whose marks stand in another order.
    from gitmem.model.language.unicode import normal_form

    return normal_form("NFD", normal_form("NFD", name).casefold())


def find_twin(name: str, siblings: Iterable[str]) -> str | None:
    """Return the first of SIBLINGS that is not NAME itself and equals it under `fold`."""
    key = fold(name)
    return next((other for other in siblings if other != name and fold(other) == key), None)


def numbered(path: str, first: int = 1) -> Iterator[str]:
    """Yield PATH, then PATH with -FIRST, -FIRST+1, ... before its extension, without end.

    A name that would be too long with its number is shortened.
    """
    yield path
    folder, slash, name = path.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    if not stem or len(ending.encode()) > MAX_ENDING:
        stem, dot, ending = name, "", ""
    for number in count(first):
        tail = f"-{number}{dot}{ending}"
        room = MAX_PART_BYTES - len(tail.encode())
        yield f"{folder}{slash}{stem.encode()[:room].decode(errors='ignore')}{tail}"


def glob_match(pattern: str, path: str) -> bool:
    """Whether PATH matches PATTERN: `*` stays inside a part, `**` crosses parts.

    A folder with a slash at its end matches everything in it. A pattern without a slash is also
    tried on the base name alone.
    """
    parts = tuple(path.split("/"))
    steps = _collapsed(pattern)
    if pattern.endswith("/"):
        return _fits((*steps[:-1], "**", "*"), parts)
    if _fits(steps, parts) or (len(steps) == 1 and _fits(steps, parts[-1:])):
        return True
    return not any(mark in pattern for mark in "*?[") and path.startswith(f"{pattern}/")


def _broken_path(path: str) -> _Broken | None:
    plain = re.fullmatch(_PLAIN, path) is not None
    broken = None if plain else _broken_text(path) or _broken_start(path)
    if broken is not None:
        return broken
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        why = f"it has {len(parts)} parts; at most {MAX_DEPTH} are allowed"
        return _Broken("too-deep", why, "use fewer folders")
    for part in parts:
        broken = _broken_size(part) or (None if plain else _broken_part(part))
        if broken is not None:
            return broken
    size = len(path.encode())
    if size > MAX_PATH_BYTES:
        why = f"it has {size} bytes; at most {MAX_PATH_BYTES} are allowed"
        return _Broken("too-long", why, "use shorter names")
    return None


def _broken_group(name: str) -> _Broken | None:
    if "/" in name:
        why = f"{_shown(name)} contains a slash; a group is a single name"
        return _Broken("slash", why, "leave the slash out, for example with a dash instead")
    broken = _broken_text(name) or _broken_size(name) or _broken_part(name)
    if broken is not None:
        return broken
    size = len(name.encode())
    if size > MAX_GROUP_BYTES:
        why = f"it has {size} bytes; at most {MAX_GROUP_BYTES} are allowed"
        return _Broken("too-long", why, "use a shorter name")
    return None


def _broken_text(text: str) -> _Broken | None:
    """The rules on the whole text; a text that passes can be shown and encoded."""
    if not text:
        return _Broken("empty", "it is empty", "give a name, such as notes.md")
    try:
        text.encode()
    except UnicodeEncodeError:
        return _Broken("not-utf-8", "it is not valid UTF-8", "rename it to a UTF-8 name")
    if re.search(_CONTROL, text):
        why = f"{_shown(text)} contains a control character"
        return _Broken("control-character", why, "leave the control character out")
    if "\\" in text:
        why = f"{_shown(text)} contains a backslash"
        return _Broken("backslash", why, "separate folders with a forward slash: notes/today.md")
    return None


def _broken_start(path: str) -> _Broken | None:
    if path.startswith("/") or re.match(_DRIVE, path):
        why = f"{_shown(path)} is absolute"
        return _Broken("absolute", why, "name it from the group's root: notes/today.md")
    return None


def _broken_size(part: str) -> _Broken | None:
    size = len(part.encode())
    if size > MAX_PART_BYTES:
        why = f"the part {_shown(part)} has {size} bytes; at most {MAX_PART_BYTES} are allowed"
        return _Broken("part-too-long", why, "use a shorter name")
    return None


def _broken_part(part: str) -> _Broken | None:
    if not part:
        why = "it has an empty part: two slashes in a row, or one at the end"
        return _Broken("empty-part", why, "use single slashes between names, and none at the end")
    return _broken_dots(part) or _broken_edges(part) or _broken_escape(part)


def _broken_dots(part: str) -> _Broken | None:
    if part in _DOTS:
        why = f"the part {_shown(part)} would lead out of its folder"
        return _Broken("dot-part", why, "name the file from the group's root, without dots")
    if _is_git_alike(part):
        why = f"some file systems read the part {_shown(part)} as .git"
        return _Broken("git-look-alike", why, "choose a name unlike .git")
    if _invisible(part):
        why = f"the part {_shown(part)} contains an invisible character"
        return _Broken("invisible-character", why, "type the name again without it")
    if part.startswith("."):
        why = f"the part {_shown(part)} begins with a dot"
        return _Broken("leading-dot", why, "leave the first dot out: memory files are visible")
    return None


def _broken_edges(part: str) -> _Broken | None:
    if part[0].isspace() or part[-1].isspace():
        why = f"the part {_shown(part)} begins or ends with a space"
        return _Broken("edge-space", why, "leave the outer spaces out")
    if part.endswith("."):
        why = f"the part {_shown(part)} ends with a dot"
        return _Broken("trailing-dot", why, "leave the last dot out")
    return None


def _broken_escape(part: str) -> _Broken | None:
    """Refuse a part that leads out of its folder once another program decodes it."""
    decoded, bad = part, re.search(_OVERLONG, part) is not None
    while not bad and (once := re.sub(_ESCAPE, _unescaped, decoded)) != decoded:
        decoded = once
        bad = decoded in _DOTS or _is_git_alike(decoded) or any(c in decoded for c in "/\\\0")
    if bad:
        why = f"the part {_shown(part)} hides a dot, slash, backslash or NUL behind percent signs"
        return _Broken("encoded-traversal", why, "leave the encoded characters out")
    return None


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match[1], 16))


def _is_git_alike(part: str) -> bool:
    """Whether a file system that ignores case, edges, streams or zero width reads `.git`."""
    visible = "".join(c for c in part if not _invisible(c)) if _invisible(part) else part
    name = visible.partition(":")[0].rstrip(" .").lower()
    return name == ".git" or re.fullmatch(_SHORT_GIT, name) is not None


def _invisible(text: str) -> bool:
    if text.isascii():
        return False
    from unicodedata import category

    return any(category(char) in _INVISIBLE or char in _BLANK for char in text)


def _shown(text: str) -> str:
    """TEXT in quotes for a message: invisible characters escaped, and not longer than a line."""
    longest = 60
    return repr(text if len(text) <= longest else f"{text[:longest]}…")


def _collapsed(pattern: str) -> tuple[str, ...]:
    """The parts of PATTERN with repeated `**` collapsed: they match the same and cost more."""
    steps = re.sub(r"\*{3,}", "**", pattern).split("/")
    return tuple(
        step
        for step, last in zip(steps, ["", *steps], strict=False)
        if (step, last) != ("**", "**")
    )


# The cache bounds the work: without it each `**` inside a part would double it.
@lru_cache(maxsize=4096)
def _fits(steps: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    """Match part by part, so that a hostile pattern cannot backtrack through the whole path."""
    if not steps or not parts:
        return not steps and not parts
    step, rest = steps[0], steps[1:]
    if step == "**":
        return not rest or any(_fits(rest, parts[skipped:]) for skipped in range(len(parts)))
    if "**" in step:
        before, _, after = step.partition("**")
        inside, across = (f"{before}*{after}",), (f"{before}*", "**", f"*{after}")
        return _fits(inside + rest, parts) or _fits(across + rest, parts)
    return _fits_part(step, parts[0]) and _fits(rest, parts[1:])


def _fits_part(step: str, part: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(part, step.replace("[^", "[!"))
