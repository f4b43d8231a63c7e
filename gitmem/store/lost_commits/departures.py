"""Find commits that left the branch, and keep those that only the reflog still leads to.

Git moves a branch without comparing in several places: `git stash` and `git reset --hard` read HEAD
first and set the branch at the end, so a commit that came in between leaves it. The reflog tells
that from a move that a person meant.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.store.history.ancestry import is_behind, only_behind, reached, readable_commit
from gitmem.store.lost_commits.reflog import (
    last_logged,
    logged_parents,
    moves_from,
    readable_before,
)
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import VERIFIED, ZERO, LogLine, all_refs, parse_log, read_log
from gitmem.store.repository import BRANCH, branch_file

if TYPE_CHECKING:
    from gitmem.store.repository import Repository

# Names of the commit that the branch is at: a person who typed one, or ran `git stash`, did not
# mean to move the branch. The abort of a rebase sets it to where it was when the rebase began.
_UNMEANT = (
    r"reset: moving to (HEAD|@|main|heads/main|refs/heads/main)([~^]0)?"
    r"|rebase \(abort\): .*|am --abort"
)
READ_TO = "gitmem/log-seen"
"""How far `keep_lost` read the reflog: its size then, and a checksum of its end."""
_TAIL = 4096
_FORWARD = ("commit:", "commit (merge):", "commit (initial):", "cherry-pick:", "revert:")


class Departure(NamedTuple):
    """Published commits that are no longer on the branch."""

    heads: tuple[str, ...]
    """The commits that lead to all of them, the newest move first."""
    meant: bool
    """True when a person moved the branch on purpose."""
    how: str
    """The message of the move in the reflog; or empty."""


def departure(gitdir: Path, objects: Objects, published: str, tip: str) -> Departure | None:
    """The commits that left the branch, now at TIP, since it was PUBLISHED; None for none.

    Commits that cannot be read are among them: the reflog knows their parents.
    """
    with suppress(ObjectDamaged):
        if is_behind(objects, published, tip):
            return None
    lines = read_log(gitdir, BRANCH).lines
    if _is_pending(gitdir, lines, published, tip):
        lines = lines[:-1]
    logged = logged_parents(lines)
    # One walk: a person's month with git has thousands of moves.
    there = reached(objects, tip, logged=logged)
    since = _since(lines, published)
    if published in there or (since is None and not objects.holds(published)):
        return None
    if since is None:  # the log was cut: a person did that
        return Departure((published,), not _is_without_traces(gitdir), "")
    lost = [oid for line in since for oid in line[:2] if oid not in there and oid != ZERO]
    moves = [
        line.message
        for line in since
        # Commits on the branch lead to no lost one, so only the lost ones are walked.
        if line.old not in there and line.old not in reached(objects, line.new, there, logged)
    ]
    meant = [each for each in moves if not re.fullmatch(_UNMEANT, each)]
    left = [*reversed(lost), published]
    if meant:  # a person who rewrote history may have pruned it, too
        left = [readable_before(objects, oid, logged) for oid in left]
    heads = outermost(objects, dict.fromkeys(filter(None, left)), there, logged)
    return Departure(heads, bool(meant), (meant or moves or [""])[-1]) if heads else None


def _is_pending(gitdir: Path, lines: Sequence[LogLine], published: str, tip: str) -> bool:
    """True while the writer of the last line is between the log and the branch, or died there."""
    if not lines or lines[-1].old != tip or lines[-1].new in (tip, published):
        return False
    return bool(branch_file(gitdir))


def _is_without_traces(gitdir: Path) -> bool:
    """True where both the branch's file and its reflog are lost: no person does that."""
    return not branch_file(gitdir) and not last_logged(gitdir)


def _since(lines: Sequence[LogLine], published: str) -> Sequence[LogLine] | None:
    """The moves after the branch was at PUBLISHED; None when the log does not name that commit."""
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].new == published:
            return lines[at + 1 :]
        if lines[at].old == published:
            return lines[at:]
    return None


def outermost(
    objects: Objects, heads: Iterable[str], there: set[str], logged: Mapping[str, str]
) -> tuple[str, ...]:
    """Those of HEADS that are not THERE, and that no other head leads to."""
    found: list[str] = []
    covered = set(there)
    for oid in heads:
        if oid not in covered:
            behind = reached(objects, oid, there, logged)
            covered |= behind
            found = [*(each for each in found if each not in behind), oid]
    return tuple(found)


