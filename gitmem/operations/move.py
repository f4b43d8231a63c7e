"""Move files: to another name, or to the archive, which is what removing means here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from gitmem.core.guards import check_message_text, check_policy
from gitmem.core.layout import FILE, Layout
from gitmem.core.messages import Note
from gitmem.core.paths import MAX_DEPTH, check_path, find_twin, numbered
from gitmem.errors import BadInput, Conflict, PathNotFound
from gitmem.git.held import SetAside
from gitmem.git.intake import Captured
from gitmem.git.publish import Plan, Step
from gitmem.git.repository import Snapshot
from gitmem.operations.capture import adopt_all
from gitmem.operations.group import Group
from gitmem.operations.layouts import layout_at
from gitmem.operations.pending import scan_edits
from gitmem.operations.place import check_place

ARCHIVE = "archive"

Aim = Callable[[Snapshot], str]


class Moved(NamedTuple):
    """Files that stand elsewhere now."""

    commit: str
    moved: tuple[tuple[str, str], ...]
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


def move(
    group: Group, source: str, target: str, *, reason: str = "", allow_policy: bool = False
) -> Moved:
    """Move a file or a folder; into TARGET when that is a folder."""
    source, into = _named(group, source), target.endswith("/")
    wanted = group.relative(target)

    def aim(snapshot: Snapshot) -> str:
        node = snapshot.node(wanted)
        if into or (node is not None and node.is_folder):
            return f"{wanted}/{source.rpartition('/')[2]}".removeprefix("/")
        return wanted

    return _Move(group, source, aim, group.note("move", reason=reason), allow_policy).done()


def remove(group: Group, path: str, *, reason: str = "", allow_policy: bool = False) -> Moved:
    """Move a file or a folder to the archive: nothing is ever deleted."""
    path = _named(group, path)

    def aim(snapshot: Snapshot) -> str:
        archive = _archive_of(layout_at(group, snapshot).layout, snapshot, path)
        return free_path(snapshot, archive_path(archive, path))

    return _Move(group, path, aim, group.note("archive", reason=reason), allow_policy).done()


def archive_path(archive: str, path: str) -> str:
    """Where PATH goes in the folder ARCHIVE, if nothing of that name is there."""
    # As deep as can be, the outermost folder makes room for the archive.
    room = MAX_DEPTH - len(archive.split("/"))
    return "/".join([archive, *path.split("/")[-room:]])


def _archive_of(layout: Layout, snapshot: Snapshot, path: str) -> str:
    """Where the layer wants its things to go that have had their time."""
    first = next((each for each, _ in snapshot.files(path)), path)
    layer = layout.layer_of(first)
    archives = {ARCHIVE, *(each.archive for each in layout.layers)}
    if any(path == each or path.startswith(f"{each}/") for each in archives):
        raise Conflict(
            f"{path} is in the archive already, where nothing is deleted",
            hint="move it with `gitmem mv` if it stands in the way",
        )
    return layer.archive if layer else ARCHIVE


def _named(group: Group, path: str) -> str:
    named = group.relative(path)
    if not named:
        raise BadInput(
            "a group cannot be moved as a whole",
            hint="name a file or a folder; for the group itself see `gitmem groups`",
        )
    return named


def free_path(snapshot: Snapshot, wanted: str, others: Collection[str] = ()) -> str:
    """WANTED, or with a number where that name is taken; OTHERS will be there, too."""
    folder = wanted.rpartition("/")[0]
    beside = [each.rpartition("/") for each in others]
    names = [*snapshot.folder(folder), *(name for where, _, name in beside if where == folder)]

    def is_free(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name not in names and not find_twin(name, names)

    return next(path for path in numbered(wanted, 2) if is_free(path))


class _Move:
    """One move, planned again when the branch moves in between."""

    def __init__(self, group: Group, source: str, aim: Aim, note: Note, allow_policy: bool) -> None:
        self._group, self._source, self._aim = group, source, aim
        self._note, self._allow_policy = note, allow_policy
        self._moved: tuple[tuple[str, str], ...] = ()

    def done(self) -> Moved:
        """Carry it out."""
        with self._group.writing() as writer:
            target = self._target(writer.repository.snapshot())
            # What somebody did to the files comes along, and so does what stands in their way.
            places = [self._source, target]
            adopt_all(writer, scan_edits(writer.repository, writer.worktree, places))
            published = writer.publish(self._plan)
            return Moved(
                published.commit if published else writer.repository.tip().commit,
                self._moved,
                tuple(writer.captured),
                writer.pending,
                tuple(writer.set_aside),
            )

    def _target(self, snapshot: Snapshot) -> str:
        target = check_path(self._aim(snapshot))
        check_message_text("path", target)
        return target

    def _plan(self, snapshot: Snapshot) -> Plan:
        source, target = self._source, self._target(snapshot)
        files = _files(snapshot, source, target)
        if any(old == FILE for old, _ in files):
            raise Conflict(
                f"{FILE} says what this group is, and stays: without it the last one would count",
                hint="for a group without layers: "
                f"`gitmem write {FILE} 'gitmem: 1' --allow-shrink`",
                path=FILE,
            )
        if not self._allow_policy:
            layout = layout_at(self._group, snapshot).layout
            for (old, _), data in files.items():
                check_policy(old, None, data, layout.policy_of(old))
        self._moved = tuple(files)
        changes: dict[str, bytes | None] = {old: None for old, _ in files}
        changes.update({new: data for (_, new), data in files.items()})
        extra = tuple(("Gitmem-From", old) for old, _ in files)
        title = f"{source} -> {target}"
        paths = (source,) if len(files) == 1 else tuple(old for old, _ in files)
        note = self._note._replace(title=title, paths=paths, extra=extra)
        return Plan((Step(changes, note),))


def _files(snapshot: Snapshot, source: str, target: str) -> dict[tuple[str, str], bytes]:
    """Each file to move as (old path, new path) and its bytes."""
    if target.startswith(f"{source}/"):
        raise Conflict(f"{source} cannot be moved into itself", path=source)
    found = {}
    sources = [path for path, _ in snapshot.files(source)]
    for path in sources:
        new = check_path(target + path.removeprefix(source))
        if snapshot.node(new):
            raise Conflict(f"{new} exists already", hint="choose another name", path=new)
        check_place(snapshot, new, leaving=sources)
        found[path, new] = snapshot.read(path) or b""
    if not found:
        raise PathNotFound(
            f"there is no {source} to move",
            hint="see what there is with `gitmem list`",
            path=source,
        )
    return found
