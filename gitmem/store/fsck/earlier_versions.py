"""Replace files of HEAD that are lost for good by their newest earlier version.

The replacement is an ordinary commit, whose message names what was lost and what came back.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.model.commit_messages import Note, subject
from gitmem.store.objects import trees
from gitmem.store.objects.commits import commit_bytes
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import FOLDER, SUBMODULE, Node, Tree
from gitmem.store.refs.move import Move, move_ref
from gitmem.store.repository import BRANCH, Commit, Repository
from gitmem.store.transaction.capture import new_id


class Replaced(NamedTuple):
    """A file or folder of HEAD that cannot be read, and its replacement."""

    path: str
    lost: str
    since: Commit | None
    """The commit whose version replaces it; None where there is no earlier version."""

    @property
    def message(self) -> str:
        """What happened, for a commit message and a report."""
        what = self.path or "the root folder"
        if self.since is None:
            return f"{what} (object {self.lost[:10]}) is lost, and no earlier version exists"
        when = self.since.time.isoformat(" ", "minutes")
        return f"{what} (object {self.lost[:10]}) is lost; the version of {when} is back"


class HeadRepair:
    """Replaces what HEAD has lost. LOST: the objects that cannot be read."""

    def __init__(self, repository: Repository, lost: set[str]) -> None:
        self._repository = repository
        self._lost = lost
        self._tip = repository.tip()
        self.replaced: list[Replaced] = []

    def run(self, now: datetime) -> None:
        """Commit HEAD with every lost object replaced."""
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

    def _note(self) -> Note:
        paths = tuple(each.path or "/" for each in self.replaced)
        reason = "\n".join(each.message for each in self.replaced)
        title = "earlier versions of files that are lost"
        return Note("restore", new_id(), "gitmem", title, paths, reason=reason)

    def _node(self, path: str, node: Node) -> Node | None:
        """NODE with every lost object in it replaced; None when nothing is left of it."""
        if node.oid in self._lost:
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
        with suppress(ObjectDamaged):  # history may be damaged, too
            for commit in self._repository.history(self._tip):
                found = self._version(commit, path)
                if found:
                    since = commit
                    break
        self.replaced.append(Replaced(path, node.oid, since))
        return found

    def _version(self, commit: Commit, path: str) -> Node | None:
        """The file or folder at PATH in COMMIT, if it can be read whole."""
        with suppress(ObjectDamaged):
            node = self._repository.snapshot(commit.oid).node(path)
            if node and node.oid not in self._lost and self._is_whole(node):
                return node
        return None

    def _is_whole(self, node: Node) -> bool:
        if node.mode == SUBMODULE:
            return True
        if not node.is_folder:
            return self._repository.objects.read(node.oid)[0] == "blob"
        return all(self._is_whole(child) for child in self._repository.tree(node.oid).values())
