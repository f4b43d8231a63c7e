"""Write to memory: one call, one commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.group import Group
from gitmem.memory.layouts import check_layout, layout_at
from gitmem.memory.write.apply import Aim, BlobMismatch, Edit, applied, naming_line
from gitmem.memory.write.free_path import check_no_archive, check_place
from gitmem.memory.write.landing import landing
from gitmem.memory.write.retries import REQUEST, digest_of, find_earlier, written_then
from gitmem.memory.write.target import HERE, aims, checked_edit, places
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.guards import allowance, check_message_text, check_write
from gitmem.model.layout.layout import EMPTY, FILE, Layout
from gitmem.store.history.diff import hunks
from gitmem.store.objects.database import ObjectDamaged, blob_id
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured, Holding
from gitmem.store.transaction.publish import Plan, Published, Step
from gitmem.store.transaction.writer import GONE, Writer
from gitmem.store.worktree.held import SetAside

__all__ = ["Allowed", "BlobMismatch", "Change", "Edit", "Written", "describe", "write"]


class Change(NamedTuple):
    """What became of one file."""

    path: str
    change: str
    """created, changed, removed or unchanged"""
    blob: str
    bytes: int
    added: int = 0
    removed: int = 0


class Written(NamedTuple):
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
        raise BadInput("there is nothing to write", hint="give at least one line")
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
        work = _Work(group, edits, note, allowed)
        held = _settle(writer, work)
        published = writer.publish(work.plan)
        for path in held:
            if published is None or path not in published.blobs:
                writer.reinstate(path)  # nothing to write, but what stands there is not it
        return _answer(writer, work, published)


def _checked(group: Group, edit: Edit) -> Edit:
    with naming_line(edit):
        return checked_edit(group, edit)


def _layout(group: Group, snapshot: Snapshot, edits: Sequence[Edit]) -> Layout:
    """The layout that counts; who writes it anew does not need the one that is lost."""
    try:
        return layout_at(group, snapshot).layout
    except Damaged:
        if all(each.path.removeprefix(HERE) == FILE for each in edits):
            return EMPTY
        raise


def _settle(writer: Writer, work: _Work) -> list[str]:
    """Take in what somebody did to the files that are meant; tell what may not enter git.

    An edit that is taken in may change the aim: today's page is there, the name is no longer free.
    """
    looked: dict[str, bool] = {}
    while True:
        found = work.aimed(writer.repository.snapshot())
        known = len(writer.captured)
        for path in (path for each in found for path in places(each) if path not in looked):
            looked[path] = _is_held(writer, path)
        if len(writer.captured) == known:
            mine = dict.fromkeys(each.edit.path for each in found)
            return [path for path in mine if looked[path]]


def _is_held(writer: Writer, path: str) -> bool:
    """Take in what somebody did to PATH; True when it may not enter git."""
    result = writer.adopt(path)
    if result is not None and writer.worktree.look(path).obstacle in GONE:
        from gitmem.memory.write.capture import adopt_all
        from gitmem.memory.write.open_edits import scan_edits

        # A file became a folder, or the reverse: only together do these edits make sense.
        writer.worktree.prune(f"{path}/.")
        top = path.partition("/")[0]
        adopt_all(writer, scan_edits(writer.repository, writer.worktree, [top]))
        result = writer.adopt(path)
    return isinstance(result, Holding)


class _Work:
    """The edits applied to one snapshot; planned again when the branch moves in between."""

    def __init__(self, group: Group, edits: Sequence[Edit], note: Note, allowed: Allowed) -> None:
        self._group, self._note, self._allowed = group, note, allowed
        self._edits = edits
        self._now = group.now()  # once: a name that holds the time shall not run away
        self._aimed_at = ""
        self.aims: list[Aim] = []
        self.changes: tuple[Change, ...] = ()
        self.warnings: tuple[str, ...] = ()
        self._lost: dict[str, ObjectDamaged] = {}
        """Files whose version now cannot be read, and cannot be healed."""

    def aimed(self, snapshot: Snapshot) -> list[Aim]:
        """The files that are meant, by what there is in SNAPSHOT."""
        if snapshot.commit != self._aimed_at:
            layout = _layout(self._group, snapshot, self._edits)
            self.aims = aims(self._edits, layout, snapshot, self._now)
            self._aimed_at = snapshot.commit
        return self.aims

    def plan(self, snapshot: Snapshot) -> Plan | None:
        """What to publish on top of SNAPSHOT; None when nothing would change."""
        files: dict[str, bytes] = {}
        before: dict[str, bytes | None] = {}
        layout = _layout(self._group, snapshot, self._edits)
        for each in self.aimed(snapshot):
            path = each.edit.path
            with naming_line(each.edit):
                if path not in before:
                    check_place(snapshot, path, files)
                    check_no_archive(snapshot, layout, path)
                    before[path] = self._current(snapshot, each, layout)
                files[path] = applied(each, files.get(path, before[path]))
        self._check(files, before, layout)
        new = {path: old for path, old in before.items() if path not in self._lost}
        self.warnings = (*self._remarks(files, before), *_strays(layout, new), *self._replaced())
        same = {path for path, data in files.items() if snapshot.oid(path) == blob_id(data)}
        self.changes = tuple(
            describe(path, before[path], files[path], existed=path in self._lost) for path in files
        )
        changed = {path: data for path, data in files.items() if path not in same}
        return Plan((Step(changed, self._said(changed, before)),)) if changed else None

    def _current(self, snapshot: Snapshot, aimed: Aim, layout: Layout) -> bytes | None:
        """The version now; None where there is none, or where somebody said to replace it unread.

        Without it no guard can judge what a write removes: that has to be waived by name.
        """
        edit = aimed.edit
        try:
            return snapshot.read(edit.path)
        except ObjectDamaged as damage:
            if edit.append or edit.entry or edit.text is None:
                raise
            data = applied(aimed._replace(edit=edit._replace(if_match="", create=False)), None)
            if blob_id(data) == damage.oid:  # the same content again heals it
                snapshot.repository.objects.write("blob", data)
                return data
            free = self._allowed.policy or layout.policy_of(edit.path) == "free"
            if not (self._allowed.shrink and free):
                _explain(edit.path, damage, free=free)
                raise
            self._lost[edit.path] = damage
            return None

    def _replaced(self) -> Iterator[str]:
        for path, damage in self._lost.items():
            yield f"{path}: the version before this one is lost ({damage.message})"

    def _said(self, changed: dict[str, bytes], before: dict[str, bytes | None]) -> Note:
        op = "append" if all(each.edit.append for each in self.aims) else "write"
        path, data = next(iter(changed.items()))
        first = next(each for each in self.aims if each.edit.path == path)
        title = first.edit.entry or title_of_change(before[path] or first.fresh, data)
        return self._note._replace(op=op, title=title, paths=tuple(changed))

    def _check(
        self, files: dict[str, bytes], before: dict[str, bytes | None], layout: Layout
    ) -> None:
        last = {each.edit.path: each.edit for each in self.aims}
        for path, data in files.items():
            with naming_line(last[path]):
                if path == FILE:
                    check_layout(data, layout)
                check_write(
                    path,
                    data,
                    before[path],
                    allow_secret=self._allowed.secrets,
                    allow_shrink=self._allowed.shrink,
                    allow_markers=self._allowed.markers,
                    policy="free" if self._allowed.policy else layout.policy_of(path),
                )

    def _remarks(self, files: dict[str, bytes], before: dict[str, bytes | None]) -> Iterator[str]:
        """What a layer has to say about what was written to it, once for each file."""
        for each in {each.edit.path: each for each in self.aims}.values():
            if each.layer is not None:
                from gitmem.model.layout.remarks import (
                    remarks,  # only where a layer could say something
                )

                with naming_line(each.edit):
                    path = each.edit.path
                    yield from remarks(
                        each.layer,
                        path,
                        files[path],
                        before[path],
                        entry=each.edit.entry,
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
    waived = "--allow-shrink" if free else "--allow-shrink --allow-policy"
    damage.message = f"{path!r} cannot be read, and was not replaced: {damage.message}"
    damage.hint = (
        "run `gitmem check --repair` to bring back the last version that can be read, "
        f"or repeat with {waived} to replace it unread"
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


def _answer(writer: Writer, work: _Work, published: Published | None) -> Written:
    return Written(changes=work.changes, warnings=work.warnings, **landing(writer, published))
