"""Passages of memory that fit what is asked, from an index that is brought to the commits first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING

from gitmem.cache import passages
from gitmem.cache.database import Connection, Query, run_query
from gitmem.cache.passages import FileContent, PassageRow
from gitmem.cache.scoring import Rarity, find, terms_in
from gitmem.errors import Damaged
from gitmem.memory.context.pins import Pinned, Sources
from gitmem.memory.entries.dates import Dates, Touched, age_of, dates_at, does_age
from gitmem.memory.group import Group
from gitmem.model.entries.freshness import state_of
from gitmem.model.language.prompts import Sentence
from gitmem.model.language.ranking import Found, lifted, push
from gitmem.model.layout.layout import FILE, Layer
from gitmem.model.record import Record
from gitmem.model.transcripts.compactions import without_scratchpads
from gitmem.store.history.walk import Trees
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

NAME = "search.db"
CANDIDATES = 100
"""Passages that are ranked, for each sentence."""
Wanted = Callable[[str, str], bool]
"""Whether a file counts: the group it is of, nothing for the own one, and its path."""


class Match(Record):
    """A passage that fits, and how well."""

    place: PassageRow
    layer: Layer | None
    score: float
    coverage: float
    """How much of the sentence that it fits best stands in it, by how rare the words are."""
    sentence: Sentence
    touched: Touched | None
    when: datetime | None
    state: str
    """How fresh it is, where its layer ages."""

    @property
    def address(self) -> str:
        """The path, and for an entry its name behind `#`."""
        is_entry = self.place.slug and self.layer and self.layer.kind == "entries"
        return f"{self.place.path}#{self.place.slug}" if is_entry else self.place.path


def find_passages(
    group: Group,
    moment: Pinned,
    sources: Sources,
    sentences: Sequence[Sentence],
    wanted: Wanted,
    *,
    limit: int = CANDIDATES,
    since: float = 0.0,
) -> list[Match]:
    """The passages that fit one of SENTENCES best, about LIMIT for each, the best first.

    SINCE: only those that were touched then or later, in seconds.
    """
    if not sentences:
        return []
    question = at_commits(sources.by_group, keep=moment.instant is None)
    dated = _Dated(group, sources)
    if since:
        dated.look_up()  # it may take a while, and others wait for the table

    def answer(connection: Connection) -> list[tuple[Found, PassageRow, float]]:
        counts = _counting(connection, wanted, dated, since)
        return _looked_up(connection, sentences, counts, limit)

    rows = run_query(cache_path(group), passages.SCHEMA, question, answer)
    found = [_match(each, sentences, dated, moment.time) for each in rows]
    return sorted(found, key=_order)


def cache_path(group: Group) -> Path | None:
    """Where the index lies; nowhere for who only reads the group."""
    return group.gitdir / "gitmem" / NAME if group.keeps else None


def text_of(sources: Sources, place: PassageRow) -> str:
    """What a passage says, from the commit it stands in."""
    return blob_text(sources, place)[place.start : place.stop]


def blob_text(sources: Sources, place: PassageRow) -> str:
    """All of the file in which a passage stands, with blanks for what the index leaves out."""
    repository = sources.by_group[place.source].repository
    data = repository.objects.read_as("blob", place.blob)
    return without_scratchpads(data.decode("utf-8", "replace"))


def at_commits(snapshots: Mapping[str, Snapshot], *, keep: bool) -> Query:
    """How the index is brought to the files of SNAPSHOTS."""
    trees = {source: each.root for source, each in snapshots.items()}

    def is_there(connection: Connection) -> bool:
        return passages.states(connection) == trees and not passages.unread(connection)

    def bring(connection: Connection) -> None:
        known = passages.states(connection)
        for source in known.keys() - trees.keys():
            passages.forget_all(connection, source)
        for source, snapshot in snapshots.items():
            _bring(connection, source, known.get(source, ""), snapshot)

    return Query(is_there, bring, keep)


def _bring(connection: Connection, source: str, known: str, snapshot: Snapshot) -> None:
    """Bring one group from the tree that is KNOWN to that of SNAPSHOT: what differs is read."""
    from gitmem.cache.fill import put_files  # only where something changed

    repository = snapshot.repository
    try:
        with repository.objects.probing():
            changes = Trees(repository.objects).changes(known, snapshot.root)
    except Damaged:  # what was known may be gone for good; what is there now is healed, or told
        passages.forget_all(connection, source)
        changes = Trees(repository.objects).changes("", snapshot.root)
    now = {path: blob for owner, path, blob in passages.unread(connection) if owner == source}
    now.update({path: new for path, _, new in changes if path != FILE})
    passages.forget(connection, source, [path for path, blob in now.items() if not blob])
    come = {path: blob for path, blob in now.items() if blob}
    put_files(connection, source, _contents(snapshot, come))
    passages.set_state(connection, source, snapshot.root)


def _contents(snapshot: Snapshot, blobs: Mapping[str, str]) -> Iterator[FileContent]:
    for path, blob in sorted(blobs.items()):
        data = None
        with suppress(Damaged):  # one file that cannot be read hides no other
            data = snapshot.repository.objects.read_as("blob", blob)
        yield FileContent(path, blob, data)


def _counting(
    connection: Connection, wanted: Wanted, dated: _Dated, since: float
) -> Callable[[int, int], bool]:
    """Which passages count: those in files that are WANTED, and touched since then."""

    @cache
    def is_wanted(document: int) -> bool:
        return wanted(*passages.file_of(connection, document))

    def counts(number: int, document: int) -> bool:
        if not is_wanted(document) or not since:
            return is_wanted(document)
        touched = dated.touched(passages.passage_rows(connection, [number])[number])
        return touched is not None and touched.seconds >= since

    return counts


def _looked_up(
    connection: Connection,
    sentences: Sequence[Sentence],
    counts: Callable[[int, int], bool],
    limit: int,
) -> list[tuple[Found, PassageRow, float]]:
    rarity = Rarity(connection, sentences)
    found = find(connection, sentences, rarity, limit=limit, accepts=counts)
    found = lifted(found)
    places = passages.passage_rows(connection, [each.id for each in found])
    # By place, too: which of several that fit alike were put in first must make no difference.
    found.sort(key=lambda each: (-each.score, *_spot(places[each.id])))
    del found[limit:]
    terms = terms_in(connection, [each.id for each in found])
    return [
        (each, places[each.id], rarity.coverage(sentences[each.sentence], terms[each.id]))
        for each in found
    ]


def _match(
    row: tuple[Found, PassageRow, float],
    sentences: Sequence[Sentence],
    dated: _Dated,
    now: datetime,
) -> Match:
    found, place, coverage = row
    layer = dated.layer_of(place)
    touched = dated.touched(place)
    when, days = age_of(touched, now) if touched else (None, 0)
    state = state_of(days) if touched and layer and does_age(layer) else ""
    importance = place.importance or (layer.importance if layer else None)
    score = found.score * push(state, importance, is_whole=coverage >= 1)
    sentence = sentences[found.sentence]
    return Match(place, layer, score, coverage, sentence, touched, when, state)


def _order(match: Match) -> tuple[object, ...]:
    """The best first; of equals the group's own before that of others, then by place."""
    return (-match.score, *_spot(match.place))


