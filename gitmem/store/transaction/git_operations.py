"""What a person has begun with plain git and not finished, and which files belong to it.

A merge, rebase, cherry-pick or revert that stops on a conflict leaves its state in the git
directory, and its result so far in the index: unmerged entries (stages 1 to 3) and entries that
differ from HEAD. Those files are the person's until they finish or abort. All others go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gitmem.errors import GitOperationUnderway
from gitmem.model.record import Record
from gitmem.model.text.format import quoted
from gitmem.store.index.file import IndexFile
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.repository import GIT_AT_WORK, Repository, Snapshot
from gitmem.store.worktree.worktree import FileState, WorkTree

LOOKED_BACK = 200
"""Commits in which the version may stand that a git at work has put back into the index."""
AT_ONCE = 5_000_000_000
"""Nanoseconds from the begin of a `git merge` to its end."""
MEANWHILE = 1 << 18
"""Bytes of a reflog: more moves than writers make in that time."""


class GitOperation(Record):
    """An operation of git that waits for a person."""

    name: str
    """merge, rebase, am, cherry-pick, revert, bisect or conflict (unmerged files alone)"""
    finish: str
    """The command that ends it, once conflicts are resolved."""
    abort: str
    """The command that gives it up; empty where there is none."""

    @property
    def title(self) -> str:
        """What it is, with its article: `a merge`."""
        return "a conflict" if self == CONFLICT else f"a{'n' * (self.name == 'am')} {self.name}"

    @property
    def way_on(self) -> str:
        """How it ends, in words."""
        conflicts = "the conflict" if self == CONFLICT else "any conflicts"
        first = f"resolve {conflicts}, then " if self != _BISECT else ""
        way = f"{first}run `{self.finish}` in the group's folder"
        return f"{way}, or `{self.abort}` to give it up" if self.abort else way


def _of(name: str) -> GitOperation:
    return GitOperation(name, f"git {name} --continue", f"git {name} --abort")


CONFLICT = GitOperation("conflict", "git add PATH", "")
_BISECT = GitOperation("bisect", "git bisect reset", "")
# In this order: a rebase stops with the files of a cherry-pick or a merge, too.
_STATES = (
    ("rebase-merge", _of("rebase")),
    ("MERGE_HEAD", _of("merge")),
    ("CHERRY_PICK_HEAD", _of("cherry-pick")),
    ("REVERT_HEAD", _of("revert")),
    ("BISECT_LOG", _BISECT),
    ("BISECT_START", _BISECT),
)


def git_operation(gitdir: Path) -> GitOperation | None:
    """The operation of git that is not finished, by the files that git keeps for it."""
    names = os.listdir(gitdir)
    if GIT_AT_WORK.isdisjoint(names):
        return None
    if "rebase-apply" in names:
        return _of("am" if (gitdir / "rebase-apply" / "applying").exists() else "rebase")
    found = next((each for name, each in _STATES if name in names), None)
    if "sequencer" in names and found in (None, _BISECT):
        return _next_in_sequence(gitdir) or found
    return found


def _next_in_sequence(gitdir: Path) -> GitOperation | None:
    """Of several commits to pick or revert, what comes next: the last conflict is committed."""
    with suppress(OSError):
        word = (gitdir / "sequencer" / "todo").read_bytes().lstrip().partition(b" ")[0]
        return _of("revert" if word == b"revert" else "cherry-pick")
    return None


def failed_merge(repository: Repository, index: IndexFile | None, written: int) -> Snapshot | None:
    """The commit to which a failed `git merge` has reset the INDEX and all files; or None.

    Git notes HEAD in ORIG_HEAD as it begins. If the strategy fails, because somebody holds the
    index or has edited a file, git runs `read-tree --reset -u` and does not move the branch.
    Everything that was published in between then looks taken back by hand. WRITTEN is the mtime of
    the index in nanoseconds. A person who takes something back comes close to that, so each trace
    counts: docs/concurrency.md lists them.
    """
    gitdir = repository.gitdir
    root = index.root_tree if index else None
    if root is None:
        return None
    try:
        noted = os.stat(gitdir / "ORIG_HEAD").st_mtime_ns
        if not 0 <= written - noted <= AT_ONCE or git_operation(gitdir):
            return None
        commit = (gitdir / "ORIG_HEAD").read_text("ascii").strip()
        if _is_given_up(gitdir, noted) or not _is_ours_since(repository, commit, noted, root):
            return None
        with suppress(ObjectDamaged), repository.objects.probing():
            before = repository.snapshot(commit)
            # Empty: git had stashed edits, and has applied them to that commit again.
            is_reset = root in ("", before.root)
            return before if is_reset and not _had_all(repository, commit, noted) else None
    except (OSError, ValueError):
        pass
    return None


def _is_given_up(gitdir: Path, noted: int) -> bool:
    """Whether somebody gave up a commit since: that makes trees of an index of single paths."""
    with suppress(FileNotFoundError):
        return os.stat(gitdir / "COMMIT_EDITMSG").st_mtime_ns >= noted
    return False


def _is_ours_since(repository: Repository, commit: str, noted: int, root: str) -> bool:
    """Whether nobody but writers of ours has moved HEAD since it was at COMMIT.

    A `git reset`, and a `git stash`, note HEAD as well, and log a move from there to there. An
    index without its ROOT is of a merge all the same: one that began right after that.
    """
    from gitmem.store.refs.files import parse_log

    with open(repository.gitdir / "logs" / "HEAD", "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MEANWHILE))
        lines = parse_log(file.read()).lines
    expected = tip = repository.tip()
    for line in reversed(lines):
        if line.new != expected:
            return False
        if expected == commit:
            moved = int(line.who.split()[-2])
            by_reset = line.message.startswith("reset:") and moved >= noted // 1_000_000_000
            return commit != tip and not (root and by_reset)
        if not line.is_ours:
            return False
        expected = line.old
    return False


def _had_all(repository: Repository, commit: str, noted: int) -> bool:
    """Whether it was a `git pull` of what COMMIT had already: then there was nothing to merge."""
    from gitmem.store.history.ancestry import is_behind

    fetched = repository.gitdir / "FETCH_HEAD"
    with suppress(FileNotFoundError):
        if 0 <= noted - os.stat(fetched).st_mtime_ns <= AT_ONCE:
            oids = [line.split()[0] for line in fetched.read_text("utf-8", "replace").splitlines()]
            return bool(oids) and all(is_behind(repository.objects, oid, commit) for oid in oids)
    return False


def staged(index: IndexFile | None, path: str) -> str | None:
    """The blob that INDEX has for PATH."""
    entry = index.get(path.encode("utf-8", "surrogateescape")) if index else None
    return entry.oid.hex() if entry else None


class GitClaims:
    """Which files of a work tree belong to an operation of git, as the index tells."""

    def __init__(self, repository: Repository, worktree: WorkTree) -> None:
        self._repository, self._worktree = repository, worktree
        self.operation: GitOperation | None = None
        with suppress(OSError):
            self.operation = git_operation(repository.gitdir)
        bisecting = self.operation == _BISECT and not repository.head_elsewhere()
        self._staged_too = self.operation is not None and not bisecting

    def hold(self, path: str, head: Snapshot, known: Iterable[str | None] = ()) -> bool:
        """Whether PATH belongs to it, or cannot stand beside a file that does: `a` and `a/b`.

        KNOWN are the blobs a writer of ours left in the index, or was about to put there.
        """
        index, _ = self._repository.staging.load()
        if index is None:
            return False
        raw = path.encode("utf-8", "surrogateescape")
        if self._owns(index, raw, head, known):
            return True
        return any(self._owns(index, rival, head) for rival in index.rivals(raw))

    def _owns(
        self, index: IndexFile, raw: bytes, head: Snapshot, known: Iterable[str | None] = ()
    ) -> bool:
        if index.is_unmerged(raw):
            return True
        if not self._staged_too:
            return False
        path = raw.decode("utf-8", "surrogateescape")
        blob = staged(index, path)
        return blob not in (head.oid(path), *known) and not self._is_late(path, blob, head)

    def _is_late(self, path: str, staged: str | None, head: Snapshot) -> bool:
        """Whether the index has no more than an older version of PATH, which git put back there.

        git reads the index before it locks it: an entry of ours that comes in between is lost. What
        an operation stages stands in the work tree, too, and is no earlier version of the branch.
        """
        if self._worktree.look(path).oid == staged:
            return False
        versions = self._repository.history(head.commit)
        return any(
            self._repository.snapshot(each.oid).oid(path) == staged
            for each in islice(versions, LOOKED_BACK)
        )

    def late(self, head: Snapshot) -> Iterator[tuple[str, FileState]]:
        """Paths whose file is HEAD's, while the index has an older version; and that file."""
        index, _ = self._repository.staging.load()
        if index is None:
            return
        there = {entry.path: entry.oid.hex() for entry in index.entries()}
        here = {path.encode("utf-8", "surrogateescape"): x.oid for path, x in head.files()}
        for raw in {raw for raw, _ in here.items() ^ there.items()}:
            path, blob = raw.decode("utf-8", "surrogateescape"), here.get(raw)
            state = self._worktree.look(path)
            is_heads = state.oid == blob and not (state.obstacle or index.is_unmerged(raw))
            if is_heads and self._is_late(path, there.get(raw), head):
                yield path, state

    def by(self) -> GitOperation:
        """Whose the files are that it holds."""
        return self.operation or CONFLICT

    def refusal(self, path: str) -> GitOperationUnderway:
        """The error for who would write PATH."""
        operation = self.by()
        way = operation.way_on.replace("PATH", quoted(path))
        what = f"belongs to {operation.title} begun with git that is not finished"
        return GitOperationUnderway(
            f"{path!r} {'has a conflict to resolve' if operation == CONFLICT else what}",
            hint=f"{way}; all other files can be written",
            path=path,
            operation=operation.name,
        )
