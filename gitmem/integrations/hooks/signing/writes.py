"""The files that a tool call writes to, as far as anybody can tell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple


class Writes(NamedTuple):
    """What a command writes to, by real paths."""

    files: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()
    """Folders that it removes or moves with all that they hold."""
    perhaps: frozenset[str] = frozenset()
    """What a condition may keep it from writing, folders into which it copies something, and names
    of files whose folder is unknown."""
    opaque: bool = False
    """Whether it may write to any other file, too."""
    lingers: bool = False
    """Whether a part of it may run on when it has ended."""

    def surely(self, path: str) -> bool:
        """Whether it says that it writes to the file at the real PATH."""
        return path in self.files or any(each in self.trees for each in _above(path))

    def names(self, path: str) -> bool:
        """Whether it names a file that it writes to, which may be that one."""
        is_perhaps = os.path.basename(path) in self.perhaps
        return is_perhaps or self.surely(path) or any(each in self.perhaps for each in _above(path))

    def maybe(self, path: str) -> bool:
        """Whether it may write to it."""
        return self.opaque or self.names(path)


def _above(path: str) -> Iterator[str]:
    while path not in ("", "/"):
        yield path
        path = os.path.dirname(path)
