"""Write to memory: one call, one commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gitmem.core.guards import check_message_text, check_write
from gitmem.core.messages import Note, parse, title_of_change
from gitmem.core.paths import check_path
from gitmem.errors import BadInput, Conflict, GitmemError
from gitmem.git.diffing import hunks
from gitmem.git.held import SetAside
from gitmem.git.intake import Captured, Holding
from gitmem.git.objects import ObjectDamaged, blob_id
from gitmem.git.publish import Plan, Published, Step
from gitmem.git.repository import Repository, Snapshot
from gitmem.git.writer import GONE, Writer
from gitmem.operations.group import Group
from gitmem.operations.place import check_place

RECOGNISED_WITHIN = 1000
"""How many commits back an operation id is looked for."""


class Edit(NamedTuple):
    """One thing to do to one file."""

    path: str
    text: str | bytes
    append: bool = False
    create: bool = False
    if_match: str = ""
    line: int = 0
    """The line of a batch it came from, 0 when it stands alone."""


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
    note = _note(group, edits, reason, turn, operation)
    with group.writing() as writer:
        known = _recognised(writer.repository, operation, edits) if operation else None
        if known:
            return known
        held = [path for path in note.paths if _is_held(writer, path)]
        work = _Work(edits, note, allowed)
        published = writer.publish(work.plan)
        for path in held:
            if published is None or path not in published.blobs:
                writer.reinstate(path)  # nothing to write, but what stands there is not it
        return _answer(writer, work, published)


def _checked(group: Group, edit: Edit) -> Edit:
    """The edit with its path as the group names it; refuses before anything is looked at."""
    with _naming_line(edit):
        path = group.relative(edit.path) if edit.path[:1] in "./" else edit.path
        check_message_text("path", check_path(path))
        if edit.if_match and not re.fullmatch(r"[0-9a-fA-F]{4,40}", edit.if_match):
            raise BadInput(
                f"{edit.if_match!r} is no version of a file",
                hint="give the blob id that `read` or `write` answered, or its first digits",
            )
    return edit._replace(path=path)


def _note(group: Group, edits: Sequence[Edit], reason: str, turn: str, operation: str) -> Note:
    check_message_text("turn", turn)
    check_message_text("operation id", operation)
    paths = tuple(dict.fromkeys(each.path for each in edits))
    note = group.note("write", reason=reason, paths=paths)._replace(turn=turn)
    return note._replace(id=operation) if operation else note


def _is_held(writer: Writer, path: str) -> bool:
    """Take in what somebody did to PATH; True when it may not enter git."""
    result = writer.adopt(path)
    if result is not None and writer.worktree.look(path).obstacle in GONE:
        from gitmem.operations.capture import adopt_all
        from gitmem.operations.pending import scan_edits

        # A file became a folder, or the reverse: only together do these edits make sense.
        writer.worktree.prune(f"{path}/.")
        top = path.partition("/")[0]
        adopt_all(writer, scan_edits(writer.repository, writer.worktree, [top]))
        result = writer.adopt(path)
    return isinstance(result, Holding)


class _Work:
    """The edits applied to one snapshot; planned again when the branch moves in between."""

    def __init__(self, edits: Sequence[Edit], note: Note, allowed: Allowed) -> None:
        self._edits, self._note, self._allowed = edits, note, allowed
        self.changes: tuple[Change, ...] = ()

    def plan(self, snapshot: Snapshot) -> Plan | None:
        """What to publish on top of SNAPSHOT; None when nothing would change."""
        files: dict[str, bytes] = {}
        before: dict[str, bytes | None] = {}
        for edit in self._edits:
            with _naming_line(edit):
                if edit.path not in before:
                    check_place(snapshot, edit.path, files)
                    before[edit.path] = _current(snapshot, edit)
                files[edit.path] = _applied(edit, files.get(edit.path, before[edit.path]))
        self._check(files, before)
        same = {path for path, data in files.items() if snapshot.oid(path) == blob_id(data)}
        for path in same:
            if before[path] is None:  # damaged: the same content again heals it
                before[path] = files[path]
                snapshot.repository.objects.write("blob", files[path])
        self.changes = tuple(describe(path, before[path], files[path]) for path in files)
        changed = {path: data for path, data in files.items() if path not in same}
        if not changed:
            return None
        op = "append" if all(each.append for each in self._edits) else "write"
        path, data = next(iter(changed.items()))
        title = title_of_change(before[path], data)
        note = self._note._replace(op=op, title=title, paths=tuple(changed))
        return Plan((Step(changed, note),))

    def _check(self, files: dict[str, bytes], before: dict[str, bytes | None]) -> None:
        last = {each.path: each for each in self._edits}
        for path, data in files.items():
            with _naming_line(last[path]):
                check_write(
                    path,
                    data,
                    before[path],
                    allow_secret=self._allowed.secrets,
                    allow_shrink=self._allowed.shrink,
                )


def _current(snapshot: Snapshot, edit: Edit) -> bytes | None:
    try:
        return snapshot.read(edit.path)
    except ObjectDamaged:
        if edit.append:
            raise
        return None  # a whole new version does not need the damaged one


def _applied(edit: Edit, current: bytes | None) -> bytes:
    """The file after one edit."""
    found = None if current is None else blob_id(current)
    if edit.create and current is not None:
        raise Conflict(
            f"{edit.path} exists already", hint="leave out --create to replace it", blob=found
        )
    if edit.if_match and not (found or "").startswith(edit.if_match.lower()):
        raise BlobMismatch(edit.path, edit.if_match, found)
    data = edit.text if isinstance(edit.text, bytes) else encoded(edit.path, edit.text)
    if not edit.append or current is None:
        return _ended(data, b"\n") if edit.append else data
    newline = b"\r\n" if b"\r\n" in current else b"\n"
    return _ended(current, newline) + _ended(data, newline)


class BlobMismatch(Conflict):
    """The file is no longer the version the caller has seen."""

    code = "blob-mismatch"

    def __init__(self, path: str, wanted: str, found: str | None) -> None:
        now = f"is {found}" if found else "does not exist"
        super().__init__(
            f"{path} {now}, not {wanted}",
            hint=f"read it again (`gitmem read {path}`) and base your text on that",
            path=path,
            blob=found,
            if_match=wanted,
        )


def encoded(path: str, text: str) -> bytes:
    """TEXT as UTF-8; lone surrogates have no bytes."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise BadInput(
            f"the text for {path} is not valid Unicode at character {error.start}"
        ) from error


