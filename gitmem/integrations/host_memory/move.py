"""The files of a host's own memory, when that memory moves into a group, and out of it again.

They are copied: neither side loses one. A file of the host that is replaced or deleted is kept in
the store's `backups`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import GitmemError, NotFound
from gitmem.integrations.hosts.table import Host
from gitmem.integrations.install.files import Change, back_up, make, read_file
from gitmem.memory.group import Group, Store, Who
from gitmem.model.layout.layout import FILE
from gitmem.model.text.format import counted, quoted


class Brought(NamedTuple):
    """Files that were copied into a group, or out of it, or would be."""

    source: str
    target: str
    """The folder in which they are now as well."""
    group: str
    files: tuple[str, ...]
    """By their names there."""
    left: tuple[str, ...] = ()
    """Those that were not copied, each with the reason."""
    deleted: tuple[str, ...] = ()
    """Those that were deleted, because the group has deleted them."""


def bring_in(
    store: Store, host: Host, given: Mapping[str, str], *, dry_run: bool = False
) -> Brought | None:
    """Copy what the host's own folder holds into the group; None where there is nothing new."""
    own, directory = given["own"], given["directory"]
    if not os.path.isdir(own):
        return None
    from gitmem.memory.adopt.copy_in import copy_in

    who = Who(host.name, source=host.name)
    with closing(Group(store, given["group"], who=who)) as group:
        inside = os.path.relpath(directory, group.worktree)
        into = "" if inside == os.curdir else inside
        page = host.own_memory.page if host.own_memory else ""
        done = copy_in(group, Path(own), into, page=page, dry_run=dry_run)
    left = tuple(f"{each.path} ({each.why})" for each in done.left)
    if not done.taken and not left:
        return None
    files = tuple(place for _, place in done.taken)
    return Brought(own, directory, given["group"], files, left)


def bring_back(store: Store, given: Mapping[str, str], *, dry_run: bool = False) -> Brought | None:
    """Copy what was written since back into the host's own folder, over nothing but old versions.

    A file there is replaced only by a newer version of itself: where the group held exactly its
    bytes, and got other ones since. So is one deleted that the group deleted: else it would be
    remembered again. A note that cannot be copied keeps no other from it. None where there is
    nothing to copy; NotFound where the notes are gone.
    """
    own, directory = Path(given["own"]), Path(given["directory"])
    if os.path.realpath(own) == os.path.realpath(directory):
        return None
    if directory.is_symlink() or not directory.is_dir():
        _check_never_written(store, given)
    done = Brought(str(directory), str(own), given["group"], ())
    changes = [*_changes(store, given, directory, own), *_deletions(store, given, directory, own)]
    for path, change in changes:
        why = change if isinstance(change, str) else "" if dry_run else _made(store, change)
        if why:
            done = done._replace(left=(*done.left, f"{directory / path}: {why}"))
        elif isinstance(change, Change) and change.after is None:
            done = done._replace(deleted=(*done.deleted, path))
        else:
            done = done._replace(files=(*done.files, path))
    return done if done.files or done.left or done.deleted else None


def _made(store: Store, change: Change) -> str:
    """Make CHANGE; why it could not be made."""
    try:
        back_up(store.root, change)
        make(change, mode=0o600)
    except GitmemError as error:
        return error.message
    except OSError as error:
        return f"{error.strerror} ({error.filename})"
    return ""


def _check_never_written(store: Store, given: Mapping[str, str]) -> None:
    """Refuse to pass over a missing folder, unless the host has not written a note yet."""
    name, directory = given["group"], given["directory"]
    said = f"no folder {directory}: no notes were copied from it to {given['own']}"
    if name not in store.names():
        raise NotFound(said, hint=f"a removed group is in {store.root / 'trash'}")
    with closing(Group(store, name, heals=False)) as group:
        inside = os.path.relpath(directory, group.worktree)
        if any(path.startswith(f"{inside}/") for path, _ in group.repository.snapshot().files()):
            raise NotFound(said, hint=f"`gitmem restore {quoted(inside)} -g {quoted(name)}`")


