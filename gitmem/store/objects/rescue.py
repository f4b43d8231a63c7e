"""Healing on the way: what the object database has lost is looked for where its bytes may stand.

The work tree holds most of HEAD, byte for byte. A command that meets a damaged object therefore
looks there before it fails, and before anything could replace that last sound copy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.errors import Damaged, GitmemError
from gitmem.model.hints import Hint, call

if TYPE_CHECKING:
    from gitmem.store.fsck.lost_objects import Copy, ObjectSources
    from gitmem.store.objects.packs import Content

FRESH = 1.0
"""Seconds for which a look at the work tree counts: a server lives on while files change."""


class Rescue:
    """Finds second copies of lost objects, and puts them back where that is allowed."""

    def __init__(self, gitdir: Path, worktree: Callable[[], Path], *, keeps: bool) -> None:
        self._gitdir, self._worktree, self._keeps = gitdir, worktree, keeps
        self._sources: ObjectSources | None = None
        self._looked = 0.0
        self._mended = False
        self._whence: dict[str, str] = {}
        self.healed: dict[str, str] = {}
        """Objects that were put back, and what from."""

    def find(self, oid: str) -> Content | None:
        """A second copy of OID, proved by its hash."""
        found = self._copy(oid)
        if found is None or self._is_withheld(oid, found):
            return None
        self._whence[oid] = found.whence
        return found.kind, found.data

    def _is_withheld(self, oid: str, found: Copy) -> bool:
        """True for a credential that HEAD does not name: it may have been removed from history."""
        from gitmem.store.fsck.acknowledged import is_withheld

        return is_withheld(self._gitdir, found.text) and oid not in self._at_head()

    def _at_head(self) -> set[str]:
        """The blobs of HEAD, as far as its folders can be read. `check --repair` looks further."""
        from gitmem.store.history.walk import Trees, read_walked
        from gitmem.store.objects.database import Objects
        from gitmem.store.refs.files import all_refs
        from gitmem.store.repository import BRANCH

        objects = Objects(self._gitdir)
        try:
            tree = read_walked(objects, all_refs(self._gitdir).get(BRANCH, "")).tree
            return {blob for _, _, blob in Trees(objects).changes("", tree)}
        except Damaged:
            return set()
        finally:
            objects.close()

    def put_back(self, kind: str, data: bytes) -> None:
        """Write the object again; the damaged file goes to quarantine.

        By a database of its own: a reader may be a writer that has staged half a commit. A full
        disk is no reason to withhold what was found.
        """
        from gitmem.store.objects.database import Objects

        if self._keeps:
            with suppress(OSError):
                oid = Objects(self._gitdir).write(kind, data)
                self.healed[oid] = self._whence.get(oid, "its delta base")

    def mend_indexes(self) -> bool:
        """Make the indexes of sound packs anew that are damaged or missing; False for none.

        A pack is of no use without its index, and has every byte of what seems lost. Once for each
        group that is opened: it means to read all of its indexes.
        """
        if self._mended or not self._keeps:
            return False
        self._mended = True
        from gitmem.store.fsck.packs import mend_pack_indexes

        made = 0
        with suppress(OSError):
            made = mend_pack_indexes(self._gitdir)
        return made > 0

    def _copy(self, oid: str) -> Copy | None:
        from gitmem.store.fsck.lost_objects import ObjectSources  # only where something is damaged

        if self._sources is None or time.monotonic() > self._looked + FRESH:
            with suppress(OSError, GitmemError):
                self._sources = ObjectSources(self._gitdir, self._worktree())
                self._looked = time.monotonic()
        with suppress(OSError):
            return self._sources.find(oid) if self._sources else None
        return None


def damage_met(healed: Mapping[str, str], lacking: Mapping[str, str]) -> tuple[str, ...]:
    """What was damaged, in words: what was put back, and what could not be read."""
    lost = [(oid, why) for oid, why in lacking.items() if oid not in healed]
    words = [
        f"object {oid[:10]} was damaged and is healed, from {whence}"
        for oid, whence in healed.items()
    ]
    if lost:
        oid, why = lost[0]
        more = f", and {len(lost) - 1:,} more" if len(lost) > 1 else ""
        text = f"object {oid[:10]} is {why}{more}: this answer may be incomplete; run "
        words.append(Hint(text, call("check")))
    return tuple(words)
