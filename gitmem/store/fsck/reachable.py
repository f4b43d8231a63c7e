"""What history needs, and whether it is there: every object that a ref can reach, read and hashed.

Only file reads, no libgit2: what is looked at here is doubtful.

By hand instead of pygit2, which has no fsck: 5,936 loose objects are inflated and hashed in 0.72 s.
"""

from __future__ import annotations

import hashlib
import heapq
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects, inflate
from gitmem.store.objects.trees import FOLDER, Node, Tree
from gitmem.store.refs.files import ZERO, is_id
from gitmem.store.repository import BRANCH, Commit, parse_commit

GITLINK = 0o160000
_NAME_LENGTH = 38
_ID_LENGTH = 12


class Lack(NamedTuple):
    """An object that a ref needs and nobody can read."""

    oid: str
    kind: str
    why: str
    commit: str
    """The newest commit that needs it; empty when a ref names it itself."""
    path: str
    """Where it stands in that commit; empty for a commit, a tag or a root folder."""
    ref: str
    at_head: bool
    """True when the memory of today needs it, not only its past."""

    @property
    def id(self) -> str:
        """What `check --acknowledge` takes, where somebody may decide to live without it."""
        what = f"{self.oid} {self.path}"
        return hashlib.sha1(what.encode("utf-8", "surrogateescape")).hexdigest()[:_ID_LENGTH]


def loose_names(gitdir: Path) -> Iterator[str]:
    """The id of every loose object, by the names of the files."""
    objects = gitdir / "objects"
    for folder in sorted(os.listdir(objects)) if objects.is_dir() else ():
        if len(folder) == 2 and is_id(folder.rjust(40, "0")):  # noqa: PLR2004 - two hex digits
            for name in sorted(_listed(objects / folder)):
                if len(name) == _NAME_LENGTH and is_id(folder + name):
                    yield folder + name


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def check_loose(objects: Objects, oid: str) -> str | None:
    """The kind of a loose object that is sound; None when it has gone; ObjectDamaged otherwise."""
    path = objects.loose_path(oid)
    try:
        # Without blocking: whatever stands here may be a pipe.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ObjectDamaged(oid, f"not readable ({error.strerror})") from error
    try:
        with open(fd, "rb", buffering=0) as file:
            return inflate(oid, file.read())[0]
    except OSError as error:
        raise ObjectDamaged(oid, f"not readable ({error.strerror})") from error


