"""Three-way merge by lines that never loses an added line.

The merge writes no markers, since a model reads the result: both versions follow each other, and
the number of such places is reported. A line that one side removed and the other kept is removed,
in a conflict, too; only a block that one side removed while the other changed it stays, whole.

By hand instead of pygit2's `merge_file_from_index` and `merge_trees`, which stop or write conflict
markers: git did in 35 of 90 pairs of edits within files, and in 39 of 90 with moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gitmem.model.text.hunks import Hunk


class Merged(NamedTuple):
    """The merged text, and the number of places with both versions."""

    data: bytes
    conflicts: int


Differ = Callable[[bytes, bytes], list[Hunk]]

OURS, THEIRS = 0, 1


class _LineEdit(NamedTuple):
    """Base lines `start:end` replaced by LINES, on one side."""

    start: int
    end: int
    side: int
    lines: list[bytes]


def merge(base: bytes | None, ours: bytes, theirs: bytes, differ: Differ) -> Merged:
    """Merge OURS and THEIRS; BASE is None if both sides added the file."""
    base = base or b""
    if ours in (base, theirs):
        return Merged(theirs, 0)
    if theirs == base:
        return Merged(ours, 0)
    closed = _closed(base)
    lines = split_lines(closed)
    edits = [*_edits(closed, ours, OURS, differ), *_edits(closed, theirs, THEIRS, differ)]
    merged: list[bytes] = []
    conflicts = done = 0
    for group in _touching(sorted(edits)):
        joined_lines, unresolved = _join_touching(lines, group)
        merged += lines[done : group[0].start] + joined_lines
        conflicts += unresolved
        done = max(edit.end for edit in group)
    data = b"".join(merged + lines[done:])
    return Merged(_with_final_ending(data, base, ours, theirs), conflicts)


def split_lines(data: bytes) -> list[bytes]:
    """Split DATA after every LF, as git does; CR and form feeds end no line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _is_open(data: bytes) -> bool:
    return bool(data) and not data.endswith(b"\n")


def _closed(data: bytes) -> bytes:
    """DATA with a final newline, so that a missing one does not change the last line."""
    if not _is_open(data):
        return data
    before = data[: data.rfind(b"\n") + 1]
    # CRLF after a bare CR, so that `_opened` can tell what was added.
    return data + (b"\r\n" if before.endswith(b"\r\n") or data.endswith(b"\r") else b"\n")


def _opened(data: bytes) -> bytes:
    return data[: -2 if data.endswith(b"\r\n") else -1]


