"""Commits that left the branch, kept under a ref of their own so that no gc can take them.

What is kept can be read whole. A ref that leads to one missing object makes every `git gc`,
`git repack` and `git bundle` fail (git 2.39: exit 128), and so does a reflog. Where a line cannot
be read whole, a copy of it is kept without what is unreadable, which its commits name.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Damaged, GitmemError, StorageFailed
from gitmem.model.commit_messages import parse, visible
from gitmem.model.record import Record
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import FILE, Node
from gitmem.store.refs.files import ZERO, all_refs, is_id
from gitmem.store.refs.move import Move, delete_ref, move_ref, ref_tip
from gitmem.store.repository import Commit, Repository, Snapshot, parse_commit

KEPT = "refs/gitmem/kept/"
REBUILT = "gitmem/rebuilt"
"""Commits that could not be read whole, each with the commit that stands in its place."""
WAS = "Gitmem-Rebuilt"
"""The trailer that names the commit of which a rebuilt one is a copy ..."""
UNREADABLE = "Gitmem-Unreadable"
"""... and the one for what it lacks."""
_DIGITS = 12
_NAMED = 3


class Unreadable(Record):
    """Something in a line of commits that nobody can read any more."""

    kind: str
    """blob, tree or commit"""
    object: str
    path: str = ""
    commit: str = ""
    """The commit that had it, by the id from before it was rebuilt."""

    @property
    def id(self) -> str:
        """What `check --acknowledge` takes: the loss of the same text elsewhere is another one."""
        what = " ".join((self.object, self.path, self.commit))
        return hashlib.sha1(what.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]

    @property
    def words(self) -> str:
        """What it is, for people."""
        if self.kind == "commit":
            return f"commit {self.object[:10]}"
        return f"{visible(self.path) or 'the files'} of {self.commit[:10]}"

    @property
    def told(self) -> str:
        """That it cannot be read, with the object that is missing."""
        what = "" if self.kind == "commit" else f" ({self.kind} {self.object[:10]})"
        return f"{self.words} cannot be read{what}"

    @property
    def key(self) -> tuple[str, ...]:
        """The same for every commit that has this object at this path."""
        return self.kind, self.object, self.path

    @property
    def trailer(self) -> str:
        """What a rebuilt commit says of it."""
        return " ".join(filter(None, self.key))

    def concerns(self, path: str) -> bool:
        """Whether nobody knows, without it, what stood at PATH."""
        return self.path in ("", path) or path.startswith(f"{self.path}/")

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
    def lacking(self) -> str:
        """What was left out, in words; nothing where the line is whole."""
        names = [each.words for each in self.unreadable]
        if not names:
            return ""
        more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
        *others, last = [*names[:_NAMED], *more]
        return f"{', '.join(others)}{' and ' * bool(others)}{last} cannot be read"


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


def newest_copy(gitdir: Path, oid: str) -> str:
    """What stands in the place of the commit OID; OID itself, where it was never rebuilt."""
    copies = rebuilt(gitdir)
    while oid in copies:
        oid = copies.pop(oid)
    return oid


def unreadable(gitdir: Path, objects: Objects) -> tuple[Unreadable, ...]:
    """What rebuilt commits had to leave out, as far as it is still lost."""
    gone, found = let_go(gitdir), []
    for oid in rebuilt(gitdir).values():
        if oid not in gone:
            with suppress(ObjectDamaged):
                found += own_lacks(objects, _commit(objects, oid))
    return tuple(each for each in found if not objects.holds(each.object))


def lacks_of(commit: Commit) -> tuple[Unreadable, ...]:
    """What the files of COMMIT lack; only a rebuilt one lacks anything."""
    if UNREADABLE not in commit.message:
        return ()
    note = parse(commit.message)
    was = note.get(WAS)
    return tuple(Unreadable.read(each)._replace(commit=was) for each in note.all(UNREADABLE))


def own_lacks(objects: Objects, commit: Commit) -> list[Unreadable]:
    """What COMMIT lacks of its own: what a parent lacks, too, it only has from there."""
    found = lacks_of(commit)
    parents = [_commit(objects, each) for each in commit.parents] if found else []
    known = {lack.key for each in parents for lack in lacks_of(each)}
    return [each for each in found if each.key not in known]


def lacks_below(commit: Commit, path: str) -> list[Unreadable]:
    """What COMMIT lacks of the file or folder PATH; of all its files, where PATH is empty."""
    below = f"{path}/" if path else ""
    found = lacks_of(commit)
    return [each for each in found if each.concerns(path) or each.path.startswith(below)]


def lacking_between(older: Commit | None, newer: Commit, under: str = "") -> tuple[Unreadable, ...]:
    """What either commit lacks of UNDER, so that the change is not all there.

    What both lack did not change.
    """
    ends = [lacks_below(each, under) for each in (older, newer) if each]
    times = Counter(lack.key for end in ends for lack in end)
    return tuple(lack for end in ends for lack in end if times[lack.key] == 1)


def lost_files(snapshot: Snapshot, path: str) -> dict[str, Node]:
    """The files at or below PATH that a rebuilt commit lacks, where their objects are back.

    Raise Damaged where one is not: what stands in its place in SNAPSHOT is an older version.
    """
    repository, found = snapshot.repository, dict[str, Node]()
    for each in lacks_below(repository.commit(snapshot.commit), path):
        is_back = repository.objects.holds(each.object)
        if each.kind != "blob" or not is_back:
            hint = f"it is back: name the commit {each.commit[:10]} instead" if is_back else ""
            hint = hint or "`gitmem check` shows how to bring it back from a copy of the group"
            raise Damaged(each.told, hint=hint, path=each.path, object=each.object)
        found[each.path] = Node(FILE, each.object)
    return found


def _commit(objects: Objects, oid: str) -> Commit:
    return parse_commit(oid, objects.read_as("commit", oid))


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


def note_let_go(gitdir: Path, oids: Iterable[str]) -> None:
    """Remember that nobody wants to hear of the commits OIDS again."""
    _append(dropped_path(gitdir), oids)


def _append(path: Path, lines: Iterable[str]) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(fd, "wb") as file:
        file.write("\n".join(("", *lines, "")).encode())  # the line before may be torn
        file.flush()
        os.fsync(fd)
