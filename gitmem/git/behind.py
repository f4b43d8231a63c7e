"""A branch that is older than its own reflog.

When `git pack-refs` has run and the file of the branch is lost afterwards, git falls back to the
packed value without a word: every write since would be forgotten. The reflog remembers them.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.git.objects import ObjectDamaged, Objects
from gitmem.git.repository import BRANCH, Repository, parse_commit


def logged_after(gitdir: Path, objects: Objects) -> str:
    """Where the reflog saw the branch last, if that is newer than the branch itself; or nothing."""
    from gitmem.git.checks.reffiles import all_refs, read_log  # only where something is lost

    lines, _, _ = read_log(gitdir, BRANCH)
    tip = all_refs(gitdir).get(BRANCH, "")  # after the log: whoever writes does it in that order
    if not lines or not tip or lines[-1].new == tip:
        return ""
    if lines[-1].old == tip and os.path.exists(gitdir / BRANCH):
        return ""  # its writer died between the log and the branch: it was never acknowledged
    oid = lines[-1].new
    while oid and oid != tip:
        try:
            parents = parse_commit(oid, objects.read_as("commit", oid)).parents
        except ObjectDamaged:
            return ""
        oid = parents[0] if parents else ""
    return lines[-1].new if oid else ""


def catch_up(repository: Repository) -> str:
    """Bring a branch that lost its own file to where the reflog saw it; tell the commit."""
    if os.path.exists(repository.gitdir / BRANCH):
        return ""
    repository.tip()  # raises where it is lost altogether
    newer = logged_after(repository.gitdir, repository.objects)
    if newer:
        from gitmem.git.refs import Move, move_ref  # only where something is lost

        move = Move(newer, newer, "recovered from the reflog", int(time.time()))
        try:
            move_ref(repository.gitdir, BRANCH, move)
        except (GitmemError, OSError):
            return ""  # a git command is at work
    return newer
