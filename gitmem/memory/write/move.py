"""Move files: to another name, or to the archive, which is what removing means here."""

from __future__ import annotations

from gitmem.memory.curate.archive import archive
from gitmem.memory.entries.targets import Target, movable_path
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changeset, check_no_archive
from gitmem.model.commit_messages import Note
from gitmem.model.guards import check_message_text
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside


class Moved(Record):
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
    source, named = movable_path(group, source), group.relative(target)
    note, into = group.note("move", reason=reason), target.endswith("/")

    def destination(snapshot: Snapshot) -> str:
        node = snapshot.node(named)
        path = named
        if into or (node is not None and node.is_folder):
            path = f"{named}/{source.rpartition('/')[2]}".removeprefix("/")
        check_message_text("path", check_path(path))
        return path

    def plan(snapshot: Snapshot) -> Plan[tuple[tuple[str, str], ...]]:
        path, draft = destination(snapshot), Changeset(snapshot)
        moved = draft.move(source, path)
        layout = layout_at(group, snapshot).layout
        for _, new in moved:
            check_no_archive(snapshot, layout, new)
        if not allow_policy:
            draft.check_policies(layout)
        return Plan((Step(draft.changes, _note(note, source, path, moved)),), moved)

    with group.writing() as writer:
        # What somebody did to the files comes along, and so does what stands in their way.
        paths = [source, destination(writer.repository.snapshot())]
        capture_paths(writer, paths)
        published = writer.publish(plan)
        return Moved(moved=published.result, **published.completion)


def _note(note: Note, source: str, target: str, moved: tuple[tuple[str, str], ...]) -> Note:
    return note._replace(
        title=f"{source} -> {target}",
        paths=(source,) if len(moved) == 1 else tuple(old for old, _ in moved),
        extra=tuple(("Gitmem-From", old) for old, _ in moved),
    )


def remove(group: Group, path: str, *, reason: str = "", allow_policy: bool = False) -> Moved:
    """Move a file or a folder to the archive: nothing is ever deleted."""
    target = Target(movable_path(group, path))
    done = archive(group, [target], reason=reason, allow_policy=allow_policy)
    moved = tuple((each.source, each.address) for each in done.archived)
    return Moved(done.commit, moved, done.captured, done.pending, done.set_aside)
