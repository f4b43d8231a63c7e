"""Whether a path is free: folders, files above it, and twins of its name stand in the way."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gitmem.errors import PathRefused
from gitmem.model.layout.archives import archives, in_the_way
from gitmem.model.layout.layout import FILE, Layout
from gitmem.model.paths import find_twin, fold
from gitmem.store.repository import Snapshot


def check_place(
    snapshot: Snapshot,
    path: str,
    others: Collection[str] = (),
    *,
    leaving: Collection[str] = (),
) -> None:
    """Refuse a path that a folder, a file above it, or a twin of its name already occupies.

    OTHERS are files that will be there, too; files in LEAVING will be gone.
    """
    if path != FILE and fold(path.partition("/")[0]) == FILE:
        raise PathRefused(
            f"{path} would stand in the place of the layout, {FILE}",
            hint="choose another name",
            path=path,
            rule="layout",
        )
    node = snapshot.node(path)
    if node is not None and not node.is_folder and path not in leaving:
        return
    if node is not None and node.is_folder and not _is_vacated(snapshot, path, leaving):
        raise PathRefused(f"{path} is a folder", hint="name a file in it", path=path, rule="folder")
    for other in others:
        if other.startswith(f"{path}/") or path.startswith(f"{other}/"):
            raise PathRefused(
                f"{path} and {other} cannot both be files", path=path, rule="file-above"
            )
    _check_parts(snapshot, path, others, leaving)


def check_no_archive(snapshot: Snapshot, layout: Layout, path: str) -> None:
    """Refuse a new file where the archive has to be, or beside it in another case.

    Nothing could be removed any more. Who has such a folder already may go on with it.
    """
    for folder in archives(layout):
        found = in_the_way(path, folder)
        if found and snapshot.node(found) is None:
            raise PathRefused(
                f"{path} would stand in the place of the archive, {folder}/",
                hint="choose another name",
                path=path,
                rule="archive",
            )


def _check_parts(
    snapshot: Snapshot, path: str, others: Collection[str], leaving: Collection[str]
) -> None:
    above = ""
    for part in path.split("/"):
        tree = snapshot.folder(above)
        here = f"{above}/{part}" if above else part
        if part not in tree:
            twin = find_twin(part, [*tree, *_names_in(above, others)])
            if twin and not _is_vacated(snapshot, f"{above}/{twin}".strip("/"), leaving):
                raise _twin_refused(path, part, twin)
        elif not tree[part].is_folder and here != path and here not in leaving:
            raise PathRefused(
                f"{here} is a file, so {path} cannot exist", path=path, rule="file-above"
            )
        above = here


def _is_vacated(snapshot: Snapshot, path: str, leaving: Collection[str]) -> bool:
    """True when PATH is there now and everything in it will be gone."""
    if not leaving or snapshot.node(path) is None:
        return False
    return all(each in leaving for each, _ in snapshot.files(path))


def _names_in(folder: str, paths: Collection[str]) -> Iterator[str]:
    """What stands directly in FOLDER, by PATHS."""
    prefix = f"{folder}/" if folder else ""
    for path in paths:
        if path.startswith(prefix):
            yield path.removeprefix(prefix).partition("/")[0]


def _twin_refused(path: str, part: str, twin: str) -> PathRefused:
    return PathRefused(
        f"{part!r} in {path} differs from the existing {twin!r} only in case or Unicode form",
        hint=f"use the existing name {twin!r}, or one that really differs",
        path=path,
        rule="twin",
        twin=twin,
    )
