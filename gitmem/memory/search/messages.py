"""Find messages of transcripts that match a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from gitmem.cache import messages as index
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
"""Sender names that name no person: such a word in a query does not name a sender."""
CANDIDATES = 100
"""The least number of passages that are ranked for each sentence."""


class MessageMatch(NamedTuple):
    """A passage of a message that matches."""

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
) -> list[MessageMatch]:
    """The passages of messages that match SENTENCES best, the best first.

    CHATS: only these chats, by any of their names; empty for all.
    """
    if not sentences:
        return []

    def answer(connection: Connection) -> list[tuple[Found, MessagePassage]]:
        query_terms = set(terms_of(query).split())
        accepts = _filter(connection, since, chats) if since or chats else None
        return _looked_up(connection, sentences, query_terms, accepts, max(CANDIDATES, 2 * limit))

    rows = query_messages(group, tip, answer)
    rows.sort(key=lambda row: (-row[0].score, -row[1].number, row[1].start))
    matches: list[MessageMatch] = []
    messages = _Messages(group)
    for found, where in rows:
        if len(matches) >= limit:
            break
        message = messages.get(where)
        if message:
            matches.append(MessageMatch(message, where, found.score, sentences[found.sentence]))
    return matches


def _looked_up(
    connection: Connection,
    sentences: Sequence[Sentence],
    query_terms: set[str],
    accepts: Accepts | None,
    limit: int,
) -> list[tuple[Found, MessagePassage]]:
    rarity = Rarity(connection, sentences)
    found = find(connection, sentences, rarity, limit=limit, accepts=accepts)
    found = lifted(found)
    rows = index.message_passages(connection, [each.id for each in found])
    found.sort(key=lambda each: (-each.score, -rows[each.id].number, rows[each.id].start))
    del found[limit:]
    named = _named(index.senders(connection), query_terms)
    terms = terms_in(connection, [each.id for each in found])

    def pushed(each: Found) -> float:
        has = rarity.coverage(sentences[each.sentence], terms[each.id])
        return push("", None, is_whole=has >= 1) * _share(rows[each.id], named)

    return [(each._replace(score=each.score * pushed(each)), rows[each.id]) for each in found]


def _filter(connection: Connection, since: float, chats: Sequence[str]) -> Accepts:
    """Whether a passage is in one of CHATS, if any are given, and was sent SINCE then."""
    earliest = _day_before(since)
    named = {index.stored_chat(connection, each) for each in chats}

    @cache
    def may_count(document: int) -> bool:
        is_of = not chats or index.is_of(connection, document, named)
        return is_of and index.day_of(connection, document) >= earliest

    def counts(number: int, document: int) -> bool:
        if not may_count(document):
            return False
        return not since or index.message_passages(connection, [number])[number].at >= since

    return counts


def _day_before(since: float) -> str:
    """A day that is not after SINCE in any time zone."""
    day: date = datetime.fromtimestamp(since, UTC).date()
    return f"{day - timedelta(days=1)}"


def _named(senders: Mapping[str, frozenset[str]], query_terms: set[str]) -> str:
    """The only sender that the query names; empty if it names none or several."""
    people = ((name, terms) for name, terms in senders.items() if name.lower() not in ROLES)
    named = [name for name, terms in people if terms and terms <= query_terms]
    return named[0] if len(named) == 1 else ""


def _share(where: MessagePassage, named: str) -> float:
    return 1.0 if named in ("", where.sender) else NOT_NAMED


class _Messages:
    """Messages by their position; each batch is read once."""

    def __init__(self, group: Group) -> None:
        self._objects = group.repository.objects
        self._known: dict[str, bytes] = {}

    def get(self, where: MessagePassage) -> Message | None:
        """The message; None if its batch is damaged."""
        if where.blob not in self._known:
            self._known[where.blob] = self._read(where.blob)
        return decode_one(self._known[where.blob], where.number)

    def _read(self, blob: str) -> bytes:
        with suppress(Damaged):
            return self._objects.read_as("blob", blob)
        return b""
