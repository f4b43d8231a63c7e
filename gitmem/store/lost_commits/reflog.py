"""Where the branch was, by its own file and its reflog.

Where `git pack-refs` has run and the file of the branch is lost afterwards, git falls back to the
packed value without a word. The reflog remembers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.model.hints import Hint, call
from gitmem.store.history.ancestry import is_behind
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.refs.files import ZERO, LogLine, all_refs, parse_log, read_log
from gitmem.store.repository import BRANCH, BranchLost, branch_file

_TAIL = 4096


def last_logged(gitdir: Path) -> str:
    """The commit to which the last sound line of the reflog moved the branch; or empty."""
    with suppress(OSError), open(gitdir / "logs" / BRANCH, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - _TAIL))
        lines = parse_log(file.read()).lines
        return lines[-1].new if lines else ""
    return ""


def without_file(gitdir: Path, objects: Objects, packed: str) -> str:
    """The commit of a branch without a loose ref: the PACKED one, or a newer one in its log."""
    logged = last_logged(gitdir)
    if logged in ("", ZERO, packed):
        return packed
    try:
        return logged if is_behind(objects, packed, logged) else packed
    except ObjectDamaged as damage:
        raise BranchLost(
            f"the file of the branch is lost, and commit {logged[:10]}, the last one in its "
            "reflog, cannot be read",
            hint=Hint("run ", call("check", repair=True)),
            ref=BRANCH,
        ) from damage


def logged_after(gitdir: Path, objects: Objects) -> str:
    """The last commit in the reflog if it is newer than the branch; or empty."""
    lines = read_log(gitdir, BRANCH).lines
    tip = all_refs(gitdir).get(BRANCH, "")  # after the log: writers move them in that order
    if not lines or not tip or lines[-1].new == tip:
        return ""
    if lines[-1].old == tip and os.path.exists(gitdir / BRANCH):
        return ""  # its writer died between the log and the branch: it was never acknowledged
    with suppress(ObjectDamaged):
        if is_behind(objects, tip, lines[-1].new):
            return lines[-1].new
    return ""


def logged_commit(gitdir: Path, base: str, tip: str, is_ours: Callable[[str], bool]) -> str:
    """The commit on BASE for which IS_OURS holds, if the branch was moved to it; or empty.

    A line of the reflog alone is no proof: it is written before the branch moves. The next line
    tells where the branch was, or the branch itself does.
    """
    lines = read_log(gitdir, BRANCH).lines
    for at in range(len(lines) - 1, -1, -1):
        if lines[at].old == base and is_ours(lines[at].new):
            if at + 1 < len(lines):
                moved = lines[at + 1].old == lines[at].new
            else:
                moved = tip == lines[at].new or not branch_file(gitdir)
            return lines[at].new if moved else ""
    return ""


def logged_parents(lines: Iterable[LogLine]) -> dict[str, str]:
    """The parent of each commit by the move that brought it: known even of a damaged commit."""
    found: dict[str, str] = {}
    for line in lines:
        if line.old != ZERO:
            found.setdefault(line.new, line.old)
    return found


def moves_from(lines: Iterable[LogLine]) -> dict[str, str]:
    """The message of the move that led away from each commit, where others moved the branch."""
    return {line.old: line.message for line in lines if not line.is_ours}


def logged_ids(gitdir: Path, *names: str) -> set[str]:
    """The commits in the reflogs of NAMES."""
    lines = (line for name in names for line in read_log(gitdir, name).lines)
    return {oid for line in lines for oid in (line.old, line.new)}


def readable_before(objects: Objects, oid: str, logged: Mapping[str, str]) -> str:
    """OID, or its nearest LOGGED ancestor that can be read; or empty."""
    tried: set[str] = set()
    while oid and not objects.holds(oid):
        tried.add(oid)
        oid = logged.get(oid, "")
        if oid in tried:
            return ""
    return oid
