"""Making HEAD whole where something in it is lost for good: an earlier version takes its place.

That is a commit like any other, so nothing is hidden: it says what was lost and what came back.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.core.messages import Note, subject
from gitmem.git import trees
from gitmem.git.checks.closure import GITLINK, Lack
from gitmem.git.commits import commit_bytes
from gitmem.git.intake import new_id
from gitmem.git.objects import ObjectDamaged
from gitmem.git.refs import Move, move_ref
from gitmem.git.repairs.lostrefs import LostRefs
from gitmem.git.repository import BRANCH, Commit, Repository
from gitmem.git.trees import FOLDER, Node, Tree


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
        tip = self._repository.commit(self._tip.commit)
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
            for commit in self._repository.history(self._tip.commit):
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


def stand_in(repository: Repository, lost: LostRefs, lack: Lack, now: datetime) -> bytes:
    """A commit for the place of a lost one: it changes nothing and says so."""
    child = repository.commit(lack.commit)
    parent = lost.parent_of(lack.oid, child)
    tree = repository.commit(parent).tree if parent else child.tree
    title = f"stands in for the commit {lack.oid[:10]}, which is lost"
    note = Note("restore", new_id(), "gitmem", title)
    return commit_bytes(tree, parent or None, note, now, child.committed)
