"""One group's git directory: its branch, its commits, its trees.

The only place where a repository is opened. It is opened by the path of its git directory and as
bare: a `.git` file or folder in a work tree is never followed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gitmem.errors import Damaged
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.store.durable import read_whole
from gitmem.store.index.staging import Staging
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import Node, Tree

if TYPE_CHECKING:
    from gitmem.store.worktree.scope import Scoped

BRANCH = "refs/heads/main"
CACHED_TREES = 2048
ID_LENGTH = 40
_DIGITS = b"0123456789abcdef"
GIT_AT_WORK = frozenset(
    (
        "rebase-apply",
        "rebase-merge",
        "sequencer",
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "BISECT_LOG",
        "BISECT_START",
    )
)
"""What git keeps in its directory while an operation waits for a person to go on."""


class BranchLost(Damaged):
    """The group's branch cannot be read; its history is still there."""

    code = "branch-lost"


Difference = tuple[str, Node | None, Node | None]


class Commit(Record):
    """One commit, as its object states it."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    time: datetime
    """When it was made, in the zone of the group at that time."""
    committed: int
    """Committer time in seconds: never runs backwards along the branch."""
    message: str


def parse_commit(oid: str, data: bytes) -> Commit:
    """A commit object's bytes as a value."""
    head, _, message = data.partition(b"\n\n")
    tree, parents, author, committed = "", [], b"", 0
    for line in head.split(b"\n"):
        key, _, value = line.partition(b" ")
        if key == b"tree":
            tree = value.decode()
        elif key == b"parent":
            parents.append(value.decode())
        elif key == b"author":
            author = value
        elif key == b"committer":
            committed = _stamp(value)[0]
    name, when = parse_signature(author)
    text = message.decode("utf-8", "replace")
    return Commit(oid, tree, tuple(parents), name, when, committed, text)


def parse_signature(line: bytes) -> tuple[str, datetime]:
    """The name in an author or tagger line, and the time in its own zone."""
    name = line.partition(b" <")[0].decode("utf-8", "replace")
    seconds, offset = _stamp(line)
    return name, datetime.fromtimestamp(seconds, timezone(timedelta(minutes=offset)))


def _stamp(signature: bytes) -> tuple[int, int]:
    """Seconds and offset in minutes at the end of an author or committer line."""
    try:
        seconds, zone = signature.rpartition(b"> ")[2].split(b" ")
        minutes = int(zone[1:3]) * 60 + int(zone[3:5])
        at = max(0, min(int(seconds), 253402214400))  # a hand-made commit may claim any year
        return at, max(-1439, min(1439, -minutes if zone[:1] == b"-" else minutes))
    except ValueError:
        return 0, 0


def _has_head(gitdir: Path) -> bool:
    """False for a HEAD of which a power cut left nothing; a glance, since every command asks."""
    try:
        return read_whole(f"{gitdir}/HEAD").startswith(b"ref: ")
    except FileNotFoundError:
        return False
    except OSError:
        return True  # not ours to mend


def branch_file(gitdir: Path) -> str:
    """The commit in the branch's own file; empty when there is none, or nothing sound in it."""
    try:
        oid = read_whole(f"{gitdir}/{BRANCH}").rstrip()
    except OSError:
        return ""
    return oid.decode() if len(oid) == ID_LENGTH and not oid.strip(_DIGITS) else ""


