"""How fresh an entry is: what counts as the same text, and what its age in days means.

White space is no meaning: an entry is known by its text without any. So it is the same one after it
was moved, re-wrapped or given other line ends, and `store/history/dating` can tell when it last
changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1

WHITE = b" \t\n\r"
"""What git takes for white space."""
BOM = b"\xef\xbb\xbf"
STATES = ("active", "aging", "fading", "stale")
MECHANICAL = frozenset(
    ("rotate", "move", "archive", "move-entry", "restore", "undo", "migrate", "merge")
)
"""Operations that bring things about without saying anything new."""
ADOPTION = "adopt"
BY_HAND = frozenset(("", "capture"))
"""Commits of plain git, and edits that somebody made with ordinary tools."""

AGING, FADING, STALE = 7, 30, 91
"""The day on which each state begins."""
IMMUNE = 2
"""Up to this importance nothing is suggested on account of age."""
KEY = 16
"""The bytes by which a text is known."""
LEVEL = 3
_ENTRY = b"\n### "


def state_of(days: int) -> str:
    """The state of an entry that was touched DAYS ago."""
    return STATES[(days >= AGING) + (days >= FADING) + (days >= STALE)]


def is_immune(importance: int | None) -> bool:
    """Whether age alone is no reason to look at an entry again."""
    return importance is not None and importance <= IMMUNE


def key_of(text: bytes) -> bytes:
    """What an entry is known by: its text, white space aside."""
    return _digest(text.removeprefix(BOM).translate(None, WHITE))


def key_of_file(data: bytes) -> bytes:
    """What an entry is known by that is a file: never mistaken for a block in one."""
    return _digest(b"\0" + data.removeprefix(BOM).translate(None, WHITE))


def _digest(text: bytes) -> bytes:
    return sha1(text, usedforsecurity=False).digest()[:KEY]


def part_that_differs(old: bytes, new: bytes, head: int, tail: int) -> tuple[bytes, bytes]:
    """The blocks of two versions of a file outside of which all are the same.

    Both begin with HEAD and end with TAIL bytes, in whole lines, that are the same.
    """
    if _is_intricate(new) or _is_intricate(old[:1]) or _quotes(old[head : len(old) - tail]):
        return old, new
    start = old.rfind(_ENTRY, 0, head) + 1
    after = old.find(_ENTRY, max(len(old) - tail - 1, 0)) + 1
    rest = len(old) - after if after else 0
    return old[start : len(old) - rest], new[start : len(new) - rest]


def _is_intricate(data: bytes) -> bool:
    """Whether a line that looks like a heading may be none: in code, comments or frontmatter."""
    return data[:1] in (b"-", b"\xef") or _quotes(data)


def _quotes(data: bytes) -> bool:
    # One byte is found much faster than three.
    return any(mark[:1] in data and mark in data for mark in (b"```", b"~~~", b"<!--"))


def blocks(data: bytes) -> Iterator[bytes]:
    """The `### Title` blocks of a file, as `blocks` finds them."""
    if b"###" not in data:
        return
    if _is_intricate(data):
        yield from _read_blocks(data)
        return
    first, *parts = data.split(b"\n#")
    if first.startswith(b"#"):
        parts = [first[1:], *parts]
    block = b""
    for part in parts:
        level = _level(part)
        if level > LEVEL or not level:  # a deeper heading, or none: the entry goes on
            block = block and block + b"\n#" + part
            continue
        if block:
            yield block
        block = b"#" + part if level == LEVEL else b""
    if block:
        yield block


def _level(part: bytes) -> int:
    """The level of the heading whose first mark was cut off; 0 where it is none."""
    if part.startswith(b"## "):
        return LEVEL
    line = b"#" + part.partition(b"\n")[0]
    from gitmem.model.entries.lines import heading_level

    return heading_level(line.decode("utf-8", "replace"))


def _read_blocks(data: bytes) -> Iterator[bytes]:
    from gitmem.model.entries.blocks import parse

    for each in parse(data.decode("utf-8", "surrogateescape")):
        yield each.block.encode("utf-8", "surrogateescape")
