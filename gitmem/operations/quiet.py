"""Whether anything was touched since a look found nothing to capture: a stat for each file.

Most turns of an agent edit no memory. To know that, one stat for each file is enough, and neither
git nor the layout is read. What is kept is a cache for one project folder. It is never the only
look: the start of a session, a compaction and every command look at the files themselves.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from hashlib import sha1
from typing import NamedTuple

FOLDER = "quiet"
FORM = 1
"""Counted up when the rules by which a look finds nothing to capture change."""
MOST = 5000
"""Files and folders that are looked at; a larger group is looked at by who knows its index."""
MARGIN = 3_000_000_000
"""Nanoseconds for which nothing may have changed: an edit within one tick of a disk's clock leaves
no trace, and some clocks tick every two seconds."""
_OURS = ("HEAD", "index", "config", "packed-refs", "refs/heads/main", "info/exclude")
_STATE = ("gitmem/lock", "gitmem/ignored")


class Asking(NamedTuple):
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


def quiet_group(asking: Asking) -> str:
    """The group of ASKING if nothing of it was touched since a look; else nothing."""
    with suppress(OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        with open(_path(asking), "rb") as file:
            row = json.loads(file.read(65_536))
        name, worktree = str(row["group"]), str(row["worktree"])
        state = state_of(asking.store, name, worktree)
        if state and (row["form"], row["digest"]) == (FORM, state.digest):
            return name
    return ""


def keep_quiet(asking: Asking, group: str, worktree: str, state: State | None) -> None:
    """Remember that in STATE there was nothing to capture, unless it is too young to be told."""
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


def state_of(store: str, group: str, worktree: str) -> State | None:
    """How the files of GROUP look; None where they are too many, or cannot be seen."""
    at, look = time.time_ns(), _Look()
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


class _Look:
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


def _path(asking: Asking) -> str:
    # Where a link leads decides which group a project uses, and a link can be changed.
    real = asking._replace(project=os.path.realpath(asking.project))
    text = "\0".join(real).encode("utf-8", "surrogatepass")
    return f"{asking.store}/{FOLDER}/{sha1(text, usedforsecurity=False).hexdigest()[:16]}"