def _with_final_ending(data: bytes, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Remove the final newline if both sides lack it, or one side removed it."""
    agreed = _is_open(ours) == _is_open(theirs)
    if not agreed and _is_open(base):
        return data
    last = split_lines(data)[-1:]
    # The line that lacked its ending may be in the middle now.
    ends = [split_lines(_closed(side))[-1:] for side in (ours, theirs) if _is_open(side)]
    return _opened(data) if last in ends else data


def _edits(base: bytes, changed: bytes, side: int, differ: Differ) -> list[_LineEdit]:
    changed = _closed(changed)
    lines = split_lines(changed)
    return [_LineEdit(h.a0, h.a1, side, lines[h.b0 : h.b1]) for h in differ(base, changed)]


def _touching(edits: list[_LineEdit]) -> Iterator[list[_LineEdit]]:
    """Group the edits with no untouched base line between them."""
    group: list[_LineEdit] = []
    end = 0
    for edit in edits:
        if group and edit.start > end:
            yield group
            group = []
        end = max(end, edit.end) if group else edit.end
        group.append(edit)
    if group:
        yield group


def _join_touching(lines: list[bytes], group: list[_LineEdit]) -> tuple[list[bytes], int]:
    """Join touching edits; at least one of them changes each base line they span."""
    span = group[0].start, max(edit.end for edit in group)
    if _applied(lines, span, group, OURS) == (both := _applied(lines, span, group, THEIRS)):
        return both, 0
    joined_lines: list[bytes] = []
    conflicts = 0
    before: _LineEdit | None = None
    for cluster in _overlapping(lines, group):
        if len(cluster) == 1:
            before = _append_edit(joined_lines, before, cluster[0])
        else:
            joined, unresolved = _union(lines, cluster)
            joined_lines += joined
            conflicts += unresolved
            before = None
    return joined_lines, conflicts


def _applied(
    lines: list[bytes], span: tuple[int, int], group: list[_LineEdit], side: int
) -> list[bytes]:
    """The version of one side of the base lines in SPAN."""
    made: list[bytes] = []
    at, end = span
    for edit in group:
        if edit.side == side:
            made += lines[at : edit.start] + edit.lines
            at = edit.end
    return made + lines[at:end]


def _overlapping(lines: list[bytes], group: list[_LineEdit]) -> Iterator[list[_LineEdit]]:
    """Separate edits that only touch from those that change the same lines."""
    cluster = [group[0]]
    start, end = group[0].start, group[0].end
    for edit in group[1:]:
        inside = edit.start < end or (edit.start, edit.end) == (start, end)
        if inside or _continues_what_was_deleted(lines, cluster, edit):
            end = max(end, edit.end)
            cluster.append(edit)
        else:
            yield cluster
            cluster, start, end = [edit], edit.start, edit.end
    yield cluster


def _continues_what_was_deleted(
    lines: list[bytes], cluster: list[_LineEdit], edit: _LineEdit
) -> bool:
    """Whether EDIT appends to the Markdown block that the other side deleted."""
    deleted = cluster[0]
    if len(cluster) > 1 or deleted.lines or edit.start != edit.end or edit.side == deleted.side:
        return False
    first = next((line for line in edit.lines if line.strip()), b"#")
    if _is_heading(first):
        return False
    indented = first[:1] in b" \t"
    return indented or any(map(_is_heading, lines[deleted.start : deleted.end]))


def _append_edit(
    joined_lines: list[bytes], before: _LineEdit | None, edit: _LineEdit
) -> _LineEdit | None:
    """Append an edit without a conflict; lines that its neighbour added, too, are added once.

    Returns the edit as the neighbour of the next one, or None if its lines are shared already.
    """
    if before and before.side != edit.side:
        if edit.start == edit.end and before.lines[-len(edit.lines) :] == edit.lines:
            return None
        shared = len(before.lines)
        if before.start == before.end and edit.lines[:shared] == before.lines:
            joined_lines += edit.lines[shared:]
            return None
    joined_lines += edit.lines
    return edit


def _union(lines: list[bytes], cluster: list[_LineEdit]) -> tuple[list[bytes], int]:
    """Join conflicting edits: shared lines once, then ours, then theirs."""
    span = cluster[0].start, max(edit.end for edit in cluster)
    ours, theirs = (
        [line for edit in cluster if edit.side == side for line in edit.lines]
        for side in (OURS, THEIRS)
    )
    if ours == theirs:
        return ours, 0
    if not ours or not theirs:
        return _applied(lines, span, cluster, OURS if ours else THEIRS), 1
    head, tail = _shared(ours, theirs)
    only_ours, only_theirs = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    both_inserted = span[0] == span[1]
    clean = both_inserted and not (only_ours and only_theirs)
    shared_end = ours[len(ours) - tail :]
    return [*ours[:head], *only_ours, *only_theirs, *shared_end], 0 if clean else 1


def _shared(ours: list[bytes], theirs: list[bytes]) -> tuple[int, int]:
    """The number of lines at the start and at the end that both sides share."""
    head = _common_lines(ours, theirs)
    tail = _common_lines(ours[head:][::-1], theirs[head:][::-1])
    middle = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if not all(middle):
        return head, tail
    # Two blocks follow each other, and each needs its own blank line and last lines:
    # `- **Date:** ...` at the end of both entries is not shared.
    while head and not ours[head - 1].strip():
        head -= 1
    headed = any(_is_heading(line) for lines in middle for line in lines)
    while tail and not _stands_alone(ours[len(ours) - tail], headed):
        tail -= 1
    return head, tail


def _common_lines(ours: list[bytes], theirs: list[bytes]) -> int:
    pairs = zip(ours, theirs, strict=False)
    return next(
        (at for at, (one, other) in enumerate(pairs) if one != other),
        min(len(ours), len(theirs)),
    )


def _stands_alone(line: bytes, below_heading: bool) -> bool:
    """Whether LINE has the same meaning after any other line."""
    return _is_heading(line) or not (below_heading or line[:1].isspace())


def _is_heading(line: bytes) -> bool:
    return line.startswith(b"#")
