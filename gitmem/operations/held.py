"""Edits that may not enter git: what they are, and what to do with them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from typing import NamedTuple

from gitmem.core.guards import NAME_RULE
from gitmem.core.secrets import redact
from gitmem.errors import NotFound, Refused
from gitmem.git.held import HeldFolder, SetAside
from gitmem.git.intake import Captured, Holding
from gitmem.git.worktree import Seen, WorkTree, obstacle_in
from gitmem.operations.group import Group
from gitmem.operations.pending import pending_edits
from gitmem.operations.place import check_place

NEVER = ("path", "too-big", NAME_RULE)
"""Rules that nobody can waive: git, or the next reader of the log, would suffer."""


class HeldThing(NamedTuple):
    """A version that git does not have."""

    path: str
    rule: str
    set_aside: bool
    """False when it stands in the work tree, True when a write moved it to the git directory."""
    location: str
    id: str = ""
    at: str = ""
    bytes: int | None = None


class HeldShown(NamedTuple):
    """A held version, with what looks like a credential blanked out."""

    thing: HeldThing
    text: str
    redacted: int


class HeldAccepted(NamedTuple):
    """A held version that is in git now."""

    path: str
    commit: str
    captured: tuple[Captured, ...] = ()


class HeldDropped(NamedTuple):
    """A held version that is gone for good."""

    path: str
    put_back: bool
    """True when HEAD's version stands in its place again."""


def held_list(group: Group) -> tuple[HeldThing, ...]:
    """Everything that is held, in the work tree and set aside."""
    standing = [_standing(group, each) for each in pending_edits(group).held]
    return (*standing, *(_aside(each) for each in HeldFolder(group.gitdir)))


def _standing(group: Group, each: Holding) -> HeldThing:
    location = str(group.worktree / each.path)
    return HeldThing(each.path, each.rule, False, location, bytes=_size(location))


def _aside(each: SetAside) -> HeldThing:
    location = str(each.content)
    return HeldThing(each.path, each.rule, True, location, each.id, each.at, _size(location))


def _size(location: str) -> int | None:
    """The size of a file itself, not of what a link leads to."""
    with suppress(OSError):
        found = os.lstat(location)
        return found.st_size if stat.S_ISREG(found.st_mode) else None
    return None


def _find(group: Group, what: str) -> HeldThing:
    """By id or by path; what stands in the work tree comes before what was set aside."""
    name = group.relative(what) if what.startswith("/") else what
    things = held_list(group)
    found = [thing for thing in things if name in (thing.path, thing.id)]
    if found:  # what stands there comes first, then what was set aside last
        return found[0] if not found[0].set_aside else found[-1]
    raise NotFound(
        f"nothing is held for {what!r}",
        hint="see `gitmem held list`" if things else "nothing is held at all",
    )


def _read(group: Group, thing: HeldThing) -> Seen:
    """The held version itself, as far as it is a plain file that nobody else has a name for."""
    if not thing.set_aside:
        worktree = WorkTree(group.worktree)
        try:
            return worktree.look(thing.path)
        finally:
            worktree.close()
    found = os.lstat(thing.location)
    obstacle = obstacle_in(found)
    if obstacle:
        return Seen(None, found, obstacle)
    with open(thing.location, "rb") as file:
        return Seen(file.read(), found)


def held_show(group: Group, what: str) -> HeldShown:
    """One held version; values that look like credentials are blanked out."""
    thing = _find(group, what)
    seen = _read(group, thing)
    if seen.data is None:
        target = os.readlink(thing.location) if os.path.islink(thing.location) else ""
        return HeldShown(thing, f"a link to {target}\n" if target else "", 0)
    text, count = redact(seen.data.decode("utf-8", "replace"))
    return HeldShown(thing, text, count)


def held_accept(group: Group, what: str, *, reason: str = "") -> HeldAccepted:
    """Commit a held version as it is: somebody looked at it and decided."""
    thing = _find(group, what)
    finder = group.note("capture", reason=reason)
    accepted = ("Gitmem-Violation", f"accepted by hand: {thing.rule}")
    with group.writing() as writer:
        seen = _read(group, thing)
        if seen.data is None or thing.rule.startswith(NEVER):
            raise _cannot_enter(thing)
        if thing.set_aside:
            writer.adopt(thing.path)
        check_place(writer.repository.snapshot(), thing.path)
        captured = writer.accept(thing.path, seen, finder._replace(extra=(accepted,)))
        commit = captured.commit if captured else group.repository.tip().commit
        if thing.set_aside:
            _drop_aside(group, thing)
        return HeldAccepted(thing.path, commit, tuple(writer.captured))


def _cannot_enter(thing: HeldThing) -> Refused:
    return Refused(
        f"{thing.path} cannot enter git: {thing.rule}",
        hint="put its text into a plain file with an ordinary name instead, then "
        f"`gitmem held drop {thing.id or thing.path}`",
        rule=thing.rule,
    )


def held_drop(group: Group, what: str) -> HeldDropped:
    """Delete a held version for good; git never had it."""
    _find(group, what)
    with group.writing() as writer:
        thing = _find(group, what)  # again: until now somebody may have mended it
        if thing.set_aside:
            _drop_aside(group, thing)
            return HeldDropped(thing.path, False)
        try:
            writer.worktree.drop(thing.path)
        except OSError as error:
            raise Refused(
                f"{thing.path} cannot be deleted: {error.strerror}",
                hint=f"look at {thing.location} yourself",
                rule=thing.rule,
            ) from error
        return HeldDropped(thing.path, writer.put_back(thing.path) > 0)


def _drop_aside(group: Group, thing: HeldThing) -> None:
    folder = HeldFolder(group.gitdir)
    each = folder.find(thing.id)
    if each:
        folder.drop(each)
