"""Look for something in memory and in what was said; the best comes first."""

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
    from gitmem.memory.search.messages import Heard
    from gitmem.model.entries.blocks import Entry

MEMORY, TRANSCRIPTS, ALL = "memory", "transcripts", "all"
SOURCES = (MEMORY, TRANSCRIPTS, ALL)
LIMIT = 8
ROOM = 4
"""So many are looked at for each that is wanted: some have only neighbours that fit."""
ARCHIVED = "archived"
NO_WORDS = "the query has no word to search for"
IN_NO_LAYER = "what was said is in no layer: leave the layer out to look there"


class Hit(Record):
    """A passage of memory, or something that was said."""

    source: str
    """memory or transcript"""
    group: str
    """The group it belongs to."""
    path: str
    address: str
    """The path, and for an entry its name behind `#`."""
    heading: str
    lines: tuple[int, int] | None
    text: str
    score: float
    """How well it fits: above 0, and 1 at most."""
    touched: datetime | None
    """When its meaning last changed ..."""
    state: str
    """How fresh that makes it, where its layer ages."""
    commit: str
    """... and by which commit."""
    chat: str = ""
    id: str = ""
    from_: str = ""
    """Who said it."""
    at: datetime | None = None
    terms: tuple[str, ...] = ()
    """What was looked for."""
    type: str = ""
    """What kind of memory the entry or file says it is: factual, strategic ..."""
    related: tuple[str, ...] = ()
    """What its field `Related` names, a link by its target."""


class Searched(Record):
    """What was found."""

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
    """The passages of this group and of `global`, and the messages, that fit QUERY best.

    CHATS: only messages of these chats. ALLOWED_ONLY: of files just those that the layout allows
    for the memory actions.
    """
    if source not in SOURCES:
        raise BadInput(f"no source {source!r}", hint=f"use one of {', '.join(SOURCES)}")
    if not query.strip():
        raise BadInput(
            "nothing to search for", hint=Hint("for example ", call("search", "billing"))
        )
    if chats and (source == MEMORY or layers):
        raise BadInput(
            "a chat filter cannot be combined with a layer or with `--source memory`",
            hint="leave out one of them",
        )
    if limit < 1:
        raise BadInput("at least one hit has to be wanted", hint="leave the limit out for 8")
    moment = pin(group, None)
    check_layers(moment.loaded.layout, layers)
    start = start_of(group, since) if since else 0.0
    sentences = query_sentences(query, anything=True)
    places = tuple(layers), tuple(chats)
    asked = _Asked(query, sentences, start, *places, include_archive, allowed_only)
    hits: list[Hit] = []
    notes = [] if sentences else [NO_WORDS]
    pins: dict[str, str] = {}
    with sources_at(group, moment, shared=True) as sources:
        if source != TRANSCRIPTS and not chats:
            hits += _in_memory(group, moment, sources, asked, limit)
            pins = {name or group.name: each.commit for name, each in sources.by_group.items()}
        if source == TRANSCRIPTS and layers:
            notes.append(IN_NO_LAYER)
        elif source != MEMORY and not layers:
            for each in filter(None, (group, sources.other)):
                must = source == TRANSCRIPTS and each is group
                said = _in_transcripts(each, moment, asked, limit, must=must)
                hits += said.hits
                pins.update(said.pins)
                notes += said.notes
        if chats:
            notes += _strangers(group, sources, chats)
    notes += sources.trouble
    hits.sort(key=lambda each: -each.score)
    return Searched(tuple(hits[:limit]), pins, tuple(notes))


class _Asked(NamedTuple):
    query: str
    sentences: tuple[Sentence, ...]
    since: float
    layers: tuple[str, ...]
    chats: tuple[str, ...]
    include_archive: bool
    allowed_only: bool


def _in_memory(
    group: Group, moment: Pinned, sources: Sources, asked: _Asked, limit: int
) -> Iterator[Hit]:
    def wanted(source: str, path: str) -> bool:
        layout = sources.layouts[source]
        if asked.allowed_only and not layout.allows(path):
            return False
        if is_archived(layout, path) and not asked.include_archive:
            return False
        return not asked.layers or _layer_of(layout, path) in asked.layers

    most = max(CANDIDATES, ROOM * limit)
    found = find_passages(
        group, moment, sources, asked.sentences, wanted, limit=most, since=asked.since
    )
    count = 0
    for each in found:
        if not each.coverage:
            continue  # only its neighbours have it, and they come themselves
        with suppress(Damaged):  # the index knows it still, the disk does not
            yield _hit(group, sources, each)
            count += 1
        if count >= limit:
            return


