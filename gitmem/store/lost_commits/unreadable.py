"""Files and commits that rebuilt commits lack, because no copy of them can be read."""

from __future__ import annotations

import hashlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

from gitmem.errors import Damaged
from gitmem.model.commit_messages import parse, visible
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.store.history.ancestry import read_commit
from gitmem.store.lost_commits.kept import let_go, rebuilt
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import FILE, Node
from gitmem.store.repository import Commit, Snapshot

WAS = "Gitmem-Rebuilt"
"""The trailer of a rebuilt commit that names the original ..."""
UNREADABLE = "Gitmem-Unreadable"
"""... and the one for each object that it lacks."""
_DIGITS = 12


class Unreadable(Record):
    """An object in a line of commits that cannot be read."""

    kind: str
    """blob, tree or commit"""
    object: str
    path: str = ""
    commit: str = ""
    """The commit that had it, by the id from before it was rebuilt."""

    @property
    def id(self) -> str:
        """The argument for `check --acknowledge`: each loss of the same text has its own."""
        what = " ".join((self.object, self.path, self.commit))
        return hashlib.sha1(what.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGITS]

    @property
    def words(self) -> str:
        """The path and commit, or the commit alone."""
        if self.kind == "commit":
            return f"commit {self.object[:10]}"
        return f"{visible(self.path) or 'the files'} of {self.commit[:10]}"

    @property
    def message(self) -> str:
        """The loss in a sentence."""
        what = "" if self.kind == "commit" else f" ({self.kind} {self.object[:10]})"
        return f"{self.words} cannot be read{what}"

    @property
    def key(self) -> tuple[str, ...]:
        """The same for every commit that has this object at this path."""
        return self.kind, self.object, self.path

    @property
    def trailer(self) -> str:
        """The value of the trailer `Gitmem-Unreadable`."""
        return " ".join(filter(None, self.key))

    def concerns(self, path: str) -> bool:
        """True when the content of PATH is unknown without it."""
        return self.path in ("", path) or path.startswith(f"{self.path}/")

    @classmethod
    def read(cls, trailer: str) -> Unreadable:
        """The object that a TRAILER of a rebuilt commit names."""
        kind, _, rest = trailer.partition(" ")
        oid, _, path = rest.partition(" ")
        return cls(kind, oid, path)


def unreadable(gitdir: Path, objects: Objects) -> tuple[Unreadable, ...]:
    """The objects that rebuilt commits lack and that are still lost."""
    gone, found = let_go(gitdir), []
    for oid in rebuilt(gitdir).values():
        if oid not in gone:
            with suppress(ObjectDamaged):
                found += own_lacks(objects, read_commit(objects, oid))
    return tuple(each for each in found if not objects.holds(each.object))


def lacks_of(commit: Commit) -> tuple[Unreadable, ...]:
    """The objects that COMMIT lacks; only a rebuilt one lacks any."""
    if UNREADABLE not in commit.message:
        return ()
    note = parse(commit.message)
    was = note.get(WAS)
    return tuple(Unreadable.read(each)._replace(commit=was) for each in note.all(UNREADABLE))


def own_lacks(objects: Objects, commit: Commit) -> list[Unreadable]:
    """The objects that COMMIT lacks and none of its parents."""
    found = lacks_of(commit)
    parents = [read_commit(objects, each) for each in commit.parents] if found else []
    known = {lack.key for each in parents for lack in lacks_of(each)}
    return [each for each in found if each.key not in known]


def lacks_below(commit: Commit, path: str) -> list[Unreadable]:
    """The objects that COMMIT lacks at or below PATH; all of them for an empty PATH."""
    below = f"{path}/" if path else ""
    found = lacks_of(commit)
    return [each for each in found if each.concerns(path) or each.path.startswith(below)]


def lacking_between(older: Commit | None, newer: Commit, under: str = "") -> tuple[Unreadable, ...]:
    """The objects below UNDER that one of the two commits lacks, so that their diff is incomplete.

    Objects that both lack did not change.
    """
    ends = [lacks_below(each, under) for each in (older, newer) if each]
    times = Counter(lack.key for end in ends for lack in end)
    return tuple(lack for end in ends for lack in end if times[lack.key] == 1)


def lost_files(snapshot: Snapshot, path: str) -> dict[str, Node]:
    """The files at or below PATH that a rebuilt commit lacks and whose objects are back.

    Raises Damaged where one is still lost: SNAPSHOT has an older version of that file.
    """
    repository, found = snapshot.repository, dict[str, Node]()
    for each in lacks_below(repository.commit(snapshot.commit), path):
        is_back = repository.objects.holds(each.object)
        if each.kind != "blob" or not is_back:
            hint = Hint(call("check"), " shows how to restore it from a copy of the group")
            if is_back:
                hint = Hint(f"it is back: name the commit {each.commit[:10]} instead")
            raise Damaged(each.message, hint=hint, path=each.path, object=each.object)
        found[each.path] = Node(FILE, each.object)
    return found
