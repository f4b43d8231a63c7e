"""Make a store and a group."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import Conflict, Damaged, GroupRefused, PathRefused, StorageFailed
from gitmem.memory.admin.rename import finish_rename
from gitmem.memory.admin.worktrees import repoint
from gitmem.memory.clock import Clock, zone_of
from gitmem.memory.group import Group, Store, Who, make_note, time_now
from gitmem.memory.layouts import NONE, checked, layout_at, layout_of, starter_files
from gitmem.memory.write.capture import CapturedAll, capture
from gitmem.memory.write.changeset import check_place
from gitmem.model.access import check_access
from gitmem.model.commit_messages import Note
from gitmem.model.guards import check_message_text
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
from gitmem.store.transaction.publish import Plan, Step, translated

if TYPE_CHECKING:
    from gitmem.store.worktree.scope import Scoped

NOTHING = CapturedAll((), (), 0)
FOUND = "found when the group was made"


class Initialised(NamedTuple):
    """A group that is ready."""

    group: str
    store: str
    worktree: str
    created: bool
    commit: str
    excluded_in: str = ""
    """The exclude file of a repository around the work tree, where there is one."""
    captured: int = 0
    """Files that stood in the work tree already and are under history now."""
    held: tuple[HeldEdit, ...] = ()
    """Those that may not enter git."""
    layout: str = ""
    """What its `gitmem.yaml` calls itself."""
    started: tuple[str, ...] = ()
    """The files it was given to begin with."""


def init(
    store: Store,
    name: str,
    *,
    worktree: Path | None = None,
    layout: str = NONE,
    relayout: bool = False,
    take_in: bool = True,
    who: Who | None = None,
    acting: str | None = None,
    now: Clock | None = None,
) -> Initialised:
    """Create the store and the group NAME where they are missing; nothing changes otherwise.

    A new group gets LAYOUT; with RELAYOUT so does one that has none yet. Files that stand in its
    work tree are captured, unless somebody else will TAKE_IN them.
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
            excluded = _settle(group, asked=worktree is not None)
            found = NOTHING
            # Beside other work only the layout tells what is memory: then its files come first.
            ahead = list(starter) if group.is_outside else []
            if fresh and take_in:
                found = capture(group, ahead, reason=FOUND)
            started: tuple[str, ...] = ()
            if relayout or (fresh and not group.repository.snapshot().node(FILE)):
                started = _start(group, starter, layout)
            if fresh and take_in and ahead:
                rest = capture(group, reason=FOUND)
                found = rest._replace(captured=(*found.captured, *rest.captured))
            tip = group.repository.tip()
            named = layout_of(group).name
            # What waits for room on the disk is finished by whoever calls this again.
            if fresh and take_in and Lock(lock_path(group.gitdir)).peek() is None:
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
    """No new group shall take the place of one whose renaming was interrupted."""
    if not finish_rename(store, name) and not store.gitdir(name).is_dir():
        for each in store.names():
            finish_rename(store, each)


def _start(group: Group, starter: dict[str, bytes], layout: str) -> tuple[str, ...]:
    """Commit what the layout begins with, as far as nothing stands in its place."""
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
            writer.capture(path)  # what somebody put there counts, not what we would
        return writer.publish(plan).result


def _scope(group: Group, snapshot: Snapshot, layout: bytes) -> Scoped | None:
    """What will be memory by LAYOUT, where the folder may have other work in it."""
    if not group.is_outside:
        return None
    from gitmem.memory.scope import layout_scope  # only for a folder that somebody has
    from gitmem.store.worktree.scope import Scoped

    return Scoped(group.worktree, layout_scope(layout), snapshot)


def _is_free(snapshot: Snapshot, path: str) -> bool:
    try:
        check_place(snapshot, path)
    except PathRefused:
        return False
    return snapshot.node(path) is None


def _check_layout(group: Group, snapshot: Snapshot, wanted: bytes, layout: str) -> None:
    """A group that has a layout keeps it: another one is a decision about every file."""
    has = layout_at(group, snapshot).layout.name
    if snapshot.node(FILE) and has != checked(wanted).name:
        raise Conflict(
            f"the group {group.name!r} has the layout {has!r} already",
            hint=f"edit its {FILE} (`gitmem edit {FILE}`), "
            f"or make another group: `gitmem init -g NAME --layout {layout}`",
            layout=has,
        )


@contextmanager
def _translated(store: Store) -> Iterator[None]:
    with translated(f"making the group in {store.root}"):
        try:
            yield
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise  # no other folder helps against a full disk
            raise StorageFailed(
                f"the store {store.root} cannot be made: {error.strerror} ({error.filename})",
                hint="name another folder with --store or GITMEM_HOME",
            ) from error


def _place(store: Store, name: str, worktree: Path | None, fresh: bool) -> Path:
    """Where the work tree is or shall be."""
    default = store.default_worktree(name)
    known = default if fresh else worktree_of(store.gitdir(name)) or default
    asked = worktree.resolve() if worktree else known.resolve()
    place = known if asked == known.resolve() else asked
    if fresh:
        _check_free(store, name, place)
        _check_apart(store, name, place)
    elif place != known:
        repoint(store, name, place)
    return place


def _check_free(store: Store, name: str, place: Path) -> None:
    """Refuse a folder that belongs to a repository, or to one that is lost."""
    if is_tied(store.gitdir(name), place) and not _was_removed(store, name):
        raise Damaged(
            f"{place} is the work tree of {name!r}, whose repository is no longer there",
            hint=f"put {store.gitdir(name)} back; or begin anew by removing {place / '.git'}",
            path=str(place),
        )
    if os.path.lexists(place / ".git") and not is_tied(store.gitdir(name), place):
        raise Conflict(f"{place} is a git repository of its own", hint="choose a folder inside it")
    if place.exists() and not place.is_dir():
        raise Conflict(f"{place} is not a folder", hint="choose another place")


def _was_removed(store: Store, name: str) -> bool:
    """True where the trash has the repository: its `groups remove` died before the last step."""
    return any((store.root / "trash").glob(f"*/repos/{escape(name)}.git"))


def _check_apart(store: Store, name: str, place: Path) -> None:
    """Refuse a work tree inside another group's, or around it: each would take in the other."""
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
            hint="choose a folder apart from the store, or leave out --worktree",
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
    # Before the repository gets its name: a place that cannot be made must not be remembered.
    make_folders(place)
    named = os.path.relpath(place, gitdir) if inside else str(place)
    create(gitdir, named, note, time_now(now, zone_of(store.root)))
    tie(gitdir, place, relative=inside)


def _settle(group: Group, *, asked: bool) -> str:
    """Tie the work tree where that is missing; tell the exclude file of a repository around it."""
    # Whoever names the folder again says that it is the right one, mounted and all.
    if asked and not os.path.lexists(group.worktree / ".git"):
        group.revive_worktree()
    group.ensure_worktree()
    return str(exclude_from_parent(group.worktree) or "") if group.is_outside else ""