def _changes(
    store: Store, given: Mapping[str, str], directory: Path, own: Path
) -> Iterator[tuple[str, Change | str]]:
    """For each file that the host's own folder lacks, what puts it there, or why nothing may."""
    if directory.is_symlink() or not directory.is_dir():
        return
    for path in _notes(directory):
        try:
            link = _link_to(own, path)
            data, there = read_file(directory / path), read_file(own / path)
        except GitmemError as error:
            yield path, error.message
            continue
        if link:
            yield path, f"{link} is a link"
        elif data is None or data == there:
            continue
        elif there is None or _is_newer(store, given["group"], directory / path, data, there):
            yield path, Change(own / path, there, data)
        else:
            yield path, f"it is older than {own / path}, or both changed"


def _link_to(own: Path, path: str) -> str:
    """The link through which a file PATH of the host's own folder would be written elsewhere."""
    places = [own, *reversed((own / path).relative_to(own).parents), Path(path)]
    return next((str(own / each) for each in places if (own / each).is_symlink()), "")


def _deletions(
    store: Store, given: Mapping[str, str], directory: Path, own: Path
) -> Iterator[tuple[str, Change | str]]:
    """The files of the host's own folder that are as the group had them, and that it deleted."""
    from gitmem.memory.adopt.copy_in import has_held

    if own.is_symlink() or not own.is_dir():
        return
    with suppress(GitmemError), closing(Group(store, given["group"])) as group:
        head = group.repository.snapshot()
        for path in _notes(own):
            place = os.path.relpath(directory / path, group.worktree)
            if os.path.lexists(directory / path) or head.node(place) is not None:
                continue
            try:
                data = read_file(own / path)
                if data is not None and has_held(group, place, data):
                    yield path, Change(own / path, data, None)
            except GitmemError as error:  # one bad note keeps no other from being deleted
                yield path, error.message


def _notes(directory: Path) -> Iterator[str]:
    """The files of memory in DIRECTORY, as a host would have written them."""
    for each in sorted(directory.rglob("*")):
        inside = each.relative_to(directory)
        is_hidden = any(part.startswith(".") for part in inside.parts)
        is_note = not is_hidden or (inside.suffix == ".md" and len(inside.parts) == 1)
        is_plain = each.is_file() and not each.is_symlink()
        if is_plain and is_note and inside.as_posix() != FILE:
            yield inside.as_posix()


def _is_newer(store: Store, name: str, place: Path, data: bytes, there: bytes) -> bool:
    """Whether the group held THERE at PLACE, and DATA is a later version."""
    from gitmem.memory.adopt.copy_in import is_newer

    try:
        with closing(Group(store, name)) as group:
            return is_newer(group, os.path.relpath(place, group.worktree), data, there)
    except GitmemError:
        return False


def refusal(found: Brought, host: Host) -> str:
    """Which files of a host's memory may not enter git, and the way out."""
    files = ", ".join(found.left)
    way = f"edit or move them in {found.source}, then `gitmem install {host.name}`"
    return f"git may not get {files}; {way}"


def said_of(done: Brought, *, back: bool, dry_run: bool) -> Iterator[str]:
    """What a person is told about it."""
    if done.files:
        verb = "would be copied" if dry_run else "copied"
        way = "back from" if back else "into"
        said = f"{counted(len(done.files), 'file')} of the host's memory {verb} {way}"
        yield f"{said} group {done.group}: {done.source} to {done.target}"
    if done.deleted:
        verb = "would be deleted" if dry_run else "deleted"
        names = ", ".join(done.deleted)
        yield f"{verb} in {done.target}, as group {done.group} has deleted them: {names}"
    yield from not_copied(done)


def not_copied(done: Brought) -> list[str]:
    """The notes that are not where they should be by now."""
    return [f"not copied: {each}" for each in done.left]
