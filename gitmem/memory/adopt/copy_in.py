"""Copy a folder of notes into a group with files; the folder stays as it is.

There is a commit for each day on which files were last changed, as in an adoption, in one move of
the branch. A file of the group is replaced only where it still is as it was last copied from that
folder. Where both sides changed it, the copy gets a number; an index page gets the lines that it
lacks, because its host reads no second page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, PathRefused
from gitmem.memory.adopt.folder import (
    AdoptedFile,
    NotAdopted,
    by_day,
    read_folder,
    source_folder,
    why_not,
)
from gitmem.memory.group import Group
from gitmem.model.access import check_access
from gitmem.model.commit_messages import Note, Parsed, compose, parse
from gitmem.model.layout.layout import FILE
from gitmem.model.paths import check_path, numbered
from gitmem.model.secrets.find import redact
from gitmem.store.foreign.graft import ROOT, Grafted, graft
from gitmem.store.objects.database import blob_id
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import HeldEdit, new_id
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.transaction.publish import translated

OP = "copy"


class CopiedIn(NamedTuple):
    """The copied files, or the plan of a dry run."""

    source: str
    taken: tuple[tuple[str, str], ...]
    """The path of each file in the folder, and in the group."""
    left: tuple[NotAdopted, ...] = ()
    """Files that may not enter git, and why."""
    commit: str = ""
    """Empty where no file is new."""


def copy_in(
    group: Group, source: Path, into: str = "", *, page: str = "", dry_run: bool = False
) -> CopiedIn:
    """Copy the files of SOURCE into the folder INTO of GROUP; PAGE is the path of the index page.

    A file whose content the group has or had at that path is not copied again, nor is such a line
    of the page.
    """
    check_access(group.acting, group.name, write=True)
    root = source_folder(source)
    found = read_folder(root, lambda path: path == FILE)
    targets = {path: f"{into}/{path}" if into else path for path in found.files}
    left = [each for each in found.left if _is_note(each.path)]
    for path, target in [*targets.items()]:
        try:
            check_path(target)
        except PathRefused as refused:
            left.append(NotAdopted(redact(path)[0], f"path: {refused.facts['rule']}"))
            del targets[path]
    result = CopiedIn(str(root), (), tuple(left))
    origin = redact(str(root))[0]
    if dry_run:
        rows = tuple(_new(_Folder(origin, found.files, targets, page), group.repository.snapshot()))
        return result._replace(taken=tuple(row[:2] for row in rows))
    with translated("copying the folder"), group.writing() as writer:
        # Edits are captured first; a file that may not be captured is never replaced.
        edits = [writer.capture(target) for target in targets.values()]
        held = {each.path for each in edits if isinstance(each, HeldEdit)}
        snapshot = group.repository.snapshot()
        rows = tuple(_new(_Folder(origin, found.files, targets, page), snapshot, held))
        if not rows:
            return result
        files = {target: taken for _, target, taken in rows}
        note = group.note(OP)._replace(source=origin)
        line = list(_line(group, note._replace(title=f"from {note.source}"), files))
        tip = graft(group.repository, snapshot.commit, line, group.now())

        def planner(now: Snapshot) -> Plan[None]:
            if now.commit != snapshot.commit:
                raise Conflict("another process committed to the group just now", hint="try again")
            contents = {target: taken.data for target, taken in files.items()}
            step = Step(contents, note._replace(paths=tuple(files)))
            return Plan((step,), None, commit=tip)

        writer.publish(planner)
    return result._replace(taken=tuple(row[:2] for row in rows), commit=tip)


def _is_note(path: str) -> bool:
    """True when a file that is left out may be a note; `.DS_Store` is none."""
    is_hidden = any(part.startswith(".") for part in path.split("/"))
    return path != FILE and (not is_hidden or path.endswith(".md"))


def _line(group: Group, note: Note, files: Mapping[str, AdoptedFile]) -> Iterator[Grafted]:
    """A commit for each day on which files were last changed, the oldest first.

    The last one has the id of NOTE: by that, recovery knows that the branch was moved.
    """
    last, days = ROOT, list(by_day(files, group.now()))
    for number, (when, day) in enumerate(days, 1):
        known = note.id if number == len(days) else new_id()
        each = note._replace(id=known, paths=tuple(day))
        yield Grafted(f"{when}", (last,), day, each.agent, when, compose(each))
        last = f"{when}"


class _Folder(NamedTuple):
    """A folder to copy."""

    origin: str
    """Its path as in the commits."""
    files: Mapping[str, AdoptedFile]
    targets: Mapping[str, str]
    """The path in the group for each path in the folder."""
    page: str


def _new(
    folder: _Folder, snapshot: Snapshot, held: Collection[str] = ()
) -> Iterator[tuple[str, str, AdoptedFile]]:
    """The files that are new to the group: path in the folder, path in the group, content."""
    files, targets = folder.files, folder.targets
    ids = {path: blob_id(files[path].data) for path in targets}
    names = {path: numbered(target, 2) for path, target in targets.items()}
    own, gone = set(targets.values()), set()
    waiting = {path: next(names[path]) for path in targets}
    while waiting:  # a round for each number: history is walked once for all files
        known = _known(snapshot, {(target, ids[path]) for path, target in waiting.items()})
        rest = {}
        for path, target in waiting.items():
            if (target, ids[path]) in known:
                continue
            taken: AdoptedFile | None = None
            if target not in held and target not in gone:
                if snapshot.node(target) is None:
                    taken = files[path]
                elif target == targets[path] and snapshot.oid(target):
                    taken = _newer(folder, snapshot, path)
            if taken is None:
                rest[path] = next(each for each in names[path] if each not in own)
            elif blob_id(taken.data) != snapshot.oid(target):
                gone.add(target)
                yield path, target, taken
        waiting = rest


def _newer(folder: _Folder, snapshot: Snapshot, path: str) -> AdoptedFile | None:
    """The content that replaces the group's version of PATH; None where that would lose lines."""
    taken, target = folder.files[path], folder.targets[path]
    versions = _versions(snapshot, target)
    copied = [oid for oid, note in versions if (note.op, note.source) == (OP, folder.origin)]
    if path != folder.page:
        return taken if copied[:1] == [snapshot.oid(target)] else None
    if len(copied) == len(versions):
        return taken
    # Others have added lines, so no version of the page is the folder's alone.
    blobs = [snapshot.repository.objects.read_as("blob", oid) for oid, _ in versions if oid]
    data = _with_lines(blobs[0], blobs, taken.data)
    return None if why_not(target, "", data) else taken._replace(data=data)


