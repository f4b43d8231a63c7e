"""What an installation counts as its own in files where others have a part, too.

Two scopes or two hosts may change the same file. Each remembers it as it was before the first of
them, and claims every value that it wants, also one that another has put there. So it does not
matter in which order they go: a value stays until nobody claims it, and the last to leave a file
leaves it as it was.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.integrations.install.record import Install, Kept, installs


class Claims(NamedTuple):
    """One installation, and what all others know of files, by their real paths."""

    own: Install
    files: Mapping[str, Kept]
    given: Mapping[str, tuple[Mapping[str, Any], ...]]

    def kept(self, path: Path) -> Kept | None:
        """How a file was before all installations, as far as one of them knows."""
        return self.own.files.get(str(path)) or self.files.get(os.path.realpath(path))

    def is_shared(self, path: Path) -> bool:
        """Whether another installation has a part in a file."""
        return os.path.realpath(path) in self.files

    def of_others(self, path: Path, kind: str) -> list[Any]:
        """What of KIND each of the others has at PATH."""
        rows = self.given.get(os.path.realpath(path), ())
        return [each[kind] for each in rows if kind in each]

    def ours(self, path: Path, kind: str, wanted: Sequence[str]) -> tuple[str, ...]:
        """The values that count as ours: those that we alone had, and those of others we want."""
        theirs = [value for each in self.of_others(path, kind) for value in each]
        had = self.own.given.get(str(path), {}).get(kind, ())
        alone = (each for each in had if each not in theirs)
        return (*alone, *(each for each in dict.fromkeys(theirs) if each in wanted))

    def unclaimed(self, path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
        """What of GIVEN no other installation claims, and therefore may go from PATH."""
        free: dict[str, Any] = {}
        for kind, ours in given.items():
            theirs = self.of_others(path, kind)
            if isinstance(ours, list):
                free[kind] = [x for x in ours if not any(x in each for each in theirs)]
            elif not theirs:
                free[kind] = ours
        return free


def claims_of(store: Path, known: Install) -> Claims:
    """Those of the installation that is KNOWN, among all that were made from STORE."""
    files: dict[str, Kept] = {}
    given: dict[str, tuple[Mapping[str, Any], ...]] = {}
    for row in installs(store):
        if row[:3] == known[:3]:
            continue
        for path, kept in row.files.items():
            files.setdefault(os.path.realpath(path), kept)
        for path, each in row.given.items():
            real = os.path.realpath(path)
            given[real] = (*given.get(real, ()), each)
    return Claims(known, files, given)
