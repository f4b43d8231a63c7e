"""Copy a line of commits that left the branch without the objects that cannot be read.

A ref that leads to one missing object makes every `git gc`, `git repack` and `git bundle` fail (git
2.39: exit 128), and so does a reflog. So a line that cannot be read whole is kept as a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.model.commit_messages import Note, parse
from gitmem.store.config import worktree_of
from gitmem.store.fsck.lost_objects import Healer, ObjectSources
from gitmem.store.fsck.reachable import scrub
from gitmem.store.history.ancestry import reached
from gitmem.store.lost_commits.kept import REBUILT, append_lines, note_let_go
from gitmem.store.lost_commits.reflog import logged_parents
from gitmem.store.lost_commits.unreadable import UNREADABLE, WAS, Unreadable, lacks_of
from gitmem.store.objects import trees
from gitmem.store.objects.commits import commit_bytes, rewritten
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import FOLDER, SUBMODULE, Node, Tree
from gitmem.store.refs.files import read_log
from gitmem.store.repository import BRANCH, Commit, Repository

_NAMED = 3


class RebuiltLine(NamedTuple):
    """A line of commits that can be read whole."""

    head: str
    unreadable: tuple[Unreadable, ...] = ()
    """The objects that the copy lacks."""
    made: Mapping[str, str] = {}
    """The copy of each commit; empty for a line that needed none."""

    @property
    def loss(self) -> str:
        """The missing objects in words; empty for a whole line."""
        names = [each.words for each in self.unreadable]
        if not names:
            return ""
        more = [f"{len(names) - _NAMED:,} more"] if len(names) > _NAMED else []
        *others, last = [*names[:_NAMED], *more]
        return f"{', '.join(others)}{' and ' * bool(others)}{last} cannot be read"


def rebuild_line(repository: Repository, head: str) -> RebuiltLine:
    """The line of commits that ends in HEAD and left the branch, as far as it can be read.

    Lost objects are restored first where possible. If none is missing then, the result is HEAD
    itself. Otherwise commits are copied without the missing objects, each with its author, time and
    message. The caller puts the line under a ref and then calls `note_rebuilt`.
    """
    objects, tip = repository.objects, repository.tip()
    if not scrub(repository, head, tip).lacks:
        return RebuiltLine(head)
    root = worktree_of(repository.gitdir)
    if root:
        Healer(objects, ObjectSources(repository.gitdir, root), left=True).heal({BRANCH: head})
    work = _Rebuilding(repository, tip)
    rebuilt = work.run(head)
    for each in work.unreadable:
        if not objects.holds(each.object):
            # `git hash-object -w` writes nothing where a file of that name is, damaged or not.
            objects.quarantine(each.object)
    return RebuiltLine(rebuilt, tuple(work.unreadable), work.made)


class _Rebuilding:
    """Copies a line of commits without the objects that cannot be read."""

    def __init__(self, repository: Repository, tip: str) -> None:
        self._repository, self._tip = repository, tip
        self._logged = logged_parents(read_log(repository.gitdir, BRANCH).lines)
        self._there = reached(repository.objects, tip, logged=self._logged)
        self.made: dict[str, str] = {}
        """The copy of each commit: itself where it and its history are whole."""
        self.unreadable: list[Unreadable] = []
        """The lost objects, each with the first commit that lacks it."""
        self._found: dict[tuple[str, ...], Unreadable] = {}
        """The objects that the current commit lacks."""

    def run(self, head: str) -> str:
        """Copy HEAD and its ancestors that are not on the branch; parents come first."""
        waiting, begun = [head], set(self._there)
        while waiting:
            oid = waiting[-1]
            begun.add(oid)  # a reflog may describe a circle
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
        """The objects that COMMIT lacks and that its trailers do not name yet.

        Each commit names all objects that its own files lack: otherwise one could not tell whether
        a later commit deleted a lost file or still had it.
        """
        named = {each.key for each in lacks_of(commit)}
        known = named | {
            lack.key for each in parents for lack in lacks_of(self._repository.commit(each))
        }
        was = parse(commit.message).get(WAS) or commit.oid
        found = [each._replace(commit=was) for each in self._found.values()]
        self.unreadable += [each for each in found if each.key not in known]
        return [each for each in found if each.key not in named]

    def _root(self, parents: tuple[str, ...]) -> Node | None:
        with suppress(ObjectDamaged):
            return Node(FOLDER, self._repository.commit(parents[0]).tree) if parents else None
        return None

    def _instead(self, oid: str, parents: tuple[str, ...], before: Node | None) -> str:
        """A stand-in for the lost commit OID, with the files of the commit before.

        Its own files are not guessed: a tree that no commit has may have been staged and never
        committed, such as a credential.
        """
        lack = Unreadable("commit", oid, commit=oid)
        self.unreadable.append(lack)
        before_it = lacks_of(self._repository.commit(parents[0])) if before else ()
        lacks = (lack, *(each for each in before_it if each.kind != "commit"))
        extra = ((WAS, oid), *((UNREADABLE, each.trailer) for each in lacks))
        title = f"stands in for the commit {oid[:10]}, which is lost"
        # Always the same id: after a crash the same copies are made again.
        note = Note("restore", oid[:16], "gitmem", title, extra=extra)
        objects = self._repository.objects
        tree = before.oid if before else objects.write("tree", b"")
        parent = parents[0] if before else None
        known = self._repository.commit(parent or self._tip)  # its own time is lost with it
        raw = commit_bytes(tree, parent, note, known.time, known.committed)
        return objects.write("commit", raw)

    def _sound(self, path: str, node: Node, before: Node | None) -> Node | None:
        """NODE with the version of BEFORE in place of each object that cannot be read."""
        if node == before or node.mode == SUBMODULE:
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


def note_rebuilt(gitdir: Path, line: RebuiltLine) -> None:
    """Record which commits were rebuilt, and that the originals are let go.

    Call it once a ref leads to LINE: a process that dies in between leaves unreachable copies only.
    """
    rows = [f"{old} {new}" for old, new in line.made.items() if old != new]
    if rows:
        append_lines(gitdir / REBUILT, rows)
        note_let_go(gitdir, [row.split()[0] for row in rows])
