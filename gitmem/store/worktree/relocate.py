"""Finding a group's work tree again, before anybody makes a second one.

The file `.git` in a folder says whose it is. A new folder in the place of one that was moved would
be a fork: whoever goes on editing in the old one writes for nobody.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from gitmem.errors import Damaged
from gitmem.store.durable import make_folders, rename_durably
from gitmem.store.index.file import IndexFile
from gitmem.store.index.format import IndexUnreadable
from gitmem.store.setup import default_of, is_tied

LOOKED_AT = 50
"""Files whose inodes tell a folder that was moved from a copy of it."""


def bring_back(gitdir: Path) -> bool:
    """Where the work tree in the store is gone, move it back from where it stands now.

    Somebody renamed the folder, or the removal of its group was interrupted.
    """
    default = default_of(gitdir)
    if holds_anything(default):
        return False
    found = [*_renamed(gitdir, default), *_half_removed(gitdir, default.name)]
    if len(found) > 1:
        places = " and ".join(map(str, found))
        raise Damaged(
            f"the work tree {default} is missing, and several folders claim to be it: {places}",
            hint=f"move the right one to {default}",
            path=str(default),
        )
    if found:
        make_folders(default.parent)
        rename_durably(found[0], default)
        _remove_empty(found[0].parents[1])
    return bool(found)


def holds_anything(folder: Path) -> bool:
    """True for a folder with something in it, or for whatever else stands there."""
    if folder.is_dir() and not folder.is_symlink():
        return any(True for _ in folder.iterdir())
    return os.path.lexists(folder)


def _renamed(gitdir: Path, default: Path) -> Iterator[Path]:
    """Folders beside it that lead to this group."""
    with suppress(OSError):
        for each in sorted(default.parent.iterdir()):
            if each != default and not each.is_symlink() and is_tied(gitdir, each):
                yield each


def _half_removed(gitdir: Path, name: str) -> Iterator[Path]:
    """What lies in the trash while the repository does not: `groups remove` moves that last."""
    for each in sorted((gitdir.parent.parent / "trash").glob("*")):
        there = each / "groups" / name
        if there.is_dir() and not (each / "repos" / gitdir.name).exists():
            yield there


def _remove_empty(top: Path) -> None:
    """Remove the folders of a trash that has nothing in it any more."""
    if top.parent.name == "trash":
        with suppress(OSError):
            for each in (top / "groups", top / "repos", top):
                each.rmdir()


def is_moved_here(gitdir: Path, folder: Path) -> bool:
    """True when FOLDER leads to this group and its files are the very ones that the index knows.

    A copy has other inodes. It may be of a folder that is on a disk which is not mounted just now,
    so it is for a person to say whether it counts.
    """
    if not is_tied(gitdir, folder):
        return False
    try:
        index = IndexFile.parse((gitdir / "index").read_bytes())
    except (OSError, IndexUnreadable):
        return False
    for entry in islice(index.entries(), LOOKED_AT):
        with suppress(OSError):
            found = os.lstat(folder / os.fsdecode(entry.path))
            if entry.stat.ino and (found.st_ino & 0xFFFFFFFF) == entry.stat.ino:
                return True
    return False
