"""Where somebody else's repository keeps its parts, by its small files; no link is followed."""

from __future__ import annotations

import os
from pathlib import Path

MAX_ALTERNATES = 8


class HistoryUnreadable(Exception):
    """A history is there and cannot be read; says why."""


def is_bare(folder: Path) -> bool:
    """Whether FOLDER is a git directory without a work tree."""
    parts = ("HEAD", "objects", "refs")
    return not os.path.lexists(folder / ".git") and all((folder / each).exists() for each in parts)


def gitdir_of(top: Path) -> Path:
    """The git directory of the work tree at TOP."""
    marker = top / ".git"
    if marker.is_symlink():
        raise HistoryUnreadable("its .git is a link, and links are not followed")
    if marker.is_dir():
        return marker
    kind, _, target = (small_text(marker) or "").strip().partition(": ")
    if kind != "gitdir":
        raise HistoryUnreadable("its .git is neither a folder nor a file that names one")
    return Path(os.path.realpath(top / target))


def common_of(gitdir: Path) -> Path:
    """The git directory whose branches and objects several work trees share."""
    named = small_text(gitdir / "commondir")
    return Path(os.path.realpath(gitdir / named.strip())) if named else gitdir


def stores_of(common: Path) -> list[Path]:
    """The git directories whose objects count: its own, and those it borrows from."""
    found = [common]
    for each in found:
        text = small_text(each / "objects" / "info" / "alternates") or ""
        for line in text.splitlines():
            place = Path(os.path.realpath(each / "objects" / line)).parent
            if line and place not in found and len(found) < MAX_ALTERNATES:
                found.append(place)
    return found


def packed_ref(common: Path, name: str) -> str | None:
    """The commit of a branch that has no file of its own any more."""
    for line in (small_text(common / "packed-refs", limit=1 << 26) or "").splitlines():
        oid, _, ref = line.partition(" ")
        if ref == name:
            return oid
    return None


def small_text(path: Path, limit: int = 1 << 20) -> str | None:
    """What a small file says; None where there is none, or it is a link."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with open(fd, "rb") as file:
            return file.read(limit).decode("utf-8", "replace")
    except OSError:
        return None
