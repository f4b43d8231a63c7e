"""Write to memory: one call, one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gitmem.core.guards import check_message_text, check_write
from gitmem.core.messages import Note, parse, title_of
from gitmem.core.paths import check_path, find_twin
from gitmem.errors import BadInput, Conflict, GitmemError, PathRefused
from gitmem.git.diffing import hunks
from gitmem.git.held import SetAside
from gitmem.git.objects import ObjectDamaged, blob_id
from gitmem.git.publish import Plan, Published, Step
from gitmem.git.repository import Repository, Snapshot
from gitmem.git.writer import Captured, Writer
from gitmem.operations.group import Group

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
    """created, changed or unchanged"""
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
    note = _note(group, edits, reason, turn, operation)
    with group.writing() as writer:
        if operation:
            known = _recognised(writer.repository, operation, edits)
            if known:
                return known
        captured = [writer.adopt(path) for path in dict.fromkeys(each.path for each in edits)]
        del captured  # what could not be adopted is held, and is set aside when its path is written
        work = _Work(edits, note, allowed)
        published = writer.publish(work.plan)
        return _answer(writer, work, published)


def _note(
    group: Group, edits: Sequence[Edit], reason: str, turn: str, operation: str
) -> Note:
    for each in edits:
        with _naming_line(each):
            check_path(each.path)
            check_message_text("path", each.path)
    check_message_text("turn", turn)
    check_message_text("operation id", operation)
    paths = tuple(dict.fromkeys(each.path for each in edits))
    note = group.note("write", reason=reason, paths=paths)._replace(turn=turn)
    return note._replace(id=operation) if operation else note


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
        self.changes = tuple(_change(path, before[path], files[path]) for path in files)
        self._heal(snapshot, files)
        changed = {path: data for path, data in files.items() if data != before[path]}
        if not changed:
            return None
        op = "append" if all(each.append for each in self._edits) else "write"
        note = self._note._replace(op=op, title=_title(changed, before), paths=tuple(changed))
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

    def _heal(self, snapshot: Snapshot, files: dict[str, bytes]) -> None:
        """The same content again heals a damaged blob, although nothing changes."""
        for path, data in files.items():
            oid = snapshot.oid(path)
            if oid == blob_id(data):
                snapshot.repository.objects.write("blob", data)


def check_place(snapshot: Snapshot, path: str, others: Iterable[str] = ()) -> None:
    """Refuse a path that a folder, a file above it, or a twin of its name already occupies."""
    node = snapshot.node(path)
    if node is not None:
        if node.is_folder:
            raise PathRefused(
                f"{path} is a folder", hint="name a file in it", path=path, rule="folder"
            )
        return
    done = ""
    for part in path.split("/"):
        tree = snapshot.folder(done)
        here = f"{done}/{part}" if done else part
        if part not in tree:
            siblings = [*tree, *(each.split("/")[done.count("/") + bool(done)] for each in others
                                 if not done or each.startswith(done + "/"))]
            _refuse_twin(path, part, find_twin(part, siblings))
        elif not tree[part].is_folder and here != path:
            raise PathRefused(
                f"{here} is a file, so {path} cannot exist", path=path, rule="file-above"
            )
        done = here


def _refuse_twin(path: str, part: str, twin: str | None) -> None:
    if twin:
        raise PathRefused(
            f"{part!r} in {path} differs from the existing {twin!r} only in case or Unicode form",
            hint=f"use the existing name {twin!r}, or one that really differs",
            path=path,
            rule="twin",
            twin=twin,
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


def _change(path: str, before: bytes | None, after: bytes) -> Change:
    if before == after:
        return Change(path, "unchanged", blob_id(after), len(after))
    ranges = hunks(before or b"", after)
    added = sum(each.b1 - each.b0 for each in ranges)
    removed = sum(each.a1 - each.a0 for each in ranges)
    kind = "created" if before is None else "changed"
    return Change(path, kind, blob_id(after), len(after), added, removed)


def _title(changed: dict[str, bytes], before: dict[str, bytes | None]) -> str:
    """The first line that is new: what the commit is about."""
    path, data = next(iter(changed.items()))
    old = set((before[path] or b"").splitlines())
    new = b"\n".join(line for line in data.splitlines() if line not in old)
    return title_of((new if new.strip() else data).decode("utf-8", "replace"))


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
    for path in dict.fromkeys(each.path for each in edits):
        data = snapshot.read(path)
        if data is None:
            raise Conflict(
                f"the operation id {operation!r} was used before, for other files",
                hint="use a fresh id for each operation",
            )
        changes.append(Change(path, "unchanged", blob_id(data), len(data)))
    return Written(snapshot.commit, tuple(changes), recognised=True)


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
            error.facts["batch_line"] = self._line
