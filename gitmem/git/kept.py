"""Commits that left the branch, kept under a ref of their own so that no gc can take them.

What is kept can be read whole. A ref that leads to one missing object makes every `git gc`,
`git repack` and `git bundle` fail (git 2.39: exit 128), and so does a reflog. Where a line cannot
be read whole, a copy of it is kept without what is unreadable, which its commits name.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.core.messages import parse, visible
from gitmem.errors import Damaged, GitmemError, StorageFailed
from gitmem.git.checks.reffiles import ZERO, all_refs, is_id
from gitmem.git.objects import ObjectDamaged, Objects
from gitmem.git.refs import Move, delete_ref, move_ref, ref_tip
from gitmem.git.repository import Repository, parse_commit

KEPT = "refs/gitmem/kept/"
REBUILT = "gitmem/rebuilt"
"""Commits that could not be read whole, each with the commit that stands in its place."""
WAS = "Gitmem-Rebuilt"
"""The trailer that names the commit of which a rebuilt one is a copy ..."""
UNREADABLE = "Gitmem-Unreadable"
"""... and the one for what it lacks."""
_DIGITS = 12


class Unreadable(NamedTuple):
    """Something in a line of commits that nobody can read any more."""

    kind: str
    """blob, tree or commit"""
    object: str
    path: str = ""

    @property
    def id(self) -> str:
        """What `check --acknowledge` takes."""
        return self.object[:_DIGITS]

    @property
    def words(self) -> str:
        """What it is, for people."""
        if self.path:
            return visible(self.path)
        return "all files" if self.kind == "tree" else f"commit {self.object[:10]}"

    @property
    def trailer(self) -> str:
        """What a rebuilt commit says of it."""
        return " ".join(filter(None, self))

    @classmethod
    def read(cls, trailer: str) -> Unreadable:
        """What the trailer of a rebuilt commit says."""
        kind, _, rest = trailer.partition(" ")
        oid, _, path = rest.partition(" ")
        return cls(kind, oid, path)


class Line(NamedTuple):
    """A line of commits that can be read whole."""

    head: str
    unreadable: tuple[Unreadable, ...] = ()
    """What had to be left out."""
    made: Mapping[str, str] = {}
    """What stands for each commit of a line that could not be read whole."""

    @property
    def without(self) -> str:
        """What was left out, in words; nothing where the line is whole."""
        names = [each.words for each in self.unreadable]
        if not names:
            return ""
        more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""  # noqa: PLR2004
        return f"without {', '.join(names[:3])}{more}, which cannot be read"


def kept_name(oid: str) -> str:
    """The ref under which the commit OID is kept."""
    return f"{KEPT}{oid[:_DIGITS]}"


def keep(repository: Repository, oid: str) -> None:
    """Keep the commit OID. Needs the group's lock."""
    gitdir, name = repository.gitdir, kept_name(oid)
    try:
        known = _kept_at(gitdir, name)
        if known != oid:
            move_ref(gitdir, name, Move(known, oid, "", 0))
    except (GitmemError, OSError) as error:
        raise StorageFailed(
            f"keeping commit {oid[:10]}, which left the branch, failed: {error}",
            hint="see `gitmem check`",
        ) from error


def note_rebuilt(gitdir: Path, line: Line) -> None:
    """Remember which commits were rebuilt, and that nobody needs to hear of the old ones again.

    Not before a ref leads to LINE: who dies in between has made copies that nobody knows of.
    """
    rows = [f"{old} {new}" for old, new in line.made.items() if old != new]
    if rows:
        _append(gitdir / REBUILT, rows)
        _append(dropped_path(gitdir), [row[: len(ZERO)] for row in rows])


def rebuilt(gitdir: Path) -> dict[str, str]:
    """The commits that were rebuilt, each with the one in its place."""
    with suppress(OSError):
        rows = map(str.split, (gitdir / REBUILT).read_text("ascii", "replace").split("\n"))
        return {row[0]: row[1] for row in rows if len(row) == 2 and all(map(is_id, row))}  # noqa: PLR2004
    return {}


def unreadable(gitdir: Path, objects: Objects) -> tuple[Unreadable, ...]:
    """What rebuilt commits had to leave out, as far as it is still lost."""
    gone, found = let_go(gitdir), []
    for commit in rebuilt(gitdir).values():
        if commit not in gone:
            with suppress(ObjectDamaged):
                message = parse_commit(commit, objects.read_as("commit", commit)).message
                found += [Unreadable.read(each) for each in parse(message).all(UNREADABLE)]
    return tuple(each for each in found if not objects.holds(each.object))


def _kept_at(gitdir: Path, name: str) -> str | None:
    """What is kept under NAME; a ref that cannot be read makes room."""
    try:
        return ref_tip(gitdir, name)
    except Damaged:
        (gitdir / name).unlink()
        return ref_tip(gitdir, name)


def release(repository: Repository, oid: str) -> None:
    """Keep the commit OID no longer. Needs the group's lock."""
    with suppress(GitmemError, OSError):
        delete_ref(repository.gitdir, kept_name(oid))


def kept_refs(gitdir: Path) -> dict[str, str]:
    """The commits that are kept, by the names of their refs."""
    return {name: oid for name, oid in all_refs(gitdir).items() if name.startswith(KEPT)}


def dropped_path(gitdir: Path) -> Path:
    """The list of commits that somebody has let go, and that are not named again."""
    return gitdir / "gitmem" / "let-go"


def let_go(gitdir: Path) -> set[str]:
    """The commits that somebody has let go."""
    with suppress(OSError):
        text = dropped_path(gitdir).read_text("ascii", "replace")
        return {line for line in text.split("\n") if is_id(line)}
    return set()


def note_let_go(gitdir: Path, oid: str) -> None:
    """Remember that nobody wants to hear of the commit OID again."""
    _append(dropped_path(gitdir), [oid])


def _append(path: Path, lines: Iterable[str]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write("\n".join(("", *lines, "")).encode())  # the line before may be torn
        file.flush()
        os.fsync(fd)
