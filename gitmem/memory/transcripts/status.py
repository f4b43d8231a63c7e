"""How much of what was said is summarised, and whether somebody is at it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as said
from gitmem.cache.database import Connection
from gitmem.cache.messages import Deed
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.transcripts.callers import is_alive
from gitmem.memory.transcripts.leases import LASTS, read_lease
from gitmem.memory.transcripts.pending import SaidRow, action_required
from gitmem.memory.transcripts.transcripts import (
    Checkpoint,
    Standing,
    ask_said,
    is_unreadable,
    messages_of,
    pending_numbers,
    read_checkpoint,
    standing,
    tip_of,
)
from gitmem.model.transcripts.batches import Message, sync_skill

SHOWN = 20
"""The newest pending messages that are at hand."""


class InFlight(NamedTuple):
    """A range that is handed out."""

    begin: int
    end: int
    chat: str
    session: str
    agent: str
    since: datetime
    until: datetime
    alive: bool
    """False when who has it is known to be dead, or has had it for too long."""


class TranscriptStatus(NamedTuple):
    """What there is, and what is to be done."""

    commit: str
    messages: int
    chats: int
    last: int
    """The last number that was given."""
    pending: int
    begin: int
    end: int
    """The oldest and the newest message that is not summarised; 0 where all are."""
    threshold: int
    action: str
    in_flight: InFlight | None
    checkpoint: Checkpoint | None
    """The newest one."""
    reopened: tuple[str, ...]
    """Checkpoints that were taken back, or whose memories were, and that no other replaces."""
    newest: tuple[SaidRow, ...]
    """The newest messages that are not summarised."""
    unreadable: bool
    """Whether a part of what was said is damaged."""


class _Found(NamedTuple):
    pending: list[tuple[int, str]]
    standing: Standing
    messages: int
    chats: int
    newest: list[Message]
    unreadable: bool


def transcript_status(group: Group, *, newest: int = SHOWN) -> TranscriptStatus:
    """Look, and hand out nothing."""
    tip = tip_of(group)

    def answer(connection: Connection) -> _Found:
        now = standing(connection)
        pending = pending_numbers(connection, now.closed)
        numbers = [number for number, _ in pending[-newest:]] if newest else []
        messages, chats = said.counts(connection)
        shown = list(messages_of(group, connection, numbers))
        return _Found(
            pending,
            now,
            messages,
            chats,
            shown,
            is_unreadable(connection) or len(shown) < len(numbers),
        )

    found = ask_said(group, tip, answer)
    layout = layout_of(group)
    threshold = layout.transcripts.threshold
    pending, last = found.pending, found.standing.last
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
        tuple(each.oid for each in found.standing.reopened if _is_open(each, pending)),
        tuple(SaidRow(*each) for each in found.newest),
        found.unreadable,
    )


def _is_open(deed: Deed, pending: list[tuple[int, str]]) -> bool:
    closes = deed.closes
    return closes is not None and any(closes.has(number, chat) for number, chat in pending)


def _in_flight(group: Group, pending: list[tuple[int, str]]) -> InFlight | None:
    lease = read_lease(group.gitdir)
    if lease is None or not lease.is_open(pending):
        return None
    alive = not lease.is_over(group.moment()) and is_alive(lease.holder)
    until = lease.since + LASTS
    begin, end, chat, _ = lease.range
    return InFlight(begin, end, chat, lease.session, lease.agent, lease.since, until, alive)
