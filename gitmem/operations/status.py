"""How a group is, on one screen."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from gitmem.errors import Damaged
from gitmem.git.held import HeldFolder
from gitmem.git.intake import Holding
from gitmem.git.lock import Lock, lock_path
from gitmem.git.repository import BRANCH
from gitmem.operations.group import Group
from gitmem.operations.log import Entry, iter_log
from gitmem.operations.pending import PendingEdit, pending_edits

RECENT = 50
"""How many commits back violations are looked for."""


class Status(NamedTuple):
    """The state of a group."""

    group: str
    worktree: str
    commit: str
    health: str
    """ok, edited, held, pending, elsewhere (HEAD moved by hand) or damaged: WHY"""
    files: int
    last: Entry | None
    edits: tuple[PendingEdit, ...]
    held: tuple[Holding, ...]
    set_aside: int
    violations: tuple[Entry, ...]
    """Recent captures that broke a rule, whose files have not changed since."""
    ignored: int


def status(group: Group) -> Status:
    """What is there, what is not committed, what is held, and whether all is well."""
    tip = group.repository.tip().commit
    recent: list[Entry] = []
    with suppress(Damaged):  # one old commit that cannot be read is no reason to say nothing
        recent.extend(islice(iter_log(group), RECENT))
    violations = tuple(each for each in recent if each.violations and _stands(group, each))
    scan = pending_edits(group)
    last = next((entry for entry in recent if entry.op != "init"), None)
    files = sum(1 for _ in group.repository.snapshot(tip).files())
    aside = sum(1 for _ in HeldFolder(group.gitdir))
    health = health_of(group)
    if health == "ok" and (scan.held or scan.edits):
        health = "held" if scan.held else "edited"
    return Status(
        group.name,
        str(group.worktree),
        tip,
        health,
        files,
        last,
        scan.edits,
        scan.held,
        aside,
        violations,
        scan.ignored,
    )


def _stands(group: Group, entry: Entry) -> bool:
    """True while a file that a commit changed still is as it left it."""
    with suppress(Damaged):
        then, now = group.repository.snapshot(entry.commit), group.repository.snapshot()
        return any(then.oid(path) == now.oid(path) for path in entry.paths)
    return True


def health_of(group: Group) -> str:
    """In a word, without looking at every file."""
    try:
        group.repository.snapshot().folder("")
    except Damaged as error:
        return f"damaged: {error.message}"
    branch = group.repository.head_branch()
    if branch is None and not group.repository.is_detached():
        return "damaged: HEAD cannot be read"
    if branch != BRANCH:
        return "elsewhere"
    if not group.worktree.is_dir():
        return "damaged: no work tree"
    return "pending" if Lock(lock_path(group.gitdir)).peek() else "ok"
