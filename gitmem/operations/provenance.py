"""What the commit that moves things to the archive says about them: from where, and how old.

Dates are found before anybody has to wait for the lock; what was changed since then has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from gitmem.core.entry_blocks import find, parse, split_address
from gitmem.errors import Damaged, NotFound
from gitmem.git.repository import Snapshot
from gitmem.operations.dating import Dates, Touched, dates_of
from gitmem.operations.group import Group
from gitmem.operations.pinning import moment_at

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
        found = dict(self._touched(snapshot, sources))
        times = ((each, when.time(self._zone)) for each, when in found.items() if when)
        ages = (("Gitmem-Touched", f"{each} {time.isoformat()}") for each, time in times)
        return (("Gitmem-From-Commit", snapshot.commit), *ages)

    def _touched(
        self, snapshot: Snapshot, sources: Iterable[str]
    ) -> Iterator[tuple[str, Touched | None]]:
        texts: dict[str, bytes] = {}
        for source in sources if self._dates else ():
            path, slug = split_address(source)
            if path not in texts:
                texts[path] = snapshot.read(path) or b""
            with suppress(NotFound):
                yield source, self._touch(texts[path], slug)

    def _touch(self, data: bytes, slug: str) -> Touched | None:
        if self._dates is None or not slug:
            return self._dates.of_file(data) if self._dates else None
        entry = find(parse(data.decode("utf-8", "surrogateescape")), slug)
        return self._dates.of_entry(entry.block)
