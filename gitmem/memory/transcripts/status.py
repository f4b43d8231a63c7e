"""Show chats, their messages, and how many are pending."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as cache
from gitmem.cache.database import Connection
from gitmem.cache.messages import Chat, RangeCommit
from gitmem.errors import BadInput, Damaged, NotFound
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.transcripts.pending import LASTS, MessageRow, action_required, read_lease
from gitmem.memory.transcripts.transcripts import (
    Checkpoint,
    CheckpointState,
    checkpoint_state,
    is_unreadable,
    messages_of,
    pending_numbers,
    query_messages,
    read_checkpoint,
    tip_of,
)
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.transcripts.batches import Message, sync_skill

SHOWN = 20
"""The newest pending messages in a status."""
NEAR_SHOWN = 3


class InFlight(Record):
    """A range that is handed out."""

    begin: int
    end: int
    chat: str
    session: str
    agent: str
    since: datetime
    until: datetime
    alive: bool
    """False when the lease has expired."""


class TranscriptStatus(Record):
    """The counts of messages, and what is pending."""

    commit: str
    messages: int
    chats: int
    last: int
    """The last number."""
    pending: int
    begin: int
    end: int
    """The oldest and newest pending message; 0 where none is."""
    threshold: int
    action: str
    in_flight: InFlight | None
    checkpoint: Checkpoint | None
    """The newest one."""
    reopened: tuple[str, ...]
    """Checkpoints that were undone, or whose commits were, and that no other replaces."""
    newest: tuple[MessageRow, ...]
    """The newest pending messages."""
    unreadable: bool
    """Whether some messages cannot be read."""


class _Counts(NamedTuple):
    pending: list[tuple[int, str]]
    checkpoint_state: CheckpointState
    messages: int
    chats: int
    newest: list[Message]
    unreadable: bool


def transcript_status(group: Group, *, newest: int = SHOWN) -> TranscriptStatus:
    """The status; hands out nothing."""
    tip = tip_of(group)

    def answer(connection: Connection) -> _Counts:
        now = checkpoint_state(connection)
        pending = pending_numbers(connection, now.closed)
        numbers = [number for number, _ in pending[-newest:]] if newest else []
        messages, chats = cache.counts(connection)
        shown = list(messages_of(group, connection, numbers))
        return _Counts(
            pending,
            now,
            messages,
            chats,
            shown,
            is_unreadable(connection) or len(shown) < len(numbers),
        )

    found = query_messages(group, tip, answer)
    layout = layout_of(group)
    threshold = layout.transcripts.threshold
    pending, last = found.pending, found.checkpoint_state.last
    return TranscriptStatus(
        tip.commit if tip else "",
        found.messages,
        found.chats,
        tip.last if tip else 0,
        len(pending),
        pending[0][0] if pending else 0,
        pending[-1][0] if pending else 0,
        threshold,
        action_required(len(pending), threshold, f"/{sync_skill(layout.name)}"),
        _in_flight(group, pending),
        read_checkpoint(group.repository.commit(last.oid)) if last else None,
        tuple(each.oid for each in found.checkpoint_state.reopened if _is_open(each, pending)),
        tuple(MessageRow(*each) for each in found.newest),
        found.unreadable,
    )


def _is_open(deed: RangeCommit, pending: list[tuple[int, str]]) -> bool:
    closes = deed.closes
    return closes is not None and any(closes.has(number, chat) for number, chat in pending)


def _in_flight(group: Group, pending: list[tuple[int, str]]) -> InFlight | None:
    lease = read_lease(group.gitdir)
    if lease is None or not lease.is_open(pending):
        return None
    alive = not lease.is_over(group.moment())
    until = lease.since + LASTS
    begin, end, chat, _ = lease.range
    return InFlight(begin, end, chat, *lease.holder, lease.since, until, alive)


class TranscriptList(Record):
    """The chats, the most recent first."""

    commit: str
    chats: tuple[Chat, ...]
    unreadable: bool = False
    """Whether some messages, of these chats or others, cannot be read."""


class TranscriptShown(Record):
    """Messages of one chat by time."""

    chat: str
    messages: tuple[MessageRow, ...]
    total: int
    """How many messages the chat has."""
    lost: tuple[int, ...] = ()
    """The numbers of messages that cannot be read."""
    unreadable: bool = False
    """Whether some messages, of this chat or others, cannot be read."""


def transcript_list(group: Group) -> TranscriptList:
    """All chats."""
    tip = tip_of(group)
    if tip is None:
        return TranscriptList("", ())
    chats, unreadable = query_messages(
        group, tip, lambda connection: (cache.chats(connection), is_unreadable(connection))
    )
    return TranscriptList(tip.commit, tuple(chats), unreadable)


def transcript_show(group: Group, chat: str, *, last: int = 0) -> TranscriptShown:
    """The messages of CHAT; LAST: only the newest ones."""
    if last < 0:
        raise BadInput("last must not be negative", hint="leave it out for all messages")
    tip = tip_of(group)

    def answer(connection: Connection) -> tuple[TranscriptShown, list[str]]:
        name = cache.stored_chat(connection, chat)
        numbers = cache.newest(connection, name, last)
        names = [] if numbers else [each.chat for each in cache.chats(connection)]
        total = len(cache.newest(connection, name, 0))
        found = sorted(messages_of(group, connection, numbers), key=_when)
        rows = tuple(MessageRow(*each) for each in found)
        lost = tuple(sorted(set(numbers).difference(each.number for each in rows)))
        unreadable = bool(lost) or is_unreadable(connection)
        return TranscriptShown(name, rows, total, lost, unreadable), names

    shown, names = query_messages(group, tip, answer)
    if not shown.total:
        raise _lost(shown.chat) if shown.unreadable else _unknown(shown.chat, names)
    return shown


def _lost(chat: str) -> Damaged:
    return Damaged(
        f"no readable message in chat {chat!r}, and some messages cannot be read",
        hint=Hint("run ", call("check", repair=True)),
        chat=chat,
    )


def _when(message: Message) -> tuple[datetime, int]:
    return message.at, message.number


def _unknown(chat: str, names: list[str]) -> NotFound:
    from difflib import get_close_matches  # only for a typo

    near = get_close_matches(chat, names, NEAR_SHOWN, 0.5)
    known = Hint("see ", call("transcript list"))
    hint = f"did you mean {' or '.join(near)}?" if near else known
    return NotFound(f"no messages in chat {chat!r}", hint=hint, chat=chat, near=near)