class Repository:
    """A group's git directory, opened."""

    def __init__(self, gitdir: Path, *, heals: bool = True) -> None:
        self.gitdir = gitdir
        if heals and not _has_head(gitdir):
            from gitmem.store.fsck.git_directory import heal_head  # only after a power cut

            heal_head(gitdir)
        self.objects = Objects(gitdir)
        self._head = os.path.join(gitdir, "HEAD")
        self._branch = os.path.join(gitdir, BRANCH)
        self.staging = Staging(gitdir)
        self.scope: Callable[[Snapshot], Scoped | None] = lambda snapshot: None
        """What in the work tree is memory beside the files of a commit; None for all of it."""
        self.trouble: dict[str, str] = {}
        """Refs that could not be read, and why: they are passed over, but not without a word."""
        self._trees: dict[str, Tree] = {}
        self._last: Commit | None = None

    def close(self) -> None:
        """Give back file handles."""
        self.objects.close()

    def tip(self) -> str:
        """The commit that the branch is at now."""
        return branch_file(self.gitdir) or self._tip_without_file()

    def _tip_without_file(self) -> str:
        """Where the branch is by `packed-refs` and its reflog.

        git serves the packed value without a word, which is an old one if the file is lost.
        """
        from gitmem.store.lost_commits.reflog import without_file
        from gitmem.store.refs.files import packed_refs

        refs, bad = packed_refs(self.gitdir)
        packed, there = refs.get(BRANCH, ""), os.path.lexists(self._branch)
        if there and (now := branch_file(self.gitdir)):
            return now  # a writer has put it there since
        if not packed or there:
            what = "cannot be read" if there or bad else "is missing"
            raise BranchLost(
                f"the branch of this group {what}, though it has a history",
                hint=Hint("run ", call("check", repair=True), ": it finds the last sound commit"),
                ref=BRANCH,
            )
        return without_file(self.gitdir, self.objects, packed)

    def head_branch(self) -> str | None:
        """The branch that HEAD names, None when it is detached or unreadable."""
        try:
            text = read_whole(self._head).decode()
        except (OSError, ValueError):
            return None
        return text[5:].strip() if text.startswith("ref: ") else None

    def head_elsewhere(self) -> str:
        """Where a person put HEAD; nothing while it names the branch that is written to."""
        branch = self.head_branch()
        if branch == BRANCH:
            return ""
        return f"on the branch {branch.removeprefix('refs/heads/')!r}" if branch else "detached"

    def is_git_at_work(self) -> bool:
        """Whether a merge, a rebase or the like is not finished."""
        return not GIT_AT_WORK.isdisjoint(self.names())

    def names(self) -> list[str]:
        """What stands in the git directory: one look tells writers what git is doing."""
        try:
            return os.listdir(self.gitdir)
        except OSError:
            return []

    def is_detached(self) -> bool:
        """True when HEAD names a commit and no branch."""
        try:
            text = (self.gitdir / "HEAD").read_text("ascii").strip()
            return len(bytes.fromhex(text)) == 20  # noqa: PLR2004 - the length of an id
        except (OSError, ValueError):
            return False

    def reference(self, name: str) -> str | None:
        """The object a ref points at, None when there is no such ref or it cannot be read."""
        from gitmem.store.refs.files import resolve

        found = resolve(self.gitdir, name)
        if found.why:
            self.trouble[name] = found.why
        return found.target or None

    def commit(self, oid: str) -> Commit:
        """One commit by its id."""
        if self._last is None or self._last.oid != oid:
            self._last = parse_commit(oid, self.objects.read_as("commit", oid))
        return self._last

    def remember_commit(self, oid: str, data: bytes) -> None:
        """Keep the newest commit in memory: whoever wrote it asks for it again at once."""
        self._last = parse_commit(oid, data)

    def tree(self, oid: str) -> Tree:
        """One tree by its id. Shared between callers: never change it."""
        tree = self._trees.get(oid)
        if tree is None:
            try:
                tree = trees.parse(self.objects.read_as("tree", oid))
            except ValueError as error:
                raise ObjectDamaged(oid, "not a tree") from error
            self.remember_tree(oid, tree)
        return tree

    def remember_tree(self, oid: str, tree: Tree) -> None:
        """Keep a tree in memory; it is named by its content, so it can never be stale."""
        if len(self._trees) >= CACHED_TREES:
            self._trees.clear()
        self._trees[oid] = tree

    def snapshot(self, commit: str | None = None) -> Snapshot:
        """What the group held at COMMIT, or holds now."""
        return Snapshot(self, commit or self.tip())

    def history(self, start: str) -> Iterator[Commit]:
        """Commits from START back to the root: the first parents, which is gitmem's own line."""
        oid: str | None = start
        while oid:
            commit = self.commit(oid)
            yield commit
            oid = commit.parents[0] if commit.parents else None

    def has_stood(self, path: str, blob: str) -> bool:
        """True when the branch has had BLOB at PATH: a blob that nothing leads to is not kept."""
        with suppress(ObjectDamaged):
            line = self.history(self.tip())
            return any(self.snapshot(each.oid).oid(path) == blob for each in line)
        return False


class Snapshot:
    """The files of one commit. Reads never touch the work tree."""

    def __init__(self, repository: Repository, commit: str) -> None:
        self.repository = repository
        self.commit = commit
        self.root = repository.commit(commit).tree

    def node(self, path: str) -> Node | None:
        """The entry at PATH, file or folder."""
        node = Node(trees.FOLDER, self.root)
        for part in path.split("/") if path else ():
            if not node.is_folder:
                return None
            found = self.repository.tree(node.oid).get(part)
            if found is None:
                return None
            node = found
        return node

    def oid(self, path: str) -> str | None:
        """The blob id of the file at PATH, None when there is no file."""
        node = self.node(path)
        return None if node is None or node.is_folder else node.oid

    def read(self, path: str) -> bytes | None:
        """The bytes of the file at PATH, None when there is no file."""
        oid = self.oid(path)
        return None if oid is None else self.repository.objects.read_as("blob", oid)

    def folder(self, path: str) -> Tree:
        """The entries of the folder at PATH; empty when there is none."""
        node = self.node(path)
        return self.repository.tree(node.oid) if node and node.is_folder else {}

    def files(self, under: str = "") -> Iterator[tuple[str, Node]]:
        """Every file at or below UNDER, in path order."""
        node = self.node(under)
        if node is None:
            return
        if not node.is_folder:
            yield under, node
            return
        for name in sorted(self.repository.tree(node.oid)):
            yield from self.files(f"{under}/{name}" if under else name)


class Forest(Protocol):
    """Whatever gives a tree by its id."""

    def tree(self, oid: str) -> Tree:
        """One tree."""


def differences(
    repository: Forest, prefix: str, before: str | None, after: str | None
) -> Iterator[Difference]:
    """Walk two trees at once, entering only the folders whose ids differ."""
    if before == after:
        return
    old = repository.tree(before) if before else {}
    new = repository.tree(after) if after else {}
    for name in sorted({name for name, _ in old.items() ^ new.items()}):
        a, b = old.get(name), new.get(name)
        folder_a = a.oid if a and a.is_folder else None
        folder_b = b.oid if b and b.is_folder else None
        yield from differences(repository, f"{prefix}{name}/", folder_a, folder_b)
        file_a = a if a and not a.is_folder else None
        file_b = b if b and not b.is_folder else None
        if file_a != file_b:
            yield f"{prefix}{name}", file_a, file_b
