"""The files of a commit with the changes of a plan so far: several steps, one commit."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from gitmem.errors import Conflict, PathNotFound, PathRefused
from gitmem.memory.write.apply import decoded
from gitmem.model.guards import check_policy, check_size
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import archives, in_the_way
from gitmem.model.layout.layout import FILE, Layout
from gitmem.model.paths import check_path, find_twin, fold, numbered
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot

Changes = Mapping[str, bytes | None]
"""Files with their new content; None where there is none any more."""


class Changeset:
    """The files of a commit to be. Each plan makes its own, so changing it has no effects."""

    def __init__(self, snapshot: Snapshot, changed: Changes | None = None) -> None:
        self.snapshot = snapshot
        self.changes: dict[str, bytes | None] = dict(changed or {})

    def is_file(self, path: str) -> bool:
        """Whether a file stands at PATH."""
        if path in self.changes:
            return self.changes[path] is not None
        node = self.snapshot.node(path)
        return node is not None and not node.is_folder and node.mode != SUBMODULE

    def candidates(self, path: str) -> Iterator[tuple[str, bool]]:
        """PATH, then the same with numbers, and whether each is free; the first free one ends it.

        Free is where nothing stands, nor a twin of that name beside it.
        """
        names = self._names(path.rpartition("/")[0])
        for candidate in numbered(path, 2):
            name = candidate.rpartition("/")[2]
            is_free = name not in names and not find_twin(name, names)
            yield candidate, is_free
            if is_free:
                return

    def folder_in(self, folder: str, name: str) -> str:
        """The folder NAME in FOLDER; with a number where a file or a twin has that name."""
        names = self._names(folder)
        for path in numbered(f"{folder}/{name}", 2):
            name = path.rpartition("/")[2]
            is_taken = self.is_file(path) if name in names else bool(find_twin(name, names))
            if not is_taken:
                break
        return path

    def _names(self, folder: str) -> Collection[str]:
        prefix = f"{folder}/" if folder else ""
        names = set(self.snapshot.folder(folder))
        for path, data in self.changes.items():
            if path.startswith(prefix):
                name, _, below = path[len(prefix) :].partition("/")
                if data is not None:
                    names.add(name)
                elif not below:
                    names.discard(name)
        return names

    def files(self, under: str) -> list[str]:
        """The files at or below UNDER, in order."""
        known = {path for path, _ in self.snapshot.files(under)}
        known |= {path for path in self.changes if path == under or path.startswith(f"{under}/")}
        return sorted(path for path in known if self.changes.get(path, b"") is not None)

    def read(self, path: str) -> bytes | None:
        """The bytes of the file at PATH, None when there is no file."""
        return self.changes[path] if path in self.changes else self.snapshot.read(path)

    def text(self, path: str) -> str:
        """The file at PATH as text, to change parts of it; a missing file is empty."""
        return decoded(path, self.read(path) or b"")

    def put(self, path: str, data: bytes) -> None:
        """Write DATA to PATH; refused where the path is not free."""
        check_size(path, len(data))
        if self.changes.get(path) is None:  # else the path is its own already
            made = [each for each, new in self.changes.items() if new is not None]
            gone = {each for each, new in self.changes.items() if new is None}
            check_path_free(self.snapshot, path, made, leaving=gone)
        self.changes[path] = data

    def drop(self, path: str) -> None:
        """Remove the file at PATH; its content stands elsewhere."""
        self.changes[path] = None

    def move(self, source: str, target: str) -> tuple[tuple[str, str], ...]:
        """Move a file or all files of a folder; tell the old path and the new one of each."""
        if target.startswith(f"{source}/"):
            raise Conflict(f"{source} cannot be moved into itself", path=source)
        pairs = [(old, check_path(target + old.removeprefix(source))) for old in self.files(source)]
        if not pairs:
            raise PathNotFound(
                f"no file or folder {source!r} to move",
                hint=Hint("see the files with ", call("list")),
                path=source,
            )
        self._check_movable(pairs)
        contents = [self.read(old) or b"" for old, _ in pairs]
        for old, _ in pairs:
            self.drop(old)
        made = [each for each, new in self.changes.items() if new is not None]
        gone = {each for each, new in self.changes.items() if new is None}
        for (_, new), data in zip(pairs, contents, strict=True):
            # Files that are moved together were no twins of each other before, either.
            check_size(new, len(data))
            check_path_free(self.snapshot, new, made, leaving=gone)
            self.changes[new] = data
        return tuple(pairs)

    def _check_movable(self, pairs: list[tuple[str, str]]) -> None:
        for old, new in pairs:
            if old == FILE:
                raise Conflict(
                    f"{FILE} says what this group is, and stays: "
                    "without it the last one would count",
                    hint=Hint(
                        "for a group without layers: ",
                        call("write", FILE, "gitmem: 1", allow_shrink=True),
                    ),
                    path=FILE,
                )
            standing = self.changes[new] is not None if new in self.changes else None
            if standing or (standing is None and self.snapshot.node(new)):
                raise Conflict(f"{new} exists already", hint="choose another name", path=new)

    def check_policies(self, layout: Layout) -> None:
        """Refuse what the layers of the files do not allow."""
        for path, data in self.changes.items():
            policy = layout.policy_of(path)
            if policy != "free":  # what is damaged need not be read to be replaced
                check_policy(path, data, self.snapshot.read(path), policy)


def check_path_free(
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
            f"{path} would take the name of the layout, {FILE}",
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
                f"{path} would take the name of the archive, {folder}/",
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
