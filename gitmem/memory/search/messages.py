"""Messages that fit what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from gitmem.cache import messages as said
from gitmem.cache.database import Connection
from gitmem.cache.messages import MessagePassage
from gitmem.cache.scoring import Accepts, Rarity, find, terms_in
from gitmem.errors import Damaged
from gitmem.memory.group import Group
from gitmem.memory.transcripts.transcripts import TranscriptTip, query_messages
from gitmem.model.language.prompts import Sentence
from gitmem.model.language.ranking import NOT_NAMED, Found, lifted, push
from gitmem.model.language.words import terms_of
from gitmem.model.transcripts.batches import Message, decode_one

ROLES = frozenset(("ai", "assistant", "human", "model", "system", "user"))
"""Names of senders that name nobody: a question with such a word is about something else."""
CANDIDATES = 100
"""Passages that are ranked, for each sentence, or more where more are wanted."""


class Heard(NamedTuple):
    """A passage of a message that fits."""

    message: Message
    where: MessagePassage
    score: float
    sentence: Sentence


def find_messages(
    group: Group,
    tip: TranscriptTip,
    query: str,
    sentences: Sequence[Sentence],
    *,
    limit: int,
    since: float = 0.0,
    chats: Sequence[str] = (),
) -> list[Heard]:
    """The passages of messages that fit one of SENTENCES best, the best first.

    CHATS: only of these, by any name that they have; nothing for all.
    """
    if not sentences:
        return []

    def answer(connection: Connection) -> list[tuple[Found, MessagePassage]]:
        asked = set(terms_of(query).split())
        wanted = _wanted(connection, since, chats) if since or chats else None
        return _looked_up(connection, sentences, asked, wanted, max(CANDIDATES, 2 * limit))

    rows = query_messages(group, tip, answer)
    rows.sort(key=lambda row: (-row[0].score, -row[1].number, row[1].start))
    heard: list[Heard] = []
    messages = _Messages(group)
    for found, where in rows:
        if len(heard) >= limit:
            break
        message = messages.get(where)
        if message:
            heard.append(Heard(message, where, found.score, sentences[found.sentence]))
    return heard


def _looked_up(
    connection: Connection,
    sentences: Sequence[Sentence],
    asked: set[str],
    wanted: Accepts | None,
    limit: int,
) -> list[tuple[Found, MessagePassage]]:
    rarity = Rarity(connection, sentences)
    found = find(connection, sentences, rarity, limit=limit, accepts=wanted)
    found = lifted(found)
    places = said.message_passages(connection, [each.id for each in found])
    found.sort(key=lambda each: (-each.score, -places[each.id].number, places[each.id].start))
    del found[limit:]
    named = _named(said.senders(connection), asked)
    terms = terms_in(connection, [each.id for each in found])

    def pushed(each: Found) -> float:
        has = rarity.coverage(sentences[each.sentence], terms[each.id])
        return push("", None, is_whole=has >= 1) * _share(places[each.id], named)

    return [(each._replace(score=each.score * pushed(each)), places[each.id]) for each in found]


def _wanted(connection: Connection, since: float, chats: Sequence[str]) -> Accepts:
    """Which passages count: of one of CHATS where there are any, and said SINCE then."""
    earliest = _day_before(since)
    named = {said.stored_chat(connection, each) for each in chats}

    @cache
    def may_count(document: int) -> bool:
        is_of = not chats or said.is_of(connection, document, named)
        return is_of and said.day_of(connection, document) >= earliest

    def counts(number: int, document: int) -> bool:
        if not may_count(document):
            return False
        return not since or said.message_passages(connection, [number])[number].at >= since

    return counts


def _day_before(since: float) -> str:
    """A day that is surely not after SINCE, in whatever zone its messages were said."""
    day: date = datetime.fromtimestamp(since, UTC).date()
    return f"{day - timedelta(days=1)}"


def _named(senders: Mapping[str, frozenset[str]], asked: set[str]) -> str:
    """The one person whom a question names; nothing where it names none or several."""
    people = ((name, terms) for name, terms in senders.items() if name.lower() not in ROLES)
    named = [name for name, terms in people if terms and terms <= asked]
    return named[0] if len(named) == 1 else ""


def _share(where: MessagePassage, named: str) -> float:
    return 1.0 if named in ("", where.sender) else NOT_NAMED


class _Messages:
    """Messages by their place; each batch is read once."""

    def __init__(self, group: Group) -> None:
        self._objects = group.repository.objects
        self._known: dict[str, bytes] = {}

    def get(self, where: MessagePassage) -> Message | None:
        """The message; None where its batch is damaged."""
        if where.blob not in self._known:
            self._known[where.blob] = self._read(where.blob)
        return decode_one(self._known[where.blob], where.number)

    def _read(self, blob: str) -> bytes:
        with suppress(Damaged):
            return self._objects.read_as("blob", blob)
        return b""
