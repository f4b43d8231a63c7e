"""Search memory and transcripts; the best match comes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput, Damaged
from gitmem.memory.context.pins import Pinned, Sources, has_transcripts, pin, sources_at
from gitmem.memory.group import Group
from gitmem.memory.layouts import check_layers
from gitmem.memory.read.log import start_of
from gitmem.memory.search.passages import CANDIDATES, Match, blob_text, find_passages, text_of
from gitmem.model.hints import Hint, call
from gitmem.model.language.prompts import Sentence, query_sentences
from gitmem.model.language.ranking import rounded_score
from gitmem.model.layout.archives import archive_of, is_archived
from gitmem.model.layout.layout import Layout
from gitmem.model.record import Record

if TYPE_CHECKING:
    from gitmem.memory.search.messages import MessageMatch
    from gitmem.model.entries.blocks import Entry

MEMORY, TRANSCRIPTS, ALL = "memory", "transcripts", "all"
SOURCES = (MEMORY, TRANSCRIPTS, ALL)
LIMIT = 8
ROOM = 4
"""Candidates for each hit: in some only a neighbouring passage matches."""
ARCHIVED = "archived"
NO_WORDS = "the query has no word to search for"
IN_NO_LAYER = "messages are in no layer: leave out the layer to search transcripts"


class Hit(Record):
    """A passage of memory, or a message."""

    source: str
    """memory or transcript"""
    group: str
    """The group it belongs to."""
    path: str
    address: str
    """The path, with `#NAME` for an entry."""
    heading: str
    lines: tuple[int, int] | None
    text: str
    score: float
    """How well it matches: above 0, at most 1."""
    touched: datetime | None
    """When it last changed ..."""
    state: str
    """Its freshness, if its layer ages."""
    commit: str
    """... and in which commit."""
    chat: str = ""
    id: str = ""
    from_: str = ""
    """The sender."""
    at: datetime | None = None
    terms: tuple[str, ...] = ()
    """The words searched for."""
    type: str = ""
    """The field `Type` of the entry or file: factual, strategic ..."""
    related: tuple[str, ...] = ()
    """The targets in its field `Related`."""


class Searched(Record):
    """The hits of a search."""

    hits: tuple[Hit, ...]
    pins: dict[str, str]
    """The commit of each group that was read."""
    notes: tuple[str, ...] = ()


def search(
    group: Group,
    query: str,
    *,
    source: str = ALL,
    limit: int = LIMIT,
    since: str = "",
    layers: Sequence[str] = (),
    chats: Sequence[str] = (),
    include_archive: bool = False,
    allowed_only: bool = False,
) -> Searched:
    """The passages and messages of this group and of `global` that match QUERY best.

    CHATS: only messages of these chats. ALLOWED_ONLY: only files that the layout allows for the
    memory actions.
    """
    if source not in SOURCES:
        raise BadInput(f"no source {source!r}", hint=f"use one of {', '.join(SOURCES)}")
    if not query.strip():
        raise BadInput(
            "nothing to search for", hint=Hint("for example ", call("search", "billing"))
        )
    if chats and (source == MEMORY or layers):
        raise BadInput(
            "a chat filter excludes layers and the source 'memory'",
            hint="leave out one of them",
        )
    if limit < 1:
        raise BadInput("limit must be at least 1", hint=f"leave out the limit for {LIMIT}")
    pinned = pin(group, None)
    check_layers(pinned.loaded.layout, layers)
    start = start_of(group, since) if since else 0.0
    sentences = query_sentences(query, anything=True)
    filters = tuple(layers), tuple(chats)
    parsed = _Query(query, sentences, start, *filters, include_archive, allowed_only)
    hits: list[Hit] = []
    notes = [] if sentences else [NO_WORDS]
    pins: dict[str, str] = {}
    with sources_at(group, pinned, shared=True) as sources:
        if source != TRANSCRIPTS and not chats:
            hits += _in_memory(group, pinned, sources, parsed, limit)
            pins = {name or group.name: each.commit for name, each in sources.by_group.items()}
        if source == TRANSCRIPTS and layers:
            notes.append(IN_NO_LAYER)
        elif source != MEMORY and not layers:
            for each in filter(None, (group, sources.other)):
                must = source == TRANSCRIPTS and each is group
                messages = _in_transcripts(each, pinned, parsed, limit, must=must)
                hits += messages.hits
                pins.update(messages.pins)
                notes += messages.notes
        if chats:
            notes += _unknown_chats(group, sources, chats)
    notes += sources.trouble
    hits.sort(key=lambda each: -each.score)
    return Searched(tuple(hits[:limit]), pins, tuple(notes))


class _Query(NamedTuple):
    text: str
    sentences: tuple[Sentence, ...]
    since: float
    layers: tuple[str, ...]
    chats: tuple[str, ...]
    include_archive: bool
    allowed_only: bool


def _in_memory(
    group: Group, pinned: Pinned, sources: Sources, query: _Query, limit: int
) -> Iterator[Hit]:
    def is_eligible(source: str, path: str) -> bool:
        layout = sources.layouts[source]
        if query.allowed_only and not layout.allows(path):
            return False
        if is_archived(layout, path) and not query.include_archive:
            return False
        return not query.layers or _layer_of(layout, path) in query.layers

    most = max(CANDIDATES, ROOM * limit)
    found = find_passages(
        group, pinned, sources, query.sentences, is_eligible, limit=most, since=query.since
    )
    count = 0
    for each in found:
        if not each.coverage:
            continue  # only a neighbour matches, which is a hit of its own
        with suppress(Damaged):  # indexed, but lost from the disk
            yield _hit(group, sources, each)
            count += 1
        if count >= limit:
            return


def _layer_of(layout: Layout, path: str) -> str:
    """The layer of a file; of an archived file, the layer it came from."""
    archive = archive_of(layout, path)
    layer = layout.layer_of(path.removeprefix(f"{archive}/") if archive else path)
    return layer.name if layer else ""


def _in_transcripts(
    group: Group, pinned: Pinned, query: _Query, limit: int, *, must: bool
) -> Searched:
    """The messages that match. If they are damaged, raises if they MUST be read, else notes it."""
    if not has_transcripts(group):
        return Searched((), {})
    from gitmem.memory.search.messages import find_messages  # only with transcripts
    from gitmem.memory.transcripts.transcripts import tip_of

    try:
        tip = tip_of(group)
        if tip is None:
            return Searched((), {})
        found = find_messages(
            group,
            tip,
            query.text,
            query.sentences,
            limit=limit,
            since=query.since,
            chats=query.chats,
        )
    except Damaged as error:
        if must:
            raise
        return Searched((), {}, (f"cannot read the transcripts of {group.name}: {error.message}",))
    hits = tuple(_message_hit(group, each, tip.commit, pinned.time.tzinfo) for each in found)
    return Searched(hits, {f"{group.name} {TRANSCRIPTS}": tip.commit})


def _unknown_chats(group: Group, sources: Sources, chats: Sequence[str]) -> Iterator[str]:
    """A note on each of CHATS without messages."""
    from gitmem.memory.transcripts.transcripts import is_chat

    known = [each for each in (group, sources.other) if each and has_transcripts(each)]
    for chat in chats:
        if not any(is_chat(each, chat) for each in known):
            from gitmem.model.secrets.find import redacted_quote  # only for an unknown chat

            yield Hint(
                f"no messages in a chat {redacted_quote(chat)}; see ", call("transcript list")
            )


def _message_hit(group: Group, match: MessageMatch, commit: str, zone: tzinfo | None) -> Hit:
    message, where = match.message, match.where
    at = message.at.astimezone(zone)
    return Hit(
        source="transcript",
        group=group.name,
        path=where.path,
        address=f"{message.chat}#{message.number}",
        heading="",
        lines=None,
        text=message.text[where.start : where.stop],
        score=rounded_score(match.score),
        touched=at,
        state="",
        commit=commit,
        chat=message.chat,
        id=message.id,
        from_=message.sender,
        at=at,
        terms=match.sentence.terms,
    )


def _hit(group: Group, sources: Sources, match: Match) -> Hit:
    passage, masks = match.passage, sources.masks
    layout = sources.layouts[passage.source]
    entry = _entry_of(sources, match)
    type, *related = (
        masks.text(passage.source, passage.path, passage.blob, each)
        for each in ((entry.type, *entry.related) if entry else ("",))
    )
    return Hit(
        source="memory",
        group=passage.source or group.name,
        path=masks.name(passage.source, passage.path),
        address=masks.name(passage.source, match.address),
        heading=masks.text(passage.source, passage.path, passage.blob, passage.heading),
        lines=(passage.line, passage.last),
        text=masks.text(passage.source, passage.path, passage.blob, text_of(sources, passage)),
        score=rounded_score(match.score),
        touched=match.when,
        state=ARCHIVED if is_archived(layout, passage.path) else match.state,
        commit=match.touched.commit if match.touched else "",
        terms=match.sentence.terms,
        type=type,
        related=tuple(related),
    )


def _entry_of(sources: Sources, match: Match) -> Entry | None:
    """The entry of a passage, or its file as an entry."""
    from gitmem.model.entries.blocks import file_entry, parse

    passage, layer = match.passage, match.layer
    text = blob_text(sources, passage)
    if not passage.slug or layer is None or layer.kind != "entries":
        return file_entry(passage.path, text)
    return next((each for each in parse(text, layer.fields) if each.slug == passage.slug), None)
