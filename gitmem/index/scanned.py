"""Up to which commit history was searched for credentials, and what was found in it.

Commits through gitmem pass the guards and count as searched. While nobody else moves the branch
this file stays as it is: the lock of the group tells that all commits since the one that stands
here are ours. Without this file everything is searched again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.index.files import put

if TYPE_CHECKING:
    from gitmem.core.exposure import Exposed

FORM = "1"
"""Counted up whenever a rule changes: then all of history is searched again, once."""
NAME = "scanned"


class Scanned(NamedTuple):
    """What is known."""

    tip: str = ""
    """Everything that this commit reaches was searched; empty before the first time."""
    left: str = ""
    """A tip with more behind it than a write may wait for: maintenance searches that."""
    found: tuple[Exposed, ...] = ()


NOTHING = Scanned()


def read_scanned(gitdir: Path) -> Scanned:
    """What is known; nothing where the file is missing, torn, or by a gitmem of other rules."""
    try:
        with open(f"{gitdir}/gitmem/{NAME}", "rb", buffering=0) as file:
            form, tip, left, *rows, end = file.read().decode("ascii").split("\n")
        if form != FORM or end:
            return NOTHING
        return Scanned(tip, left, tuple(map(_exposed, rows)))
    except (OSError, ValueError):
        return NOTHING


def _exposed(row: str) -> Exposed:
    from gitmem.core.exposure import Exposed  # most groups have no such row

    id, rule, line, blob, commit, path = row.split("\t")
    return Exposed(id, rule, int(line), blob, commit, _plain(path))


def _plain(path: str) -> str:
    return path.encode("ascii").decode("unicode_escape")


def keep_scanned(gitdir: Path, known: Scanned) -> None:
    """Remember it."""
    rows = ["\t".join((*map(str, each[:-1]), _escaped(each.path))) for each in known.found]
    lines = (FORM, known.tip, known.left, *rows, "")
    put(gitdir / "gitmem" / NAME, "\n".join(lines).encode("ascii"))


def carried_on(known: Scanned, since: str, tip: str) -> Scanned:
    """What is known where all commits from SINCE to TIP came through our doors.

    A file that held a credential before holds it in its next version, too: then nothing follows.
    """
    if not since or known.found:
        return known
    searched, left = (tip if each == since else each for each in (known.tip, known.left))
    return Scanned(searched, left)


def _escaped(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii")
