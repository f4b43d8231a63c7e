"""List the files of a commit."""

from __future__ import annotations

from gitmem.memory.group import Group
from gitmem.memory.resolve import resolve
from gitmem.model.paths import glob_match
from gitmem.model.record import Record
from gitmem.store.objects.database import ObjectDamaged
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Repository


class Listing(Record):
    """One file."""

    path: str
    blob: str
    bytes: int | None
    """None if the blob is damaged."""


class Listed(Record):
    """The files of one commit, sorted by path."""

    commit: str
    files: tuple[Listing, ...]


def list_files(group: Group, glob: str = "", *, at: str | None = None) -> Listed:
    """The files that match GLOB, a pattern or folder, or all; at HEAD or AT a moment."""
    snapshot = group.repository.snapshot(resolve(group, at))
    pattern = "" if glob in (".", "./") else glob.removeprefix("./")
    files = tuple(
        Listing(path, node.oid, _size(group.repository, node.oid))
        for path, node in snapshot.files()
        if node.mode != SUBMODULE and (not pattern or glob_match(pattern, path))
    )
    return Listed(snapshot.commit, files)


def _size(repository: Repository, oid: str) -> int | None:
    try:
        return len(repository.objects.read_as("blob", oid))
    except ObjectDamaged:
        return None
