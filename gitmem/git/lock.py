"""One lock per repository, and the record of what its holder is about to do.

The lock is a `flock` on `gitmem/lock` in the git directory. The kernel frees it when its holder
dies, so it is never stale and never unlinked. The file's content is the inflight record: whoever
gets the lock and finds a record knows that the writer before is dead and what it was doing.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Busy, GroupNotFound

WAIT = 10.0
"""Seconds a writer waits for another before it gives up."""

# The record is overwritten in place: a file that keeps its size is synced without a journal commit.
_ROOM = 512


class Item(NamedTuple):
    """One path on its way into the work tree."""

    path: str
    old: str | None
    """The blob that is believed to stand in the work tree; None for no file."""
    new: str | None
    """The blob that shall stand there; None for no file."""
    temp: str
    """Where, beside the path, the new version waits and the old one goes."""
    landed: bool
    """True when a commit with it is known to be published."""


class Record(NamedTuple):
    """What a writer was doing. `left` means: it went on living and left the rest for later."""

    id: str
    base: str
    pid: int
    left: bool
    items: tuple[Item, ...]


def lock_path(gitdir: Path) -> Path:
    """The lock file of a repository."""
    return gitdir / "gitmem" / "lock"


class Lock:
    """The lock of one repository. One object for each taking: threads exclude each other too."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = -1
        self._size = 0

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, wait: float = WAIT) -> None:
        """Take the lock or raise Busy after WAIT seconds."""
        deadline = time.monotonic() + wait
        try:
            self._fd = self._open()
            while not self._try_lock():
                if time.monotonic() >= deadline:
                    raise self._busy(wait)
                time.sleep(random.uniform(0.0005, 0.003))
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let the next writer in."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            return os.open(self._path, flags, 0o600)
        except FileNotFoundError as error:
            raise GroupNotFound(
                f"{self._path.parent} is gone", hint="list the groups with `gitmem groups`"
            ) from error

    def _try_lock(self) -> bool:
        """One attempt. A group may be renamed or removed while we wait for its lock."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            raise
        ours = os.fstat(self._fd)
        self._size = ours.st_size
        try:
            named = os.stat(self._path, follow_symlinks=False)
        except FileNotFoundError:
            named = None
        if named is None or (named.st_ino, named.st_dev) != (ours.st_ino, ours.st_dev):
            os.close(self._fd)
            self._fd = self._open()
            return False
        return True

    def _busy(self, wait: float) -> Busy:
        record = self.peek()
        who = f"another gitmem process (pid {record.pid})" if record else "another gitmem process"
        return Busy(
            f"{who} has been at work here for more than {wait:g} s",
            hint="nothing was written; try again",
            lock=str(self._path),
        )

    def peek(self) -> Record | None:
        """The record as it stands, read without the lock."""
        try:
            return decode(self._path.read_bytes())
        except OSError:
            return None

    def record(self) -> Record | None:
        """The record that the writer before left behind, if any."""
        return decode(os.pread(self._fd, self._size, 0)) if self._size else None

    def note(self, record: Record) -> None:
        """Write the record, durably: it must be on disk before the branch moves."""
        self._write(encode(record))
        os.fdatasync(self._fd) if hasattr(os, "fdatasync") else os.fsync(self._fd)

    def clear(self) -> None:
        """Forget the record: everything it names is in place."""
        self._write(b"")

    def _write(self, data: bytes) -> None:
        room = max(self._size, (len(data) // _ROOM + 1) * _ROOM)
        os.pwrite(self._fd, data.ljust(room - 1) + b"\n", 0)
        self._size = room


def encode(record: Record) -> bytes:
    """A record as one line, with a checksum: a torn one must not be believed."""
    body = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode()
    return b"%08x %s" % (zlib.crc32(body), body)


def decode(data: bytes) -> Record | None:
    """The record in DATA, None when there is none or it is torn."""
    checksum, _, body = data.strip().partition(b" ")
    if not body or checksum != b"%08x" % zlib.crc32(body):
        return None
    name, base, pid, left, items = json.loads(body)
    return Record(name, base, pid, left, tuple(Item(*item) for item in items))
