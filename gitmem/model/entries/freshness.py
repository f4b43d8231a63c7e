"""Freshness of entries: the key of a text, and the state that an age in days means.

The key of an entry ignores white space, so that an entry keeps its date when it is moved,
re-wrapped or given other line endings.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha1

WHITE = b" \t\n\r"
"""White space as git defines it."""
BOM = b"\xef\xbb\xbf"
STATES = ("active", "aging", "fading", "stale")
MECHANICAL = frozenset(
    ("rotate", "move", "archive", "move-entry", "restore", "undo", "migrate", "merge")
)
"""Operations that move text without changing its meaning."""
ADOPTION = "adopt"
BY_HAND = frozenset(("", "capture"))
"""Commits of plain git, and captured edits."""

AGING, FADING, STALE = 7, 30, 91
"""The day on which each state begins."""
IMMUNE = 2
"""Up to this importance, age alone suggests nothing."""
KEY = 16
"""The size of the key of a text, in bytes."""
LEVEL = 3
_ENTRY = b"\n### "


def state_of(days: int) -> str:
    """Return the state of an entry that last changed DAYS ago."""
    return STATES[(days >= AGING) + (days >= FADING) + (days >= STALE)]


def is_immune(importance: int | None) -> bool:
    """Whether an entry of this importance is immune to aging."""
    return importance is not None and importance <= IMMUNE


def key_of(text: bytes) -> bytes:
    """Return the key of an entry: a digest of its text without white space."""
    return _digest(text.removeprefix(BOM).translate(None, WHITE))


def key_of_file(data: bytes) -> bytes:
    """Return the key of an entry that is a whole file; it differs from that of any block."""
    return _digest(b"\0" + data.removeprefix(BOM).translate(None, WHITE))


def _digest(text: bytes) -> bytes:
    return sha1(text, usedforsecurity=False).digest()[:KEY]


def part_that_differs(old: bytes, new: bytes, head: int, tail: int) -> tuple[bytes, bytes]:
    """Return the parts of two versions of a file that contain every differing block.

    Both versions begin with the same HEAD bytes and end with the same TAIL bytes, in whole lines.
    """
    if _is_intricate(new) or _is_intricate(old[:1]) or _quotes(old[head : len(old) - tail]):
        return old, new
    start = old.rfind(_ENTRY, 0, head) + 1
    after = old.find(_ENTRY, max(len(old) - tail - 1, 0)) + 1
    rest = len(old) - after if after else 0
    return old[start : len(old) - rest], new[start : len(new) - rest]


def _is_intricate(data: bytes) -> bool:
    """Whether DATA may have code, comments or frontmatter, in which `###` is not a heading."""
    return data[:1] in (b"-", b"\xef") or _quotes(data)


def _quotes(data: bytes) -> bool:
    # A search for one byte is much faster than for three.
    return any(mark[:1] in data and mark in data for mark in (b"```", b"~~~", b"<!--"))


def blocks(data: bytes) -> Iterator[bytes]:
    """Yield the `### Title` blocks of a file, as `blocks.parse` finds them."""
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
        if level > LEVEL or not level:  # a deeper heading, or none: the entry continues
            block = block and block + b"\n#" + part
            continue
        if block:
            yield block
        block = b"#" + part if level == LEVEL else b""
    if block:
        yield block


def _level(part: bytes) -> int:
    """The level of the heading PART, which lacks its first `#`; 0 for no heading."""
    if part.startswith(b"## "):
        return LEVEL
    line = b"#" + part.partition(b"\n")[0]
    from gitmem.model.entries.lines import heading_level

    return heading_level(line.decode("utf-8", "replace"))


def _read_blocks(data: bytes) -> Iterator[bytes]:
    from gitmem.model.entries.blocks import parse

    for each in parse(data.decode("utf-8", "surrogateescape")):
        yield each.block.encode("utf-8", "surrogateescape")
