"""Move entries and files to the archive, which is what removing means here.

An archive collects: an entry goes behind those that its file has sent there before, a file to its
own path below the archive, with a number where that name is taken. Nothing is ever deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, Damaged, NotFound, PathNotFound, TooBig
from gitmem.memory.context.pins import moment_at
from gitmem.memory.entries.dates import Dates, dates_of
from gitmem.memory.entries.targets import Target, TargetVersion, resolve_targets, version_in
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import missing
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.entries.blocks import find, parse, split_address
from gitmem.model.entries.placement import add, add_all, take_all
from gitmem.model.guards import check_message_text
from gitmem.model.layout.archives import archive_of, archive_path, is_archived
from gitmem.model.layout.layout import Layout
from gitmem.model.paths import check_path, is_path
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "archive"


class ArchiveMove(Record):
    """An entry or a file that stands in the archive now."""

    source: str
    """The address or path it had."""
    address: str
    """The address or path it has."""
    path: str
    """The file it was, or was in."""
    title: str = ""
    """The title of an entry."""

    @property
    def is_entry(self) -> bool:
        """False for a file."""
        return self.source != self.path


class Archived(Record):
    """What was moved to the archive, or would be."""

    commit: str
    archived: tuple[ArchiveMove, ...]
    dry_run: bool = False
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


class Filed(NamedTuple):
    """The files of a commit after something was archived, and what moved."""

    changes: dict[str, bytes | None]
    moves: tuple[ArchiveMove, ...]


def archive(
    group: Group,
    targets: Sequence[str | Target],
    *,
    reason: str = "",
    allow_policy: bool = False,
    dry_run: bool = False,
) -> Archived:
    """Move TARGETS, addresses of entries and paths, to the archive: one commit, all or nothing."""
    if not targets:
        raise BadInput(
            "there is nothing to archive",
            hint="name entries or files: `gitmem entries` lists addresses, `gitmem list` paths",
        )
    work = _Work(group, targets, group.note(OP, reason=reason), allow_policy)
    if dry_run:
        snapshot = group.repository.snapshot()
        work.plan(snapshot)
        return Archived(snapshot.commit, work.moves, dry_run=True)
    with group.writing() as writer:
        # What somebody did to the files comes along, and so does what stands in their way.
        places = work.places(writer.repository.snapshot())
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, places))
        published = writer.publish(work.plan)
        return Archived(archived=work.moves, **published.completion)


def archive_files(
    layout: Layout, snapshot: Snapshot, targets: Sequence[Target], changed: Changes | None = None
) -> Filed:
    """The files of SNAPSHOT, of which CHANGED are different already, once TARGETS are archived.

    It writes nothing, so that others can archive as a part of a commit of their own.
    """
    draft = Changeset(snapshot, changed)
    chosen = _without_repeats(targets)
    for each in chosen:
        _check_outside(layout, each.path)
    for each in set(targets).difference(chosen):
        if each.name:  # it goes along with its file; a name that is none is still a mistake
            find(parse(draft.text(each.path)), each.name)
    names: dict[str, list[str]] = {}
    for each in chosen:
        if each.name:
            names.setdefault(each.path, []).append(each.name)
    moves = [move for path in names for move in _entries_filed(draft, layout, path, names[path])]
    for each in chosen:
        if not each.name:
            for path in _apart(draft, layout, each.path):
                target = _free(draft, layout, path)
                moves += [ArchiveMove(old, new, old) for old, new in draft.move(path, target)]
    return Filed(draft.changes, tuple(moves))


def archive_places(snapshot: Snapshot, layout: Layout, path: str) -> Iterator[str]:
    """The places that PATH may have in the archive: all that are taken, and the next one."""
    draft = Changeset(snapshot)
    return (each for each, _ in draft.places(_archive_target(draft, layout, path)))


def _archive_target(draft: Changeset, layout: Layout, path: str) -> str:
    """Where PATH goes; the folders above it step aside for files and twins of their names."""
    wanted = archive_path(layout, path, next(iter(draft.files(path)), ""))
    place = archive_of(layout, wanted)
    *folders, name = wanted.removeprefix(f"{place}/").split("/")
    for each in folders:
        place = draft.folder_in(place, each)
    return f"{place}/{name}"


def _free(draft: Changeset, layout: Layout, path: str) -> str:
    *_, (target, _) = draft.places(_archive_target(draft, layout, path))
    return target


def _apart(draft: Changeset, layout: Layout, path: str) -> list[str]:
    """PATH; of a folder too deep to fit into the archive as a whole, each file in it."""
    target, files = _free(draft, layout, path), draft.files(path)
    fits = all(is_path(target + each.removeprefix(path)) for each in files)
    return [path] if fits else files


def _without_repeats(targets: Sequence[Target]) -> list[Target]:
    """TARGETS, each once; what goes along with a file or folder needs no mention of its own."""
    wholes = {each.path for each in targets if not each.name}

    def is_covered(target: Target) -> bool:
        parts = target.path.split("/")
        above = {"/".join(parts[:at]) for at in range(1, len(parts))}
        return bool(above & wholes) or bool(target.name and target.path in wholes)

    return [each for each in dict.fromkeys(targets) if not is_covered(each)]


def _check_outside(layout: Layout, path: str) -> None:
    if is_archived(layout, path):
        raise Conflict(
            f"{path} is in the archive already, where nothing is deleted",
            hint="move it with `gitmem mv` if it stands in the way",
            path=path,
        )


def _entries_filed(
    draft: Changeset, layout: Layout, path: str, names: list[str]
) -> list[ArchiveMove]:
    """Take the entries NAMES of one file out of it; they are found before the first is gone."""
    if not draft.is_file(path):
        raise PathNotFound(f"there is no {path}", hint="see `gitmem entries`", path=path)
    text = draft.text(path)
    known = parse(text)
    found = list(dict.fromkeys(find(known, name) for name in names))
    rest, blocks = take_all(text, found)
    draft.put(path, rest.encode())
    wanted = _archive_target(draft, layout, path)
    places = _archive_together(draft, wanted, blocks)
    places = places or [_archive_block(draft, wanted, block) for block in blocks]
    slugs = {each: [x.slug for x in parse(draft.text(each))] for each in {x for x, _ in places}}
    return [
        ArchiveMove(f"{path}#{entry.slug}", f"{target}#{slugs[target][number]}", path, entry.title)
        for entry, (target, number) in zip(found, places, strict=True)
    ]


def _archive_together(
    draft: Changeset, wanted: str, blocks: Sequence[str]
) -> list[tuple[str, int]]:
    """Add BLOCKS to one file in one go, as one would each; nowhere where it cannot take all."""
    _, is_free = next(draft.places(wanted))
    if is_free or draft.is_file(wanted):
        with suppress(BadInput, TooBig):
            before = draft.text(wanted)
            draft.put(wanted, add_all(before, blocks).encode())
            first = len(parse(before))
            return [(wanted, first + number) for number in range(len(blocks))]
    return []


def _archive_block(draft: Changeset, wanted: str, block: str) -> tuple[str, int]:
    """Add BLOCK to the archived entries of a file; tell where it is, by file and number.

    Where that file cannot take it, being full or broken, the next number can.
    """
    for path, is_free in draft.places(wanted):
        if is_free or not draft.is_file(path):
            continue
        with suppress(BadInput, TooBig):
            before = draft.text(path)
            draft.put(path, add(before, block).encode())
            return path, len(parse(before))
    draft.put(path, add("", block).encode())
    return path, 0


class _Work:
    """What shall be archived, in one snapshot; planned again when the branch moves in between."""

    def __init__(
        self, group: Group, targets: Sequence[str | Target], note: Note, allow_policy: bool
    ) -> None:
        self._group, self._given = group, targets
        self._note, self._allow_policy = note, allow_policy
        self._provenance = Provenance(group)
        self.moves: tuple[ArchiveMove, ...] = ()

    def places(self, snapshot: Snapshot) -> list[str]:
        """The files that may change: the targets, and where they may go."""
        layout = layout_at(self._group, snapshot).layout
        targets = resolve_targets(self._group, snapshot, layout, self._given)
        draft = Changeset(snapshot)
        paths = [path for each in targets for path in _apart(draft, layout, each.path)]
        shelved = [place for path in paths for place in archive_places(snapshot, layout, path)]
        return list(dict.fromkeys([*(each.path for each in targets), *map(check_path, shelved)]))

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The files as they will be."""
        layout = layout_at(self._group, snapshot).layout
        targets = resolve_targets(self._group, snapshot, layout, self._given)
        for each in targets:
            if each.name and not is_archived(layout, each.path) and not snapshot.oid(each.path):
                raise missing(self._group, snapshot, each.path)
        filed = archive_files(layout, snapshot, targets)
        self.moves = filed.moves
        for move in filed.moves:
            check_message_text("path", f"{move.source}\n{move.address}")
        if not self._allow_policy:
            Changeset(snapshot, filed.changes).check_policies(layout)
        return Plan((Step(filed.changes, self._noted(snapshot, targets)),), None)

    def _noted(self, snapshot: Snapshot, targets: Sequence[Target]) -> Note:
        sources = [each.source for each in self.moves]
        return self._note._replace(
            title=_title(targets, self.moves),
            paths=tuple(sorted({each.path for each in self.moves})),
            extra=(
                *(("Gitmem-From", each) for each in sources),
                *self._provenance.trailers(snapshot, sources),
            ),
        )


