"""Up to which commit history was searched for credentials, and what was found in it.

Commits through gitmem pass the guards, so that each writer counts them as searched. Without this
file everything is searched again.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gitmem.core.exposure import Exposed
from gitmem.index.files import put

FORM = "2"
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
    """What is known; nothing where the file is missing, damaged, or by a gitmem of other rules."""
    try:
        with open(f"{gitdir}/gitmem/{NAME}", encoding="ascii") as file:
            form, _, text = file.read().partition("\n")
        if form != _form(text):
            return NOTHING
        tip, left, *rows, _ = text.split("\n")
        return Scanned(tip, left, tuple(map(_exposed, rows)))
    except (OSError, ValueError):
        return NOTHING


def _exposed(row: str) -> Exposed:
    id, rule, line, blob, commit, path = row.split("\t")
    return Exposed(id, rule, int(line), blob, commit, _plain(path))


def _plain(path: str) -> str:
    return path.encode("ascii").decode("unicode_escape")


def keep_scanned(gitdir: Path, known: Scanned) -> None:
    """Remember it."""
    rows = ["\t".join((*map(str, each[:-1]), _escaped(each.path))) for each in known.found]
    text = "\n".join((known.tip, known.left, *rows, ""))
    put(gitdir / "gitmem" / NAME, f"{_form(text)}\n{text}".encode("ascii"))


def _form(text: str) -> str:
    """The first line: one bit turned in the rest could name another commit, or hide a finding."""
    return f"{FORM} {zlib.crc32(text.encode('ascii')):08x}"


def go_on(gitdir: Path, landed: Iterable[tuple[str, str]]) -> bool:
    """Count LANDED as searched, each what it began on and its end; False where something was found.

    A file that held a credential before holds it in its next version, too.
    """
    known = read_scanned(gitdir)
    if known.found:
        return False
    tip = known.tip
    for parent, commit in landed:
        tip = commit if parent == tip else tip
    if tip != known.tip:
        keep_scanned(gitdir, known._replace(tip=tip))
    return True


def _escaped(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii")