class Walk:
    """A walk over everything that some refs can reach."""

    def __init__(
        self, objects: Objects, sound: Iterable[str] = (), step: Callable[[], None] = lambda: None
    ) -> None:
        self._objects = objects
        self._sound = set(sound)  # verified already: need not be read again to know that it can be
        self._step = step
        self._packs = list(objects.packs)
        self._seen: set[str] = set()
        self._known: set[str] = set()
        self._queue: list[tuple[int, int, str, Commit]] = []
        self._lacks: dict[str, Lack] = {}
        self.commits = 0
        self.newest: Commit | None = None
        """The commit with the latest committer time."""
        self.entries: list[tuple[str, Node]] = []
        """The files of HEAD."""

    @property
    def lacks(self) -> list[Lack]:
        """What cannot be read, each object once."""
        return list(self._lacks.values())

    def knows(self, oid: str) -> bool:
        """True for an object that was visited and can be read."""
        return oid not in self._lacks and (oid in self._seen or oid in self._known)

    def trust(self, verified: str) -> None:
        """Take VERIFIED and all before it as sound as far as it is in packs, which are sound.

        Commits are read all the same, and so is what is loose: a file can vanish by itself.
        """
        waiting = [verified]
        while waiting:
            oid = waiting.pop()
            if oid in self._known:
                continue
            commit = self._commit(oid, "", "refs/gitmem/verified")
            self._known.add(oid)
            if commit:
                self._visit(commit)
                self._tree(commit, "refs/gitmem/verified", at_head=False, trusting=True)
                waiting += commit.parents

    def run(self, refs: dict[str, str]) -> None:
        """Visit everything that REFS reach, the branch first and the newest commits first."""
        tip = refs.get(BRANCH)
        if tip:
            self._add_tip(BRANCH, tip)
            self._run()
        for name, oid in sorted(refs.items()):
            if name != BRANCH:
                self._add_tip(name, oid)
        self._run()

    def look_at(self, commit: str) -> None:
        """Visit the files of one commit as if it were HEAD, and not what came before."""
        self._add_tip(BRANCH, commit)
        self._queue.clear()

    def _add_tip(self, name: str, oid: str) -> None:
        try:
            commit = self._peeled(oid)
        except ObjectDamaged as damage:
            lack = Lack(damage.oid, "commit", damage.why, "", "", name, name == BRANCH)
            self._lack(lack)
            return
        if isinstance(commit, Commit):
            if name == BRANCH:
                self._tree(commit, name, at_head=True)
            self._push(commit, name)

    def _peeled(self, oid: str) -> Commit | str:
        """The commit that a tag was put on; the id of what is no commit."""
        kind, data = self._objects.read(oid)
        while kind == "tag":
            self._seen.add(oid)
            oid = data.partition(b"\n")[0].removeprefix(b"object ").decode("ascii", "replace")
            if not is_id(oid):
                raise ObjectDamaged(oid, "not a tag")
            kind, data = self._objects.read(oid)
        return parse_commit(oid, data) if kind == "commit" else oid

    def _push(self, commit: Commit, ref: str) -> None:
        if commit.oid not in self._seen and commit.oid not in self._known:
            self._seen.add(commit.oid)
            heapq.heappush(self._queue, (-commit.committed, len(self._seen), ref, commit))

    def _run(self) -> None:
        while self._queue:
            _, _, ref, commit = heapq.heappop(self._queue)
            self._visit(commit)
            self._tree(commit, ref, at_head=False)
            for parent in commit.parents:
                if parent in self._seen or parent in self._known:
                    continue
                found = self._commit(parent, commit.oid, ref)
                if found:
                    self._push(found, ref)

    def _visit(self, commit: Commit) -> None:
        self.commits += 1
        self._step()
        if self.newest is None or commit.committed > self.newest.committed:
            self.newest = commit

    def _commit(self, oid: str, child: str, ref: str) -> Commit | None:
        try:
            return parse_commit(oid, self._objects.read_as("commit", oid))
        except ObjectDamaged as damage:
            self._lack(Lack(oid, "commit", damage.why, child, "", ref, False))
            return None

    def _tree(self, commit: Commit, ref: str, *, at_head: bool, trusting: bool = False) -> None:
        """Read the folders and files of a commit that were not seen before."""
        waiting = [("", Node(FOLDER, commit.tree))]
        while waiting:
            path, node = waiting.pop()
            if at_head and not node.is_folder:
                self.entries.append((path, node))
            again = node.oid in self._seen and not (at_head and node.is_folder)
            if again or node.mode == GITLINK or (trusting and self._is_packed(node.oid)):
                continue
            self._seen.add(node.oid)
            kind = "tree" if node.is_folder else "blob"
            tree = self._read(Lack(node.oid, kind, "", commit.oid, path, ref, at_head))
            for name, child in (tree or {}).items():
                waiting.append((f"{path}/{name}" if path else name, child))

    def _is_packed(self, oid: str) -> bool:
        return any(pack.offset(oid) is not None for pack in self._packs)

    def _read(self, lack: Lack) -> Tree | None:
        """Read what LACK describes; note it as lacking when that fails."""
        if lack.kind == "blob" and lack.oid in self._sound:
            return None
        try:
            data = self._objects.read_as(lack.kind, lack.oid)
            return trees.parse(data) if lack.kind == "tree" else None
        except ObjectDamaged as damage:
            self._lack(lack._replace(why=damage.why))
        except (ValueError, IndexError):
            self._lack(lack._replace(why="not a folder"))
        return None

    def _lack(self, lack: Lack) -> None:
        self._seen.add(lack.oid)
        self._lacks.setdefault(lack.oid, lack)


class Wholeness:
    """Whether commits can be read whole: with their files and with all that lies behind them.

    What is KNOWN is taken as whole: refs lead to it, and a walk of theirs judges it.
    """

    def __init__(self, objects: Objects, known: Callable[[str], bool]) -> None:
        self._objects, self._known = objects, known
        self._answers: dict[str, bool] = {ZERO: True}

    def of(self, head: str) -> bool:
        """The answer for HEAD; parents come first, and each object is read once."""
        waiting, begun = [head], set[str]()
        with self._objects.probing():
            while waiting:
                oid = waiting[-1]
                commit = None if self._is_settled(oid) else self._commit(oid)
                begun.add(oid)
                needed = [each for each in commit.parents if each not in begun] if commit else []
                needed = [each for each in needed if not self._is_settled(each)]
                waiting += needed
                if not needed:
                    waiting.pop()
                    if commit:
                        self._judge(commit)
        return self._answer(head)

    def _is_settled(self, oid: str) -> bool:
        return oid in self._answers or self._known(oid)

    def _answer(self, oid: str) -> bool:
        return self._answers.get(oid, True)

    def _commit(self, oid: str) -> Commit | None:
        try:
            return parse_commit(oid, self._objects.read_as("commit", oid))
        except (ObjectDamaged, ValueError):
            self._answers[oid] = False
            return None

    def _judge(self, commit: Commit) -> None:
        behind = all(map(self._answer, commit.parents))
        self._answers[commit.oid] = behind and self._holds(Node(FOLDER, commit.tree))

    def _holds(self, node: Node) -> bool:
        if node.mode != GITLINK and not self._is_settled(node.oid):
            try:
                data = self._objects.read_as("tree" if node.is_folder else "blob", node.oid)
                below = trees.parse(data).values() if node.is_folder else ()
                self._answers[node.oid] = all(map(self._holds, below))
            except (ObjectDamaged, ValueError, IndexError):
                self._answers[node.oid] = False
        return self._answer(node.oid)
