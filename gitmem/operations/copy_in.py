"""Copy a folder of notes into a group that has memory already; the folder stays as it is.

The commits are dated by the days on which the files were last changed, as those of an adoption are,
and land together. No file of the group is replaced: where a name is taken, the copy gets a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gitmem.core.access import check_access
from gitmem.core.layout import FILE
from gitmem.core.messages import Note, compose
from gitmem.core.paths import check_path, numbered
from gitmem.core.secrets import redact
from gitmem.errors import Conflict, PathRefused
from gitmem.git.grafting import ROOT, Remade, graft
from gitmem.git.intake import new_id
from gitmem.git.objects import blob_id
from gitmem.git.publish import Plan, Step, translated
from gitmem.git.repository import Snapshot
from gitmem.operations.adopt_folder import Left, Taken, by_day, read_folder, source_folder
from gitmem.operations.group import Group

OP = "copy"


class CopiedIn(NamedTuple):
    """Files that a group holds now as well, or would."""

    source: str
    taken: tuple[tuple[str, str], ...]
    """The path of each in the folder, and the one in the group."""
    left: tuple[Left, ...] = ()
    """What may not enter git, and why."""
    commit: str = ""
    """Nothing where there was nothing new."""


def copy_in(group: Group, source: Path, into: str = "", *, dry_run: bool = False) -> CopiedIn:
    """Copy the files of SOURCE into the folder INTO of GROUP.

    A file whose content the group has, or once had, at that place is not copied again.
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
            left.append(Left(redact(path)[0], f"path: {refused.facts['rule']}"))
            del places[path]
    told = CopiedIn(str(root), (), tuple(left))
    if dry_run:
        return told._replace(taken=tuple(_free(group.repository.snapshot(), found.files, places)))
    with translated("copying the folder"), group.writing() as writer:
        for place in places.values():
            writer.adopt(place)  # what somebody put there counts
        snapshot = group.repository.snapshot()
        taken = tuple(_free(snapshot, found.files, places))
        if not taken:
            return told
        files = {place: found.files[path] for path, place in taken}
        note = group.note(OP)._replace(source=redact(str(root))[0])
        line = list(_line(group, note._replace(title=f"from {note.source}"), files))
        tip = graft(group.repository, snapshot.commit, line, group.now())

        def planner(now: Snapshot) -> Plan:
            if now.commit != snapshot.commit:
                raise Conflict("somebody committed to the group just now", hint="do it again")
            contents = {place: taken.data for place, taken in files.items()}
            return Plan((Step(contents, note._replace(paths=tuple(files))),), {}, tip)

        writer.publish(planner)
    return told._replace(taken=taken, commit=tip)


def _is_note(path: str) -> bool:
    """Whether a file that is left out may be a note; `.DS_Store` and its like are none."""
    is_hidden = any(part.startswith(".") for part in path.split("/"))
    return path != FILE and (not is_hidden or path.endswith(".md"))


def _line(group: Group, note: Note, files: Mapping[str, Taken]) -> Iterator[Remade]:
    """A commit for each day on which files were last changed, the oldest first."""
    last = ROOT
    for when, day in by_day(files, group.now()):
        each = note._replace(id=new_id(), paths=tuple(day))
        yield Remade(f"{when}", (last,), day, each.agent, when, compose(each))
        last = f"{when}"


def _free(
    snapshot: Snapshot, files: Mapping[str, Taken], places: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The files that are new to the group, each with a place where none is."""
    wanted = {path: place for path, place in places.items() if snapshot.oid(place)}
    known = _known(snapshot, {wanted[path]: blob_id(files[path].data) for path in wanted})
    for path, place in places.items():
        if place in known:
            continue
        ids = blob_id(files[path].data)
        for each in numbered(place, 2):
            if snapshot.oid(each) == ids:
                break
            if snapshot.node(each) is None:
                yield path, each
                break


def has_held(group: Group, path: str, data: bytes) -> bool:
    """Whether GROUP holds exactly DATA at PATH, or once did."""
    return bool(_known(group.repository.snapshot(), {path: blob_id(data)}))


def _known(snapshot: Snapshot, wanted: Mapping[str, str]) -> set[str]:
    """Those of the places WANTED at which the branch holds that very content, or once did."""
    left, found = dict(wanted), set()
    line = snapshot.repository.history(snapshot.commit) if left else ()
    for commit in line:
        if not left:
            break
        then = snapshot.repository.snapshot(commit.oid)
        for place in [place for place, oid in left.items() if then.oid(place) == oid]:
            del left[place]
            found.add(place)
    return found
