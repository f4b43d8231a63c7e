"""Leave files on disk and out of memory, for good: not captured, not held, not asked about."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gitmem.errors import BadInput, NotFound, Refused, SecretFound
from gitmem.memory.group import Group
from gitmem.memory.read.read import near_misses
from gitmem.model.guards import check_message_text
from gitmem.model.ignore import IgnorePattern, check_pattern, is_pattern, literal
from gitmem.model.layout.layout import FILE as LAYOUT_FILE
from gitmem.model.record import Record
from gitmem.model.text.format import quoted
from gitmem.store.repository import Snapshot
from gitmem.store.worktree.held import HeldFolder
from gitmem.store.worktree.ignored import Ignored, Ignoring
from gitmem.store.worktree.worktree import WorkTree


class HeldIgnored(Record):
    """A pattern that counts now, or would."""

    pattern: str
    added: bool
    """False when it counted before."""
    paths: tuple[str, ...]
    """What it fits now in the work tree."""
    in_history: tuple[str, ...]
    """What it fits and git has: memory, and not ignored."""
    near: tuple[str, ...] = ()
    """Where it fits nothing at all: files whose names are spelled alike."""


class HeldAsked(Record):
    """A pattern that counts no more."""

    pattern: str


class IgnoredRow(Record):
    """A pattern of a list."""

    pattern: str
    at: str
    agent: str
    reason: str
    paths: int
    """How many files it fits now."""


def held_ignore(group: Group, what: str, *, reason: str = "", dry_run: bool = False) -> HeldIgnored:
    """Ignore the file or folder WHAT, or everything that fits the pattern WHAT."""
    check_message_text("reason", reason)
    _check_no_secret(what)
    _check_no_id(group, what)
    snapshot = group.repository.snapshot()
    text = _pattern(group, snapshot, what)
    pattern = IgnorePattern(text)
    known = [path for path, _ in snapshot.files() if pattern.fits(path)]
    standing = tuple(_standing(group, snapshot))
    found = tuple(path for path in standing if pattern.fits(path))
    done = HeldIgnored(text, True, found, tuple(known))
    if not (found or known):
        done = done._replace(near=tuple(near_misses(text.strip("/"), list(standing))))
    if dry_run:
        return done
    with group.writing():
        ignored = Ignored(group.gitdir)
        if any(row.pattern == text for row in ignored.rows):
            return done._replace(added=False)
        row = Ignoring(text, group.now().isoformat(), group.who.agent, reason)
        ignored.keep((*ignored.rows, row))
    return done


def _check_no_secret(what: str) -> None:
    try:
        check_message_text("pattern", what)
    except SecretFound as error:
        error.hint = "put * in the place of the value, or rename the file"
        raise


def _check_no_id(group: Group, what: str) -> None:
    """Refuse the id of a version that was set aside: it is no file that could be left on disk."""
    aside = next((each for each in HeldFolder(group.gitdir) if each.id == what), None)
    if aside:
        raise BadInput(
            f"{what!r} is the id of a held version, not a path or a pattern",
            hint=f"name the file: `gitmem held ignore {quoted(aside.path)}`",
        )


def held_ask(group: Group, what: str) -> HeldAsked:
    """Take back a decision to ignore: what it fits is captured or held again."""
    with group.writing():
        ignored = Ignored(group.gitdir)
        path = what.strip("/").removeprefix("./")
        names = (what, what.removeprefix("./"), literal(path), literal(path, folder=True))
        text = next((row.pattern for row in ignored.rows if row.pattern in names), "")
        if not text:
            raise NotFound(
                f"no pattern {what!r} is ignored",
                hint="list them: `gitmem held ignore --list`",
            )
        ignored.keep([row for row in ignored.rows if row.pattern != text])
        # What nobody had to look at may have to be captured now.
        from gitmem.cache.progress import forget_quiet

        forget_quiet(group.gitdir)
    return HeldAsked(text)


def held_ignored(group: Group) -> tuple[IgnoredRow, ...]:
    """The patterns that count, with how many files each fits."""
    rows = Ignored(group.gitdir).rows
    standing = list(_standing(group, group.repository.snapshot())) if rows else []
    return tuple(
        IgnoredRow(*row, sum(map(IgnorePattern(row.pattern).fits, standing))) for row in rows
    )


def _pattern(group: Group, snapshot: Snapshot, what: str) -> str:
    """The pattern that is meant: what exists is meant itself, whatever signs its name has."""
    root = f"{group.worktree}/"
    path = what.removeprefix(root) if what.startswith(root) else what
    path = path.removeprefix("./").rstrip("/")
    exact = path.lstrip("/")
    parts = exact.split("/")
    inside = bool(exact) and ".." not in parts and "." not in parts
    if inside and snapshot.node(exact) and not is_pattern(exact):
        raise _in_history(exact)
    place = group.worktree / exact
    if inside and os.path.lexists(place):
        if snapshot.node(exact):
            raise _in_history(exact)
        return literal(exact, folder=stat.S_ISDIR(place.lstat().st_mode))
    return check_pattern(path + "/" * what.endswith("/"))


def _in_history(path: str) -> Refused:
    return Refused(
        f"{path!r} is in this group's history, so it cannot be ignored",
        hint="" if path == LAYOUT_FILE else f"archive it first: `gitmem rm {quoted(path)}`",
        path=path,
        rule="in-history",
    )


def _standing(group: Group, snapshot: Snapshot) -> Iterator[str]:
    """Everything in the work tree that HEAD does not have."""
    if not group.worktree.is_dir():
        return
    worktree = WorkTree(group.worktree)
    try:
        scope = group.repository.scope(snapshot)
        for path, found in worktree.scan(keeps=scope.keeps if scope else None):
            if snapshot.node(path) is None:
                yield path + "/" * stat.S_ISDIR(found.st_mode)
    finally:
        worktree.close()
