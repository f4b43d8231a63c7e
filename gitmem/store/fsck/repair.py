"""Mending a group: what is damaged is kept in quarantine, what is lost is looked for.

Starts from a git directory alone, since the repository may not open. Everything happens under the
group's lock, and everything can be done again without harm.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from gitmem.errors import GitmemError
from gitmem.model.commit_messages import Note
from gitmem.model.scope import Scope
from gitmem.store.durable import make_folders
from gitmem.store.fsck import git_directory as upkeep
from gitmem.store.fsck import mend_git_directory as tidying
from gitmem.store.fsck.lost_objects import Healer, Sources
from gitmem.store.fsck.mend_git_directory import Done
from gitmem.store.fsck.mend_packs import readable, rebuild_index, write_pack
from gitmem.store.fsck.packs import PackFault, pack_faults
from gitmem.store.fsck.reachable import check_loose, loose_names
from gitmem.store.fsck.reflogs import REWOUND
from gitmem.store.fsck.refs import RefRepair, is_tip
from gitmem.store.fsck.replace_lost import Mended, Mending
from gitmem.store.lock import Lock, lock_path
from gitmem.store.lost_commits.keep_lost import keep_lost
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.packs import Content
from gitmem.store.refs.files import is_id
from gitmem.store.repository import BRANCH, Repository
from gitmem.store.setup import parse_config, to_quarantine, worktree_of
from gitmem.store.transaction.stale_locks import remove_dead_files
from gitmem.store.transaction.writer import Writer, holding
from gitmem.store.worktree.relocate import bring_back, holds_anything
from gitmem.store.worktree.scope import Scoped

FINDER = Note(
    "capture", "", "gitmem", reason="found in the work tree when the repository was repaired"
)


def repair(
    gitdir: Path, default: Path, clock: Callable[[], datetime], scope: Scope | None = None
) -> list[Done]:
    """Mend what can be mended in GITDIR, whose work tree is at DEFAULT unless it says otherwise.

    SCOPE: what in that is memory; None for all of it.
    """
    with suppress(OSError):
        if not upkeep.knows_format(parse_config((gitdir / "config").read_text("utf-8", "replace"))):
            return []
    done = list(tidying.make_folders(gitdir))
    with Lock(lock_path(gitdir)) as lock:
        work = _Repair(gitdir, default, clock, lock, scope)
        steps = (work.outfit, work.packs, work.loose, work.refs, work.history, work.work_tree)
        for step in (*steps, work.departed):
            with suppress(_Hopeless):
                done += step()
        done += tidying.mend_modes(gitdir)
    return done


class _Hopeless(Exception):
    """A step cannot be done; the next check will say why."""


class _Repair:
    def __init__(
        self,
        gitdir: Path,
        default: Path,
        clock: Callable[[], datetime],
        lock: Lock,
        scope: Scope | None,
    ) -> None:
        self._scope = scope
        self._gitdir, self._default = gitdir, default
        self._clock, self._lock = clock, lock
        self._moved_back = False
        self._mended: list[Mended] = []

    def outfit(self) -> Iterator[Done]:
        """What is needed to open the repository."""
        yield from tidying.mend_config(self._gitdir, self._default)
        yield from tidying.mend_head(self._gitdir)
        yield from tidying.remove_stale_locks(self._gitdir)
        raw = Path(lock_path(self._gitdir)).read_bytes()
        yield from tidying.mend_record(self._gitdir, self._lock, raw)

    @property
    def _root(self) -> Path:
        return worktree_of(self._gitdir) or self._default

    def packs(self) -> Iterator[Done]:
        """Save what damaged packs still give, and let a whole one take their place."""
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
                yield Done(
                    fault.code, "what could be read is kept, the rest is in quarantine", name
                )

    def _index_again(self, stem: str, found: dict[str, PackFault]) -> bool:
        """Write the index of a sound pack anew; False when the pack does not give all it should."""
        if "pack-missing" in found:
            self._aside(f"{stem}.idx")
        if not found.keys() & {"pack-index-damaged", "pack-index-missing"}:
            return True
        self._aside(f"{stem}.idx")
        with open(f"{stem}.pack", "rb") as file:
            count = int.from_bytes(file.read(12)[8:], "big")
        return rebuild_index(stem) == count

    def _salvage(self, stem: str) -> None:
        sources, objects = Sources(self._gitdir, self._root), Objects(self._gitdir)
        lent: set[str] = set()

        def supply(oid: str) -> Content | None:
            """What others are built on may be sound in a file of its own or in another pack."""
            with suppress(ObjectDamaged):
                return objects.read(oid) if is_id(oid) else None
            lent.add(oid)
            return sources.supply(oid)

        opened, found = readable(stem, supply)
        # A copy of a lost object serves to read others here. Whether it comes back is decided
        # where it is known who needs it, since it may hold a credential.
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

    def loose(self) -> Iterator[Done]:
        """Move damaged object files out of sight."""
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
            yield Done("object-damaged-unused", text, object=oid)

    def _open(self) -> Repository:
        try:
            repository = Repository(self._gitdir)
            if self._scope:
                memory, root = self._scope, self._root
                repository.scope = lambda snapshot: Scoped(root, memory, snapshot)
            return repository
        except GitmemError as error:
            raise _Hopeless from error

    def refs(self) -> Iterator[Done]:
        """Find lost refs again, and heal what they need."""
        repository = self._open()
        try:
            record = self._lock.record()
            if record and not record.left:
                remove_dead_files(repository, record)
            work = self._ref_repair(repository)
            yield from work.run()
            self._moved_back = work.moved_back
            if self._moved_back:  # what was published last cannot be had any more
                self._lock.mark(repository.tip())
        finally:
            repository.close()

    def _ref_repair(self, repository: Repository) -> RefRepair:
        sources, record = Sources(self._gitdir, self._root), self._lock.record()
        return RefRepair(repository, sources, self._clock, unfinished=record is not None)

    def history(self) -> Iterator[Done]:
        """Let earlier versions take the place of what HEAD has lost for good."""
        repository = self._open()
        try:
            healer = Healer(repository.objects, Sources(self._gitdir, self._root))
            lacks = healer.heal({BRANCH: repository.tip()})
            at_head = {lack.oid for lack in lacks if lack.at_head and not is_tip(lack)}
            if at_head:
                mending = Mending(repository, at_head)
                mending.land(self._clock())
                self._mended = mending.mended
                for each in self._mended:
                    for code in ("object-damaged", "object-missing"):
                        yield Done(code, each.story, each.path, each.lost)
        except GitmemError as error:
            raise _Hopeless from error
        finally:
            repository.close()

    def work_tree(self) -> Iterator[Done]:
        """Finish what a dead writer had begun; bring index and work tree in order."""
        repository, root = self._open(), self._root
        try:
            found = root == self._default and bring_back(self._gitdir)
            untied = tidying.is_untied(self._gitdir, root)
            if untied and root != self._default and not holds_anything(root):
                raise _Hopeless  # moved, lost or not mounted: a second one would be a fork
            make_folders(root)
            if found:
                yield Done("worktree-missing", "found again, and moved back", str(root))
            unfinished = bool(self._lock.record())
            with holding(self._lock, repository, root, self._clock, FINDER) as writer:
                if unfinished:
                    yield Done("write-unfinished", "finished", "gitmem/lock")
                yield from self._bring_in_order(writer, untied=untied)
        except (GitmemError, OSError) as error:
            raise _Hopeless from error
        finally:
            repository.close()

    def departed(self) -> Iterator[Done]:
        """Keep what left the branch and only a reflog leads to."""
        repository = self._open()
        try:
            for oid, text in keep_lost(repository):
                yield Done(REWOUND, text, object=oid)
            work = self._ref_repair(repository)
            work.keep_broken()
            yield from work.mend_logs(dead=True)
        except (GitmemError, OSError) as error:
            raise _Hopeless from error
        finally:
            repository.close()

    def _bring_in_order(self, writer: Writer, *, untied: bool) -> Iterator[Done]:
        if self._moved_back:
            tidying.take_in_work_tree(writer, deletions=not untied)
        yield from tidying.mend_index(self._gitdir, writer)
        self._settle(writer)
        if untied:
            yield from tidying.tie_again(self._gitdir, self._default, writer)
        yield from tidying.remove_leftovers(self._gitdir, writer)

    def _settle(self, writer: Writer) -> None:
        """What stands in the work tree instead of a mended file is newer: it is an edit of it."""
        snapshot = writer.repository.snapshot()
        for each in self._mended:
            for path, node in list(snapshot.files(each.path)):
                seen = writer.worktree.look(path)
                if seen.absent:
                    writer.put_back(path)
                elif seen.oid != node.oid:
                    writer.capture(path)
