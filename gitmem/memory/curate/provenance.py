"""What the commit that moves targets to the archive says about them: from where, and how old.

Dates are found before anybody has to wait for the lock; what was changed since then has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from gitmem.errors import Damaged, NotFound
from gitmem.memory.context.pins import moment_at
from gitmem.memory.entries.dates import Dates, dates_of
from gitmem.memory.entries.targets import Target, TargetVersion, version_in
from gitmem.memory.group import Group
from gitmem.model.entries.blocks import split_address
from gitmem.store.repository import Snapshot

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
