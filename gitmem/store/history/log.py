"""Walk the history of a group: all commits, or those that changed a path, through its moves.

By hand instead of pygit2's `Repository.walk`: libgit2 would read commits that may be truncated (see
`objects/database`), and it follows no file through a move.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import NamedTuple

from gitmem.store.history.moves import compare_commit
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import FOLDER, Node
from gitmem.store.repository import Commit, Repository

SLOP = 100
"""The number of older commits behind which a wrong clock may hide newer ones."""


class Visit(NamedTuple):
    """A commit that changed the followed path."""

    commit: Commit
    path: str
    """The path's name in the commit."""
    moved_from: str = ""
    """Its earlier name, where this commit moved it."""


class _Queue:
    """A queue of commits, newest first: the order of `git log`."""

    def __init__(
        self, repository: Repository, since: float, within: int = 0, now: float = math.inf
    ) -> None:
        self._repository = repository
        self._since, self._within = since, within
        self._now, self._bounds = now, dict[str, float]()
        self.is_recent = False
        """True when the last commit was made since SINCE."""
        self._heap: list[tuple[int, int, Commit]] = []
        self._waiting: dict[str, Commit] = {}
        self._added = self._popped = self._older = 0

    def __bool__(self) -> bool:
        in_bounds = not self._within or self._popped < self._within
        return bool(self._heap) and in_bounds and self._older <= SLOP

    def add(self, oid: str) -> Commit:
        """Queue a commit, once; the commit."""
        commit = self._waiting.get(oid)
        if commit is None:
            commit = self._waiting[oid] = self._repository.commit(oid)
            self._added += 1
            heapq.heappush(self._heap, (-commit.committed, self._added, commit))
        return commit

    def pop(self) -> Commit:
        """Take the newest commit."""
        commit = heapq.heappop(self._heap)[2]
        del self._waiting[commit.oid]
        self._popped += 1
        self.is_recent = self._made(commit) >= self._since
        self._older = 0 if self.is_recent else self._older + 1
        return commit

    def _made(self, commit: Commit) -> float:
        """When it was made: of a date in the future, before the commits on top of it."""
        if not self._since:
            return commit.committed
        from gitmem.store.history.timeline import made_by

        made = made_by(commit, self._now, self._bounds.pop(commit.oid, self._now))
        for parent in commit.parents:
            self._bounds[parent] = min(made, self._bounds.get(parent, made))
        return made


def walk(
    repository: Repository, start: str, since: float = 0.0, now: float = math.inf
) -> Iterator[Commit]:
    """START and all its ancestors, newest first, back to the time SINCE."""
    queue, queued = _Queue(repository, since, now=now), {start}
    queue.add(start)
    while queue:
        commit = queue.pop()
        if queue.is_recent:
            yield commit
        for parent in commit.parents:
            if parent not in queued:
                queued.add(parent)
                queue.add(parent)


def follow(
    repository: Repository,
    start: str,
    path: str,
    *,
    since: float = 0.0,
    within: int = 0,
    now: float = math.inf,
) -> Iterator[Visit]:
    """The commits that changed PATH, a file or a folder, newest first, through its moves.

    Every parent of a merge is followed, each under the name the path has there. WITHIN limits the
    number of commits that are read.
    """
    queue = _Queue(repository, since, within, now)
    names_at, followed = {start: [path]}, {(start, path)}
    shown: set[str] = set()
    queue.add(start)
    while queue:
        commit = queue.pop()
        names = names_at.pop(commit.oid, ())
        parents = [queue.add(parent) for parent in commit.parents] if names else []
        for name in names:
            visit, older = _visit(repository, commit, parents, name)
            if visit and queue.is_recent and commit.oid not in shown:
                shown.add(commit.oid)
                yield visit
            for step in zip(commit.parents, older, strict=True):
                if step not in followed:
                    followed.add(step)
                    names_at.setdefault(step[0], []).append(step[1])


def _visit(
    repository: Repository, commit: Commit, parents: list[Commit], path: str
) -> tuple[Visit | None, list[str]]:
    """The visit if a commit changed PATH, and the path's name in each parent."""
    if not parents:
        return (Visit(commit, path) if locate(repository, commit.tree, path) else None), []
    touched, moved_from, names = True, "", []
    for parent in parents:
        nodes = _unequal(repository, parent.tree, commit.tree, path)
        touched = touched and nodes is not None
        made = nodes is not None and nodes[0] is None
        source = _source(repository, parent, commit, path) if made else ""
        moved_from = moved_from or source
        names.append(source or path)
    return (Visit(commit, path, moved_from) if touched else None), names


def locate(repository: Repository, root: str, path: str) -> Node | None:
    """The file or folder at PATH below the tree ROOT."""
    node: Node | None = Node(FOLDER, root)
    for part in path.split("/") if path else ():
        node = _child(repository, node, part)
    return node


def _child(repository: Repository, node: Node | None, name: str) -> Node | None:
    return repository.tree(node.oid).get(name) if node and node.is_folder else None


def _unequal(
    repository: Repository, before: str, after: str, path: str
) -> tuple[Node | None, Node | None] | None:
    """The nodes at PATH in two trees, or None where they are equal; reads no shared tree."""
    old: Node | None = Node(FOLDER, before)
    new: Node | None = Node(FOLDER, after)
    for part in path.split("/") if path else ():
        if old == new:
            return None
        old, new = _child(repository, old, part), _child(repository, new, part)
    return None if old == new else (old, new)


def _source(repository: Repository, parent: Commit, commit: Commit, path: str) -> str:
    """The name in PARENT of the path that COMMIT made; empty when it is new."""
    moves = compare_commit(repository, commit, parent).moves
    if path in moves:
        return moves[path]
    homes = {_home(target, source, path) for target, source in moves.items()} - {None}
    home = homes.pop() if len(homes) == 1 else None
    # A folder that still exists was not moved whole.
    return home if home and not locate(repository, commit.tree, home) else ""


def _home(target: str, source: str, folder: str) -> str | None:
    """The folder that FOLDER was if it was moved whole; None for a file that is not in it."""
    if not target.startswith(f"{folder}/"):
        return None
    rest = target[len(folder) :]
    return source.removesuffix(rest) if source.endswith(rest) else ""


def peel(repository: Repository, oid: str) -> str | None:
    """The commit OID, or the one that the tag OID names; None for any other object."""
    kind, data = repository.objects.read(oid)
    while kind == "tag":
        key, _, value = data.partition(b"\n")[0].partition(b" ")
        if key != b"object":
            raise ObjectDamaged(oid, "not a tag")
        oid = value.decode("ascii", "replace")
        kind, data = repository.objects.read(oid)
    return oid if kind == "commit" else None


def commits_like(repository: Repository, prefix: str) -> list[str]:
    """The commits whose id, or whose tag's id, begins with PREFIX: at least four hex digits."""
    found, damage = set(), None
    for oid in repository.objects.expand(prefix):
        try:
            commit = peel(repository, oid)
        except ObjectDamaged as error:
            damage = error
            continue
        if commit:
            found.add(commit)
    if damage and not found:
        raise damage
    return sorted(found)