def _layer_of(layout: Layout, path: str) -> str:
    """The layer of a file, of one in the archive that from which it retired."""
    archive = archive_of(layout, path)
    layer = layout.layer_of(path.removeprefix(f"{archive}/") if archive else path)
    return layer.name if layer else ""


def _in_transcripts(
    group: Group, moment: Pinned, asked: _Asked, limit: int, *, must: bool
) -> Searched:
    """The messages that fit; where they cannot be read, a note says so, unless they MUST be."""
    if not has_transcripts(group):
        return Searched((), {})
    from gitmem.memory.search.messages import find_messages  # only where something was said
    from gitmem.memory.transcripts.transcripts import tip_of

    query, sentences, since = asked.query, asked.sentences, asked.since
    try:
        tip = tip_of(group)
        if tip is None:
            return Searched((), {})
        found = find_messages(
            group, tip, query, sentences, limit=limit, since=since, chats=asked.chats
        )
    except Damaged as error:
        if must:
            raise
        return Searched((), {}, (f"what was said in {group.name} cannot be read: {error.message}",))
    hits = tuple(_heard(group, each, tip.commit, moment.time.tzinfo) for each in found)
    return Searched(hits, {f"{group.name} {TRANSCRIPTS}": tip.commit})


def _strangers(group: Group, sources: Sources, chats: Sequence[str]) -> Iterator[str]:
    """A word on each of CHATS in which nothing was ever said."""
    from gitmem.memory.transcripts.transcripts import is_chat

    known = [each for each in (group, sources.other) if each and has_transcripts(each)]
    for chat in chats:
        if not any(is_chat(each, chat) for each in known):
            from gitmem.model.secrets.find import redacted_quote  # only where there is none

            yield Hint(
                f"no messages in a chat {redacted_quote(chat)}; see ", call("transcript list")
            )


def _heard(group: Group, heard: Heard, commit: str, zone: tzinfo | None) -> Hit:
    message, where = heard.message, heard.where
    at = message.at.astimezone(zone)
    return Hit(
        source="transcript",
        group=group.name,
        path=where.path,
        address=f"{message.chat}#{message.number}",
        heading="",
        lines=None,
        text=message.text[where.start : where.stop],
        score=rounded_score(heard.score),
        touched=at,
        state="",
        commit=commit,
        chat=message.chat,
        id=message.id,
        from_=message.sender,
        at=at,
        terms=heard.sentence.terms,
    )


def _hit(group: Group, sources: Sources, match: Match) -> Hit:
    place, masks = match.place, sources.masks
    layout = sources.layouts[place.source]
    entry = _entry_of(sources, match)
    type, *related = (
        masks.text(place.source, place.path, place.blob, each)
        for each in ((entry.type, *entry.related) if entry else ("",))
    )
    return Hit(
        source="memory",
        group=place.source or group.name,
        path=masks.name(place.source, place.path),
        address=masks.name(place.source, match.address),
        heading=masks.text(place.source, place.path, place.blob, place.heading),
        lines=(place.line, place.last),
        text=masks.text(place.source, place.path, place.blob, text_of(sources, place)),
        score=rounded_score(match.score),
        touched=match.when,
        state=ARCHIVED if is_archived(layout, place.path) else match.state,
        commit=match.touched.commit if match.touched else "",
        terms=match.sentence.terms,
        type=type,
        related=tuple(related),
    )


def _entry_of(sources: Sources, match: Match) -> Entry | None:
    """The entry in which a passage stands, or its file as one."""
    from gitmem.model.entries.blocks import file_entry, parse

    place, layer = match.place, match.layer
    text = blob_text(sources, place)
    if not place.slug or layer is None or layer.kind != "entries":
        return file_entry(place.path, text)
    return next((each for each in parse(text, layer.fields) if each.slug == place.slug), None)
