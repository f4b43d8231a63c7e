"""Move files: to another name, or to the archive, which is what removing means here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gitmem.core.guards import check_message_text
from gitmem.core.paths import MAX_DEPTH, check_path, find_twin
from gitmem.errors import BadInput, Conflict, PathNotFound
from gitmem.git.held import SetAside
from gitmem.git.intake import Captured
from gitmem.git.publish import Plan, Published, Step
from gitmem.git.repository import Snapshot
from gitmem.git.writer import Writer
from gitmem.operations.capture import adopt_all
from gitmem.operations.group import Group
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


def move(group: Group, source: str, target: str, *, reason: str = "") -> Moved:
    """Move a file or a folder; into TARGET when that is a folder."""
    source, into = _named(group, source), target.endswith("/")
    wanted = group.relative(target)

    def aim(snapshot: Snapshot) -> str:
        node = snapshot.node(wanted)
        if into or (node is not None and node.is_folder):
            return f"{wanted}/{source.rpartition('/')[2]}".removeprefix("/")
        return wanted

    return _move(group, source, aim, "move", reason)


def remove(group: Group, path: str, *, reason: str = "") -> Moved:
    """Move a file or a folder to the archive: nothing is ever deleted."""
    path = _named(group, path)
    if path == ARCHIVE or path.startswith(f"{ARCHIVE}/"):
        raise Conflict(
            f"{path} is in the archive already, where nothing is deleted",
            hint="move it with `gitmem mv` if it stands in the way",
        )
    # As deep as can be, the outermost folder makes room for the archive.
    wanted = "/".join([ARCHIVE, *path.split("/")[1 - MAX_DEPTH :]])
    return _move(group, path, lambda snapshot: _free(snapshot, wanted), "archive", reason)


def _named(group: Group, path: str) -> str:
    named = group.relative(path)
    if not named:
        raise BadInput(
            "a group cannot be moved as a whole",
            hint="name a file or a folder; for the group itself see `gitmem groups`",
        )
    return named


def _free(snapshot: Snapshot, wanted: str) -> str:
    """WANTED, or with a number where that name is taken."""
    folder, _, name = wanted.rpartition("/")
    names = snapshot.folder(folder)
    stem, dot, ending = name.rpartition(".")
    if not stem:
        stem, dot, ending = name, "", ""
    number, free = 1, name
    while free in names or find_twin(free, names):
        number += 1
        free = f"{stem}-{number}{dot}{ending}"
    return f"{folder}/{free}"


def _move(group: Group, source: str, aim: Aim, op: str, reason: str) -> Moved:
    note = group.note(op, reason=reason)
    moved: list[tuple[str, str]] = []

    def plan(snapshot: Snapshot) -> Plan:
        target = check_path(aim(snapshot))
        check_message_text("path", target)
        files = _files(snapshot, source, target)
        moved[:] = files.keys()
        changes: dict[str, bytes | None] = {old: None for old, _ in files}
        changes.update({new: data for (_, new), data in files.items()})
        extra = tuple(("Gitmem-From", old) for old, _ in files)
        title = f"{source} -> {target}"
        paths = (source,) if len(files) == 1 else tuple(old for old, _ in files)
        return Plan((Step(changes, note._replace(title=title, paths=paths, extra=extra)),))

    with group.writing() as writer:
        target = check_path(aim(writer.repository.snapshot()))
        check_message_text("path", target)
        # What somebody did to the files comes along, and so does what stands in their way.
        adopt_all(writer, scan_edits(writer.repository, writer.worktree, [source, target]))
        published = writer.publish(plan)
        return _answer(writer, moved, published)


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


def _answer(writer: Writer, moved: list[tuple[str, str]], published: Published | None) -> Moved:
    commit = published.commit if published else writer.repository.tip().commit
    return Moved(
        commit, tuple(moved), tuple(writer.captured), writer.pending, tuple(writer.set_aside)
    )
