"""Where things go that have had their time: the archives of a layout, and the places in them."""

from __future__ import annotations

from gitmem.model.layout.layout import Layout
from gitmem.model.paths import MAX_DEPTH, MAX_PATH_BYTES, fold

ARCHIVE = "archive"
"""Where things go that belong to no layer."""
ROOM = 64
"""Bytes of a path in an archive that stay free for numbers: the same name may come again."""


def archives(layout: Layout) -> tuple[str, ...]:
    """The folders to which things retire; none of them lies in another."""
    folders = sorted({ARCHIVE, *(each.archive for each in layout.layers)})
    return tuple(x for x in folders if not any(x.startswith(f"{each}/") for each in folders))


def is_archived(layout: Layout, path: str) -> bool:
    """Whether PATH is an archive, or in one."""
    return archive_of(layout, path) != ""


def archive_of(layout: Layout, path: str) -> str:
    """The archive that PATH is, or is in; empty for what is still in use."""
    holding = (each for each in archives(layout) if path == each or path.startswith(f"{each}/"))
    return next(holding, "")


def archive_path(layout: Layout, path: str, first: str = "") -> str:
    """Where PATH goes, or an entry of it; of a folder, the layer of its FIRST file decides."""
    layer = layout.layer_of(first or path)
    return path_in(layer.archive if layer else ARCHIVE, path)


def path_in(archive: str, path: str) -> str:
    """Where PATH goes in the folder ARCHIVE, if nothing of that name is there."""
    # As deep or as long as can be, the outermost folders make room for the archive.
    while "/" in path and not _has_room(f"{archive}/{path}"):
        path = path.partition("/")[2]
    return f"{archive}/{path}"


def _has_room(path: str) -> bool:
    return path.count("/") < MAX_DEPTH and len(path.encode()) + ROOM <= MAX_PATH_BYTES


def in_the_way(path: str, archive: str) -> str:
    """What of a file at PATH leaves no room for the folder ARCHIVE: itself, a twin, or nothing."""
    ours, theirs = path.split("/"), archive.split("/")
    for end, (one, other) in enumerate(zip(ours, theirs, strict=False), 1):
        if fold(one) != fold(other):
            return ""
        if one != other:
            return "/".join(ours[:end])
    return path if len(ours) <= len(theirs) else ""
