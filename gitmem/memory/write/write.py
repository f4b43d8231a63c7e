"""Write to memory: one call, one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.group import Group
from gitmem.memory.layouts import check_layout, layout_at
from gitmem.memory.write.apply import BlobMismatch, Edit, ResolvedEdit, applied, naming_line
from gitmem.memory.write.changeset import check_no_archive, check_path_free
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.memory.write.target import HERE, checked_edit, resolve_edits, target_paths
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.guards import allowance, check_message_text, check_write
from gitmem.model.hints import Hint, Option, call
from gitmem.model.layout.layout import EMPTY, FILE, Layout
from gitmem.model.record import Record
from gitmem.store.history.diff import hunks
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured, HeldEdit
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.writer import GONE_OBSTACLES, Writer
from gitmem.store.worktree.held import SetAside

__all__ = ["Allowed", "BlobMismatch", "Change", "Edit", "Written", "describe", "write"]


class Change(Record):
    """What became of one file."""

    path: str
    change: str
    """created, changed, removed or unchanged"""
    blob: str
    bytes: int
    added: int = 0
    removed: int = 0


class Written(Record):
    """The answer of a write."""

    commit: str
    """The commit that holds it: a new one, or HEAD where nothing changed."""
    changes: tuple[Change, ...]
    captured: tuple[Captured, ...] = ()
    """Edits by others that were found on the way and committed first."""
    set_aside: tuple[SetAside, ...] = ()
    pending: bool = False
    """True when the work tree could not be brought after it yet; the next command will."""
    recognised: bool = False
    """True when an earlier call with the same operation id had written it."""
    warnings: tuple[str, ...] = ()
    """What the layout has to say about it: over budget, an unknown status, no summary."""

    @property
    def changed(self) -> bool:
        """False when the same content stood there already."""
        return any(each.change != "unchanged" for each in self.changes)

    @property
    def blob(self) -> str:
        """The blob of a single write."""
        return self.changes[0].blob


class Allowed(NamedTuple):
    """Guards that the caller has waived."""

    secrets: tuple[str, ...] = ()
    shrink: bool = False
    policy: bool = False
    markers: bool = False


def write(
    group: Group,
    edits: Sequence[Edit],
    *,
    reason: str = "",
    turn: str = "",
    operation: str = "",
    allowed: Allowed = Allowed(),  # noqa: B008 - an immutable value
) -> Written:
    """Apply EDITS in order as one commit, all or nothing; later edits see earlier ones."""
    if not edits:
        raise BadInput("the batch is empty", hint="give at least one line")
    edits = [_checked(group, each) for each in edits]
    check_message_text("turn", turn)
    check_message_text("operation id", operation)
    note = group.note("write", reason=reason)._replace(turn=turn or group.who.turn)
    if operation:
        note = note._replace(id=operation, extra=((REQUEST, digest_of(edits)),))
    note = note._replace(extra=(*note.extra, *allowance(allowed.secrets)))
    with group.writing() as writer:
        earlier = find_earlier(writer.repository, operation) if operation else None
        if earlier:
            return _recognised(writer.repository.snapshot(earlier), operation, digest_of(edits))
        request = _Request(group, edits, note, allowed, group.now())
        targets, held = _capture_targets(writer, request)
        published = writer.publish(lambda snapshot: _plan(request, targets, held, snapshot))
        return published.result._replace(**published.completion)


class _Request(NamedTuple):
    """The arguments of a write: the same for every snapshot that it is planned on."""

    group: Group
    edits: Sequence[Edit]
    note: Note
    allowed: Allowed
    now: datetime
    """Read once: a path that holds the time must not change between two plans."""


class _Targets(NamedTuple):
    """The files that a request means, by what one snapshot has."""

    snapshot: Snapshot
    layout: Layout
    edits: list[ResolvedEdit]


def _checked(group: Group, edit: Edit) -> Edit:
    with naming_line(edit):
        return checked_edit(group, edit)


def _targets(request: _Request, snapshot: Snapshot) -> _Targets:
    layout = _layout(request, snapshot)
    return _Targets(snapshot, layout, resolve_edits(request.edits, layout, snapshot, request.now))


def _layout(request: _Request, snapshot: Snapshot) -> Layout:
    """The layout that counts; a write that replaces it does not need the one that is lost."""
    try:
        return layout_at(request.group, snapshot).layout
    except Damaged:
        if all(each.path.removeprefix(HERE) == FILE for each in request.edits):
            return EMPTY
        raise


def _capture_targets(writer: Writer, request: _Request) -> tuple[_Targets, list[str]]:
    """Capture edits to the target files; return the targets, and those whose edit is held.

    A captured edit may change the target: today's page is there, the name is no longer free.
    """
    looked: dict[str, bool] = {}
    while True:
        found = _targets(request, writer.snapshot())
        known = len(writer.captured)
        for path in (
            path for each in found.edits for path in target_paths(each) if path not in looked
        ):
            looked[path] = _is_held(writer, path)
        if len(writer.captured) == known:
            mine = dict.fromkeys(each.edit.path for each in found.edits)
            return found, [path for path in mine if looked[path]]


def _is_held(writer: Writer, path: str) -> bool:
    """Capture what somebody did to PATH; True when it may not enter git."""
    result = writer.capture(path)
    if result is not None and writer.worktree.look(path).obstacle in GONE_OBSTACLES:
        from gitmem.memory.write.capture import capture_paths

        # A file became a folder, or the reverse: only together do these edits make sense.
        writer.worktree.prune(f"{path}/.")
        top = path.partition("/")[0]
        capture_paths(writer, [top])
        result = writer.capture(path)
    return isinstance(result, HeldEdit)


class _Applied(NamedTuple):
    """The edits of a request, applied to one snapshot."""

    targets: _Targets
    files: dict[str, bytes]
    before: dict[str, bytes | None]
    lost: dict[str, ObjectDamaged]
    """Files whose version in the snapshot is damaged, and replaced unread."""


def _plan(
    request: _Request, known: _Targets, held: Sequence[str], snapshot: Snapshot
) -> Plan[Written]:
    """Apply the edits to SNAPSHOT; the targets are KNOWN unless the branch has moved since."""
    moved = snapshot.commit != known.snapshot.commit
    done = _apply(request, _targets(request, snapshot) if moved else known)
    _check(request, done)
    files, before = done.files, done.before
    changes = (describe(x, before[x], files[x], existed=x in done.lost) for x in files)
    written = Written("", tuple(changes), warnings=tuple(_warnings(done)))
    changed = {x: data for x, data in files.items() if snapshot.oid(x) != blob_id(data)}
    steps = (Step(changed, _note(request, done, changed)),) if changed else ()
    return Plan(steps, written, reinstated=tuple(x for x in held if x not in changed))


def _apply(request: _Request, targets: _Targets) -> _Applied:
    snapshot, layout = targets.snapshot, targets.layout
    done = _Applied(targets, {}, {}, {})
    for each in targets.edits:
        path = each.edit.path
        with naming_line(each.edit):
            if path not in done.before:
                check_path_free(snapshot, path, done.files)
                check_no_archive(snapshot, layout, path)
                try:
                    done.before[path] = snapshot.read(path)
                except ObjectDamaged as damage:
                    done.before[path] = _healed(request, targets, each, damage)
                    if done.before[path] is None:
                        done.lost[path] = damage
            done.files[path] = applied(each, done.files.get(path, done.before[path]))
    return done


def _healed(
    request: _Request, targets: _Targets, target: ResolvedEdit, damage: ObjectDamaged
) -> bytes | None:
    """The damaged version, if the edit brings it again; None where it may be replaced unread.

    Without it no guard can judge what a write removes: that has to be waived by name.
    """
    edit, allowed = target.edit, request.allowed
    if edit.append or edit.entry or edit.text is None:
        raise damage
    data = applied(target._replace(edit=edit._replace(if_match="", create=False)), None)
    if blob_id(data) == damage.oid:  # the same content again heals it
        targets.snapshot.repository.objects.write("blob", data)
        return data
    free = allowed.policy or targets.layout.policy_of(edit.path) == "free"
    if not (allowed.shrink and free):
        _explain(edit.path, damage, free=free)
        raise damage
    return None


def _check(request: _Request, done: _Applied) -> None:
    layout, allowed = done.targets.layout, request.allowed
    last = {each.edit.path: each.edit for each in done.targets.edits}
    for path, data in done.files.items():
        with naming_line(last[path]):
            if path == FILE:
                check_layout(data, layout)
            check_write(
                path,
                data,
                done.before[path],
                allow_secret=allowed.secrets,
                allow_shrink=allowed.shrink,
                allow_markers=allowed.markers,
                policy="free" if allowed.policy else layout.policy_of(path),
            )


def _note(request: _Request, done: _Applied, changed: dict[str, bytes]) -> Note:
    edits = done.targets.edits
    op = "append" if all(each.edit.append for each in edits) else "write"
    path, data = next(iter(changed.items()))
    first = next(each for each in edits if each.edit.path == path)
    title = first.edit.entry or title_of_change(done.before[path] or first.fresh, data)
    return request.note._replace(op=op, title=title, paths=tuple(changed))


def _warnings(done: _Applied) -> Iterator[str]:
    yield from _remarks(done)
    yield from _strays(
        done.targets.layout, {x: old for x, old in done.before.items() if x not in done.lost}
    )
    for path, damage in done.lost.items():
        yield f"{path}: the version before this one is lost ({damage.message})"


def _remarks(done: _Applied) -> Iterator[str]:
    """What a layer has to say about what was written to it, once for each file."""
    for each in {each.edit.path: each for each in done.targets.edits}.values():
        if each.layer is None:
            continue
        from gitmem.model.guards import write_warnings

        path, entry = each.edit.path, each.edit.entry
        with naming_line(each.edit):
            yield from write_warnings(
                each.layer,
                path,
                done.files[path],
                done.before[path],
                entry=entry,
                today=each.day,
            )


def _strays(layout: Layout, before: dict[str, bytes | None]) -> Iterator[str]:
    """New files that look as if a layer had been meant."""
    for path, old in before.items():
        if layout.layers and old is None and "/" not in path and "." not in path:
            names = ", ".join(each.name for each in layout.layers)
            yield f"{path} is a file now, and no layer shows it; the layers are {names}"


def _explain(path: str, damage: ObjectDamaged, *, free: bool) -> None:
    """Say of DAMAGE that it stopped a write to PATH, and what to do."""
    policy = () if free else (" ", Option("allow_policy"))
    damage.message = f"reading {path!r} failed, and it was not replaced: {damage.message}"
    damage.hint = Hint(
        "run ",
        call("check", repair=True),
        " to bring back the last version that can be read, or repeat with ",
        Option("allow_shrink"),
        *policy,
        " to replace it unread",
    )
    damage.facts["path"] = path


def describe(
    path: str, before: bytes | None, after: bytes | None, *, existed: bool = False
) -> Change:
    """What a change of one file amounts to; one that EXISTED may be unreadable, and is not new."""
    if after is None:
        lines = len((before or b"").splitlines())
        return Change(path, "removed", "", 0, 0, lines)
    if before == after:
        return Change(path, "unchanged", blob_id(after), len(after))
    ranges = hunks(before or b"", after)
    added = sum(each.b1 - each.b0 for each in ranges)
    removed = sum(each.a1 - each.a0 for each in ranges)
    kind = "created" if before is None and not existed else "changed"
    return Change(path, kind, blob_id(after), len(after), added, removed)


def _recognised(snapshot: Snapshot, operation: str, digest: str) -> Written:
    files = written_then(snapshot, operation, digest)
    changes = [Change(path, "unchanged", blob_id(data), len(data)) for path, data in files.items()]
    return Written(snapshot.commit, tuple(changes), recognised=True)
