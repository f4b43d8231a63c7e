"""The index of a repository: a cache that says what was last put into the work tree.

It is written by git's own protocol (`index.lock`, then rename), so a person's `git status` or
`git commit` beside us is safe. The lock is a hard link to a file of ours: after a crash it can be
told from the lock of a living git.

By hand instead of pygit2's `Index.write`: libgit2 never waits for a lock and never breaks one, and
a killed writer left `index.lock` in 11 of 560 kills, which blocks every later write.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from gitmem.store.durable import read_whole, write_all
from gitmem.store.index.file import IndexEntry, IndexFile, Stat, build
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.objects.trees import FILE

Signature = tuple[int, int, int]
UNKNOWN = Stat(0, 0, 0, 0, 0, 0, 0)
PATIENCE = 2.0
"""Seconds to wait for a git that has the index; once for each time it takes it."""


def entry(path: str, oid: str, found: os.stat_result | None) -> IndexEntry:
    """The index entry of a file; without a stat, git will look at the content itself."""
    stat = UNKNOWN if found is None else Stat.of(found)
    return IndexEntry(path.encode("utf-8", "surrogateescape"), bytes.fromhex(oid), FILE, stat)


class IndexBusy(Exception):
    """A living git holds `index.lock`."""


class Staging:
    """The index file of one repository."""

    def __init__(self, gitdir: Path) -> None:
        self._path = f"{gitdir}/index"
        self._lock = f"{gitdir}/index.lock"
        self._ours = f"{gitdir}/gitmem/index.new"
        self._cached: tuple[Signature, IndexFile] | None = None
        self._recent: dict[bytes, IndexEntry] = {}
        self._outlasted: tuple[int, int] | None = None
        self.replaced = b""
        """The signature of the index that `update` has patched."""
        self.patched: tuple[IndexFile | None, int] = (None, 0)
        """That index, and its mtime in nanoseconds."""

    def signature(self) -> bytes:
        """What tells one writing of the index from another; empty when there is none."""
        try:
            found = os.stat(self._path)
        except OSError:
            return b""
        return b"index %d %d %d" % (found.st_ino, found.st_mtime_ns, found.st_size)

    def known(self) -> bytes:
        """The signature of the index as it was read or written last."""
        return b"index %d %d %d" % self._cached[0] if self._cached else b""

    def load(self) -> tuple[IndexFile | None, int]:
        """The index and its mtime in nanoseconds; None when it is missing or unreadable."""
        try:
            found = os.stat(self._path)
            signature = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._cached and self._cached[0] == signature:
                return self._cached[1], found.st_mtime_ns
            index = IndexFile.parse(read_whole(self._path))
        except (OSError, IndexUnreadable):
            return None, 0
        self._cached = (signature, index)
        self._recent = {each.path: each for each in index.racy(found.st_mtime_ns)}
        return index, found.st_mtime_ns

    def oid(self, path: str) -> str | None:
        """The blob that was last put at PATH, as far as the index knows."""
        index, _ = self.load()
        found = index.get(path.encode("utf-8", "surrogateescape")) if index else None
        return found.oid.hex() if found else None

    def is_in_conflict(self, path: str) -> bool:
        """Whether PATH, or a file that cannot stand beside it, waits for a person's merge."""
        index, _ = self.load()
        if index is None:
            return False
        raw = path.encode("utf-8", "surrogateescape")
        return index.is_unmerged(raw) or any(map(index.is_unmerged, index.rivals(raw)))

    def update(
        self,
        changes: Mapping[str, IndexEntry | None],
        rebuild: Callable[[], Iterable[IndexEntry]],
        holds: Callable[[IndexEntry], bool],
        wait: float = PATIENCE,
    ) -> frozenset[str]:
        """Patch the index; where it cannot be read, make a new one from REBUILD.

        Tell which paths are in conflict: these stay as they are, for whoever resolves them.
        WAIT so long for a git that has it, and never longer than PATIENCE.

        Writing moves the index's mtime on, and with it the limit before which an edit cannot hide
        in a clock tick. Entries beyond that limit are smudged unless HOLDS looked and confirms.
        """
        raw = {path.encode("utf-8", "surrogateescape"): new for path, new in changes.items()}
        with self._locked(wait) as fd:
            # Read under the lock: what a person's `git add` has put there since must stay.
            index, mtime = self.load()
            self.replaced, self.patched = self.known(), (index, mtime)
            if index is None:
                index, mtime = build(rebuild()), 0
                self._recent = {}
            conflicted = frozenset(path for path in raw if index.is_unmerged(path))
            raw = {path: new for path, new in raw.items() if path not in conflicted}
            doubtful = {
                path: old.smudged()
                for path, old in self._recent.items()
                if path not in raw and old.stat.mtime_ns >= mtime and not holds(old)
            }
            patched = (index.patched(doubtful) if doubtful else index).patched(raw)
            # Linux gives a file whose times were asked for an exact mtime at its next write. Else
            # that is the start of a clock tick, and all that came in within it stays in doubt.
            os.fstat(fd)
            write_all(fd, patched.data)
            found = os.fstat(fd)
            os.rename(self._lock, self._path)
        self._cached = ((found.st_ino, found.st_mtime_ns, found.st_size), patched)
        self._recent = {path: new for path, new in raw.items() if new is not None}
        return frozenset(path.decode("utf-8", "surrogateescape") for path in conflicted)

    @contextmanager
    def _locked(self, wait: float) -> Iterator[int]:
        """The handle of what is `index.lock`; renaming it onto the index ends the lock."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            fd = os.open(self._ours, flags, 0o600)
        except FileExistsError:  # of a writer that died
            os.unlink(self._ours)
            fd = os.open(self._ours, flags, 0o600)
        try:
            self._take_lock(wait)
            yield fd
        except BaseException:
            self.clear_dead_lock()  # ours alone: nobody else may be kept out by it
            raise
        finally:
            os.close(fd)
        os.unlink(self._ours)

    def _take_lock(self, wait: float) -> None:
        """Link the lock; one that has outlasted our patience before is not waited for again."""
        deadline = time.monotonic() + min(wait, PATIENCE)
        while True:
            try:
                os.link(self._ours, self._lock)
                return
            except FileExistsError:
                lock = self._lock_now()
                if lock and (lock == self._outlasted or time.monotonic() >= deadline):
                    self._outlasted = lock
                    raise IndexBusy from None
                time.sleep(0.005)

    def wait_for_git(self, wait: float = PATIENCE) -> bool:
        """Wait until no git holds the index; False when there was nobody to wait for."""
        deadline = time.monotonic() + min(wait, PATIENCE)
        waited = False
        while (lock := self._lock_now()) and lock != self._outlasted:
            waited = True
            if time.monotonic() >= deadline:
                self._outlasted = lock
            time.sleep(0.005)
        return waited

    def _lock_now(self) -> tuple[int, int] | None:
        """What tells one lock from the next; None when it has just gone."""
        with suppress(FileNotFoundError):
            found = os.stat(self._lock, follow_symlinks=False)
            return found.st_ino, found.st_mtime_ns
        return None

    def clear_dead_lock(self) -> None:
        """After a crash or a failure: remove `index.lock` if a writer of ours made it."""
        with suppress(FileNotFoundError):
            ours, lock = os.stat(self._ours), None
            with suppress(FileNotFoundError):
                lock = os.stat(self._lock)
            if lock and (lock.st_ino, lock.st_dev) == (ours.st_ino, ours.st_dev):
                os.unlink(self._lock)
            os.unlink(self._ours)
