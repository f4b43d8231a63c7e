"""Copy a folder of notes into a group that has memory already; the folder stays as it is.

The commits are dated by the days on which the files were last changed, as those of an adoption are,
and land together. A file of the group is replaced only by a newer version of itself: where it is as
it was last copied from that folder. Where both sides changed it, the copy gets a number; an index
page gets the lines that it lacks, because its host reads no second page.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.errors import Conflict, PathRefused
from gitmem.memory.adopt.folder import (
    AdoptedFile,
    LeftOut,
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
    """Files that a group holds now as well, or would."""

    source: str
    taken: tuple[tuple[str, str], ...]
    """The path of each in the folder, and the one in the group."""
    left: tuple[LeftOut, ...] = ()
    """What may not enter git, and why."""
    commit: str = ""
    """Nothing where there was nothing new."""


def copy_in(
    group: Group, source: Path, into: str = "", *, page: str = "", dry_run: bool = False
) -> CopiedIn:
    """Copy the files of SOURCE into the folder INTO of GROUP; PAGE is the path of the index page.

    A file whose content the group has, or once had, at that place is not copied again, nor is such
    a line of the page.
    """
    check_access(group.acting, group.name, write=True)
    root = source_folder(source)
    found = read_folder(root, lambda path: path == FILE)
    places = {path: f"{into}/{path}" if into else path for path in found.files}
    left = [each for each in found.left if _is_note(each.path)]
    for path, place in [*places.items()]:
        try:
            check_path(place)
        except PathRefused as refused:
            left.append(LeftOut(redact(path)[0], f"path: {refused.facts['rule']}"))
            del places[path]
    told = CopiedIn(str(root), (), tuple(left))
    origin = redact(str(root))[0]
    if dry_run:
        rows = tuple(_new(_Folder(origin, found.files, places, page), group.repository.snapshot()))
        return told._replace(taken=tuple(row[:2] for row in rows))
    with translated("copying the folder"), group.writing() as writer:
        # What somebody put there counts; what may not be captured is never replaced.
        edits = [writer.capture(place) for place in places.values()]
        held = {each.path for each in edits if isinstance(each, HeldEdit)}
        snapshot = group.repository.snapshot()
        rows = tuple(_new(_Folder(origin, found.files, places, page), snapshot, held))
        if not rows:
            return told
        files = {place: taken for _, place, taken in rows}
        note = group.note(OP)._replace(source=origin)
        line = list(_line(group, note._replace(title=f"from {note.source}"), files))
        tip = graft(group.repository, snapshot.commit, line, group.now())

        def planner(now: Snapshot) -> Plan[None]:
            if now.commit != snapshot.commit:
                raise Conflict("somebody committed to the group just now", hint="do it again")
            contents = {place: taken.data for place, taken in files.items()}
            step = Step(contents, note._replace(paths=tuple(files)))
            return Plan((step,), None, commit=tip)

        writer.publish(planner)
    return told._replace(taken=tuple(row[:2] for row in rows), commit=tip)


def _is_note(path: str) -> bool:
    """Whether a file that is left out may be a note; `.DS_Store` and its like are none."""
    is_hidden = any(part.startswith(".") for part in path.split("/"))
    return path != FILE and (not is_hidden or path.endswith(".md"))


def _line(group: Group, note: Note, files: Mapping[str, AdoptedFile]) -> Iterator[Grafted]:
    """A commit for each day on which files were last changed, the oldest first.

    The last one has the id of NOTE: by that, whoever recovers knows that the line has landed.
    """
    last, days = ROOT, list(by_day(files, group.now()))
    for number, (when, day) in enumerate(days, 1):
        known = note.id if number == len(days) else new_id()
        each = note._replace(id=known, paths=tuple(day))
        yield Grafted(f"{when}", (last,), day, each.agent, when, compose(each))
        last = f"{when}"


class _Folder(NamedTuple):
    """A folder whose files are copied."""

    origin: str
    """As the commits name it."""
    files: Mapping[str, AdoptedFile]
    places: Mapping[str, str]
    """For each path, the one that it should have in the group."""
    page: str


def _new(
    folder: _Folder, snapshot: Snapshot, held: Collection[str] = ()
) -> Iterator[tuple[str, str, AdoptedFile]]:
    """What is new to the group: the path of each file, its place there and what it will hold."""
    files, places = folder.files, folder.places
    ids = {path: blob_id(files[path].data) for path in places}
    names = {path: numbered(place, 2) for path, place in places.items()}
    own, gone = set(places.values()), set()
    asked = {path: next(names[path]) for path in places}
    while asked:  # a round for each number: history is walked once for all files
        known = _known(snapshot, {(place, ids[path]) for path, place in asked.items()})
        rest = {}
        for path, place in asked.items():
            if (place, ids[path]) in known:
                continue
            taken: AdoptedFile | None = None
            if place not in held and place not in gone:
                if snapshot.node(place) is None:
                    taken = files[path]
                elif place == places[path] and snapshot.oid(place):
                    taken = _newer(folder, snapshot, path)
            if taken is None:
                rest[path] = next(each for each in names[path] if each not in own)
            elif blob_id(taken.data) != snapshot.oid(place):
                gone.add(place)
                yield path, place, taken
        asked = rest


def _newer(folder: _Folder, snapshot: Snapshot, path: str) -> AdoptedFile | None:
    """What replaces the group's version of PATH; None where that would lose something."""
    taken, place = folder.files[path], folder.places[path]
    versions = _versions(snapshot, place)
    copied = [oid for oid, said in versions if (said.op, said.source) == (OP, folder.origin)]
    if path != folder.page:
        return taken if copied[:1] == [snapshot.oid(place)] else None
    if len(copied) == len(versions):
        return taken
    # Others have lines on this page, so no copy of it, not even the last one, is only the folder's.
    blobs = [snapshot.repository.objects.read_as("blob", oid) for oid, _ in versions if oid]
    data = _with_lines(blobs[0], blobs, taken.data)
    return None if why_not(place, "", data) else taken._replace(data=data)


