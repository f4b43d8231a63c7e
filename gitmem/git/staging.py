"""The index of a repository: a cache that says what was last put into the work tree.

It is written by git's own protocol (`index.lock`, then rename), so a person's `git status` or
`git commit` beside us is safe. The lock is a hard link to a file of ours: after a crash it can be
told from the lock of a living git.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.git.indexfile import Entry, IndexFile, IndexUnreadable, Stat, build
from gitmem.git.trees import FILE

Signature = tuple[int, int, int]
UNKNOWN = Stat(0, 0, 0, 0, 0, 0, 0)
PATIENCE = 2.0


def entry(path: str, oid: str, found: os.stat_result | None) -> Entry:
    """The index entry of a file; without a stat, git will look at the content itself."""
    stat = UNKNOWN if found is None else Stat.of(found)
    return Entry(path.encode("utf-8", "surrogateescape"), bytes.fromhex(oid), FILE, stat)


class IndexBusy(Exception):
    """A living git holds `index.lock`."""


class Staging:
    """The index file of one repository."""

    def __init__(self, gitdir: Path) -> None:
        self._path = gitdir / "index"
        self._lock = gitdir / "index.lock"
        self._ours = gitdir / "gitmem" / "index.new"
        self._cached: tuple[Signature, IndexFile] | None = None
        self._recent: dict[bytes, Entry] = {}

    def load(self) -> tuple[IndexFile | None, int]:
        """The index and its mtime in nanoseconds; None when it is missing or unreadable."""
        try:
            found = os.stat(self._path)
            signature = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._cached and self._cached[0] == signature:
                return self._cached[1], found.st_mtime_ns
            index = IndexFile.parse(self._path.read_bytes())
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

    def update(
        self, changes: Mapping[str, Entry | None], rebuild: Callable[[], Iterable[Entry]]
    ) -> None:
        """Patch the index; where it cannot be read, make a new one from REBUILD."""
        index, mtime = self.load()
        raw = {path.encode("utf-8", "surrogateescape"): new for path, new in changes.items()}
        if index is None:
            index, mtime = build(rebuild()), 0
            self._recent = {}
        # Writing moves the index's mtime on: what it could not vouch for before must be smudged.
        doubtful = {
            path: old.smudged()
            for path, old in self._recent.items()
            if path not in raw and old.stat.mtime_ns >= mtime
        }
        patched = index.patched({**doubtful, **raw})
        self._write(patched)
        self._recent = {path: new for path, new in raw.items() if new is not None}

    def _write(self, index: IndexFile) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._ours)
        fd = os.open(self._ours, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with open(fd, "wb", buffering=0) as file:
                file.write(index.data)
                found = os.fstat(fd)
            self._take_lock()
            os.rename(self._lock, self._path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._ours)
        self._cached = ((found.st_ino, found.st_mtime_ns, found.st_size), index)

    def _take_lock(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                os.link(self._ours, self._lock)
                return
            except FileExistsError:
                if time.monotonic() >= deadline:
                    raise IndexBusy from None
                time.sleep(0.005)

    def clear_dead_lock(self) -> None:
        """After a crash: remove `index.lock` if a dead writer of ours made it."""
        with suppress(FileNotFoundError):
            ours, lock = os.stat(self._ours), None
            with suppress(FileNotFoundError):
                lock = os.stat(self._lock)
            if lock and (lock.st_ino, lock.st_dev) == (ours.st_ino, ours.st_dev):
                os.unlink(self._lock)
            os.unlink(self._ours)