def _ended(data: bytes, newline: bytes) -> bytes:
    return data if not data or data.endswith(b"\n") else data + newline


def describe(path: str, before: bytes | None, after: bytes | None) -> Change:
    """What a change of one file amounts to."""
    if after is None:
        lines = len((before or b"").splitlines())
        return Change(path, "removed", "", 0, 0, lines)
    if before == after:
        return Change(path, "unchanged", blob_id(after), len(after))
    ranges = hunks(before or b"", after)
    added = sum(each.b1 - each.b0 for each in ranges)
    removed = sum(each.a1 - each.a0 for each in ranges)
    kind = "created" if before is None else "changed"
    return Change(path, kind, blob_id(after), len(after), added, removed)


def _recognised(repository: Repository, operation: str, edits: Sequence[Edit]) -> Written | None:
    """The answer of an earlier call with the same id, if it is in recent history."""
    tip = repository.tip().commit
    for number, commit in enumerate(repository.history(tip)):
        if number >= RECOGNISED_WITHIN:
            return None
        if parse(commit.message).get("Gitmem-Id") == operation:
            return _written_before(repository.snapshot(commit.oid), operation, edits)
    return None


def _written_before(snapshot: Snapshot, operation: str, edits: Sequence[Edit]) -> Written:
    changes = []
    for path, edit in {each.path: each for each in edits}.items():
        data = snapshot.read(path)
        if data is None or not _may_come_from(edit, data):
            raise Conflict(
                f"the operation id {operation!r} was used before, for another write",
                hint="use a fresh id for each operation",
                commit=snapshot.commit,
            )
        changes.append(Change(path, "unchanged", blob_id(data), len(data)))
    return Written(snapshot.commit, tuple(changes), recognised=True)


def _may_come_from(edit: Edit, data: bytes) -> bool:
    """Whether a file with DATA may be what EDIT made of it."""
    text = edit.text if isinstance(edit.text, bytes) else encoded(edit.path, edit.text)
    return (
        data.endswith((_ended(text, b"\n"), _ended(text, b"\r\n"))) if edit.append else data == text
    )


def _answer(writer: Writer, work: _Work, published: Published | None) -> Written:
    return Written(
        published.commit if published else writer.repository.tip().commit,
        work.changes,
        tuple(writer.captured),
        tuple(writer.set_aside),
        writer.pending,
    )


class _naming_line:  # noqa: N801 - reads as a statement: with _naming_line(edit)
    """Let an error that happens inside say which line of a batch it was."""

    def __init__(self, edit: Edit) -> None:
        self._line = edit.line

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._line and isinstance(error, GitmemError) and "batch_line" not in error.facts:
            error.message = f"line {self._line}: {error.message}"
            error.args = (error.message,)
            error.facts["batch_line"] = self._line
