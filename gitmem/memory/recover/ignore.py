"""Ignore files: they stay on disk, and are neither captured nor held."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from gitmem.errors import BadInput, NotFound, Refused, SecretFound
from gitmem.memory.group import Group
from gitmem.memory.read.read import near_misses
from gitmem.model.guards import check_message_text
from gitmem.model.hints import Hint, call
from gitmem.model.ignore import IgnorePattern, check_pattern, is_pattern, literal
from gitmem.model.layout.layout import FILE as LAYOUT_FILE
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.worktree.held import HeldFolder
from gitmem.store.worktree.ignored import Ignored, Ignoring
from gitmem.store.worktree.worktree import WorkTree


class HeldIgnored(Record):
    """A pattern that is ignored now, or would be."""

    pattern: str
    added: bool
    """False if it was ignored before."""
    paths: tuple[str, ...]
    """The files in the work tree that it matches."""
    in_history: tuple[str, ...]
    """The files of HEAD that it matches; they are memory and stay so."""
    near: tuple[str, ...] = ()
    """If it matches nothing: files with similar names."""


class HeldAsked(Record):
    """A pattern that is no longer ignored."""

    pattern: str


class IgnoredRow(Record):
    """A pattern that is ignored."""

    pattern: str
    at: str
    agent: str
    reason: str
    paths: int
    """How many files it matches now."""


def held_ignore(group: Group, what: str, *, reason: str = "", dry_run: bool = False) -> HeldIgnored:
    """Ignore the file or folder WHAT, or everything that matches the pattern WHAT."""
    check_message_text("reason", reason)
    _check_no_secret(what)
    _check_no_id(group, what)
    snapshot = group.repository.snapshot()
    text = _pattern(group, snapshot, what)
    pattern = IgnorePattern(text)
    known = [path for path, _ in snapshot.files() if pattern.fits(path)]
    others = tuple(_untracked(group, snapshot))
    found = tuple(path for path in others if pattern.fits(path))
    done = HeldIgnored(text, True, found, tuple(known))
    if not (found or known):
        done = done._replace(near=tuple(near_misses(text.strip("/"), list(others))))
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
        error.hint = "write * in place of the value, or rename the file"
        raise


def _check_no_id(group: Group, what: str) -> None:
    """Refuse the id of a version that was set aside: it names no file on disk."""
    aside = next((each for each in HeldFolder(group.gitdir) if each.id == what), None)
    if aside:
        raise BadInput(
            f"{what!r} is the id of a held version, not a path or a pattern",
            hint=Hint("name the file: ", call("held ignore", aside.path)),
        )


def held_ask(group: Group, what: str) -> HeldAsked:
    """Stop ignoring a path or a pattern: its files are captured or held again."""
    with group.writing():
        ignored = Ignored(group.gitdir)
        path = what.strip("/").removeprefix("./")
        names = (what, what.removeprefix("./"), literal(path), literal(path, folder=True))
        text = next((row.pattern for row in ignored.rows if row.pattern in names), "")
        if not text:
            raise NotFound(
                f"no pattern {what!r} is ignored",
                hint=Hint(call("held ignore", list=True), " lists the patterns"),
            )
        ignored.keep([row for row in ignored.rows if row.pattern != text])
        # A quiet group may have files to capture now.
        from gitmem.cache.progress import forget_quiet

        forget_quiet(group.gitdir)
    return HeldAsked(text)


def held_ignored(group: Group) -> tuple[IgnoredRow, ...]:
    """The ignored patterns, with how many files each matches."""
    rows = Ignored(group.gitdir).rows
    others = list(_untracked(group, group.repository.snapshot())) if rows else []
    return tuple(
        IgnoredRow(*row, sum(map(IgnorePattern(row.pattern).fits, others))) for row in rows
    )


def _pattern(group: Group, snapshot: Snapshot, what: str) -> str:
    """WHAT as a pattern; an existing file stands for itself, whatever characters its name has."""
    root = f"{group.worktree}/"
    path = what.removeprefix(root) if what.startswith(root) else what
    path = path.removeprefix("./").rstrip("/")
    exact = path.lstrip("/")
    parts = exact.split("/")
    inside = bool(exact) and ".." not in parts and "." not in parts
    if inside and snapshot.node(exact) and not is_pattern(exact):
        raise _in_history(exact)
    location = group.worktree / exact
    if inside and os.path.lexists(location):
        if snapshot.node(exact):
            raise _in_history(exact)
        return literal(exact, folder=stat.S_ISDIR(location.lstat().st_mode))
    return check_pattern(path + "/" * what.endswith("/"))


def _in_history(path: str) -> Refused:
    return Refused(
        f"git has {path!r}, so it cannot be ignored",
        hint="" if path == LAYOUT_FILE else Hint("archive it first: ", call("rm", path)),
        path=path,
        rule="in-history",
    )


def _untracked(group: Group, snapshot: Snapshot) -> Iterator[str]:
    """The files and folders of the work tree that SNAPSHOT does not have."""
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
