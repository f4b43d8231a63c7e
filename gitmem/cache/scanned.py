"""Up to which commit history was searched for credentials, and what was found in it.

Commits through gitmem pass the guards and count as searched. While nobody else moves the branch
this file stays as it is: the lock of the group tells that all commits since the one that stands
here are ours. Without this file everything is searched again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.cache.files import put

if TYPE_CHECKING:
    from gitmem.model.secrets.exposure import Exposed

FORM = "6"
"""Counted up whenever a rule or the sense of a row changes: then all is searched again, once."""
NAME = "scanned"
REFS_NAME = "scanned-refs"
"""The same for what other refs lead to. No write reads it: it has as many ids as there are refs."""
_MOST_AT_ONCE = 16 * 1024


class Scanned(NamedTuple):
    """What is known."""

    tip: str = ""
    """Everything that this commit reaches was searched; empty before the first time."""
    left: str = ""
    """A tip with more behind it than a write may wait for: maintenance searches that. The files of
    this commit were searched all the same."""
    found: tuple[Exposed, ...] = ()


NOTHING = Scanned()


class ScannedRefs(NamedTuple):
    """What is known of commits that other refs lead to, and the branch does not."""

    tips: frozenset[str] = frozenset()
    """The objects that refs named: all that they reach was searched, here or with the branch."""
    found: tuple[Exposed, ...] = ()
    left: int = 0
    """How many commits were too many for who asked; this is not kept."""


def read_scanned(gitdir: Path) -> Scanned:
    """What is known; nothing where the file is missing, damaged, or by a gitmem of other rules."""
    try:
        tip, left, *rows, _ = _lines(gitdir, NAME)
        return Scanned(tip, left, tuple(map(_exposed, rows)))
    except (OSError, ValueError):
        return NOTHING


def read_scanned_refs(gitdir: Path) -> ScannedRefs:
    """The same for other refs."""
    try:
        tips, *rows, _ = _lines(gitdir, REFS_NAME)
        return ScannedRefs(frozenset(tips.split()), tuple(map(_exposed, rows)))
    except (OSError, ValueError):
        return ScannedRefs()


def _lines(gitdir: Path, name: str) -> list[str]:
    form, _, text = _content(f"{gitdir}/gitmem/{name}").decode("ascii").partition("\n")
    if form != _form(text):
        raise ValueError(form)
    return text.split("\n")


Stamp = tuple[int, int] | None


def scanned_stamp(gitdir: Path) -> Stamp:
    """What differs as soon as somebody has written the file anew; None where there is none."""
    try:
        found = os.stat(f"{gitdir}/gitmem/{NAME}")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _content(path: str) -> bytes:
    """A file object takes seven system calls where three do, and every write asks."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(fd, _MOST_AT_ONCE)
        if len(data) < _MOST_AT_ONCE:
            return data
        with open(fd, "rb", closefd=False) as rest:
            return data + rest.read()
    finally:
        os.close(fd)


def _exposed(row: str) -> Exposed:
    from gitmem.model.secrets.exposure import Exposed  # most groups have no such row

    id, rule, line, blob, commit, path = row.split("\t")
    return Exposed(id, rule, int(line), blob, commit, _plain(path))


def _plain(path: str) -> str:
    return path.encode("ascii").decode("unicode_escape")


def keep_scanned(gitdir: Path, known: Scanned) -> None:
    """Remember it."""
    _keep(gitdir, NAME, (known.tip, known.left), known.found)


def keep_scanned_refs(gitdir: Path, known: ScannedRefs) -> None:
    """Remember it for other refs."""
    _keep(gitdir, REFS_NAME, (" ".join(sorted(known.tips)),), known.found)


def _keep(gitdir: Path, name: str, head: Iterable[str], found: Iterable[Exposed]) -> None:
    rows = ["\t".join((*map(str, each[:-1]), _escaped(each.path))) for each in found]
    text = "\n".join((*head, *rows, ""))
    put(gitdir / "gitmem" / name, f"{_form(text)}\n{text}".encode("ascii"))


def _form(text: str) -> str:
    """The first line: one bit turned in the rest could name another commit, or hide a finding."""
    return f"{FORM} {zlib.crc32(text.encode('ascii')):08x}"


def advanced(known: Scanned, since: str, tip: str) -> Scanned:
    """What is known where all commits from SINCE to TIP came through our doors."""
    if not since:
        return known
    searched, left = (tip if each == since else each for each in (known.tip, known.left))
    return Scanned(searched, left, known.found)


def _escaped(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii")
