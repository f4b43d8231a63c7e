"""Until when every edit of a group is captured: the time of the last look that left none out.

An edit that is found later was made since. The commit of a single file says nothing about other
files, so only a look at the whole work tree counts. The record is a cache: without it, nobody
knows how old an edit may be.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path  # a turn that changed nothing needs neither it nor hashlib

FILE = "caught-up"
_LARGEST = 1_048_576


def note_caught_up(gitdir: Path, at: float, held: Iterable[str]) -> None:
    """Record that what was written before AT is captured, but for the HELD paths."""
    from pathlib import Path

    from gitmem.cache.files import put

    put(Path(_path(gitdir)), "\n".join(map(_digest, held)).encode("ascii"))
    still_caught_up(gitdir, at)


def still_caught_up(gitdir: Path | str, at: float) -> None:
    """Record that nothing has changed until AT; a group without a record gets none."""
    with suppress(OSError):
        os.utime(_path(gitdir), (at, at))


def caught_up(gitdir: Path, now: float) -> tuple[float, frozenset[str]]:
    """When all was captured, and digests of paths that were not; 0 where nobody knows."""
    with suppress(OSError, UnicodeDecodeError), open(_path(gitdir), "rb") as file:
        at = os.fstat(file.fileno()).st_mtime
        held = file.read(_LARGEST).decode("ascii").split()
        if at <= now:  # else the clock was set back, and no time of it can be compared
            return at, frozenset(held)
    return 0.0, frozenset()


def is_among(path: str, digests: frozenset[str]) -> bool:
    """Whether PATH is one of those with these DIGESTS."""
    return bool(digests) and _digest(path) in digests


def _digest(path: str) -> str:
    from hashlib import sha1

    # A name may hold what must not be kept anywhere else: no purge has to look here.
    return sha1(path.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def _path(gitdir: Path | str) -> str:
    return os.path.join(gitdir, "gitmem", FILE)
