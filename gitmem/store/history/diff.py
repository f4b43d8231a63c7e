"""Compare two texts by libgit2's diff: as line ranges, and as a unified diff."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.model.text.hunks import Hunk, one_hunk

if TYPE_CHECKING:
    from pygit2 import Patch


def compare(old: bytes, new: bytes, *, context_lines: int = 0, white_space: bool = True) -> Patch:
    """The patch between two texts; WHITE_SPACE False ignores white space.

    Memory is text even where it holds a NUL byte. The indent heuristic is git's own default and
    keeps a deleted or inserted entry in one piece with its heading.
    """
    import pygit2  # here: readers rarely compare, and the import takes 50 ms

    option = pygit2.enums.DiffOption
    flags = option.FORCE_TEXT | option.INDENT_HEURISTIC
    if not white_space:
        flags |= option.IGNORE_WHITESPACE
    return pygit2.Patch.create_from(
        old, new, flag=flags, context_lines=context_lines, interhunk_lines=0
    )


def hunks(old: bytes, new: bytes) -> list[Hunk]:
    """The line ranges that differ, in order, separated by at least one common line."""
    if old == new:
        return []
    plain = one_hunk(old, new)
    return hunks_of(compare(old, new)) if plain is None else [plain]


def hunks_of(patch: Patch) -> list[Hunk]:
    """The line ranges of a patch without context lines."""
    return [as_hunk(h.old_start, h.old_lines, h.new_start, h.new_lines) for h in patch.hunks]


def unified(old: bytes, new: bytes, old_name: str, new_name: str, context_lines: int = 3) -> str:
    """The change as a unified diff under the given names; empty for none."""
    patch = compare(old, new, context_lines=context_lines)
    if not patch.hunks:
        return ""
    # libgit2 writes `"b/\303\274.md"` for ü.md, and a header that only git needs.
    _, _, body = patch.data.partition(b"\n@@ ")
    return f"--- {old_name}\n+++ {new_name}\n@@ " + body.decode(errors="replace")


def as_hunk(old_start: int, old_lines: int, new_start: int, new_lines: int) -> Hunk:
    """A hunk from git's numbers, which count from 1 and name an empty range by the line before."""
    a0 = old_start - 1 if old_lines else old_start
    b0 = new_start - 1 if new_lines else new_start
    return Hunk(a0, a0 + old_lines, b0, b0 + new_lines)
