"""Create a store and a group."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Conflict, Damaged, GroupRefused, PathRefused, StorageFailed
from gitmem.memory.admin.groups import finish_rename
from gitmem.memory.admin.worktrees import repoint
from gitmem.memory.clock import Clock, zone_of
from gitmem.memory.group import Group, Store, Who, make_note, time_now
from gitmem.memory.layouts import NONE, checked, layout_at, layout_of, starter_files
from gitmem.memory.write.capture import CapturedAll, capture
from gitmem.memory.write.changeset import check_path_free
from gitmem.model.access import check_access
from gitmem.model.commit_messages import Note
from gitmem.model.guards import check_message_text
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.layout import FILE, lower_name
from gitmem.model.paths import check_group, find_twin
from gitmem.store.config import worktree_of
from gitmem.store.durable import make_folders
from gitmem.store.lock import Lock, lock_path
from gitmem.store.repository import Snapshot
from gitmem.store.setup import (
    begins,
    begun,
    create,
    exclude_from_parent,
    is_tied,
    remove_drafts,
    tie,
)
from gitmem.store.transaction.capture import HeldEdit
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import translated

if TYPE_CHECKING:
    from gitmem.store.worktree.scope import Scoped

NOTHING = CapturedAll((), (), 0)
FOUND = "found when the group was made"


class Initialised(NamedTuple):
    """A group that is ready for use."""

    group: str
    store: str
    worktree: str
    created: bool
    commit: str
    excluded_in: str = ""
    """The exclude file of a repository around the work tree, if there is one."""
    captured: int = 0
    """The number of files in the work tree that were committed."""
    held: tuple[HeldEdit, ...] = ()
    """Files that may not enter git."""
    layout: str = ""
    """The name in its `gitmem.yaml`."""
    started: tuple[str, ...] = ()
    """The files of the layout that were created."""


def init(
    store: Store,
    name: str,
    *,
    worktree: Path | None = None,
    layout: str = NONE,
    relayout: bool = False,
    capture_files: bool = True,
    who: Who | None = None,
    acting: str | None = None,
    now: Clock | None = None,
) -> Initialised:
    """Create the store and the group NAME where they are missing; nothing changes otherwise.

    A new group gets LAYOUT; with RELAYOUT so does one without a layout. CAPTURE_FILES commits the
    files that stand in its work tree.
    """
    starter = {} if layout == NONE else starter_files(layout)
    check_access(acting, check_group(name), write=True)
    check_message_text("group's name", name)
    note = make_note(who or Who(), "init")._replace(title=f"the memory of {name}")
    with _translated(store):
        for folder in (store.root / "groups", store.root / "repos"):
            make_folders(folder)
        _finish_renames(store, name)
        with Lock(store.root / "lock"):
            created = not store.gitdir(name).is_dir()
            place = _place(store, name, worktree, created)
            if created:
                _create(store, name, place, note, now)
            fresh = begins(store.gitdir(name))  # also one whose `init` failed or died
        group = Group(store, name, who=who, acting=acting, now=now)
        try:
            excluded = _ensure_worktree(group, named=worktree is not None)
            found = NOTHING
            # Beside other work only the layout defines what is memory: its files come first.
            ahead = list(starter) if group.is_outside else []
            if fresh and capture_files:
                found = capture(group, ahead, reason=FOUND)
            started: tuple[str, ...] = ()
            if relayout or (fresh and not group.repository.snapshot().node(FILE)):
                started = _start(group, starter, layout)
            if fresh and capture_files and ahead:
                rest = capture(group, reason=FOUND)
                found = rest._replace(captured=(*found.captured, *rest.captured))
            tip = group.repository.tip()
            named = layout_of(group).name
            # A write that waits for disk space is completed by the next call.
            if fresh and capture_files and Lock(lock_path(group.gitdir)).peek() is None:
                begun(group.gitdir)
        finally:
            group.close()
    return Initialised(
        group=name,
        store=str(store.root),
        worktree=str(place),
        created=created,
        commit=tip,
        excluded_in=excluded,
        captured=len(found.captured),
        held=found.held,
        layout=named,
        started=started,
    )


def _finish_renames(store: Store, name: str) -> None:
    """Complete interrupted renames, so that a new group takes no name that is being given."""
    if not finish_rename(store, name) and not store.gitdir(name).is_dir():
        for each in store.names():
            finish_rename(store, each)


def _start(group: Group, starter: dict[str, bytes], layout: str) -> tuple[str, ...]:
    """Commit the starter files of the layout whose paths are free."""
    if not starter:
        return ()
    note = group.note("init")._replace(title=f"begin with the layout {layout}")

    def plan(snapshot: Snapshot) -> Plan[tuple[str, ...]]:
        _check_layout(group, snapshot, starter[FILE], layout)
        scope = _scope(group, snapshot, starter[FILE])
        files = {
            path: data
            for path, data in starter.items()
            if _is_free(snapshot, path) and not (scope and scope.other_work(path))
        }
        paths = tuple(files)
        return Plan((Step(files, note._replace(paths=paths)),) if files else (), paths)

    with group.writing() as writer:
        for path in filter(None, (*starter, *map(lower_name, starter))):
            writer.capture(path)  # a file that is there wins over the starter file
        return writer.publish(plan).result


def _scope(group: Group, snapshot: Snapshot, layout: bytes) -> Scoped | None:
    """The scope of LAYOUT, where the folder may hold other work."""
    if not group.is_outside:
        return None
    from gitmem.memory.scope import layout_scope  # only for a folder elsewhere
    from gitmem.store.worktree.scope import Scoped

    return Scoped(group.worktree, layout_scope(layout), snapshot)


def _is_free(snapshot: Snapshot, path: str) -> bool:
    try:
        check_path_free(snapshot, path)
    except PathRefused:
        return False
    return snapshot.node(path) is None


def _check_layout(group: Group, snapshot: Snapshot, starter: bytes, layout: str) -> None:
    """Refuse to change the layout of a group: that is a decision about every file."""
    has = layout_at(group, snapshot).layout.name
    if snapshot.node(FILE) and has != checked(starter).name:
        raise Conflict(
            f"the group {group.name!r} has the layout {has!r} already",
            hint=Hint(
                f"edit its {FILE}: ",
                call("edit", FILE),
                "; or create another group: ",
                call("init", group="NAME", layout=layout),
            ),
            layout=has,
        )


@contextmanager
def _translated(store: Store) -> Iterator[None]:
    with translated(f"creating the group in {store.root}"):
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise  # no other folder helps against a full disk
            raise StorageFailed(
                f"creating the store {store.root} failed: {error.strerror} ({error.filename})",
                hint="name another folder for the store",
            ) from error


def _place(store: Store, name: str, worktree: Path | None, fresh: bool) -> Path:
    """The folder of the work tree."""
    default = store.default_worktree(name)
    known = default if fresh else worktree_of(store.gitdir(name)) or default
    named = worktree.resolve() if worktree else known.resolve()
    place = known if named == known.resolve() else named
    if fresh:
        _check_free(store, name, place)
        _check_apart(store, name, place)
    elif place != known:
        repoint(store, name, place)
    return place


def _check_free(store: Store, name: str, place: Path) -> None:
    """Refuse a folder that belongs to another repository, or to a lost one."""
    if is_tied(store.gitdir(name), place) and not _was_removed(store, name):
        raise Damaged(
            f"{place} is the work tree of {name!r}, whose repository is missing",
            hint=f"restore {store.gitdir(name)}; or remove {place / '.git'} to start over",
            path=str(place),
        )
    if os.path.lexists(place / ".git") and not is_tied(store.gitdir(name), place):
        raise Conflict(f"{place} is a git repository of its own", hint="choose a folder inside it")
    if place.exists() and not place.is_dir():
        raise Conflict(f"{place} is not a folder", hint="choose another folder")


def _was_removed(store: Store, name: str) -> bool:
    """True where the trash has the repository: `groups remove` died before its last step."""
    return any((store.root / "trash").glob(f"*/repos/{escape(name)}.git"))


def _check_apart(store: Store, name: str, place: Path) -> None:
    """Refuse a work tree inside another group's, or around it: each would capture the other."""
    taken = {each: worktree_of(store.gitdir(each)) for each in store.names()}
    for other, root in taken.items():
        if root and overlap(place, root):
            raise GroupRefused(
                f"{place} and the work tree of {other!r} lie within each other",
                hint="choose a folder apart from it",
                rule="overlap",
            )
    if place != store.default_worktree(name) and overlap(place, store.root):
        raise Conflict(
            f"{place} and the store {store.root} lie within each other",
            hint=Hint("choose a folder apart from the store, or leave out ", Option("worktree")),
        )


