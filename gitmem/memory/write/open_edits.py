"""Find what was edited with ordinary tools and is not committed yet.

It takes no lock and changes nothing. An unchanged file costs one stat: the index remembers how each
one looked when it was put there.

By hand instead of pygit2's `Repository.status`, though 5,000 unchanged files take 3.3 times as
long: libgit2 refuses it for a bare repository, and opened by the work tree it follows a planted
`.git`, leaves out what a `.gitignore` names and reads trees that may be truncated.
"""

from __future__ import annotations

import math
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.memory.group import Group
from gitmem.model.guards import hold_rule
from gitmem.model.paths import check_path, is_inside
from gitmem.model.record import Record
from gitmem.store.history.moves import likeness_of, pair_moves
from gitmem.store.index.file import IndexEntry, is_clean
from gitmem.store.lock import Lock, lock_path
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import SUBMODULE, Node
from gitmem.store.repository import Repository, Snapshot
from gitmem.store.setup import is_tied
from gitmem.store.transaction.capture import HeldEdit
from gitmem.store.worktree.swap import TEMP_PREFIX
from gitmem.store.worktree.worktree import FileState, InTheWay, WorkTree, obstacle_in

if TYPE_CHECKING:
    from gitmem.store.transaction.git_operations import GitClaims, GitOperation
    from gitmem.store.worktree.ignored import Ignored

ATTEMPTS = 10
GONE_OBSTACLES = ("file", "folder")
"""Where one of these stands in a file's place or way, the file itself is no longer there."""


class PendingEdit(Record):
    """Something that was done to a file."""

    path: str
    change: str
    """new, changed, deleted or moved"""
    moved_from: str = ""
    moved_to: str = ""
    """Where a deleted file stands now, outside memory, as far as that was found."""


class Scan(NamedTuple):
    """How a work tree differs from HEAD."""

    edits: tuple[PendingEdit, ...]
    """Deletions first, then moves: in this order each can be committed by itself."""
    held: tuple[HeldEdit, ...]
    """What may not enter git."""
    ignored: int
    """Names that begin with a dot: no memory, never looked at."""
    commit: str = ""
    """The HEAD it was compared with."""
    left: int = 0
    """Edits that there was no time to judge."""
    ignored_by_pattern: int = 0
    """What somebody decided to leave on disk and out of memory: see `held ignore`."""
    claimed: tuple[str, ...] = ()
    """Files that belong to an operation which a person has begun with plain git ..."""
    operation: GitOperation | None = None
    """... and which that is; it may also have no files at all."""


def pending_edits(group: Group, under: Iterable[str] = (), *, until: float = math.inf) -> Scan:
    """What capture would find in the group's work tree.

    To look for credentials is what takes time: none begins after UNTIL, by the monotonic clock,
    but for the first.
    """
    whole = is_tied(group.gitdir, group.worktree)
    if not whole and group.worktree != group.store.default_worktree(group.name):
        group.ensure_worktree()  # raises: it is elsewhere and not there, or not ours
    if not group.worktree.is_dir():
        return Scan((), (), 0, group.repository.tip())
    worktree = WorkTree(group.worktree)
    try:
        scan = scan_edits(group.repository, worktree, under, until=until)
    finally:
        worktree.close()
    if whole:
        return scan
    # A folder that lost its `.git` was removed: its files were not deleted one by one.
    return scan._replace(edits=tuple(e for e in scan.edits if e.change != "deleted"))


def scan_edits(
    repository: Repository,
    worktree: WorkTree,
    under: Iterable[str] = (),
    *,
    until: float = math.inf,
) -> Scan:
    """Compare the work tree, or what is at or below the paths UNDER, with HEAD."""
    roots = _outermost(under)
    for _ in range(ATTEMPTS):
        tip = repository.tip()
        scan = _Scanner(repository.snapshot(tip), worktree, until).scan(roots)
        if repository.tip() == tip:
            break  # else a writer was at work meanwhile, and its files would look like edits
    return scan


def _outermost(under: Iterable[str]) -> list[str]:
    """The paths without those that lie below others; the root alone when there are none."""
    roots: list[str] = []
    for each in sorted({path.strip("/") for path in under}):
        if not each:
            return [""]
        if not roots or not each.startswith(f"{roots[-1]}/"):
            roots.append(each if is_inside(each) else check_path(each))
    return roots or [""]


