"""Making HEAD whole where something in it is lost for good: an earlier version takes its place.

That is a commit like any other, so nothing is hidden: it says what was lost and what came back.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.model.commit_messages import Note, parse, subject
from gitmem.store.fsck.lost_objects import Healer, Sources
from gitmem.store.fsck.lost_refs import LostRefs
from gitmem.store.fsck.reachable import GITLINK, Lack
from gitmem.store.fsck.scrub import scrub
from gitmem.store.history.ancestry import reached
from gitmem.store.lost_commits.departures import logged_parents
from gitmem.store.lost_commits.kept import UNREADABLE, WAS, Line, Unreadable, lacks_of
from gitmem.store.objects import trees
from gitmem.store.objects.commits import commit_bytes, rewritten
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import FOLDER, Node, Tree
from gitmem.store.refs.files import read_log
from gitmem.store.refs.move import Move, move_ref
from gitmem.store.repository import BRANCH, Commit, Repository
from gitmem.store.setup import worktree_of
from gitmem.store.transaction.capture import new_id


class Mended(NamedTuple):
    """One file or folder of HEAD that could not be read, and what stands there now."""

    path: str
    lost: str
    now: str
    """The object that stands there now; empty when there was no earlier version."""
    since: Commit | None
    """The commit whose version it is."""

    @property
    def story(self) -> str:
        """What happened, for a reason and a report."""
        what = self.path or "everything"
        if self.since is None:
            return f"{what} (object {self.lost[:10]}) is lost, and there is no earlier version"
        when = self.since.time.isoformat(" ", "minutes")
        return f"{what} (object {self.lost[:10]}) is lost; the version of {when} is back"


class Mending:
    """Replaces what HEAD has lost."""

    def __init__(self, repository: Repository, lacking: set[str]) -> None:
        self._repository = repository
        self._lacking = lacking
        self._tip = repository.tip()
        self.mended: list[Mended] = []

    def land(self, now: datetime) -> str:
        """Commit HEAD with every lost part replaced; return the commit."""
        tip = self._repository.commit(self._tip)
        root = self._node("", Node(FOLDER, tip.tree))
        if root is None:
            root = Node(FOLDER, self._repository.objects.write("tree", b""))
        note = self._note()
        committed = max(int(now.timestamp()), tip.committed)
        raw = commit_bytes(root.oid, tip.oid, note, now, committed)
        commit = self._repository.objects.write("commit", raw)
        move = Move(tip.oid, commit, subject(note), committed)
        move_ref(self._repository.gitdir, BRANCH, move)
        return commit

    def _note(self) -> Note:
        paths = tuple(each.path or "/" for each in self.mended)
        reason = "\n".join(each.story for each in self.mended)
        title = "what was damaged beyond repair, as it was before"
        return Note("restore", new_id(), "gitmem", title, paths, reason=reason)

    def _node(self, path: str, node: Node) -> Node | None:
        """NODE with what is lost in it replaced; None when nothing is left of it."""
        if node.oid in self._lacking:
            return self._earlier(path, node)
        if not node.is_folder:
            return node
        before = self._repository.tree(node.oid)
        after: Tree = {}
        for name, child in before.items():
            found = self._node(f"{path}/{name}" if path else name, child)
            if found:
                after[name] = found
        if after == before:
            return node
        return Node(FOLDER, self._repository.objects.write("tree", trees.serialise(after)))

    def _earlier(self, path: str, node: Node) -> Node | None:
        since, found = None, None
        with suppress(ObjectDamaged):  # history may be cut, too
            for commit in self._repository.history(self._tip):
                found = self._version(commit, path)
                if found:
                    since = commit
                    break
        now = found.oid if found else ""
        self.mended.append(Mended(path, node.oid, now, since))
        return found

    def _version(self, commit: Commit, path: str) -> Node | None:
        """What stood at PATH, if it can be read whole."""
        with suppress(ObjectDamaged):
            node = self._repository.snapshot(commit.oid).node(path)
            if node and node.oid not in self._lacking and self._is_whole(node):
                return node
        return None

    def _is_whole(self, node: Node) -> bool:
        if node.mode == GITLINK:
            return True
        if not node.is_folder:
            return self._repository.objects.read(node.oid)[0] == "blob"
        return all(self._is_whole(child) for child in self._repository.tree(node.oid).values())


def whole_line(repository: Repository, head: str) -> Line:
    """The line of commits that ends in HEAD and left the branch, as far as it can be read.

    What can be healed is healed first. Where nothing is missing then, it is HEAD itself. Else the
    commits that lack something are written anew, each with its author, time and message. Whoever
    has put the line under a ref calls `note_rebuilt`.
    """
    objects, tip = repository.objects, repository.tip()
    if not scrub(repository, head, tip).lacks:
        return Line(head)
    root = worktree_of(repository.gitdir)
    if root:
        Healer(objects, Sources(repository.gitdir, root), left=True).heal({BRANCH: head})
    work = _Rebuilding(repository, tip)
    rebuilt = work.run(head)
    for each in work.unreadable:
        if not objects.holds(each.object):
            # `git hash-object -w` writes nothing where a file of that name is, damaged or not.
            objects.quarantine(each.object)
    return Line(rebuilt, tuple(work.unreadable), work.made)


class _Rebuilding:
    """Copies a line of commits without what cannot be read."""

    def __init__(self, repository: Repository, tip: str) -> None:
        self._repository, self._tip = repository, tip
        lines, _, _ = read_log(repository.gitdir, BRANCH)
        self._logged = logged_parents(lines)
        self._there = reached(repository.objects, tip, logged=self._logged)
        self.made: dict[str, str] = {}
        """What stands for each commit: itself, where nothing in it or before it is missing."""
        self.unreadable: list[Unreadable] = []
        """What is lost, each with the first commit that lacks it."""
        self._found: dict[tuple[str, ...], Unreadable] = {}
        """What the commit at hand lacks."""

    def run(self, head: str) -> str:
        """Copy HEAD and all before it that the branch does not have; parents come first."""
        waiting, begun = [head], set(self._there)
        while waiting:
            oid = waiting[-1]
            begun.add(oid)  # a log may lead in a circle
            needed = [each for each in self._parents(oid) if each not in begun]
            waiting += needed
            if not needed:
                waiting.pop()
                if oid not in self.made:
                    self.made[oid] = self._copied(oid)
        return self.made[head]

    def _parents(self, oid: str) -> tuple[str, ...]:
        try:
            return self._repository.commit(oid).parents
        except ObjectDamaged:
            before = self._logged.get(oid, "")
            return (before,) if before else ()

    def _copied(self, oid: str) -> str:
        parents = tuple(self.made.get(each, each) for each in self._parents(oid))
        before = self._root(parents)
        objects, self._found = self._repository.objects, {}
        try:
            commit = self._repository.commit(oid)
        except ObjectDamaged:
            return self._instead(oid, parents, before)
        root = self._sound("", Node(FOLDER, commit.tree), before)
        tree = root.oid if root else objects.write("tree", b"")
        if (tree, parents) == (commit.tree, commit.parents):
            return oid
        lacks = tuple((UNREADABLE, each.trailer) for each in self._new_lacks(commit, parents))
        raw = objects.read_as("commit", oid)
        return objects.write("commit", rewritten(raw, tree, parents, ((WAS, oid), *lacks)))

    def _new_lacks(self, commit: Commit, parents: tuple[str, ...]) -> list[Unreadable]:
        """All that COMMIT does not say yet that it lacks; what its PARENTS lack is named by them.

        Each commit says all that its own files lack: whether a later one deleted a lost file, or
        still had it, nobody could tell otherwise.
        """
        said = {each.key for each in lacks_of(commit)}
        known = said | {
            lack.key for each in parents for lack in lacks_of(self._repository.commit(each))
        }
        was = parse(commit.message).get(WAS) or commit.oid
        found = [each._replace(commit=was) for each in self._found.values()]
        self.unreadable += [each for each in found if each.key not in known]
        return [each for each in found if each.key not in said]

    def _root(self, parents: tuple[str, ...]) -> Node | None:
        with suppress(ObjectDamaged):
            return Node(FOLDER, self._repository.commit(parents[0]).tree) if parents else None
        return None

    def _instead(self, oid: str, parents: tuple[str, ...], before: Node | None) -> str:
        """A commit in the place of OID, with the files of the one before.

        Its own are not guessed: a tree that no commit has may be what somebody staged and never
        committed, such as a credential.
        """
        lack = Unreadable("commit", oid, commit=oid)
        self.unreadable.append(lack)
        before_it = lacks_of(self._repository.commit(parents[0])) if before else ()
        lacks = (lack, *(each for each in before_it if each.kind != "commit"))
        extra = ((WAS, oid), *((UNREADABLE, each.trailer) for each in lacks))
        title = f"stands in for the commit {oid[:10]}, which is lost"
        # An id of its own, always the same: after a crash the same copies are made again.
        note = Note("restore", oid[:16], "gitmem", title, extra=extra)
        objects = self._repository.objects
        tree = before.oid if before else objects.write("tree", b"")
        parent = parents[0] if before else None
        known = self._repository.commit(parent or self._tip)  # its own time is lost with it
        raw = commit_bytes(tree, parent, note, known.time, known.committed)
        return objects.write("commit", raw)

    def _sound(self, path: str, node: Node, before: Node | None) -> Node | None:
        """NODE without what cannot be read: there, what stood BEFORE stands on."""
        if node == before or node.mode == GITLINK:
            return node
        lack = Unreadable("tree" if node.is_folder else "blob", node.oid, path)
        try:
            data = self._repository.objects.read_as(lack.kind, node.oid)
            tree = trees.parse(data) if node.is_folder else {}
        except (ObjectDamaged, ValueError):
            self._found[lack.key] = lack
            return before
        return self._sound_folder(path, node, tree, before) if node.is_folder else node

    def _sound_folder(self, path: str, node: Node, tree: Tree, before: Node | None) -> Node:
        earlier: Tree = {}
        with suppress(ObjectDamaged):
            earlier = self._repository.tree(before.oid) if before and before.is_folder else {}
        after: Tree = {}
        for name, child in tree.items():
            found = self._sound(f"{path}/{name}" if path else name, child, earlier.get(name))
            if found:
                after[name] = found
        if after == tree:
            return node
        return Node(FOLDER, self._repository.objects.write("tree", trees.serialise(after)))


def stand_in(repository: Repository, lost: LostRefs, lack: Lack, now: datetime) -> bytes:
    """A commit for the place of a lost one: it changes nothing and says so."""
    child = repository.commit(lack.commit)
    parent = lost.parent_of(lack.oid, child)
    tree = repository.commit(parent).tree if parent else child.tree
    title = f"stands in for the commit {lack.oid[:10]}, which is lost"
    note = Note("restore", new_id(), "gitmem", title)
    return commit_bytes(tree, parent or None, note, now, child.committed)
