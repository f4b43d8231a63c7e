"""The layout that counts: of a group at a commit, or one of those that ship with gitmem."""

from __future__ import annotations

from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.layout import EMPTY, FILE, Layout
from gitmem.errors import BadInput, Damaged, LayoutRefused
from gitmem.index.layouts import Standing, keep_standing, remember, remembered, standing
from gitmem.operations.clock import named_zone, zone_of

if TYPE_CHECKING:
    from gitmem.git.repository import Snapshot
    from gitmem.operations.group import Group

NONE = "none"
"""The name for: no layout at all."""


WORTH_KEEPING = 8
"""From so many commits back, what was found is kept for the next command."""


class Loaded(NamedTuple):
    """A layout, and whether it is the one that the commit itself holds."""

    layout: Layout
    blob: str = ""
    """The version of `gitmem.yaml` it was read from; empty where the group never had one."""
    problem: str = ""
    """What is wrong with the commit's own, if an older one has to serve."""


def layout_of(group: Group) -> Layout:
    """The layout of a group as it is now."""
    return layout_at(group, group.repository.snapshot()).layout


def layout_at(group: Group, snapshot: Snapshot) -> Loaded:
    """The layout at a commit: a broken or missing one never stops a group, the last valid serves.

    So somebody who wants none says so with a `gitmem.yaml` that has no layers.
    """
    blob = snapshot.oid(FILE) or ""
    known = group.layouts.get(blob)
    if known:
        return Loaded(known, blob)
    problem = f"{FILE} is missing"
    if blob:
        try:
            return Loaded(_read(group, blob), blob)
        except (LayoutRefused, Damaged) as error:
            problem = error.message
    found = _last_valid(group, snapshot, blob)
    if not found:
        return Loaded(EMPTY, "", problem if blob else "")
    return Loaded(_read(group, found), found, f"{problem}; an older version is used")


def _read(group: Group, blob: str) -> Layout:
    """The layout in BLOB, from memory, from the cache, or from the file itself."""
    layout = group.layouts.get(blob) or remembered(group.gitdir, blob)
    if layout is None:
        data = group.repository.objects.read_as("blob", blob)
        layout = checked(data)
        remember(group.gitdir, blob, layout)
    group.layouts[blob] = layout
    return layout


def checked(data: bytes) -> Layout:
    """The layout that DATA describes, or LayoutRefused; its time zone must exist here, too."""
    from gitmem.core.layout_file import parse

    try:
        layout = parse(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise LayoutRefused(f"{FILE} is not UTF-8 at byte {error.start}", line=0, key="") from error
    if layout.timezone:
        try:
            named_zone(layout.timezone)
        except BadInput as error:
            raise LayoutRefused(
                f"{FILE}, timezone: {error.message}", hint=error.hint, line=0, key="timezone"
            ) from error
    return layout


def _last_valid(group: Group, snapshot: Snapshot, broken: str) -> str:
    """The newest version before SNAPSHOT that can be read; each look goes on from the last one."""
    known = group.standing or standing(group.gitdir)
    last, steps, found = broken, 0, ""
    with suppress(Damaged):  # what cannot be read is not the last word on the rest
        for commit in group.repository.history(snapshot.commit):
            steps += 1
            if known and commit.oid == known.commit:
                found = known.blob
                break
            blob = _blob_at(group, commit.oid)
            if blob and blob != last and _is_valid(group, blob):
                found = blob
                break
            last = blob
        group.standing = Standing(snapshot.commit, found)
        if steps >= WORTH_KEEPING:
            keep_standing(group.gitdir, group.standing)
    return found


def _blob_at(group: Group, commit: str) -> str:
    with suppress(Damaged):
        return group.repository.snapshot(commit).oid(FILE) or ""
    return ""


def _is_valid(group: Group, blob: str) -> bool:
    with suppress(LayoutRefused, Damaged):
        _read(group, blob)
        return True
    return False


def zone_then(group: Group, layout: Layout) -> tzinfo:
    """The zone in which a group's days begin by LAYOUT."""
    if layout.timezone:
        with suppress(BadInput):
            return named_zone(layout.timezone)
    return zone_of(group.store.root)


def _folder() -> Path:
    from gitmem.resources import templates

    return templates() / "layouts"


def shipped() -> tuple[str, ...]:
    """The names of the layouts that come with gitmem."""
    return tuple(sorted(each.parent.name for each in _folder().glob("*/layout.yaml")))


def folder_of(name: str) -> Path:
    """The folder of the layout NAME: one of ours, or a folder that somebody made."""
    place = Path(name).expanduser() if "/" in name else _folder() / name
    if name in ("", ".", "..") or not (place / "layout.yaml").is_file():
        raise BadInput(
            f"there is no layout {name!r}",
            hint=f"choose one of {', '.join((*shipped(), NONE))}, "
            "or name a folder with a layout.yaml in it: ./mine",
        )
    return place


def shipped_layout(name: str) -> Layout:
    """The layout called NAME, as it ships."""
    return checked((folder_of(name) / "layout.yaml").read_bytes())


def starter_files(name: str) -> dict[str, bytes]:
    """What a new group with the layout NAME begins with: path to content."""
    folder = folder_of(name)
    text = (folder / "layout.yaml").read_bytes()
    checked(text)
    found = {FILE: text}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if path.is_file() and inside != "layout.yaml" and "/." not in f"/{inside}":
            found[inside] = path.read_bytes()
    return found
