"""Hand out the messages that are not summarised, to one session at a time.

The lease is a file in the git directory and disposable: without it the range is handed out again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from gitmem.cache import messages as cache
from gitmem.cache.database import Connection
from gitmem.cache.files import put
from gitmem.errors import Busy, Damaged, StorageFailed
from gitmem.memory.group import Group, Who
from gitmem.memory.layouts import layout_of
from gitmem.memory.transcripts.transcripts import (
    checkpoint_state,
    has_open_unread,
    messages_of,
    pending_numbers,
    query_messages,
    tip_of,
    up_to_unread,
)
from gitmem.model.access import check_access
from gitmem.model.hints import Hint, call
from gitmem.model.record import Record
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import Message, sync_skill
from gitmem.model.transcripts.intervals import Range, range_of, read_range
from gitmem.store.lock import Lock, lock_path

NAME = "sync"
LASTS = timedelta(minutes=30)
"""After that anyone gets the range: whether its holder still works is unknown."""
TOKEN_BYTES = 8
CHARS = 100_000
"""Approximate characters of a range; the rest is handed out next."""
TAKE_OVER = call("transcript pending", take_over=True)
NONE = "No unsummarized conversations."


class Holder(NamedTuple):
    """The session and agent that hold a range."""

    session: str
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} (session {self.session})" if self.session else self.agent

    def wrote(self, session: str, agent: str) -> bool:
        """Whether a commit of SESSION and AGENT is theirs; without a session the agent decides."""
        return session == self.session and bool(session or agent == self.agent)


class Lease(NamedTuple):
    """A range that is handed out."""

    token: str
    range: Range
    hands: tuple[Holder, ...]
    """The holder last, and before it everyone who had the range and did not close it."""
    since: datetime
    base: str
    """The tip of the branch when the first of them got it: their commits come after it."""
    begun: datetime
    """When that was, for a branch that was rewritten meanwhile."""

    @property
    def holder(self) -> Holder:
        """The session and agent that have the range now."""
        return self.hands[-1]

    def following(self, before: Lease) -> Lease:
        """This lease, which also covers commits made under the lease BEFORE."""
        earlier = (each for each in before.hands if each not in self.hands)
        return self._replace(hands=(*earlier, *self.hands), base=before.base, begun=before.begun)

    def wrote(self, session: str, agent: str) -> bool:
        """Whether a commit is of someone who has or had the range."""
        return any(each.wrote(session, agent) for each in self.hands)

    def is_open(self, pending: Iterable[tuple[int, str]]) -> bool:
        """Whether any message of the range is PENDING."""
        return any(self.range.has(number, chat) for number, chat in pending)

    def is_over(self, now: datetime) -> bool:
        """Whether it has expired, or was made by a clock that is ahead."""
        return not timedelta() <= now - self.since < LASTS


def holder_of(who: Who) -> Holder:
    """WHO as the holder of a range; without a session the agent's name alone counts."""
    return Holder(who.session, who.agent)


def new_token() -> str:
    """A new random token."""
    return os.urandom(TOKEN_BYTES).hex()


