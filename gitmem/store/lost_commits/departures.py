"""Where the branch was, by its own file, its reflog and the last published tip.

Git moves a branch without comparing in several places: `git stash` and `git reset --hard` read HEAD
first and set the branch at the end, so a commit that came in between leaves it. And where
`git pack-refs` has run and the file of the branch is lost afterwards, git falls back to the packed
value without a word. The reflog tells one from the other, and both from what somebody meant.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.store.history.ancestry import is_behind, reached
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.repository import BRANCH, BranchLost, branch_file

if TYPE_CHECKING:
    from gitmem.store.refs.files import LogLine

_TAIL = 4096
ZERO = "0" * 40
# Names of the commit that the branch is at: whoever typed one, or ran `git stash`, did not mean to
# move the branch at all. The abort of a rebase sets it to where it was when the rebase began.
_UNMEANT = (
    r"reset: moving to (HEAD|@|main|heads/main|refs/heads/main)([~^]0)?"
    r"|rebase \(abort\): .*|am --abort"
)


class Departure(NamedTuple):
    """Published commits that are not on the branch any more."""

    heads: tuple[str, ...]
    """The commits that lead to all of them, the newest move first."""
    meant: bool
    """True when somebody moved the branch on purpose."""
    how: str
    """What the reflog says about it; empty when it says nothing."""


def last_logged(gitdir: Path) -> str:
    """The commit to which the newest sound line of the reflog moved the branch; or nothing."""
    from gitmem.store.refs.files import parse_log  # only where the branch has no file

    with suppress(OSError), open(gitdir / "logs" / BRANCH, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _TAIL))
        lines, _, _ = parse_log(file.read())
        return lines[-1].new if lines else ""
    return ""


def without_file(gitdir: Path, objects: Objects, packed: str) -> str:
    """Where a branch without a file of its own is: at its PACKED value, or where it was logged."""
    logged = last_logged(gitdir)
    if logged in ("", ZERO, packed):
        return packed
    try:
        return logged if is_behind(objects, packed, logged) else packed
    except ObjectDamaged as damage:
        raise BranchLost(
            f"the file of the branch is lost, and commit {logged[:10]}, where its reflog saw it "
            "last, cannot be read",
            hint="run `gitmem check --repair`",
            ref=BRANCH,
        ) from damage


def logged_after(gitdir: Path, objects: Objects) -> str:
    """Where the reflog saw the branch last, if that is newer than the branch itself; or nothing."""
    from gitmem.store.refs.files import all_refs, read_log

    lines, _, _ = read_log(gitdir, BRANCH)
    tip = all_refs(gitdir).get(BRANCH, "")  # after the log: whoever writes does it in that order
    if not lines or not tip or lines[-1].new == tip:
        return ""
    if lines[-1].old == tip and os.path.exists(gitdir / BRANCH):
        return ""  # its writer died between the log and the branch: it was never acknowledged
    with suppress(ObjectDamaged):
        if is_behind(objects, tip, lines[-1].new):
            return lines[-1].new
    return ""


def departure(gitdir: Path, objects: Objects, published: str, tip: str) -> Departure | None:
    """What left the branch since it was PUBLISHED, which is at TIP now; None when nothing did.

    A commit that cannot be read is part of it: the reflog knows what it was built on.
    """
    from gitmem.store.refs.files import read_log

    with suppress(ObjectDamaged):
        if is_behind(objects, published, tip):
            return None
    lines, _, _ = read_log(gitdir, BRANCH)
    if _is_pending(gitdir, lines, published, tip):
        lines = lines[:-1]
    logged = logged_parents(lines)
    # One walk: a person's month with git has thousands of moves.
    there = reached(objects, tip, logged=logged)
    since = _since(lines, published)
    if published in there or (since is None and not objects.holds(published)):
        return None
    if since is None:  # somebody cut the log: then they meant it
        return Departure((published,), not _is_without_traces(gitdir), "")
    lost = [oid for line in since for oid in line[:2] if oid not in there and oid != ZERO]
    said = [
        line.message
        for line in since
        # Nothing that is there leads to what is not, so only the lost ones are walked.
        if line.old not in there and line.old not in reached(objects, line.new, there, logged)
    ]
    meant = [each for each in said if not re.fullmatch(_UNMEANT, each)]
    wanted = [*reversed(lost), published]
    if meant:  # whoever rewrote history may have pruned it, too
        wanted = [readable_before(objects, oid, logged) for oid in wanted]
    heads = outermost(objects, dict.fromkeys(filter(None, wanted)), there, logged)
    return Departure(heads, bool(meant), (meant or said or [""])[-1]) if heads else None


def _is_pending(gitdir: Path, lines: Sequence[LogLine], published: str, tip: str) -> bool:
    """True while the newest line is of somebody who is between the log and the branch, or died."""
    if not lines or lines[-1].old != tip or lines[-1].new in (tip, published):
        return False
    return bool(branch_file(gitdir))


def _is_without_traces(gitdir: Path) -> bool:
    """True where neither the branch's own file nor its reflog is there: nobody does that."""
    return not branch_file(gitdir) and not last_logged(gitdir)


def _since(lines: Sequence[LogLine], published: str) -> Sequence[LogLine] | None:
    """The moves after the branch was at PUBLISHED; None when the log does not know that commit."""
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].new == published:
            return lines[at + 1 :]
        if lines[at].old == published:
            return lines[at:]
    return None


def logged_parents(lines: Iterable[LogLine]) -> dict[str, str]:
    """What each commit was built on, by the move that brought it: known even if it is damaged."""
    found: dict[str, str] = {}
    for line in lines:
        if line.old != ZERO:
            found.setdefault(line.new, line.old)
    return found


def readable_before(objects: Objects, oid: str, logged: Mapping[str, str]) -> str:
    """OID, or what it was built on if it cannot be read, and so on; or nothing."""
    seen: set[str] = set()
    while oid and not objects.holds(oid):
        seen.add(oid)
        oid = logged.get(oid, "")
        if oid in seen:
            return ""
    return oid


def outermost(
    objects: Objects, heads: Iterable[str], there: set[str], logged: Mapping[str, str]
) -> tuple[str, ...]:
    """Those of HEADS that are not THERE, and that no other one leads to."""
    found: list[str] = []
    covered = set(there)
    for oid in heads:
        if oid not in covered:
            behind = reached(objects, oid, there, logged)
            covered |= behind
            found = [*(each for each in found if each not in behind), oid]
    return tuple(found)


def logged_commit(gitdir: Path, base: str, tip: str, is_ours: Callable[[str], bool]) -> str:
    """The commit on BASE for which IS_OURS holds, if the branch was moved to it; or nothing.

    A line of the reflog alone is no proof: it is written before the branch moves. The next line
    tells where the branch was, or the branch itself does.
    """
    from gitmem.store.refs.files import read_log

    lines, _, _ = read_log(gitdir, BRANCH)
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].old == base and is_ours(lines[at].new):
            if at + 1 < len(lines):
                landed = lines[at + 1].old == lines[at].new
            else:
                landed = tip == lines[at].new or not branch_file(gitdir)
            return lines[at].new if landed else ""
    return ""
