"""Three-way merging of text by lines, in which no added line is ever lost.

There are no conflict markers: a memory is read by a model, so both versions stand one after the
other and the number of such places is reported. A line that one side removed and the other merely
kept is gone, in a conflict too; only a block that one side removed while the other was still
working on it stays, whole.

By hand instead of pygit2's `merge_file_from_index` and `merge_trees`, which stop or write conflict
markers: git did in 35 of 90 pairs of edits within files, and in 39 of 90 with moves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple


class Hunk(NamedTuple):
    """Lines `a0:a1` of the old text became lines `b0:b1` of the new one (half-open, from 0)."""

    a0: int
    a1: int
    b0: int
    b1: int


def one_hunk(old: bytes, new: bytes) -> Hunk | None:
    """The one range that differs, where no diff could see it otherwise; None where one has to look.

    Most writes replace, append or create. That a line could also belong to the next range, or that
    some of the lines between have stayed, is for a real diff to judge.
    """
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if b"\r" in old or b"\r" in new:
        return None  # to git only a newline ends a line
    start = _common(before, after)
    end = min(_common(before[::-1], after[::-1]), min(len(before), len(after)) - start)
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    around = {*before[max(0, start - 1) : start], *before[len(before) - end :][:1]}
    edges = {*gone[:1], *gone[-1:], *come[:1], *come[-1:]}
    if around & edges or not set(gone).isdisjoint(come):
        return None
    return Hunk(start, start + len(gone), start, start + len(come))


def _common(one: list[bytes], other: list[bytes]) -> int:
    """How many lines are the same from the first on."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


class Merged(NamedTuple):
    """The merged text, and in how many places both versions had to be kept."""

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
    """Join what OURS and THEIRS made of BASE; with BASE None both sides added the file."""
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
        settled, unsettled = _join_touching(lines, group)
        merged += lines[done : group[0].start] + settled
        conflicts += unsettled
        done = max(edit.end for edit in group)
    data = b"".join(merged + lines[done:])
    return Merged(_with_final_ending(data, base, ours, theirs), conflicts)


def split_lines(data: bytes) -> list[bytes]:
    """Cut DATA after every LF as git does; CR, form feeds and the like end no line."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _is_open(data: bytes) -> bool:
    return bool(data) and not data.endswith(b"\n")


def _closed(data: bytes) -> bytes:
    """DATA with its last line ended, so that a missing final newline is no change of that line."""
    if not _is_open(data):
        return data
    before = data[: data.rfind(b"\n") + 1]
    # After a bare CR the longer ending, or `_opened` could not tell what was added.
    return data + (b"\r\n" if before.endswith(b"\r\n") or data.endswith(b"\r") else b"\n")


def _opened(data: bytes) -> bytes:
    return data[: -2 if data.endswith(b"\r\n") else -1]


def _with_final_ending(data: bytes, base: bytes, ours: bytes, theirs: bytes) -> bytes:
    """Leave the last line without an ending where the sides agree to, or one side made it so."""
    agreed = _is_open(ours) == _is_open(theirs)
    if not agreed and _is_open(base):
        return data
    last = split_lines(data)[-1:]
    # Not by vote alone: the line that lacked its ending may now stand in the middle.
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
    """Join edits that touch each other; every base line they span is changed by at least one."""
    span = group[0].start, max(edit.end for edit in group)
    if _applied(lines, span, group, OURS) == (both := _applied(lines, span, group, THEIRS)):
        return both, 0
    settled: list[bytes] = []
    conflicts = 0
    before: _LineEdit | None = None
    for cluster in _overlapping(lines, group):
        if len(cluster) == 1:
            before = _place(settled, before, cluster[0])
        else:
            joined, unsettled = _union(lines, cluster)
            settled += joined
            conflicts += unsettled
            before = None
    return settled, conflicts


def _applied(
    lines: list[bytes], span: tuple[int, int], group: list[_LineEdit], side: int
) -> list[bytes]:
    """What one side made of the base lines in SPAN."""
    made: list[bytes] = []
    at, end = span
    for edit in group:
        if edit.side == side:
            made += lines[at : edit.start] + edit.lines
            at = edit.end
    return made + lines[at:end]


def _overlapping(lines: list[bytes], group: list[_LineEdit]) -> Iterator[list[_LineEdit]]:
    """Part edits that merely touch, which is no conflict, from those that claim the same place."""
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
    """Whether EDIT adds to the end of the very Markdown block that the other side deleted."""
    deleted = cluster[0]
    if len(cluster) > 1 or deleted.lines or edit.start != edit.end or edit.side == deleted.side:
        return False
    first = next((line for line in edit.lines if line.strip()), b"#")
    if _is_heading(first):
        return False
    indented = first[:1] in b" \t"
    return indented or any(map(_is_heading, lines[deleted.start : deleted.end]))


def _place(settled: list[bytes], before: _LineEdit | None, edit: _LineEdit) -> _LineEdit | None:
    """Append an edit that is alone in its place; lines its neighbour brought too come once.

    Gives the edit as the next one's neighbour, or None when its lines are already shared.
    """
    if before and before.side != edit.side:
        if edit.start == edit.end and before.lines[-len(edit.lines) :] == edit.lines:
            return None
        shared = len(before.lines)
        if before.start == before.end and edit.lines[:shared] == before.lines:
            settled += edit.lines[shared:]
            return None
    settled += edit.lines
    return edit


def _union(lines: list[bytes], cluster: list[_LineEdit]) -> tuple[list[bytes], int]:
    """Join edits that claim the same place: what both added once, then ours, then theirs."""
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
    """How many lines at the start and at the end both have, and may be written once for both."""
    head = _common_lines(ours, theirs)
    tail = _common_lines(ours[head:][::-1], theirs[head:][::-1])
    middle = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    if not all(middle):
        return head, tail
    # Two blocks follow each other now, and each needs its own blank line and its own last lines:
    # `- **Date:** ...` at the end of both entries is not one line that stands below both.
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
    """Whether LINE says the same whatever stands before it."""
    return _is_heading(line) or not (below_heading or line[:1].isspace())


def _is_heading(line: bytes) -> bool:
    return line.startswith(b"#")


# Compiled where they are needed: nearly no file has a line that could be a marker.
_MARKER = rb"(<{7}|>{7})(?: |$)|(={7})$"
_FENCE = rb" {0,3}(`{3,}(?=[^`]*$)|~{3,})(.*)"


def conflicts(data: bytes) -> list[int]:
    """The line on which each full set of markers begins."""
    if b"<<<<<<<" not in data or b">>>>>>>" not in data:
        return []
    found: list[int] = []
    fence, start, parted = b"", 0, False
    for number, line in enumerate(data.split(b"\n"), 1):
        mark = re.match(_MARKER, line.rstrip(b"\r"))
        sign = (mark[1] or mark[2])[:1] if mark else b""
        if sign == b"<" and not fence:
            start, parted = number, False
        elif sign == b"=" and start:
            parted = True
        elif sign == b">" and parted:
            found.append(start)
            fence, start, parted = b"", 0, False
        elif not sign:
            fence = _fence_after(fence, line.rstrip(b"\r"))
    return found


def new_conflicts(data: bytes, before: bytes | None) -> list[int]:
    """The same, where there are more of them than in the version BEFORE."""
    found = conflicts(data)
    return found if found and len(found) > len(conflicts(before or b"")) else []


def _fence_after(fence: bytes, line: bytes) -> bytes:
    """What opened the code in which the next line stands; nothing outside of code."""
    found = re.match(_FENCE, line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not found[2].strip()
    return b"" if closes else fence