class _Scanner:
    """One comparison of a work tree with one commit."""

    def __init__(self, snapshot: Snapshot, worktree: WorkTree, until: float) -> None:
        self._until, self._judged, self._left = until, False, 0
        self._ignored, self._by_pattern = _patterns(snapshot.repository.gitdir), 0
        self._snapshot = snapshot
        self._repository = snapshot.repository
        self._worktree = worktree
        self._scope = self._repository.scope(snapshot)
        self._index, self._index_mtime = self._repository.staging.load()
        record = Lock(lock_path(self._repository.gitdir)).peek()
        # On its way by a writer, alive or dead: the old version there is no edit.
        self._behind = {item.path: item.old for item in record.items} if record else {}
        self._head: dict[str, Node] = {}
        self._born: dict[str, str] = {}
        self._changed: list[str] = []
        self._held: dict[str, str] = {}
        at_work = self._repository.is_git_at_work()
        self._claims = _claims(self._repository, worktree) if at_work else None
        self._claimed: list[str] = []

    def scan(self, roots: list[str]) -> Scan:
        """Look at everything at or below ROOTS."""
        missing = {path for root in roots for path in self._expected(root)}
        ignored = 0
        for root in roots:
            # Beside other work a name that begins with a dot is nobody's business.
            ignored += 0 if self._scope else _ignored(self._worktree, root)
            for path, found in self._found_at(root):
                missing.discard(path)
                if not self._judge(path, found):
                    missing.add(path)
        gone = {path: self._head[path].oid for path in sorted(missing) if self._is_gone(path)}
        edits = self._edits(gone)
        held = tuple(HeldEdit(path, rule) for path, rule in sorted(self._held.items()))
        claims = self._claims
        operation = (claims.by() if self._claimed else claims.operation) if claims else None
        return Scan(
            edits,
            held,
            ignored,
            self._snapshot.commit,
            self._left,
            self._by_pattern,
            tuple(sorted(set(self._claimed))),
            operation,
        )

    def _expected(self, root: str) -> Iterator[str]:
        """The files of HEAD that the walk of the work tree should come by."""
        for path, node in self._snapshot.files(root):
            if node.mode != SUBMODULE and not any(part[0] == "." for part in path.split("/")):
                self._head[path] = node
                yield path

    def _found_at(self, root: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            yield from self._worktree.scan(root, self._scope.keeps if self._scope else None)
        except OSError:
            self._held[root or "."] = "unreadable"

    def _judge(self, path: str, found: os.stat_result) -> bool:
        """Classify what was found at PATH; False if it vanished meanwhile."""
        is_folder = stat.S_ISDIR(found.st_mode)
        obstacle = "unreadable" if is_folder else obstacle_in(found)
        node = self._head.get(path)
        if node is None and self._is_ignored(path + "/" * is_folder):
            return True
        if node and not obstacle and self._is_clean(path, node, found):
            return True
        if self._is_claimed(path):
            return True
        if obstacle:
            self._may_enter(path, FileState(obstacle=obstacle), None)
            return True
        return self._judge_content(path, node, self._look(path))

    def _is_ignored(self, path: str) -> bool:
        """What HEAD has, or has files below, is memory and cannot be ignored."""
        ignored = self._ignored is not None and self._ignored.fits(path)
        if ignored and self._snapshot.node(path.rstrip("/")):
            return False
        self._by_pattern += ignored
        return ignored

    def _is_claimed(self, path: str) -> bool:
        """Whether it belongs to an operation of git; remember it, then."""
        if self._claims is None:
            if not self._repository.staging.is_in_conflict(path):
                return False
            self._claims = _claims(self._repository, self._worktree)
        known = (self._behind[path],) if path in self._behind else ()
        found = self._claims.hold(path, self._snapshot, known)
        self._claimed += [path] if found else []
        return found

    def _is_clean(self, path: str, node: Node, found: os.stat_result) -> bool:
        known = self._indexed(path)
        if known is None or known.oid.hex() != node.oid:
            return False
        return is_clean(known, found, self._index_mtime)

    def _judge_content(self, path: str, node: Node | None, state: FileState) -> bool:
        if state.absent:
            return node is None
        known = (node.oid if node else None, self._behind.get(path, ""))
        if state.oid in known and not state.obstacle:
            return True
        if node is None and state.oid:
            self._born[path] = state.oid
        elif self._may_enter(path, state, node and self._before(path)):
            self._changed.append(path)
        return True

    def _may_enter(self, path: str, state: FileState, before: bytes | None) -> bool:
        """Ask the guards, and remember a refusal; without time for that, leave it."""
        if self._judged and time.monotonic() > self._until:
            self._left += 1
            return False
        self._judged = True
        rule = hold_rule(path, state.obstacle, state.data, before)
        if rule:
            self._held[path] = rule
        return not rule

    def _is_gone(self, path: str) -> bool:
        """Whether a file of HEAD was deleted: not so where nobody can see it."""
        parts = path.split("/")
        if any("/".join(parts[:end]) in self._held for end in range(1, len(parts) + 1)):
            return False
        if self._is_claimed(path):
            return False
        state = self._look(path)
        if state.absent:
            return self._behind.get(path, "") is not None
        if state.obstacle and state.obstacle not in GONE_OBSTACLES:
            self._held[path] = state.obstacle
        return state.obstacle in GONE_OBSTACLES

    def _look(self, path: str) -> FileState:
        try:
            return self._worktree.look(path)
        except OSError:
            return FileState(obstacle="unreadable")

    def _before(self, path: str) -> bytes | None:
        """HEAD's version, as far as it can be read."""
        with suppress(ObjectDamaged):
            return self._repository.objects.read_as("blob", self._head[path].oid)
        return None

    def _edits(self, gone: dict[str, str]) -> tuple[PendingEdit, ...]:
        judge = likeness_of(self._before, lambda path: self._look(path).data)
        moves = pair_moves(gone, self._born, judge)
        moved, made = [], [PendingEdit(path, "changed") for path in self._changed]
        for path, oid in self._born.items():
            source = moves.get(path, "")
            same = source and gone[source] == oid  # brings nothing new into git but a name
            state = FileState(b"") if same else self._look(path)
            if not self._may_enter(path, state, self._before(source) if source else None):
                continue
            if source:
                moved.append(PendingEdit(path, "moved", source))
            else:
                made.append(PendingEdit(path, "new"))
        sources = {each.moved_from for each in moved}
        left = {path: oid for path, oid in gone.items() if path not in sources}
        out = self._moved_out(left) if left and self._scope else {}
        deleted = [PendingEdit(path, "deleted", moved_to=out.get(path, "")) for path in left]
        return (*deleted, *_by_path(moved), *_by_path(made))

    def _moved_out(self, gone: dict[str, str]) -> dict[str, str]:
        """Where files stand now that somebody moved out of memory: a rename keeps the inode."""
        rows = ((path, self._indexed(path)) for path in gone)
        known = {entry.stat.ino: path for path, entry in rows if entry}
        found: dict[str, str] = {}
        for inode, path in self._scope.with_inodes(known) if self._scope and known else ():
            if self._look(path).oid == gone[known[inode]]:  # else the number was given out again
                found[known[inode]] = path
        return found

    def _indexed(self, path: str) -> IndexEntry | None:
        return self._index.get(path.encode("utf-8", "surrogateescape")) if self._index else None


def _patterns(gitdir: Path) -> Ignored | None:
    if not os.path.exists(gitdir / "gitmem/ignored"):
        return None
    from gitmem.store.worktree.ignored import Ignored  # most groups ignore nothing

    return Ignored(gitdir)


def _claims(repository: Repository, worktree: WorkTree) -> GitClaims:
    from gitmem.store.transaction.git_operations import GitClaims  # only where git is at work

    return GitClaims(repository, worktree)


def _ignored(worktree: WorkTree, root: str) -> int:
    """How many names below ROOT begin with a dot; our own and git's do not count."""
    count, folders = 0, [root]
    while folders:
        folder = folders.pop()
        inside = f"{folder}/" if folder else ""
        with suppress(OSError, InTheWay), worktree.parent(f"{inside}.") as (fd, _):
            names, inner = _dots_and_folders(fd)
            folders += [inside + name for name in inner]
            count += sum(bool(folder) or name != ".git" for name in names)
    return count


def _dots_and_folders(fd: int) -> tuple[list[str], list[str]]:
    """The names in an open folder that begin with a dot, and the other folders."""
    dots, folders = [], []
    with os.scandir(fd) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                if not entry.name.startswith(TEMP_PREFIX):
                    dots.append(entry.name)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
    return dots, folders


def _by_path(edits: Iterable[PendingEdit]) -> list[PendingEdit]:
    return sorted(edits, key=lambda each: each.path)
