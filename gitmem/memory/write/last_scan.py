"""Whether a work tree changed since its last scan: one stat for each file.

Most turns of an agent edit no memory. To know that, one stat for each file is enough, and neither
git nor the layout is read. What is kept is a cache for one project folder. It is never the only
look: the start of a session, a compaction and every command look at the files themselves.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path  # a turn that changed nothing needs it not

FOLDER = "quiet"
CAPTURED = "caught-up"
"""The file whose time says until when every edit of a group is captured. Only a look at the whole
work tree counts: the commit of a single file says nothing about other files."""
_LARGEST = 1_048_576
FORM = 1
"""Counted up when the rules by which a look finds nothing to capture change."""
MOST = 5000
"""Files and folders that are looked at; a larger group is looked at by who knows its index."""
MARGIN = 3_000_000_000
"""Nanoseconds for which nothing may have changed: an edit within one tick of a disk's clock leaves
no trace, and some clocks tick every two seconds."""
KEPT = 30 * 86_400.0
"""Seconds after which a record goes: a project that is still open costs one look more."""
ABANDONED = 600.0
"""Seconds after which whoever wrote a record must have died over it."""
_OURS = ("HEAD", "index", "config", "packed-refs", "refs/heads/main", "info/exclude")
_STATE = ("gitmem/lock", "gitmem/ignored")


class GroupChoice(NamedTuple):
    """What decides which group a hook works with, besides the settings of the store."""

    store: str
    project: str
    group: str
    """The group that was named, or nothing."""
    acting: str


class State(NamedTuple):
    """How everything looked from outside."""

    digest: str
    newest: int
    """When the last of it was changed, in nanoseconds."""
    at: int
    """When somebody began to look."""


def unchanged_group(asking: GroupChoice) -> str:
    """The group of ASKING if nothing of it was touched since a look; else nothing."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        row = _row(_path(asking))
        name, worktree = str(row["group"]), str(row["worktree"])
        state = state_of(asking.store, name, worktree)
        if state and (row["form"], row["digest"]) == (FORM, state.digest):
            return name
    return ""


def remember_unchanged(asking: GroupChoice, group: str, worktree: str, state: State | None) -> None:
    """Remember that STATE had nothing to capture, unless it is too young to be compared."""
    if state is None or state.newest > state.at - MARGIN:
        return
    row = {"form": FORM, "group": group, "worktree": worktree, "digest": state.digest}
    with suppress(OSError, ValueError):
        path = _path(asking)
        temp = f"{path}.{os.getpid()}"
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with open(os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(row, file)
        os.replace(temp, path)


def prune(store: str) -> None:
    """Remove records that are old, that nobody can read, or whose group or files are gone."""
    folder = f"{store}/{FOLDER}"
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError):  # whoever else prunes, or writes it anew, is welcome to
                if not _counts(store, f"{folder}/{name}"):
                    os.unlink(f"{folder}/{name}")


def _counts(store: str, path: str) -> bool:
    age = time.time() - os.stat(path).st_mtime
    if _is_half(path):
        return age < ABANDONED
    with suppress(ValueError, TypeError, KeyError, RecursionError):
        row = _row(path)
        folders = (f"{store}/repos/{row['group']}.git", str(row["worktree"]))
        return age < KEPT and row["form"] == FORM and all(map(os.path.isdir, folders))
    return False


def _is_half(path: str) -> bool:
    """Whether somebody is writing it, or died over it."""
    return "." in os.path.basename(path)


def _row(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        found: dict[str, Any] = json.loads(file.read(65_536))
    return found


def state_of(store: str, group: str, worktree: str) -> State | None:
    """How the files of GROUP look; None where they are too many, or cannot be seen."""
    at, look = time.time_ns(), _StatDigest()
    gitdir = f"{store}/repos/{group}.git"
    try:
        for path in (f"{store}/config.yaml", *(f"{gitdir}/{each}" for each in (*_OURS, *_STATE))):
            look.add(path)
        look.add_folder(worktree)
    except (OSError, _TooMany):
        return None
    return State(look.digest.hexdigest(), look.newest, at)


class _TooMany(Exception):
    """There is more to look at than a turn has time for."""


class _StatDigest:
    def __init__(self) -> None:
        self.digest = sha1(usedforsecurity=False)
        self.newest = 0
        self._count = 0

    def add(self, path: str) -> None:
        """Look at a file, which may be missing."""
        try:
            self._note(path, os.lstat(path))
        except FileNotFoundError:
            self.digest.update(f"{path}\0-\n".encode("utf-8", "surrogateescape"))

    def add_folder(self, folder: str) -> None:
        """Look at all that a folder holds; names that begin with a dot are no memory."""
        waiting = [folder]
        self._note(folder, os.lstat(folder))
        while waiting:
            with os.scandir(waiting.pop()) as found:
                for each in sorted(found, key=lambda entry: entry.name):
                    if each.name[0] == ".":
                        continue
                    self._note(each.path, each.stat(follow_symlinks=False))
                    if each.is_dir(follow_symlinks=False):
                        waiting.append(each.path)

    def _note(self, path: str, st: os.stat_result) -> None:
        self._count += 1
        if self._count > MOST:
            raise _TooMany
        self.newest = max(self.newest, st.st_mtime_ns, st.st_ctime_ns)
        facts = (st.st_ino, st.st_size, st.st_mtime_ns, st.st_ctime_ns, st.st_mode, st.st_nlink)
        self.digest.update(f"{path}\0{facts}\n".encode("utf-8", "surrogateescape"))


def _path(asking: GroupChoice) -> str:
    # Where a link leads decides which group a project uses, and a link can be changed.
    real = asking._replace(project=os.path.realpath(asking.project))
    text = "\0".join(real).encode("utf-8", "surrogatepass")
    return f"{asking.store}/{FOLDER}/{sha1(text, usedforsecurity=False).hexdigest()[:16]}"


def note_captured_until(gitdir: Path, at: float, held: Iterable[str]) -> None:
    """Record that what was written before AT is captured, but for the HELD paths."""
    from pathlib import Path

    from gitmem.cache.files import put

    put(Path(_captured_path(gitdir)), "\n".join(map(_digest, held)).encode("ascii"))
    extend_captured_until(gitdir, at)


def extend_captured_until(gitdir: Path | str, at: float) -> None:
    """Record that nothing has changed until AT; a group without a record gets none."""
    with suppress(OSError):
        os.utime(_captured_path(gitdir), (at, at))


def captured_until(gitdir: Path, now: float) -> tuple[float, frozenset[str]]:
    """When all was captured, and digests of paths that were not; 0 where nobody knows."""
    with suppress(OSError, UnicodeDecodeError), open(_captured_path(gitdir), "rb") as file:
        at = os.fstat(file.fileno()).st_mtime
        held = file.read(_LARGEST).decode("ascii").split()
        if at <= now:  # else the clock was set back, and no time of it can be compared
            return at, frozenset(held)
    return 0.0, frozenset()


def is_among(path: str, digests: frozenset[str]) -> bool:
    """Whether PATH is one of those with these DIGESTS."""
    return bool(digests) and _digest(path) in digests


def _digest(path: str) -> str:
    # A name may hold what must not be kept anywhere else: no purge has to look here.
    return sha1(path.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


def _captured_path(gitdir: Path | str) -> str:
    return os.path.join(gitdir, "gitmem", CAPTURED)