def _versions(snapshot: Snapshot, place: str) -> list[tuple[str | None, Parsed]]:
    """Every version of PLACE, the newest first, with what its commit says; None is none."""
    found: list[tuple[str | None, Parsed]] = []
    newer: tuple[str | None, str] | None = None
    for commit in snapshot.repository.history(snapshot.commit):
        oid = snapshot.repository.snapshot(commit.oid).oid(place)
        if newer and newer[0] != oid:
            found.append((newer[0], parse(newer[1])))
        newer = oid, commit.message
    if newer and newer[0]:
        found.append((newer[0], parse(newer[1])))
    return found


def _with_lines(page: bytes, versions: Iterable[bytes], newer: bytes) -> bytes:
    """PAGE and those lines of NEWER that none of its VERSIONS has."""
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
    """Whether GROUP holds exactly DATA at PATH, or once did."""
    return bool(_known(group.repository.snapshot(), {(path, blob_id(data))}))


def is_newer(group: Group, path: str, data: bytes, other: bytes) -> bool:
    """Whether GROUP held OTHER at PATH, and DATA came there later; an edit not captured yet did."""
    ids = blob_id(data), blob_id(other)
    last_held: list[str] = []
    for commit in group.repository.history(group.repository.snapshot().commit):
        oid = group.repository.snapshot(commit.oid).oid(path)
        if oid in ids and oid not in last_held:
            last_held.append(oid)
        if len(last_held) == len(ids):
            break
    return ids[1] in last_held and last_held != [ids[1], ids[0]]


def _known(snapshot: Snapshot, wanted: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those of the places and blobs WANTED that the branch holds, or once did."""
    found: set[tuple[str, str]] = set()
    for commit in snapshot.repository.history(snapshot.commit):
        if found == wanted:
            break
        then = snapshot.repository.snapshot(commit.oid)
        found |= {(place, oid) for place, oid in wanted - found if then.oid(place) == oid}
    return found
