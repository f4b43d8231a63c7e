"""The dates of entries, files and lines at a commit, with their cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, tzinfo
from functools import lru_cache
from hashlib import sha1
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.cache.dates import NAME, is_cached, load, save
from gitmem.model.entries.dates import Forgotten, KnownDates
from gitmem.model.entries.freshness import blocks, key_of, key_of_file, state_of
from gitmem.model.layout.layout import Layer, Layout
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from gitmem.memory.context.pins import Pinned, Sources
    from gitmem.memory.group import Group
    from gitmem.model.context.pieces import Piece
    from gitmem.store.history.regained_dates import EntryReading

FILE_ITSELF = "/"
"""The title of a file that is one entry: no entry in a file can have it."""
AGELESS = ("append-only", "write-once", "protected")
"""Policies of layers that do not age: their entries cannot be confirmed."""
HELD = 10_000
FEW = 16
"""Fewer new commits than this are read again next time: that costs less than saving the cache."""


class Touched(NamedTuple):
    """The commit that last changed an entry, file or line, and when."""

    commit: str
    agent: str
    seconds: int
    day: int = 0
    """The date in an adopted entry, as an ordinal; it replaces the time of the commit."""

    def time(self, zone: tzinfo) -> datetime:
        """The time of the change, in ZONE."""
        if self.day:
            return datetime.combine(date.fromordinal(self.day), time.min, zone)
        return datetime.fromtimestamp(self.seconds, zone)


class Dates:
    """The dates at one commit; a text has its own date in each file that holds it."""

    def __init__(self, known: KnownDates) -> None:
        self._known = known

    def of_entries(self, path: str, entries: Iterable[str]) -> Iterator[Touched | None]:
        """When each of the ENTRIES of a file, given by its lines, last changed, in their order."""
        counts: dict[bytes, int] = {}
        for block in entries:
            key = key_of(block.encode("utf-8", "surrogateescape"))
            nth = counts[key] = counts.get(key, -1) + 1
            yield self._of_key(path, key, nth)

    def of_file(self, path: str, data: bytes) -> Touched | None:
        """When the file with this content last changed."""
        return self._of_key(path, key_of_file(data))

    def of_address(self, snapshot: Snapshot, path: str, slug: str, key: bytes) -> Touched | None:
        """When the entry at PATH#SLUG, or the file at PATH, last changed; KEY is of its text."""
        is_repeated = slug and len(self._known.changes(path, key)) > 1
        return self._of_key(path, key, _nth(snapshot, path, slug) if is_repeated else 0)

    def _of_key(self, path: str, key: bytes, nth: int = 0) -> Touched | None:
        found = self._known.changes(path, key)
        if not found:
            return None
        (oid, seconds, agent), day = found[min(nth, len(found) - 1)]
        return Touched(oid, agent, seconds, day)

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> list[Touched]:
        """When each line of a file last changed: the commit is that of `git blame -w`.

        Only lines START to STOP, counted from 0, if given.
        """
        rows = self._known.lines(path, start, stop)
        return [Touched(oid, agent, seconds) for oid, seconds, agent in rows]


def _nth(snapshot: Snapshot, path: str, slug: str) -> int:
    """The number of an entry among those of the same text, counted from 0."""
    from gitmem.model.entries.blocks import parse

    entries = parse((snapshot.read(path) or b"").decode("utf-8", "surrogateescape"))
    keys = {each.slug: key_of(each.block.encode("utf-8", "surrogateescape")) for each in entries}
    same = [each for each, key in keys.items() if key == keys.get(slug)]
    return same.index(slug) if slug in same else 0


def dates_at(group: Group, snapshot: Snapshot, layout: Layout, of: str = "") -> Dates:
    """The dates at SNAPSHOT, which is of GROUP, or of the group OF.

    Continues from the cached dates if they are of an ancestor.
    """
    cache, signature = cache_of(group, of), _signature(layout)
    known = load(cache, signature)
    if known is not None and known.commit == snapshot.commit:
        return Dates(known)  # without importing the walk through history

    def keep(found: KnownDates) -> None:
        if group.keeps:
            save(cache, signature, found)

    try:
        return _brought_up(known, snapshot, reading_of(layout), keep)
    except Forgotten:  # the cache was replaced or damaged meanwhile
        return _brought_up(None, snapshot, reading_of(layout), keep)


def has_dates(group: Group, layout: Layout, of: str = "") -> bool:
    """Whether dates are cached, and by the current format."""
    return is_cached(cache_of(group, of), _signature(layout))


def cache_of(group: Group, of: str = "") -> Path:
    """The cache file; also of another group OF, because only its own writers write there."""
    return group.gitdir / "gitmem" / (f"{NAME}-{of}" if of else NAME)


