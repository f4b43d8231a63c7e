"""Move entries and files to the archive: nothing in memory is deleted.

An archived entry is appended to the archive file of its own file. A file keeps its path below the
archive folder, with a number if that name is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict, Damaged, NotFound, PathNotFound, TooBig
from gitmem.memory.context.pins import pin
from gitmem.memory.entries.dates import Dates, dates_of
from gitmem.memory.entries.targets import Target, TargetVersion, resolve_targets, version_in
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import missing
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.model.commit_messages import title_of_change
from gitmem.model.entries.blocks import find, parse, split_address
from gitmem.model.entries.placement import add, add_all, take_all
from gitmem.model.guards import check_message_text
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import archive_of, archive_path, is_archived
from gitmem.model.layout.layout import Layout
from gitmem.model.paths import check_path, is_path
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "archive"
Trailers = tuple[tuple[str, str], ...]


class ArchiveMove(Record):
    """An entry or a file that was moved to the archive."""

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


class ArchivedFiles(NamedTuple):
    """The changed files of a commit, and what moved to the archive in them."""

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
    """Move TARGETS, given by address or path, to the archive: one commit, all or nothing."""
    if not targets:
        raise BadInput(
            "nothing to archive",
            hint=Hint(
                "name entries or files: ",
                call("entries"),
                " lists addresses, ",
                call("list"),
                " paths",
            ),
        )
    note, provenance = group.note(OP, reason=reason), Provenance(group)

    def plan(snapshot: Snapshot) -> Plan[Archived]:
        layout = layout_at(group, snapshot).layout
        found = resolve_targets(group, snapshot, layout, targets)
        for each in found:
            if each.name and not is_archived(layout, each.path) and not snapshot.oid(each.path):
                raise missing(group, snapshot, each.path)
        changes, moves = archive_files(layout, snapshot, found)
        for move in moves:
            check_message_text("path", f"{move.source}\n{move.address}")
        if not allow_policy:
            Changeset(snapshot, changes).check_policies(layout)
        done = note._replace(
            title=_title(found, moves),
            paths=source_paths(moves),
            extra=provenance.of_moves(snapshot, moves),
        )
        return Plan((Step(changes, done),), Archived("", moves))

    if dry_run:
        snapshot = group.repository.snapshot()
        return plan(snapshot).result._replace(commit=snapshot.commit, dry_run=True)
    with group.writing() as writer:
        # Edits to the files move along, and so do files that stand in their way.
        capture_paths(writer, _paths(group, writer.repository.snapshot(), targets))
        published = writer.publish(plan)
        return published.result._replace(**published.completion)


def _paths(group: Group, snapshot: Snapshot, given: Sequence[str | Target]) -> list[str]:
    """The files that may change: those of the targets, and where they may go."""
    layout, draft = layout_at(group, snapshot).layout, Changeset(snapshot)
    targets = resolve_targets(group, snapshot, layout, given)
    sources = [path for each in targets for path in _apart(draft, layout, each.path)]
    archived = [path for each in sources for path in archive_paths(snapshot, layout, each)]
    return list(dict.fromkeys([*(each.path for each in targets), *map(check_path, archived)]))


def archive_files(
    layout: Layout, snapshot: Snapshot, targets: Sequence[Target], changed: Changes | None = None
) -> ArchivedFiles:
    """The files of SNAPSHOT after CHANGED, with TARGETS moved to the archive.

    It publishes nothing, so that another operation can archive within its own commit.
    """
    draft = Changeset(snapshot, changed)
    chosen = _without_repeats(targets)
    for each in chosen:
        _check_outside(layout, each.path)
    for each in set(targets).difference(chosen):
        if each.name:  # it goes along with its file; a name that does not exist is still an error
            find(parse(draft.text(each.path)), each.name)
    names: dict[str, list[str]] = {}
    for each in chosen:
        if each.name:
            names.setdefault(each.path, []).append(each.name)
    moves = [move for path in names for move in _archive_entries(draft, layout, path, names[path])]
    for each in chosen:
        if not each.name:
            for path in _apart(draft, layout, each.path):
                target = _free_path(draft, layout, path)
                moves += [ArchiveMove(old, new, old) for old, new in draft.move(path, target)]
    return ArchivedFiles(draft.changes, tuple(moves))


def archive_paths(snapshot: Snapshot, layout: Layout, path: str) -> Iterator[str]:
    """The paths that PATH may have in the archive: all that are taken, then the next free one."""
    draft = Changeset(snapshot)
    return (each for each, _ in draft.candidates(_archive_target(draft, layout, path)))


def source_paths(moves: Iterable[ArchiveMove]) -> tuple[str, ...]:
    """The files that MOVES came from, each once."""
    return tuple(sorted({each.path for each in moves}))


def _archive_target(draft: Changeset, layout: Layout, path: str) -> str:
    """Where PATH goes; a folder above it gets a number if a file or a twin has its name."""
    target = archive_path(layout, path, next(iter(draft.files(path)), ""))
    parent = archive_of(layout, target)
    *folders, name = target.removeprefix(f"{parent}/").split("/")
    for each in folders:
        parent = draft.folder_in(parent, each)
    return f"{parent}/{name}"


def _free_path(draft: Changeset, layout: Layout, path: str) -> str:
    *_, (target, _) = draft.candidates(_archive_target(draft, layout, path))
    return target


def _apart(draft: Changeset, layout: Layout, path: str) -> list[str]:
    """PATH, or each file in it if the folder is too deep to fit into the archive as a whole."""
    target, files = _free_path(draft, layout, path), draft.files(path)
    fits = all(is_path(target + each.removeprefix(path)) for each in files)
    return [path] if fits else files


def _without_repeats(targets: Sequence[Target]) -> list[Target]:
    """TARGETS, each once, without those that go along with their file or folder."""
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
            hint=Hint("if it is in the way, move it: ", call("mv", path, "TARGET")),
            path=path,
        )


def _archive_entries(
    draft: Changeset, layout: Layout, path: str, names: list[str]
) -> list[ArchiveMove]:
    """Move the entries NAMES of one file; all are found before the first is taken out."""
    if not draft.is_file(path):
        hint = Hint(call("entries"), " lists the entries")
        raise PathNotFound(f"no file {path!r}", hint=hint, path=path)
    text = draft.text(path)
    known = parse(text)
    found = list(dict.fromkeys(find(known, name) for name in names))
    rest, blocks = take_all(text, found)
    draft.put(path, rest.encode())
    target = _archive_target(draft, layout, path)
    placed = _archive_together(draft, target, blocks)
    placed = placed or [_archive_block(draft, target, block) for block in blocks]
    slugs = {each: [x.slug for x in parse(draft.text(each))] for each in {x for x, _ in placed}}
    return [
        ArchiveMove(f"{path}#{entry.slug}", f"{file}#{slugs[file][number]}", path, entry.title)
        for entry, (file, number) in zip(found, placed, strict=True)
    ]


def _archive_together(
    draft: Changeset, target: str, blocks: Sequence[str]
) -> list[tuple[str, int]]:
    """Append BLOCKS to the file TARGET in one go; return nothing if it cannot take them all."""
    _, is_free = next(draft.candidates(target))
    if is_free or draft.is_file(target):
        with suppress(BadInput, TooBig):
            before = draft.text(target)
            draft.put(target, add_all(before, blocks).encode())
            first = len(parse(before))
            return [(target, first + number) for number in range(len(blocks))]
    return []


def _archive_block(draft: Changeset, target: str, block: str) -> tuple[str, int]:
    """Append BLOCK to TARGET, or to its next number if that file is full or unreadable.

    Return the file, and the entry's number in it.
    """
    for path, is_free in draft.candidates(target):
        if is_free or not draft.is_file(path):
            continue
        with suppress(BadInput, TooBig):
            before = draft.text(path)
            draft.put(path, add(before, block).encode())
            return path, len(parse(before))
    draft.put(path, add("", block).encode())
    return path, 0


def _title(targets: Sequence[Target], moves: Sequence[ArchiveMove]) -> str:
    """The subject: from where to where for one target, else the names of all."""
    first = moves[0]
    if len(targets) > 1:
        return f"{', '.join(_name(each) for each in moves)} -> archive"
    if first.is_entry:
        return f"{_name(first)} -> {split_address(first.address)[0]}"
    path = targets[0].path
    return f"{path} -> {first.address.removesuffix(first.source.removeprefix(path))}"


def _name(move: ArchiveMove) -> str:
    """The name of a target in a subject; a title that holds a credential is left out."""
    title = title_of_change(None, f"### {move.title}".encode()) if move.is_entry else ""
    return title or move.source


class Provenance:
    """The trailers of a commit that archives: where each target was, and when it last changed.

    The dates are read before the lock is taken, so that nobody waits for them; a target that
    changed since then gets none.
    """

    def __init__(self, group: Group) -> None:
        self._zone = group.zone
        self._dates: Dates | None = None
        with suppress(Damaged):  # an unreadable history must not prevent archiving
            self._dates = dates_of(group, pin(group, None))

    def of_moves(self, snapshot: Snapshot, moves: Iterable[ArchiveMove]) -> Trailers:
        """The trailers for MOVES, whose sources are addresses and paths of SNAPSHOT."""
        sources = [each.source for each in moves]
        found = ((each, _version(snapshot, each)) for each in sources)
        named = ((source, version) for source, version in found if version)
        return (*(("Gitmem-From", each) for each in sources), *self._trailers(snapshot, named))

    def of_versions(self, snapshot: Snapshot, targets: Sequence[TargetVersion]) -> Trailers:
        """The dates of TARGETS, whose addresses may be of an earlier commit; empty for none."""
        return self._trailers(snapshot, ((x.address, x) for x in targets)) if targets else ()

    def _trailers(
        self, snapshot: Snapshot, targets: Iterable[tuple[str, TargetVersion]]
    ) -> Trailers:
        found = (
            ((each, self._dates.of_address(snapshot, *version[1:])) for each, version in targets)
            if self._dates
            else ()
        )
        times = ((each, when.time(self._zone)) for each, when in found if when)
        ages = (("Gitmem-Touched", f"{each} {time.isoformat()}") for each, time in times)
        return (("Gitmem-From-Commit", snapshot.commit), *ages)


def _version(snapshot: Snapshot, source: str) -> TargetVersion | None:
    with suppress(NotFound):
        return version_in(snapshot, Target(*split_address(source)))
    return None