def lost_heads(
    gitdir: Path, refs: Mapping[str, str], objects: Objects, lines: Sequence[LogLine]
) -> dict[str, str]:
    """The commits in LINES that no person let go and that no ref but VERIFIED leads to.

    Newest first, with the message of the move; one that leads to others stands for them. The cost
    is that of one walk through the commits, whatever the number of moves, and less for none.
    """
    from gitmem.store.lost_commits.kept import let_go

    logged, gone = logged_parents(lines), let_go(gitdir)
    left = [*_left_behind(objects, lines), refs.get(VERIFIED, "")]
    found = filter(None, (readable_before(objects, oid, logged) for oid in left))
    heads = [
        oid for oid in dict.fromkeys(found) if oid not in gone and readable_commit(objects, oid)
    ]
    tips = [_peeled(objects, oid) for name, oid in refs.items() if name != VERIFIED]
    if not only_behind(objects, heads, tips):
        return {}
    there: set[str] = set()
    for tip in tips:
        there |= reached(objects, tip, there)
    messages = moves_from(lines)
    return {oid: messages.get(oid, "") for oid in outermost(objects, heads, there, {})}


def _peeled(objects: Objects, oid: str) -> str:
    """The object that an annotated tag names; OID itself for any other object."""
    with suppress(ObjectDamaged):
        kind, data = objects.read(oid)
        return data[7:47].decode("ascii", "replace") if kind == "tag" else oid
    return oid


def _left_behind(objects: Objects, lines: Sequence[LogLine]) -> Iterator[str]:
    """The commits that a move may have led away from, newest first."""
    if lines:
        yield lines[-1].new
    for at in range(len(lines) - 1, -1, -1):
        line = lines[at]
        if line.old != ZERO and not _leads_on(objects, line):
            yield line.old
        if at and lines[at - 1].new not in (line.old, ZERO):
            yield lines[at - 1].new


def _leads_on(objects: Objects, line: LogLine) -> bool:
    """True for a move of ours, and for a commit on top of another."""
    if line.is_ours and not line.message.startswith("check: "):
        return True
    commit = readable_commit(objects, line.new)
    return commit is not None and line.old in commit.parents


def keep_lost(repository: Repository) -> Iterator[tuple[str, str]]:
    """Keep every commit that only the reflog leads to; yields it and what was done.

    Needs the group's lock.
    """
    from gitmem.store.lost_commits.kept import keep, kept_name, kept_refs, release
    from gitmem.store.lost_commits.rebuild import note_rebuilt, rebuild_line

    gitdir = repository.gitdir
    size = _size(gitdir)  # first: lines that come meanwhile are read next time
    lines = read_log(gitdir, BRANCH).lines
    with repository.objects.probing():
        lost = lost_heads(gitdir, all_refs(gitdir), repository.objects, lines)
    for oid in (*kept_refs(gitdir).values(), *lost):
        line = rebuild_line(repository, oid)
        if line.made or oid in lost:
            keep(repository, line.head)
            note_rebuilt(gitdir, line)
            yield oid, "; ".join(filter(None, (f"kept as {kept_name(line.head)}", line.loss)))
        if line.head != oid:
            release(repository, oid)  # a kept line may have been damaged since
    for oid in kept_refs(gitdir).values():
        with suppress(ObjectDamaged):
            if is_behind(repository.objects, oid, repository.tip()):
                release(repository, oid)  # it is part of the branch again
    _remember(gitdir, size)


def _size(gitdir: Path) -> int:
    with suppress(OSError):
        return os.stat(gitdir / "logs" / BRANCH).st_size
    return 0


def may_be_lost(gitdir: Path) -> bool:
    """False when no move of the branch since `keep_lost` can have led away from a commit."""
    lines = parse_log(_unread(gitdir)).lines
    return any(map(_may_lead_away, lines)) or any(a.new != b.old for a, b in pairwise(lines))


def _may_lead_away(line: LogLine) -> bool:
    text = line.message
    return text.startswith("check: ") if line.is_ours else not text.startswith(_FORWARD)


def _unread(gitdir: Path) -> bytes:
    """The part of the reflog that came since `keep_lost`; all of it where that is unknown."""
    try:
        raw = (gitdir / "logs" / BRANCH).read_bytes()
    except OSError:
        return b""
    with suppress(OSError, ValueError):
        size, mark = map(int, (gitdir / READ_TO).read_bytes().split())
        if mark == _mark(raw[:size]):
            return raw[size:]
    return raw


def _remember(gitdir: Path, size: int) -> None:
    from gitmem.store.durable import write_durably

    with suppress(OSError):
        raw = (gitdir / "logs" / BRANCH).read_bytes()[:size]
        write_durably(gitdir / READ_TO, b"%d %d\n" % (len(raw), _mark(raw)))


def _mark(raw: bytes) -> int:
    return zlib.crc32(raw[-_TAIL:])
