"""Keep what somebody said: messages become a batch on their own ref."""

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
"""What was said before or after that has no time in every zone."""
BATCH_MESSAGES = 200
BATCH_BYTES = 128 * 1024
"""From here on a batch is full."""


class NewMessage(Record):
    """One thing that somebody said, on its way in."""

    chat: str
    sender: str
    text: str
    at: datetime | None = None
    """When; now where that is not known."""
    id: str = ""
    """By which it is recognised when it comes again; a new one where there is none."""
    line: int = 0
    """The line of a batch where it stands, for errors."""


class TranscriptAdded(Record):
    """What became of some messages."""

    commit: str
    """The commit that holds them; the last one where there was nothing new."""
    added: int
    first: int
    last: int
    """The numbers they got; 0 where there was nothing new."""
    known: int
    """How many had come before: they are recognised by their ids."""
    redacted: int
    """How many credentials were blanked out in them."""


class _Clean(NamedTuple):
    """A message without credentials, and how many it had."""

    said: NewMessage
    blanked: int


def transcript_add(
    group: Group,
    messages: Sequence[NewMessage],
    *,
    dry_run: bool = False,
    wait: float = WAIT,
    met: set[bytes] | None = None,
) -> TranscriptAdded:
    """Keep MESSAGES as one commit; those that are known are passed over.

    MET: what a dry run has counted before, since nothing of it can be found.
    """
    check_access(group.acting, group.name, write=True)
    if not messages:
        raise BadInput("there is nothing that was said", hint="give at least one message")
    fresh = _clean([check_spoken(each) for each in messages])
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
            if tip != before:  # another came in between: what it brought is known now
                unknown = _unknown(group, tip, unknown)
            if unknown:
                first = (tip.last if tip else closed_before) + 1
                heard = list(_numbered(unknown, first, came))
                numbers = (NUMBERS, f"{first}-{heard[-1].number}")
                began = (BEGAN, tip.began if tip else group.repository.tip())
                said_ = note._replace(title=_title(heard), extra=(numbers, began))
                base = tip.commit if tip else None
                commit = line.append(base, dict(_batches(heard, came)), said_, came)
                known, last = len(messages) - len(heard), heard[-1].number
                redacted = sum(each.blanked for each in unknown)
                return TranscriptAdded(commit, len(heard), first, last, known, redacted)
            before = tip
    return TranscriptAdded(before.commit if before else "", 0, 0, 0, len(messages), 0)


def check_spoken(message: NewMessage) -> NewMessage:
    """Refuse what cannot be kept."""
    where = f"line {message.line}: " if message.line else ""
    facts = {"batch_line": message.line} if message.line else {}
    for name, value in (("chat", message.chat), ("from", message.sender)):
        if not value.strip():
            raise BadInput(f"{where}{name!r} is empty", hint="say who said it, and where", **facts)
    for name, value in (("chat", message.chat), ("from", message.sender), ("id", message.id)):
        if len(value) > MAX_NAME:
            text = f"{where}{name!r} has {len(value):,} characters; {MAX_NAME} is the most"
            raise BadInput(text, hint="give it a shorter name", **facts)
    if message.at and not FIRST_YEAR <= message.at.year <= LAST_YEAR:
        raise BadInput(
            f"{where}nothing was said in {message.at.year}",
            hint=f"give a time from {FIRST_YEAR} to {LAST_YEAR}",
            **facts,
        )
    if not message.text.strip():
        raise BadInput(f"{where}the text is empty", hint="leave such messages out", **facts)
    size = len(message.text.encode("utf-8", "surrogatepass"))
    if size > MAX_TEXT:
        raise TooBig(
            f"{where}the text has {size:,} bytes; {MAX_TEXT:,} is the most",
            hint="a file belongs elsewhere; keep what was said about it",
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
    """By what a message is recognised; nothing where it has no id."""
    return key_of(message.chat, message.id) if message.id else b""


def _unknown(group: Group, tip: TranscriptTip | None, messages: Sequence[_Clean]) -> list[_Clean]:
    """Those of MESSAGES that have not come before."""
    keys = [key for each in messages if (key := _key(each.said))]
    if tip is None or not keys:
        return list(messages)
    there = query_messages(group, tip, lambda connection: cache.known(connection, keys))
    return [each for each in messages if _key(each.said) not in there]


def _first_met(messages: Sequence[_Clean], met: set[bytes]) -> list[_Clean]:
    """Those of MESSAGES that are not among those that were MET, to which they now belong."""
    new = [each for each in messages if _key(each.said) not in met]
    met.update(key for each in new if (key := _key(each.said)))
    return new


def _numbered(messages: Sequence[_Clean], first: int, came: datetime) -> Iterator[Message]:
    for number, (each, _) in enumerate(messages, first):
        at = each.at or came
        at = (at if at.tzinfo else at.replace(tzinfo=came.tzinfo)).replace(microsecond=0)
        id = each.id or os.urandom(8).hex()
        yield Message(number, id, each.chat, each.sender, at, each.text)


def _batches(messages: Sequence[Message], came: datetime) -> Iterator[tuple[str, bytes]]:
    """The files of MESSAGES: none of them large, so that one is read fast."""
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
