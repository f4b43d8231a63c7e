"""Find passages of memory that match a query, after updating the index to the pinned commits."""

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
"""Passages that are ranked for each sentence."""
Eligible = Callable[[str, str], bool]
"""Whether a file is searched, by its group (empty for the own one) and path."""


class Match(Record):
    """A passage that matches, and how well."""

    passage: PassageRow
    layer: Layer | None
    score: float
    coverage: float
    """The share of its best sentence that it contains, weighted by the rarity of the words."""
    sentence: Sentence
    touched: Touched | None
    when: datetime | None
    state: str
    """Its freshness, if its layer ages."""

    @property
    def address(self) -> str:
        """The path, with `#NAME` for an entry."""
        is_entry = self.passage.slug and self.layer and self.layer.kind == "entries"
        return f"{self.passage.path}#{self.passage.slug}" if is_entry else self.passage.path


def find_passages(
    group: Group,
    pinned: Pinned,
    sources: Sources,
    sentences: Sequence[Sentence],
    is_eligible: Eligible,
    *,
    limit: int = CANDIDATES,
    since: float = 0.0,
) -> list[Match]:
    """The passages that match SENTENCES best, about LIMIT for each, the best first.

    SINCE: only those last changed then or later, in seconds.
    """
    if not sentences:
        return []
    question = at_commits(sources.by_group, keep=pinned.instant is None)
    dated = _Dated(group, sources)
    if since:
        dated.look_up()  # before the query: it may be slow, and others wait for the table

    def answer(connection: Connection) -> list[tuple[Found, PassageRow, float]]:
        accepts = _filter(connection, is_eligible, dated, since)
        return _looked_up(connection, sentences, accepts, limit)

    found = run_query(cache_path(group), passages.SCHEMA, question, answer)
    matches = (_match(each, sentences, dated, pinned.time) for each in found)
    return sorted(matches, key=_order)


def cache_path(group: Group) -> Path | None:
    """The path of the index; None for a reader, who keeps no cache."""
    return group.gitdir / "gitmem" / NAME if group.keeps else None


def text_of(sources: Sources, passage: PassageRow) -> str:
    """The text of a passage, from its commit."""
    return blob_text(sources, passage)[passage.start : passage.stop]


def blob_text(sources: Sources, passage: PassageRow) -> str:
    """The whole file of a passage, with blanks for what the index leaves out."""
    repository = sources.by_group[passage.source].repository
    data = repository.objects.read_as("blob", passage.blob)
    return without_scratchpads(data.decode("utf-8", "replace"))


def at_commits(snapshots: Mapping[str, Snapshot], *, keep: bool) -> Query:
    """The query that first updates the index to the files of SNAPSHOTS."""
    trees = {source: each.root for source, each in snapshots.items()}

    def is_current(connection: Connection) -> bool:
        return passages.states(connection) == trees and not passages.unread(connection)

    def update(connection: Connection) -> None:
        known = passages.states(connection)
        for source in known.keys() - trees.keys():
            passages.forget_all(connection, source)
        for source, snapshot in snapshots.items():
            _update(connection, source, known.get(source, ""), snapshot)

    return Query(is_current, update, keep)


def _update(connection: Connection, source: str, known: str, snapshot: Snapshot) -> None:
    """Update one group from the KNOWN tree to that of SNAPSHOT, reading what differs."""
    from gitmem.cache.fill import put_files  # only after a change

    repository = snapshot.repository
    try:
        with repository.objects.probing():
            changes = Trees(repository.objects).changes(known, snapshot.root)
    except Damaged:  # the known tree may be lost; damage in the new one is healed or raised
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
        with suppress(Damaged):  # a damaged file must not hide the others
            data = snapshot.repository.objects.read_as("blob", blob)
        yield FileContent(path, blob, data)


def _filter(
    connection: Connection, is_eligible: Eligible, dated: _Dated, since: float
) -> Callable[[int, int], bool]:
    """Whether a passage is in an eligible file, and was last changed SINCE then."""

    @cache
    def in_eligible(document: int) -> bool:
        return is_eligible(*passages.file_of(connection, document))

    def accepts(number: int, document: int) -> bool:
        if not in_eligible(document) or not since:
            return in_eligible(document)
        touched = dated.touched(passages.passage_rows(connection, [number])[number])
        return touched is not None and touched.seconds >= since

    return accepts


def _looked_up(
    connection: Connection,
    sentences: Sequence[Sentence],
    accepts: Callable[[int, int], bool],
    limit: int,
) -> list[tuple[Found, PassageRow, float]]:
    rarity = Rarity(connection, sentences)
    found = find(connection, sentences, rarity, limit=limit, accepts=accepts)
    found = lifted(found)
    rows = passages.passage_rows(connection, [each.id for each in found])
    # By position, too: the order in which equal matches were indexed must not matter.
    found.sort(key=lambda each: (-each.score, *_position(rows[each.id])))
    del found[limit:]
    terms = terms_in(connection, [each.id for each in found])
    return [
        (each, rows[each.id], rarity.coverage(sentences[each.sentence], terms[each.id]))
        for each in found
    ]


def _match(
    row: tuple[Found, PassageRow, float],
    sentences: Sequence[Sentence],
    dated: _Dated,
    now: datetime,
) -> Match:
    found, passage, coverage = row
    layer = dated.layer_of(passage)
    touched = dated.touched(passage)
    when, days = age_of(touched, now) if touched else (None, 0)
    state = state_of(days) if touched and layer and does_age(layer) else ""
    importance = passage.importance or (layer.importance if layer else None)
    score = found.score * push(state, importance, is_whole=coverage >= 1)
    sentence = sentences[found.sentence]
    return Match(passage, layer, score, coverage, sentence, touched, when, state)


def _order(match: Match) -> tuple[object, ...]:
    """The best first; of equals those of the group itself first, then by position."""
    return (-match.score, *_position(match.passage))


def _position(passage: PassageRow) -> tuple[str, str, int]:
    return passage.source, passage.path, passage.start


class _Dated:
    """When passages were last changed, looked up when needed."""

    def __init__(self, group: Group, sources: Sources) -> None:
        self._group, self._layouts = group, sources.layouts
        self._sources = sources.by_group
        self._known: dict[str, Dates | None] = {}

    def look_up(self) -> None:
        """Look up the dates of all groups now."""
        for source in self._sources:
            self._dates(source)

    def layer_of(self, passage: PassageRow) -> Layer | None:
        """The layer of a passage."""
        return self._layouts[passage.source].layer_of(passage.path)

    def touched(self, passage: PassageRow) -> Touched | None:
        """The commit that last changed an entry or note, or the newest line of another passage."""
        dates = self._dates(passage.source)
        if dates is None:
            return None
        layer = self.layer_of(passage)
        kind = layer.kind if layer else ""
        if (kind == "entries" and passage.slug) or kind in ("notes", "profile"):
            snapshot = self._sources[passage.source]
            return dates.of_address(snapshot, passage.path, passage.slug, passage.key)
        lines = dates.lines(passage.path, passage.line - 1, passage.last)
        return max(lines, key=lambda each: each.seconds, default=None)

    def _dates(self, source: str) -> Dates | None:
        if source not in self._known:
            self._known[source] = self._looked_up(source)
        return self._known[source]

    def _looked_up(self, source: str) -> Dates | None:
        with suppress(Damaged):
            return dates_at(self._group, self._sources[source], self._layouts[source], source)
        return None
