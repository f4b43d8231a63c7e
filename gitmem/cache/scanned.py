"""How far the history was searched for credentials, and what was found.

Commits by gitmem pass the guards and count as searched. While only gitmem moves the branch this
file stays as it is: the lock of the group records that all commits since are ours. Without this
file everything is searched again.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.cache.files import put
from gitmem.model.record import Record

if TYPE_CHECKING:
    from gitmem.model.secrets.exposure import Exposed

FORM = "6"
"""Incremented when a rule or the meaning of a row changes: then all is searched again."""
NAME = "scanned"
REFS_NAME = "scanned-refs"
"""The same for other refs. No write reads it: it has one id for each ref."""
_MOST_AT_ONCE = 16 * 1024


class Scanned(Record):
    """How far the branch was searched."""

    tip: str = ""
    """Everything that this commit reaches was searched; empty before the first search."""
    left: str = ""
    """A tip with too many commits behind it for a write: maintenance searches them. The files of
    this commit itself were searched."""
    found: tuple[Exposed, ...] = ()


NOTHING = Scanned()


class ScannedRefs(Record):
    """How far commits were searched that only other refs reach."""

    tips: frozenset[str] = frozenset()
    """The targets of refs whose commits were all searched, here or with the branch."""
    found: tuple[Exposed, ...] = ()
    left: int = 0
    """How many commits were left out; not stored."""


def read_scanned(gitdir: Path) -> Scanned:
    """Return the stored state; NOTHING if missing, damaged or by other rules."""
    try:
        tip, left, *rows, _ = _lines(gitdir, NAME)
        return Scanned(tip, left, tuple(map(_exposed, rows)))
    except (OSError, ValueError):
        return NOTHING


def read_scanned_refs(gitdir: Path) -> ScannedRefs:
    """Return the stored state of other refs."""
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
    """Return what identifies this version of the file; None without a file."""
    try:
        found = os.stat(f"{gitdir}/gitmem/{NAME}")
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _content(path: str) -> bytes:
    """Read with three system calls, where a file object takes seven: every write reads it."""
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
    from gitmem.model.secrets.exposure import Exposed  # rare: most groups have no such row

    id, rule, line, blob, commit, path = row.split("\t")
    return Exposed(id, rule, int(line), blob, commit, _plain(path))


def _plain(path: str) -> str:
    return path.encode("ascii").decode("unicode_escape")


def keep_scanned(gitdir: Path, known: Scanned) -> None:
    """Store KNOWN."""
    _keep(gitdir, NAME, (known.tip, known.left), known.found)


def keep_scanned_refs(gitdir: Path, known: ScannedRefs) -> None:
    """Store KNOWN of other refs."""
    _keep(gitdir, REFS_NAME, (" ".join(sorted(known.tips)),), known.found)


def _keep(gitdir: Path, name: str, head: Iterable[str], found: Iterable[Exposed]) -> None:
    rows = ["\t".join((*map(str, each[:-1]), _escaped(each.path))) for each in found]
    text = "\n".join((*head, *rows, ""))
    put(gitdir / "gitmem" / name, f"{_form(text)}\n{text}".encode("ascii"))


def _form(text: str) -> str:
    """The first line with a checksum: a flipped bit could name another commit, or hide a match."""
    return f"{FORM} {zlib.crc32(text.encode('ascii')):08x}"


def advanced(known: Scanned, since: str, tip: str) -> Scanned:
    """Return KNOWN after gitmem itself made all commits from SINCE to TIP."""
    if not since:
        return known
    searched, left = (tip if each == since else each for each in (known.tip, known.left))
    return Scanned(searched, left, known.found)


def _escaped(path: str) -> str:
    return path.encode("unicode_escape").decode("ascii")