def _brought_up(
    known: KnownDates | None,
    snapshot: Snapshot,
    reading: EntryReading,
    keep: Callable[[KnownDates], None],
) -> Dates:
    """Continue from KNOWN; save the result if much is new, and never for a past commit."""
    repository, commit = snapshot.repository, snapshot.commit
    is_new = commit == repository.tip()

    def keep_half(found: KnownDates) -> None:
        if is_new:
            keep(found)

    from gitmem.store.history.dating import bring_up

    found, steps = bring_up(known, repository, commit, reading, keep_half)
    if steps >= FEW if found is known else is_new:
        keep(found)
    return Dates(found)


def dates_of(group: Group, moment: Pinned) -> Dates:
    """The dates of the group at a moment."""
    return dates_at(group, moment.snapshot, moment.loaded.layout)


def age_of(touched: Touched, now: datetime) -> tuple[datetime, int]:
    """The time of a change in the zone of NOW, and how many days ago it was."""
    when = touched.time(now.tzinfo or now.astimezone().tzinfo)  # type: ignore[arg-type]
    return when, max(0, (now.date() - when.date()).days)


def does_age(layer: Layer) -> bool:
    """Whether the entries of LAYER age."""
    return layer.ages and layer.policy not in AGELESS


def _signature(layout: Layout) -> str:
    """A digest of what in a layout decides how files are read; the first matching layer counts."""
    rows = [(_is_no_entry(each.kind), each.path, each.rotated) for each in layout.layers]
    return sha1(repr(rows).encode(), usedforsecurity=False).hexdigest()[:16]


def _is_no_entry(kind: str) -> bool:
    """Whether a file of this kind is not one entry: it holds entries, or it is a log."""
    return kind in ("entries", "log")


def reading_of(layout: Layout) -> EntryReading:
    """How files are read for their dates by LAYOUT."""
    from gitmem.store.history.regained_dates import EntryReading

    held: dict[bytes, bytes] = {}

    def keys(data: bytes) -> list[bytes]:
        if len(held) > HELD:
            held.clear()
        found = []
        for block in blocks(data):
            key = held.get(block)
            if key is None:
                key = held[block] = key_of(block)
            found.append(key)
        return found

    @lru_cache(maxsize=HELD)
    def is_entry(path: str) -> bool:
        layer = layout.layer_of(path)
        return layer is None or not _is_no_entry(layer.kind)

    def whole(path: str, data: bytes) -> bytes | None:
        return key_of_file(data) if is_entry(path) else None

    return EntryReading(keys, whole, _texts, _days)


def _texts(data: bytes) -> Mapping[bytes, tuple[str, bytes]]:
    from gitmem.model.paths import fold

    found = {key_of(block): (fold(title), block) for title, block, _ in _entries(data)}
    return {key_of_file(data): (FILE_ITSELF, data), **found}


def _days(data: bytes) -> Mapping[bytes, int]:
    found = {key_of(block): day.toordinal() for _, block, day in _entries(data) if day}
    from gitmem.model.entries.blocks import own_day

    own = own_day(data)
    return {**found, key_of_file(data): own.toordinal()} if own else found


def _entries(data: bytes) -> Iterator[tuple[str, bytes, date | None]]:
    from gitmem.model.entries.blocks import parse

    for each in parse(data.decode("utf-8", "surrogateescape")):
        yield each.title, each.block.encode("utf-8", "surrogateescape"), each.date


def freshened(
    pieces: Sequence[Piece], now: datetime, sources: Sources, group: Group
) -> tuple[Piece, ...]:
    """PIECES of SOURCES, with a state for those that age, and a date if they name none."""
    ageing = {each.name for each in sources.layouts[""].layers if does_age(each)}
    snapshots = sources.by_group
    known: dict[str, Dates] = {}

    def touched_of(piece: Piece) -> Touched | None:
        source = piece.group
        if source not in known:
            layout = sources.layouts[source]
            known[source] = dates_at(group, snapshots[source], layout, source)
        return _touched(piece, known[source], snapshots[source])

    def shown() -> Iterator[Piece]:
        for piece in pieces:
            plain = piece.render == "whole" and not piece.lack
            ages = plain and piece.layer in ageing
            touched = touched_of(piece) if ages else None
            yield _with_state(piece, touched, now) if touched else piece

    return tuple(shown())


def _touched(piece: Piece, dates: Dates, snapshot: Snapshot) -> Touched | None:
    if piece.kind != "entries":
        return dates.of_file(piece.path, piece.text.encode("utf-8", "surrogatepass"))
    from gitmem.model.entries.blocks import split_address

    key = key_of(piece.text.encode("utf-8", "surrogateescape"))
    return dates.of_address(snapshot, piece.path, split_address(piece.address)[1], key)


def _with_state(piece: Piece, touched: Touched, now: datetime) -> Piece:
    when, days = age_of(touched, now)
    return piece._replace(state=state_of(days), date=piece.date or f"{when.date()}")
