"""Repair a group: lost objects are looked for, damaged files go to quarantine.

Starts from a git directory alone, since the repository may not open. Every step happens under the
group's lock and can be repeated without harm.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.model.commit_messages import Note
from gitmem.model.scope import Scope
from gitmem.store import durable
from gitmem.store.config import parse_config, worktree_of
from gitmem.store.fsck.earlier_versions import HeadRepair, Replaced
from gitmem.store.fsck.findings import Repaired
from gitmem.store.fsck.git_directory import (
    knows_format,
    make_folders,
    repair_config,
    repair_head,
    repair_modes,
)
from gitmem.store.fsck.index_and_worktree import (
    capture_worktree,
    is_untied,
    repair_index,
    repair_worktree,
)
from gitmem.store.fsck.leftovers import remove_leftovers, remove_stale_locks, repair_record
from gitmem.store.fsck.lost_objects import Healer, ObjectSources
from gitmem.store.fsck.packs import PackFault, pack_faults, readable, rebuild_index, write_pack
from gitmem.store.fsck.reachable import check_loose, loose_names
from gitmem.store.fsck.reflogs import REWOUND, drop_broken_lines, drop_torn_lines, keep_broken
from gitmem.store.fsck.refs import BROKEN, RefRepair, is_tip
from gitmem.store.lock import Lock, lock_path
from gitmem.store.lost_commits.departures import keep_lost
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.packs import Content
from gitmem.store.refs.files import is_id
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.setup import to_quarantine
from gitmem.store.transaction.stale_locks import remove_dead_files
from gitmem.store.transaction.writer import Writer, open_writer
from gitmem.store.worktree.relocate import bring_back, holds_anything
from gitmem.store.worktree.scope import Scoped

FINDER = Note(
    "capture", "", "gitmem", reason="found in the work tree when the repository was repaired"
)


def repair(
    gitdir: Path, default: Path, clock: Callable[[], datetime], scope: Scope | None = None
) -> list[Repaired]:
    """Repair GITDIR, whose work tree is DEFAULT unless its configuration names another.

    SCOPE limits what in the work tree is memory. A newer format is left alone.
    """
    with suppress(OSError):
        if not knows_format(parse_config((gitdir / "config").read_text("utf-8", "replace"))):
            return []
    done = list(make_folders(gitdir))
    with Lock(lock_path(gitdir)) as lock:
        work = _Repair(gitdir, default, clock, lock, scope)
        steps = (work.outfit, work.packs, work.loose, work.refs, work.history, work.work_tree)
        for step in (*steps, work.lost_commits):
            with suppress(_Impossible):
                done += step()
        done += repair_modes(gitdir)
    return done


class _Impossible(Exception):
    """A step cannot be done; the next check reports why."""


class _Repair:
    """The steps of a repair."""

    def __init__(
        self,
        gitdir: Path,
        default: Path,
        clock: Callable[[], datetime],
        lock: Lock,
        scope: Scope | None,
    ) -> None:
        self._gitdir, self._default, self._scope = gitdir, default, scope
        self._clock, self._lock = clock, lock
        self._moved_back = False
        self._replaced: list[Replaced] = []

    @property
    def _root(self) -> Path:
        return worktree_of(self._gitdir) or self._default

    def outfit(self) -> Iterator[Repaired]:
        """Repair what is needed to open the repository."""
        yield from repair_config(self._gitdir, self._default)
        yield from repair_head(self._gitdir)
        yield from remove_stale_locks(self._gitdir)
        yield from repair_record(self._gitdir, self._lock)

    def packs(self) -> Iterator[Repaired]:
        """Replace damaged packs by a pack of their readable objects."""
        faults: dict[str, dict[str, PackFault]] = {}
        for fault in pack_faults(self._gitdir):
            faults.setdefault(fault.stem, {})[fault.code] = fault
        for stem, found in faults.items():
            if "pack-cache-damaged" in found:
                self._aside(found["pack-cache-damaged"].path)
            if "pack-damaged" in found or not self._index_again(stem, found):
                self._salvage(stem)
            for fault in found.values():
                name = os.path.relpath(fault.path, self._gitdir)
                text = "readable objects are kept, the rest is in quarantine"
                yield Repaired(fault.code, text, name)

    def _index_again(self, stem: str, found: dict[str, PackFault]) -> bool:
        """Write the index of a sound pack again; False when the pack lacks objects."""
        if "pack-missing" in found:
            self._aside(f"{stem}.idx")
        if not found.keys() & {"pack-index-damaged", "pack-index-missing"}:
            return True
        self._aside(f"{stem}.idx")
        with open(f"{stem}.pack", "rb") as file:
            count = int.from_bytes(file.read(12)[8:], "big")
        return rebuild_index(stem) == count

    def _salvage(self, stem: str) -> None:
        sources, objects = ObjectSources(self._gitdir, self._root), Objects(self._gitdir)
        lent: set[str] = set()

        def supply(oid: str) -> Content | None:
            """A delta base may be sound as a loose object or in another pack."""
            with suppress(ObjectDamaged):
                return objects.read(oid) if is_id(oid) else None
            lent.add(oid)
            return sources.supply(oid)

        opened, found = readable(stem, supply)
        # A copy of a lost object serves to read others here. Whether it comes back is decided
        # where it is known which ref needs it, since it may hold a credential.
        found = {oid: pack for oid, pack in found.items() if oid not in lent}
        try:
            if found:
                write_pack(Path(stem).parent, found, supply)
        finally:
            objects.close()
            for pack in opened:
                pack.close()
        for path in sorted(Path(stem).parent.glob(f"{Path(stem).name}.*")):
            self._aside(str(path))

    def _aside(self, path: str) -> None:
        if os.path.lexists(path):
            to_quarantine(self._gitdir, Path(path), os.path.basename(path))

    def loose(self) -> Iterator[Repaired]:
        """Move damaged object files to quarantine."""
        objects = Objects(self._gitdir)
        moved = []
        for oid in loose_names(self._gitdir):
            try:
                check_loose(objects, oid)
            except ObjectDamaged:
                objects.quarantine(oid)
                moved.append(oid)
        objects.close()
        for oid in moved:
            text = f"{len(moved)} moved to quarantine"
            yield Repaired("object-damaged-unused", text, object=oid)

    @contextmanager
    def _opened(self, *reasons: type[Exception]) -> Iterator[Repository]:
        """The repository; an error among REASONS makes the step impossible."""
        try:
            repository = Repository(self._gitdir)
        except GitmemError as error:
            raise _Impossible from error
        if self._scope:
            memory, root = self._scope, self._root
            repository.scope = lambda snapshot: Scoped(root, memory, snapshot)
        try:
            yield repository
        except reasons as error:
            raise _Impossible from error
        finally:
            repository.close()

    def refs(self) -> Iterator[Repaired]:
        """Repair refs, and restore the objects they need."""
        with self._opened() as repository:
            record = self._lock.record()
            if record and not record.left:
                remove_dead_files(repository, record)
            sources = ObjectSources(self._gitdir, self._root)
            work = RefRepair(repository, sources, self._clock, unfinished=record is not None)
            yield from work.run()
            yield from drop_torn_lines(self._gitdir)
            self._moved_back = work.moved_back
            if self._moved_back:  # the last published commit is lost
                self._lock.mark(repository.tip())

    def history(self) -> Iterator[Repaired]:
        """Replace files of HEAD that are lost for good by earlier versions."""
        with self._opened(GitmemError) as repository:
            healer = Healer(repository.objects, ObjectSources(self._gitdir, self._root))
            lacks = healer.heal({BRANCH: repository.tip()})
            at_head = {lack.oid for lack in lacks if lack.at_head and not is_tip(lack)}
            if at_head:
                work = HeadRepair(repository, at_head)
                work.run(self._clock())
                self._replaced = work.replaced
                for each in self._replaced:
                    for code in BROKEN:
                        yield Repaired(code, each.message, each.path, each.lost)

    def work_tree(self) -> Iterator[Repaired]:
        """Recover a dead writer's transaction; repair index and work tree."""
        root = self._root
        with self._opened(GitmemError, OSError) as repository:
            found = root == self._default and bring_back(self._gitdir)
            untied = is_untied(self._gitdir, root)
            if untied and root != self._default and not holds_anything(root):
                raise _Impossible  # moved, lost or not mounted: a second one would be a fork
            durable.make_folders(root)
            if found:
                yield Repaired("worktree-missing", "found, and moved back", str(root))
            unfinished = bool(self._lock.record())
            with open_writer(repository, root, self._clock, FINDER, lock=self._lock) as writer:
                if unfinished:
                    yield Repaired("write-unfinished", "completed", "gitmem/lock")
                if self._moved_back:
                    capture_worktree(writer, deletions=not untied)
                yield from repair_index(self._gitdir, writer)
                self._put_back_replaced(writer)
                if untied:
                    yield from repair_worktree(self._gitdir, self._default, writer)
                yield from remove_leftovers(self._gitdir, writer)

    def _put_back_replaced(self, writer: Writer) -> None:
        """Capture what the work tree has in place of a replaced file: it is a newer edit."""
        snapshot = writer.repository.snapshot()
        for each in self._replaced:
            for path, node in list(snapshot.files(each.path)):
                look = writer.worktree.look(path)
                if look.absent:
                    writer.put_back(path)
                elif look.oid != node.oid:
                    writer.capture(path)

    def lost_commits(self) -> Iterator[Repaired]:
        """Keep commits that left the branch and that only a reflog leads to."""
        with self._opened(GitmemError, OSError) as repository:
            for oid, text in keep_lost(repository):
                yield Repaired(REWOUND, text, object=oid)
            keep_broken(repository)
            yield from drop_broken_lines(repository)
