"""Store messages: each call adds a batch to the ref of transcripts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as cache
from gitmem.errors import BadInput, TooBig
from gitmem.memory.group import Group
from gitmem.memory.transcripts.transcripts import TranscriptTip, last_closed, query_messages, tip_of
from gitmem.model.access import check_access
from gitmem.model.commit_messages import visible
from gitmem.model.record import Record
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import (
    BEGAN,
    NUMBERS,
    OP,
    REF,
    Message,
    batch_path,
    chat_name,
    encode,
    key_of,
    plain_id,
    redacted,
)
from gitmem.store.lock import WAIT
from gitmem.store.refs.side_branch import side_branch

MAX_TEXT = 1024 * 1024
MAX_NAME = 200
FIRST_YEAR, LAST_YEAR = 1970, 9998
"""The years that exist in every time zone."""
BATCH_MESSAGES = 200
BATCH_BYTES = 128 * 1024
"""A batch of this size is full."""


class NewMessage(Record):
    """A message to store."""

    chat: str
    sender: str
    text: str
    at: datetime | None = None
    """When it was sent; None for now."""
    id: str = ""
    """Identifies the message when it comes again; a new id where it is empty."""
    line: int = 0
    """Its line in a batch, for errors."""


class TranscriptAdded(Record):
    """The result of storing messages."""

    commit: str
    """The commit with the messages; the last one where none was new."""
    added: int
    first: int
    last: int
    """Their numbers; 0 where none was new."""
    known: int
    """How many were stored before, by their ids."""
    redacted: int
    """How many credentials were redacted."""


class _Clean(NamedTuple):
    """A message without credentials, and how many were redacted."""

    message: NewMessage
    blanked: int


def transcript_add(
    group: Group,
    messages: Sequence[NewMessage],
    *,
    dry_run: bool = False,
    wait: float = WAIT,
    met: set[bytes] | None = None,
) -> TranscriptAdded:
    """Store MESSAGES in one commit, without those that are stored already.

    MET: the keys that a dry run has counted, since it stores nothing that could be found.
    """
    check_access(group.acting, group.name, write=True)
    if not messages:
        raise BadInput("no messages given", hint="give at least one message")
    fresh = _clean([check_message(each) for each in messages])
    came = group.now()
    note = group.note(OP)
    before = tip_of(group)
    unknown = _unknown(group, before, fresh)
    if dry_run:
        new = _first_met(unknown, met if met is not None else set())
        redacted = sum(each.blanked for each in new)
        return TranscriptAdded("", len(new), 0, 0, len(messages) - len(new), redacted)
    if unknown:
        closed_before = 0 if before else last_closed(group)
        with side_branch(group.repository, REF, wait) as line:
            tip = tip_of(group)
            if tip != before:  # another writer came in between: compare again
                unknown = _unknown(group, tip, unknown)
            if unknown:
                first = (tip.last if tip else closed_before) + 1
                stored = list(_numbered(unknown, first, came))
                numbers = (NUMBERS, f"{first}-{stored[-1].number}")
                began = (BEGAN, tip.began if tip else group.repository.tip())
                described = note._replace(title=_title(stored), extra=(numbers, began))
                base = tip.commit if tip else None
                commit = line.append(base, dict(_batches(stored, came)), described, came)
                known, last = len(messages) - len(stored), stored[-1].number
                redacted = sum(each.blanked for each in unknown)
                return TranscriptAdded(commit, len(stored), first, last, known, redacted)
            before = tip
    return TranscriptAdded(before.commit if before else "", 0, 0, 0, len(messages), 0)


def check_message(message: NewMessage) -> NewMessage:
    """MESSAGE if it can be stored; BadInput or TooBig otherwise."""
    where = f"line {message.line}: " if message.line else ""
    facts = {"batch_line": message.line} if message.line else {}
    for name, value in (("chat", message.chat), ("from", message.sender)):
        if not value.strip():
            raise BadInput(
                f"{where}{name!r} is empty", hint="name the chat and the sender", **facts
            )
    for name, value in (("chat", message.chat), ("from", message.sender), ("id", message.id)):
        if len(value) > MAX_NAME:
            text = f"{where}{name!r} has {len(value):,} characters; the limit is {MAX_NAME}"
            raise BadInput(text, hint="give it a shorter name", **facts)
    if message.at and not FIRST_YEAR <= message.at.year <= LAST_YEAR:
        raise BadInput(
            f"{where}invalid year {message.at.year}",
            hint=f"give a time from {FIRST_YEAR} to {LAST_YEAR}",
            **facts,
        )
    if not message.text.strip():
        raise BadInput(f"{where}the text is empty", hint="leave such messages out", **facts)
    size = len(message.text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        raise TooBig(
            f"{where}the text has {size:,} bytes; the limit is {MAX_TEXT:,}",
            hint="store a file elsewhere, and only the conversation here",
            limit=MAX_TEXT,
            **facts,
        )
    return message


def _clean(messages: Sequence[NewMessage]) -> list[_Clean]:
    """MESSAGES without credentials, each id once."""
    found: dict[object, _Clean] = {}
    for each in messages:
        (sender, a), (text, b) = map(redacted, (each.sender, each.text))
        (chat, c), (id, d) = chat_name(each.chat), plain_id(each.id)
        clean = NewMessage(chat, visible(sender), text, each.at, id)
        found.setdefault(_key(clean) or len(found), _Clean(clean, a + b + c + d))
    return list(found.values())


def _key(message: NewMessage) -> bytes:
    """The key of a message; empty without an id."""
    return key_of(message.chat, message.id) if message.id else b""


def _unknown(group: Group, tip: TranscriptTip | None, messages: Sequence[_Clean]) -> list[_Clean]:
    """The MESSAGES that are not stored yet."""
    keys = [key for each in messages if (key := _key(each.message))]
    if tip is None or not keys:
        return list(messages)
    there = query_messages(group, tip, lambda connection: cache.known(connection, keys))
    return [each for each in messages if _key(each.message) not in there]


def _first_met(messages: Sequence[_Clean], met: set[bytes]) -> list[_Clean]:
    """The MESSAGES that are not in MET, which gets their keys."""
    new = [each for each in messages if _key(each.message) not in met]
    met.update(key for each in new if (key := _key(each.message)))
    return new


def _numbered(messages: Sequence[_Clean], first: int, came: datetime) -> Iterator[Message]:
    for number, (each, _) in enumerate(messages, first):
        at = each.at or came
        at = (at if at.tzinfo else at.replace(tzinfo=came.tzinfo)).replace(microsecond=0)
        id = each.id or os.urandom(8).hex()
        yield Message(number, id, each.chat, each.sender, at, each.text)


def _batches(messages: Sequence[Message], came: datetime) -> Iterator[tuple[str, bytes]]:
    """The files of MESSAGES, small enough to read one fast."""
    begun: list[Message] = []
    size = 0
    for each in messages:
        begun.append(each)
        size += len(each.text)
        if len(begun) >= BATCH_MESSAGES or size >= BATCH_BYTES:
            yield batch_path(came, begun[0].number), encode(begun)
            begun, size = [], 0
    if begun:
        yield batch_path(came, begun[0].number), encode(begun)


def _title(messages: Sequence[Message]) -> str:
    chats = sorted({each.chat for each in messages})
    where = chats[0] if len(chats) == 1 else counted(len(chats), "chat")
    return f"{counted(len(messages), 'message')} in {where}"