def read_lease(gitdir: Path) -> Lease | None:
    """The current lease; None where there is none or its file is unreadable."""
    try:
        row = json.loads((gitdir / "gitmem" / NAME).read_bytes())
        return Lease(
            str(row["token"]),
            _range(row),
            _hands(row["hands"]),
            _moment(row["since"]),
            str(row["base"]),
            _moment(row["begun"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _hands(rows: list[tuple[object, object]]) -> tuple[Holder, ...]:
    found = tuple(Holder(str(session), str(agent)) for session, agent in rows)
    if not found:
        raise ValueError("no holder")
    return found


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError("no zone")
    return found


def _range(row: dict[str, object]) -> Range:
    found = read_range(str(row["range"]), str(row["chat"]))
    if found is None:
        raise ValueError("no range")
    return found


def write_lease(gitdir: Path, lease: Lease) -> None:
    """Store LEASE; StorageFailed where the disk does not take it."""
    row = {
        "token": lease.token,
        "range": str(lease.range),
        "chat": lease.range.chat,
        "hands": lease.hands,
        "since": lease.since.isoformat(),
        "base": lease.base,
        "begun": lease.begun.isoformat(),
    }
    put(gitdir / "gitmem" / NAME, json.dumps(row).encode())
    if read_lease(gitdir) != lease:  # an unknown token could not close the range
        raise StorageFailed(
            "the range could not be handed out: writing its lease failed",
            hint="free some space and repeat",
        )


def drop_lease(gitdir: Path) -> None:
    """Remove the lease."""
    with suppress(FileNotFoundError):
        os.unlink(gitdir / "gitmem" / NAME)


class SyncInFlight(Busy):
    """Another session is summarising now."""

    code = "sync-in-flight"


class MessageRow(Record):
    """A message in a result."""

    number: int
    id: str
    chat: str
    from_: str
    at: datetime
    text: str


class TranscriptPending(Record):
    """A range of pending messages that is handed out."""

    pending: int
    """How many messages are pending in all."""
    begin: int
    end: int
    """The range; 0 where nothing is pending."""
    chat: str
    messages: tuple[MessageRow, ...]
    token: str
    """The token that closes the range."""
    until: datetime | None
    """Until when nobody else gets it."""
    more: int
    """How many remain for the next call."""
    threshold: int
    action: str
    """A request to summarise when too many are pending; else empty."""
    known: bool = True
    """False where the requested chat has no messages at all."""


class _Selection(NamedTuple):
    pending: int
    messages: list[Message]
    range: Range | None
    """The range to hand out, without summarised messages in between."""
    lease: Lease | None
    known: bool
    unread: bool
    """Whether unreadable messages may be among the pending ones."""


def action_required(pending: int, threshold: int, skill: str) -> str:
    """The line that asks an agent to summarise with SKILL; empty up to the threshold."""
    if pending <= threshold:
        return ""
    return (
        f"[Action Required] There are {pending} unsummarized conversations. "
        f"Please invoke {skill} to process them."
    )


def transcript_pending(
    group: Group,
    *,
    chat: str = "",
    chars: int = CHARS,
    take_over: bool = False,
) -> TranscriptPending:
    """Hand out the oldest pending range to this agent and session."""
    check_access(group.acting, group.name, write=True)
    layout = layout_of(group)
    threshold = layout.transcripts.threshold
    # By the stored name of the chat, and before taking the lock.
    named, tip = chat, tip_of(group)
    last = tip.last if tip else 0
    chat = query_messages(
        group, tip, lambda connection: cache.stored_chat(connection, named) if named else ""
    )

    def answer(connection: Connection) -> _Selection:
        closed = checkpoint_state(connection).closed
        numbers = pending_numbers(connection, closed, chat)
        lease = read_lease(group.gitdir)
        if lease and not lease.is_open(pending_numbers(connection, closed)):
            lease = None
        # The same range is handed out again, whatever came since.
        again = lease.range if lease and lease.range.chat == chat else None
        chosen = [number for number, name in numbers if again is None or again.has(number, name)]
        chosen = up_to_unread(connection, closed, chosen)
        messages = _first(group, connection, chosen, chars)
        given = [each.number for each in messages]
        out = Range(given[0], given[-1], chat) if given else None
        there = cache.numbers_in(connection, out) if out else ()
        exact = range_of(given, (number for number, _ in there), chat) if out else None
        known = not chat or bool(cache.spans(connection, chat))
        unread = has_open_unread(connection, closed, last)
        return _Selection(len(numbers), messages, exact, lease, known, unread)

    with Lock(lock_path(group.gitdir)):  # of two callers one is first
        found = query_messages(group, tip_of(group), answer)
        pending, messages, lease = found.pending, found.messages, found.lease
        now = group.moment()
        caller = holder_of(group.who)
        if lease and not take_over:
            _check_free(lease, caller, now)
        action = action_required(pending, threshold, f"/{sync_skill(layout.name)}")
        if found.range is None and (pending or found.unread):
            raise Damaged(
                "the pending messages cannot be read",
                hint=Hint("run ", call("check", repair=True), ", then repeat"),
                pending=pending,
            )
        if found.range is None:
            return TranscriptPending(0, 0, 0, chat, (), "", None, 0, threshold, action, found.known)
        out = Lease(
            new_token(),
            found.range,
            (caller,),
            now,
            group.repository.tip(),
            now,
        )
        if lease and lease.is_open((each.number, each.chat) for each in messages):
            out = out.following(lease)
        write_lease(group.gitdir, out)
    return TranscriptPending(
        pending,
        out.range.first,
        out.range.last,
        chat,
        tuple(MessageRow(*each) for each in messages),
        out.token,
        now + LASTS,
        pending - len(messages),
        threshold,
        action,
    )


def _first(
    group: Group, connection: Connection, numbers: Sequence[int], chars: int
) -> list[Message]:
    """The oldest messages up to CHARS, at least one."""
    found: list[Message] = []
    size = 0
    for at in range(0, len(numbers), 200):
        for each in messages_of(group, connection, numbers[at : at + 200]):
            size += len(each.text)
            if found and chars and size > chars:
                return found
            found.append(each)
    return found


def _check_free(lease: Lease, caller: Holder, now: datetime) -> None:
    """Raise SyncInFlight unless the range may be handed out again."""
    if lease.holder == caller or lease.is_over(now):
        return
    minutes = int((now - lease.since).total_seconds() // 60)
    until = (lease.since + LASTS).astimezone(UTC)
    raise SyncInFlight(
        f"a sync is in flight: {lease.holder} has the range {lease.range.first}-{lease.range.last},"
        f" taken {counted(minutes, 'minute')} ago",
        hint=Hint(f"wait until {until:%H:%M} UTC, or take it over: ", TAKE_OVER),
        session=lease.holder.session,
        agent=lease.holder.agent,
        begin=lease.range.first,
        end=lease.range.last,
        since=lease.since,
        until=until,
    )