def _spot(place: PassageRow) -> tuple[str, str, int]:
    return place.source, place.path, place.start


class _Dated:
    """When passages were last touched, looked up where somebody asks."""

    def __init__(self, group: Group, sources: Sources) -> None:
        self._group, self._layouts = group, sources.layouts
        self._sources = sources.by_group
        self._known: dict[str, Dates | None] = {}

    def look_up(self) -> None:
        """Find out the dates of all groups now."""
        for source in self._sources:
            self._dates(source)

    def layer_of(self, place: PassageRow) -> Layer | None:
        """The layer that a passage stands in."""
        return self._layouts[place.source].layer_of(place.path)

    def touched(self, place: PassageRow) -> Touched | None:
        """By which commit: an entry or a note as a whole, of other files the newest line of it."""
        dates = self._dates(place.source)
        if dates is None:
            return None
        layer = self.layer_of(place)
        kind = layer.kind if layer else ""
        if (kind == "entries" and place.slug) or kind in ("notes", "profile"):
            snapshot = self._sources[place.source]
            return dates.of_address(snapshot, place.path, place.slug, place.key)
        lines = dates.lines(place.path, place.line - 1, place.last)
        return max(lines, key=lambda each: each.seconds, default=None)

    def _dates(self, source: str) -> Dates | None:
        if source not in self._known:
            self._known[source] = self._looked_up(source)
        return self._known[source]

    def _looked_up(self, source: str) -> Dates | None:
        with suppress(Damaged):
            return dates_at(self._group, self._sources[source], self._layouts[source], source)
        return None