def overlap(one: Path, other: Path) -> bool:
    """True when one of two folders is the other or lies in it."""
    one, other = one.resolve(), other.resolve()
    return one == other or one in other.parents or other in one.parents


def _create(store: Store, name: str, place: Path, note: Note, now: Clock | None) -> None:
    twin = find_twin(name, store.names())
    if twin:
        raise GroupRefused(
            f"{name!r} differs from the group {twin!r} only in case or Unicode form",
            hint="choose another name",
            rule="twin",
        )
    gitdir = store.gitdir(name)
    remove_drafts(gitdir.parent)
    inside = place == store.default_worktree(name)
    # First: the configuration must not name a folder that cannot be created.
    make_folders(place)
    named = os.path.relpath(place, gitdir) if inside else str(place)
    create(gitdir, named, note, time_now(now, zone_of(store.root)))
    tie(gitdir, place, relative=inside)


def _ensure_worktree(group: Group, *, named: bool) -> str:
    """Write the `.git` file where it is missing; the exclude file of a repository around it."""
    # A person who names the folder again confirms that it is the right one, and mounted.
    if named and not os.path.lexists(group.worktree / ".git"):
        group.revive_worktree()
    group.ensure_worktree()
    return str(exclude_from_parent(group.worktree) or "") if group.is_outside else ""
