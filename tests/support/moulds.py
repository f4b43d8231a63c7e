"""Stores that are made once: to make one waits for the disk at every step, to copy it does not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from gitmem.memory.admin.init import init
from gitmem.memory.group import Group, Store, Who
from gitmem.memory.write.capture import capture
from tests.support.clocks import Clock
from tests.support.git import git

T = TypeVar("T")


class Moulds:
    """The stores that tests begin with, each as it was when it had just been made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left: dict[str, Any] = {}

    def cast(self, name: str, root: Path, make: Callable[[Path], T]) -> T:
        """Put the store NAME at ROOT; MAKE makes the first one, and what it returned is returned.

        It is called inside a test and not before the first one, so that it sees a sealed machine.
        """
        mould = self._folder / name
        if name not in self._left:
            self._left[name] = make(mould)
        shutil.copytree(mould, root, symlinks=True)
        settle(Store(root))
        left: T = self._left[name]
        return left

    def init(
        self, store: Store, clock: Clock, *, layout: str = "none", who: Who | None = None
    ) -> None:
        """Give STORE the group `main` as `init` would; CLOCK, a new one, moves on as it would."""

        def make(root: Path) -> datetime:
            init(Store(root), "main", layout=layout, who=who, now=(own := Clock()))
            return own.time

        name = f"{layout} of {' '.join(who or ())}"
        clock.time = self.cast(name, store.root, make)


def settle(store: Store) -> None:
    """Let the indexes know the files of the copy, and the groups their indexes.

    Without it each group looks as if a person had used git there, and takes the longer ways.
    """
    for index in (store.root / "repos").glob("*.git/index"):
        name = index.parent.stem
        git(store.default_worktree(name), "update-index", "-q", "--refresh")
        group = Group(store, name)
        found = capture(group)
        group.close()
        assert (found.captured, found.held, found.left) == ((), (), 0)
