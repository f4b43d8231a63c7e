"""Walk commits and search what they bring for secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from gitmem.errors import Damaged
from gitmem.memory.group import Group
from gitmem.model.guards import MAX_FILE
from gitmem.model.secrets.exposure import Exposed, secret_id
from gitmem.model.secrets.find import SecretMatch, find, find_in_bytes, find_in_path, redacted_path
from gitmem.store.fsck.acknowledged import read_acknowledged, salted
from gitmem.store.history.ancestry import only_behind
from gitmem.store.history.log import peel

if TYPE_CHECKING:
    from gitmem.store.history.walk import Trees, WalkedCommit

MOST_COMMITS = 200
MOST_BYTES = 2 * MAX_FILE
"""What a write or `status` searches at once; maintenance searches the rest."""
OVERLAP = 16 * 1024
"""The end of one part of a large file that is searched again with the next part."""


class CommitSearch:
    """A walk over commits that, if bounded, gives up when there is too much to read."""

    def __init__(self, group: Group, most: int | None = None) -> None:
        """MOST bounds the commits, and MOST_BYTES what they bring; None for no bound."""
        self._group, self._most = group, most
        self._objects = group.repository.objects
        self._bytes = 0
        self._found: dict[str, tuple[SecretMatch, ...]] = {}
        """The matches in each blob; nearly always none."""

    @cached_property
    def _trees(self) -> Trees:
        from gitmem.store.history.walk import Trees

        return Trees(self._objects)

    def step(self, oid: str) -> WalkedCommit:
        """One commit."""
        from gitmem.store.history.walk import read_walked  # an ordinary write searches nothing

        return read_walked(self._objects, oid)

    def between(self, tip: str, known: str) -> list[Exposed] | None:
        """The findings between KNOWN and TIP; None if too many commits, or one is damaged."""
        with suppress(Damaged):
            steps = self.unscanned(tip, known)
            return None if steps is None else self.exposed(steps)
        return None

    def unscanned(self, tip: str, known: str) -> list[WalkedCommit] | None:
        """The commits that TIP reaches and KNOWN does not, oldest first; None if too many."""
        straight = self._straight(tip, known)
        if straight is not None:
            return straight
        reached = self._reached(known)
        found: list[WalkedCommit] = []
        queue = [tip]
        while queue:
            oid = queue.pop()
            if oid not in reached:
                reached.add(oid)
                found.append(self.step(oid))
                queue += found[-1].parents
            if self._most is not None and len(found) > self._most:
                return None
        return found[::-1]

    def beside(self, new: Iterable[str], old: Iterable[str]) -> list[WalkedCommit] | None:
        """The commits that NEW reach and neither OLD nor the branch does; None if too many."""
        tip, new = self._group.repository.tip(), self.commits(new)
        old = [tip] if new <= {tip} else [tip, *self.commits(old)]
        found = only_behind(self._objects, new, old, self._most)
        return None if found is None else [self.step(oid) for oid in reversed(found)]

    def commits(self, tips: Iterable[str]) -> set[str]:
        """The commits that TIPS name, directly or by a tag, without damaged ones."""
        found = set[str | None]()
        for each in tips:
            with suppress(Damaged):
                found.add(peel(self._group.repository, each))
        return {each for each in found if each}

    def readable(self, steps: Iterable[WalkedCommit]) -> list[Exposed] | None:
        """As `exposed`, without damaged commits, which `check` reports."""
        found: list[Exposed] = []
        for step in steps:
            with suppress(Damaged):
                more = self.exposed([step])
                if more is None:
                    return None
                found += more
        return found

    def _straight(self, tip: str, known: str) -> list[WalkedCommit] | None:
        """The same for a short line without merges, which is nearly every case; else None."""
        found: list[WalkedCommit] = []
        while tip != known and len(found) < (self._most or MOST_COMMITS):
            found.append(self.step(tip))
            if len(found[-1].parents) != 1:
                return None if found[-1].parents or known else found[::-1]
            (tip,) = found[-1].parents
        return found[::-1] if tip == known else None

    def _reached(self, commit: str) -> set[str]:
        """COMMIT and what it reaches; only the newest if the search is bounded."""
        if not commit:
            return set()
        with suppress(Damaged):  # after history was rewritten its old commits may be gone
            from gitmem.store.history.log import walk

            return {each.oid for each in islice(walk(self._group.repository, commit), self._most)}
        return set()

    def exposed(self, steps: Iterable[WalkedCommit]) -> list[Exposed] | None:
        """The findings in what the commits bring; None if that exceeds the bound.

        Each commit has its own row, even for the same blob: one of them may leave the branch.
        """
        found: list[Exposed] = []
        for step in steps:
            found += self._in_message(step)
            before = self.step(step.parents[0]).tree if step.parents else ""
            for path, _, blob in self._trees.changes(before, step.tree):
                found += self._in_path(step, path)
                if blob:
                    found += self._in_blob(step, path, blob)
                if self._most is not None and self._bytes > MOST_BYTES:
                    return None
        return found

    def standing(self, tip: str, known: str) -> list[Exposed]:
        """The findings in files of TIP that differ from KNOWN, whatever their size."""
        step, before, found = self.step(tip), "", list[Exposed]()
        with suppress(Damaged):  # after history was rewritten its old commits may be gone
            before = self.step(known).tree if known else ""
        for path, _, blob in self._trees.changes(before, step.tree):
            if blob:
                found += (*self._in_path(step, path), *self._in_blob(step, path, blob))
        return found

    def brought(self, steps: Iterable[WalkedCommit]) -> Iterator[tuple[Exposed, set[str]]]:
        """The findings new to their file, each with the files that lost it in the same commit."""
        for step in steps:
            came, left = list[Exposed](), dict[str, set[str]]()
            before = self.step(step.parents[0]).tree if step.parents else ""
            for path, old, blob in self._trees.changes(before, step.tree):
                now, was = (self._by_id(step, path, each) for each in (blob, old))
                came += (now[id] for id in now.keys() - was.keys())
                for id in was.keys() - now.keys():
                    left.setdefault(id, set()).add(was[id].path)
            yield from ((each, left.get(each.id, set())) for each in came)

    def _by_id(self, step: WalkedCommit, path: str, blob: str) -> dict[str, Exposed]:
        return {each.id: each for each in self._in_blob(step, path, blob)} if blob else {}

    def _in_message(self, step: WalkedCommit) -> Iterator[Exposed]:
        message = self._group.repository.commit(step.oid).message
        yield from self._rows(find(message), "", step, "")

    def _in_path(self, step: WalkedCommit, path: str) -> Iterator[Exposed]:
        found = [each._replace(line=0) for each in find_in_path(path)]
        yield from self._rows(found, "", step, redacted_path(path))

    def _in_blob(self, step: WalkedCommit, path: str, blob: str) -> Iterator[Exposed]:
        if blob not in self._found:
            self._found[blob] = tuple(self._searched(blob))
        yield from self._rows(self._found[blob], blob, step, redacted_path(path))

    def _searched(self, blob: str) -> Iterator[SecretMatch]:
        with suppress(Damaged):  # `check` reports it, and no model sees an unreadable blob
            data = self._objects.read_as("blob", blob)
            self._bytes += len(data)
            lines = 0
            for at in range(0, max(len(data), 1), MAX_FILE):
                part = data[max(0, at - OVERLAP) : at + MAX_FILE]
                yield from (each._replace(line=each.line + lines) for each in find_in_bytes(part))
                lines = data.count(b"\n", 0, max(0, at + MAX_FILE - OVERLAP))

    def _rows(
        self, found: Iterable[SecretMatch], blob: str, step: WalkedCommit, path: str
    ) -> Iterator[Exposed]:
        for each in found:
            id = secret_id(self._salt, each.rule, each.value)
            yield Exposed(id, each.rule, each.line, blob, step.oid, path)

    @cached_property
    def _salt(self) -> str:
        """Read after the first match: before that there may be none."""
        known = salted if self._group.keeps else read_acknowledged
        return known(self._group.gitdir).salt
