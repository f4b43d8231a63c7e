"""What changed between two texts, by libgit2's diff: as line ranges, and as a patch to read."""

from __future__ import annotations

import pygit2
from pygit2.enums import DiffOption

from gitmem.core.hunks import Hunk

# Memory is text even where it holds a NUL byte; the indent heuristic is git's own default and
# keeps a deleted or inserted entry in one piece with its heading.
AS_GIT_DOES = DiffOption.FORCE_TEXT | DiffOption.INDENT_HEURISTIC


def hunks(old: bytes, new: bytes) -> list[Hunk]:
    """The line ranges that differ, in order, with at least one common line between two of them."""
    patch = pygit2.Patch.create_from(old, new, flag=AS_GIT_DOES, context_lines=0, interhunk_lines=0)
    return [as_hunk(h.old_start, h.old_lines, h.new_start, h.new_lines) for h in patch.hunks]


def unified(old: bytes, new: bytes, old_name: str, new_name: str, context_lines: int = 3) -> str:
    """The change as a unified diff under the given names, or nothing where there is none."""
    patch = pygit2.Patch.create_from(old, new, flag=AS_GIT_DOES, context_lines=context_lines)
    if not patch.hunks:
        return ""
    # libgit2 writes `"b/\303\274.md"` for ü.md and a header only git needs: the names as they are.
    _, _, body = patch.data.partition(b"\n@@ ")
    return f"--- {old_name}\n+++ {new_name}\n@@ " + body.decode(errors="replace")


def as_hunk(old_start: int, old_lines: int, new_start: int, new_lines: int) -> Hunk:
    """The ranges of a hunk as git names them: from 1, and an empty one by the line before it."""
    a0 = old_start - 1 if old_lines else old_start
    b0 = new_start - 1 if new_lines else new_start
    return Hunk(a0, a0 + old_lines, b0, b0 + new_lines)
