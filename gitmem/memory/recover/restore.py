"""Restore files as they were, from a commit, from HEAD, or from the archive."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice

from gitmem.errors import PathNotFound, PathRefused
from gitmem.memory.curate.archive import archive_paths
from gitmem.memory.entries.targets import is_address
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.log import iter_log
from gitmem.memory.recover.archived import arrival_of
from gitmem.memory.recover.restore_entry import restore_entry
from gitmem.memory.recover.versions import (
    SEARCHED,
    VERSIONS_SHOWN,
    ChooseVersion,
    Restored,
    version_row,
)
from gitmem.memory.resolve import resolve
from gitmem.memory.write.capture import capture_edits, capture_paths
from gitmem.memory.write.changeset import Changeset, check_path_free
from gitmem.memory.write.open_edits import Scan, scan_edits
from gitmem.memory.write.write import Allowed, describe
from gitmem.model.entries.blocks import split_address
from gitmem.model.guards import allowance, check_secrets
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import is_archived
from gitmem.model.paths import check_path
from gitmem.store.lost_commits.unreadable import lost_files
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.objects.trees import Node
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import sound
from gitmem.store.transaction.plan import Plan, Step

__all__ = ["WAY_BACK", "ChooseVersion", "Restored", "restore"]

WAY_BACK = Allowed(policy=True)
"""A person who restores an earlier version does not break a policy."""


def restore(
    group: Group,
    path: str,
    *,
    at: str = "",
    previous: bool = False,
    reason: str = "",
    allowed: Allowed = WAY_BACK,
) -> Restored:
    """Restore PATH (a file, a folder, an entry's address, or all if empty), as a new commit.

    AT and PREVIOUS name a version. Without them, what the work tree lost comes back as HEAD has it,
    and a file or an entry that is gone from the archive; an entry also from its last version.
    """
    if is_address(group, path):
        return restore_entry(group, path, at=at, previous=previous, reason=reason, allowed=allowed)
    path = group.relative(path)
    if not (at or previous):
        home = archived_home(group, path)
        archived = path if home else archived_file(group, path)
        if archived:
            return restore_archived(group, home or path, archived, reason=reason, allowed=allowed)
    return _restore_files(group, path, at=at, previous=previous, reason=reason, allowed=allowed)


def _restore_files(
    group: Group, path: str, *, at: str, previous: bool, reason: str, allowed: Allowed
) -> Restored:
    note = group.note("restore", reason=reason)
    source = resolve(group, at) if at else ""

    def plan(now: Snapshot) -> Plan[Restored]:
        changed = {each: data for each, data in files.items() if now.oid(each) != blob_id(data)}
        for each in changed:
            _check_place(now, each)
        if not allowed.policy:
            Changeset(now, changed).check_policies(layout_at(group, now).layout)
        changes = tuple(
            describe(each, sound(now, each), data, existed=now.oid(each) is not None)
            for each, data in changed.items()
        )
        newer = now.files(path) if source or previous else ()
        kept = tuple(each for each, _ in newer if each not in files)
        done = Restored("", then.commit, changes, kept_newer=kept)
        # HEAD has these versions already, but something that is held stands in their place.
        same = sorted(files.keys() - changed.keys())
        covered = tuple(each for each in same if held & {each, *_above(each)})
        made = group.repository.commit(then.commit).time.astimezone(group.zone)
        message = note._replace(
            title=f"as of {made:%Y-%m-%d %H:%M}",
            paths=tuple(changed),
            extra=(("Gitmem-Restores", then.commit), *allowance(allowed.secrets)),
        )
        return Plan((Step(changed, message),) if changed else (), done, reinstated=covered)

    with group.writing(late=not (at or previous)) as writer:
        then = head = group.repository.snapshot()
        scan = scan_edits(group.repository, writer.worktree, [path])
        held = {each.path for each in capture_edits(writer, scan)}
        if source or previous:
            then = group.repository.snapshot(source or _previous(group, path))
            files = _files(then, path)
            _check_secrets(files, head, allowed)
        else:
            files = _damaged(group, head, path, scan)
        published = writer.publish(plan)
        return published.result._replace(**published.completion)


def _check_secrets(files: Mapping[str, bytes], head: Snapshot, allowed: Allowed) -> None:
    """Refuse to restore a credential that the file no longer holds."""
    for path, data in files.items():
        if head.oid(path) != blob_id(data):
            check_secrets(path, data, sound(head, path), allowed.secrets)


def _above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _check_place(now: Snapshot, path: str) -> None:
    try:
        check_path_free(now, path)
    except PathRefused as error:
        error.hint = Hint(
            "move what is there now with ", call("mv", "PATH", "TARGET"), ", then repeat"
        )
        raise


def _files(then: Snapshot, path: str) -> dict[str, bytes]:
    """The files at or below PATH, without those that only plain git could commit."""
    nodes = {**dict(then.files(path)), **lost_files(then, path)}
    found = {each: node for each, node in nodes.items() if _is_memory(each, node)}
    if not found:
        raise PathNotFound(
            f"no file {path!r} at {then.commit[:10]}" if path else f"no file at {then.commit[:10]}",
            hint=Hint("see when it existed: ", _log(path)),
            path=path,
        )
    return {each: then.repository.objects.read_as("blob", found[each].oid) for each in found}


def _log(path: str) -> Hint:
    return Hint(call("log", path) if path else call("log"))


def _is_memory(path: str, node: Node) -> bool:
    with suppress(PathRefused):
        return check_path(path) == path and stat.S_ISREG(node.mode)
    return False


def _damaged(group: Group, head: Snapshot, path: str, scan: Scan) -> dict[str, bytes]:
    """The versions of HEAD that the work tree no longer has."""
    edited = [edit.moved_from or edit.path for edit in scan.edits]
    paths = [*edited, *(each.path for each in scan.held)]
    found = [each for one in paths for each, node in head.files(one) if _is_memory(each, node)]
    if not found:
        raise _choose(group, path)
    return {each: head.read(each) or b"" for each in sorted(set(found))}


def _previous(group: Group, path: str) -> str:
    """The newest commit in which PATH was another version than now."""
    current = group.repository.snapshot().node(path)
    for entry in iter_log(group, path):
        node = group.repository.snapshot(entry.commit).node(path)
        if node is not None and node != current:
            return entry.commit
    raise PathNotFound(
        f"{path or 'this group'} has no earlier version",
        hint=Hint("see its history: ", _log(path)),
        path=path,
    )


def _choose(group: Group, path: str) -> ChooseVersion | PathNotFound:
    """The error that lists the versions to choose from."""
    entries = ((e, group.repository.snapshot(e.commit).node(path)) for e in iter_log(group, path))
    known = [(entry, node) for entry, node in islice(entries, SEARCHED) if node is not None]
    if not known:
        hint = Hint(call("list"), " shows the files")
        return PathNotFound(f"no file {path!r}, now or earlier", hint=hint, path=path)
    now = group.repository.snapshot().node(path)
    state = "is as it was last written" if now else "was removed"
    before = call("restore", path or ".", previous=True)
    return ChooseVersion(
        f"{path or 'this group'} {state}; choose a version to restore",
        hint=Hint("to restore the version before: ", before),
        path=path,
        versions=[
            version_row(path, entry, _size(group, node)) for entry, node in known[:VERSIONS_SHOWN]
        ],
    )


def _size(group: Group, node: Node) -> int | None:
    if not node.is_folder:
        with suppress(ObjectDamaged):
            return len(group.repository.objects.read(node.oid)[1])
    return None


def archived_file(group: Group, path: str) -> str:
    """The newest file of the archive that was once at PATH; empty if PATH exists, or none was."""
    snapshot = group.repository.snapshot()
    if not path or snapshot.node(path) or os.path.lexists(group.worktree / path):
        return ""
    paths = archive_paths(snapshot, layout_at(group, snapshot).layout, path)
    found = [each for each in paths if each != path and snapshot.oid(each)]
    arrivals = [(arrival_of(snapshot, each), each) for each in found]
    known = [(when.time, each) for when, each in arrivals if when and when.source == path]
    return max(known)[1] if known else ""


def archived_home(group: Group, path: str) -> str:
    """The path that the archived file at PATH had; empty unless it is sound and that path free."""
    snapshot = group.repository.snapshot()
    data = snapshot.read(path) if path and snapshot.oid(path) else None
    if data is None or not is_archived(layout_at(group, snapshot).layout, path):
        return ""
    with suppress(OSError):
        if (group.worktree / path).read_bytes() != data:
            return ""  # damaged: it is restored in the archive
        arrival = arrival_of(snapshot, path)
        home = arrival.source if arrival and not split_address(arrival.source)[1] else ""
        free = home and not snapshot.node(home) and not os.path.lexists(group.worktree / home)
        return home if free else ""
    return ""


def restore_archived(
    group: Group, path: str, archived: str, *, reason: str, allowed: Allowed
) -> Restored:
    """Move the file ARCHIVED back to PATH, as one commit."""
    note = group.note("restore", reason=reason)._replace(
        title=f"{archived} -> {path}", paths=(path,), extra=(("Gitmem-From", archived),)
    )

    def plan(snapshot: Snapshot) -> Plan[Restored]:
        draft = Changeset(snapshot)
        draft.move(archived, path)
        if not allowed.policy:
            draft.check_policies(layout_at(group, snapshot).layout)
        changes = (describe(x, snapshot.read(x), data) for x, data in draft.changes.items())
        done = Restored("", snapshot.commit, tuple(changes), address=path, source=archived)
        return Plan((Step(draft.changes, note),), done)

    with group.writing() as writer:
        capture_paths(writer, [archived, path])
        published = writer.publish(plan)
        return published.result._replace(**published.completion)