def _versions(snapshot: Snapshot, target: str) -> list[tuple[str | None, Parsed]]:
    """Every version of TARGET, newest first, with the note of its commit; None: no file."""
    found: list[tuple[str | None, Parsed]] = []
    newer: tuple[str | None, str] | None = None
    for commit in snapshot.repository.history(snapshot.commit):
        oid = snapshot.repository.snapshot(commit.oid).oid(target)
        if newer and newer[0] != oid:
            found.append((newer[0], parse(newer[1])))
        newer = oid, commit.message
    if newer and newer[0]:
        found.append((newer[0], parse(newer[1])))
    return found


def _with_lines(page: bytes, versions: Iterable[bytes], newer: bytes) -> bytes:
    """PAGE with the lines of NEWER that none of its VERSIONS has."""
    known = {line.strip() for each in versions for line in each.splitlines()}
    added: list[bytes] = []
    gap = False
    for line in newer.splitlines():
        if line.strip() and line.strip() not in known:
            added += [b"", line] if gap else [line]
        gap = not line.strip()
    if not added:
        return page
    end = b"" if page.endswith(b"\n") or not page else b"\n"
    return page + end + b"\n".join([*added, b""])


def has_held(group: Group, path: str, data: bytes) -> bool:
    """True when GROUP has or had exactly DATA at PATH."""
    return bool(_known(group.repository.snapshot(), {(path, blob_id(data))}))


def is_newer(group: Group, path: str, data: bytes, other: bytes) -> bool:
    """True when GROUP had OTHER at PATH and DATA came later, or is an edit not yet captured."""
    ids = blob_id(data), blob_id(other)
    last_held: list[str] = []
    for commit in group.repository.history(group.repository.snapshot().commit):
        oid = group.repository.snapshot(commit.oid).oid(path)
        if oid in ids and oid not in last_held:
            last_held.append(oid)
        if len(last_held) == len(ids):
            break
    return ids[1] in last_held and last_held != [ids[1], ids[0]]


def _known(snapshot: Snapshot, pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the path and blob PAIRS that the branch has or had."""
    found: set[tuple[str, str]] = set()
    for commit in snapshot.repository.history(snapshot.commit):
        if found == pairs:
            break
        then = snapshot.repository.snapshot(commit.oid)
        found |= {(target, oid) for target, oid in pairs - found if then.oid(target) == oid}
    return found