def _title(targets: Sequence[Target], moves: Sequence[ArchiveMove]) -> str:
    """What a subject says: from where to where for one target, else what it is about."""
    first = moves[0]
    if len(targets) > 1:
        return f"{', '.join(_name(each) for each in moves)} -> archive"
    if first.is_entry:
        return f"{_name(first)} -> {split_address(first.address)[0]}"
    path = targets[0].path
    return f"{path} -> {first.address.removesuffix(first.source.removeprefix(path))}"


def _name(move: ArchiveMove) -> str:
    """What something is called in a subject; a credential in a title is not for all to see."""
    said = title_of_change(None, f"### {move.title}".encode()) if move.is_entry else ""
    return said or move.source


Trailers = tuple[tuple[str, str], ...]


class Provenance:
    """What is known about the dates of a group when an operation begins."""

    def __init__(self, group: Group) -> None:
        self._zone = group.zone
        self._dates: Dates | None = None
        with suppress(Damaged):  # a history that cannot be read is no reason to stay
            self._dates = dates_of(group, moment_at(group, None))

    def trailers(self, snapshot: Snapshot, sources: Iterable[str]) -> Trailers:
        """The trailers for the targets at SOURCES, addresses and paths of SNAPSHOT."""
        return self._said(snapshot, self._versions(snapshot, sources))

    def of_versions(self, snapshot: Snapshot, targets: Sequence[TargetVersion]) -> Trailers:
        """The same for targets whose addresses may be of an earlier commit; none for no targets."""
        return self._said(snapshot, ((x.address, x) for x in targets)) if targets else ()

    def _said(self, snapshot: Snapshot, targets: Iterable[tuple[str, TargetVersion]]) -> Trailers:
        found = (
            ((each, self._dates.of_address(snapshot, *version[1:])) for each, version in targets)
            if self._dates
            else ()
        )
        times = ((each, when.time(self._zone)) for each, when in found if when)
        ages = (("Gitmem-Touched", f"{each} {time.isoformat()}") for each, time in times)
        return (("Gitmem-From-Commit", snapshot.commit), *ages)

    def _versions(
        self, snapshot: Snapshot, sources: Iterable[str]
    ) -> Iterator[tuple[str, TargetVersion]]:
        for source in sources:
            with suppress(NotFound):
                found = version_in(snapshot, Target(*split_address(source)))
                if found:
                    yield source, found
