"""What the commit that moves things to the archive says about them: from where, and how old.

Dates are found before anybody has to wait for the lock; what was changed since then has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from gitmem.errors import Damaged, NotFound
from gitmem.memory.context.pins import moment_at
from gitmem.memory.entries.dates import Dates, dates_of
from gitmem.memory.entries.relocate import Seen, seen_in
from gitmem.memory.entries.targets import Thing
from gitmem.memory.group import Group
from gitmem.model.entries.blocks import split_address
from gitmem.store.repository import Snapshot

Trailers = tuple[tuple[str, str], ...]


class Provenance:
    """What is known about the dates of a group when an operation begins."""

    def __init__(self, group: Group) -> None:
        self._zone = group.zone
        self._dates: Dates | None = None
        with suppress(Damaged):  # a history that cannot be read is no reason to keep things
            self._dates = dates_of(group, moment_at(group, None))

    def trailers(self, snapshot: Snapshot, sources: Iterable[str]) -> Trailers:
        """The trailers for the things at SOURCES, addresses and paths of SNAPSHOT."""
        return self._said(snapshot, self._seen(snapshot, sources))

    def of_seen(self, snapshot: Snapshot, things: Sequence[Seen]) -> Trailers:
        """The same for things whose addresses may be of an earlier commit; none for no things."""
        return self._said(snapshot, ((x.address, x) for x in things)) if things else ()

    def _said(self, snapshot: Snapshot, things: Iterable[tuple[str, Seen]]) -> Trailers:
        found = (
            ((each, self._dates.of_address(snapshot, *seen[1:])) for each, seen in things)
            if self._dates
            else ()
        )
        times = ((each, when.time(self._zone)) for each, when in found if when)
        ages = (("Gitmem-Touched", f"{each} {time.isoformat()}") for each, time in times)
        return (("Gitmem-From-Commit", snapshot.commit), *ages)

    def _seen(self, snapshot: Snapshot, sources: Iterable[str]) -> Iterator[tuple[str, Seen]]:
        for source in sources:
            with suppress(NotFound):
                found = seen_in(snapshot, Thing(*split_address(source)))
                if found:
                    yield source, found
