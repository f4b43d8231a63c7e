"""Hand out what is not summarised yet, to one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from gitmem.cache import messages as said
from gitmem.cache.database import Connection
from gitmem.errors import Busy, Damaged
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.transcripts.callers import Holder, is_alive, this_process
from gitmem.memory.transcripts.leases import LASTS, Hand, Lease, new_token, read_lease, write_lease
from gitmem.memory.transcripts.transcripts import (
    ask_said,
    has_open_unread,
    messages_of,
    pending_numbers,
    standing,
    tip_of,
    up_to_unread,
)
from gitmem.model.access import check_access
from gitmem.model.text.numbers import counted
from gitmem.model.transcripts.batches import Message, sync_skill
from gitmem.model.transcripts.intervals import Range, range_of
from gitmem.store.lock import Lock, lock_path

CHARS = 100_000
"""Characters of a range that is handed out, about: what is left comes next."""
NONE = "No unsummarized conversations."


class SyncInFlight(Busy):
    """Somebody else is summarising just now."""

    code = "sync-in-flight"


class SaidRow(NamedTuple):
    """A message, as it is shown."""

    number: int
    id: str
    chat: str
    from_: str
    at: datetime
    text: str


class TranscriptPending(NamedTuple):
    """A range that is not summarised, and was handed out."""

    pending: int
    """How many messages are not summarised, all in all."""
    begin: int
    end: int
    """The range; 0 where nothing is pending."""
    chat: str
    messages: tuple[SaidRow, ...]
    token: str
    """What closes the range: `transcript checkpoint --token`."""
    until: datetime | None
    """As long as nobody else gets it."""
    more: int
    """How many are left for the next time."""
    threshold: int
    action: str
    """What is said when too many are pending; empty below the threshold."""
    known: bool = True
    """False when nothing was ever said in the chat that was asked for."""


class _Found(NamedTuple):
    pending: int
    messages: list[Message]
    range: Range | None
    """What is handed out, and nothing of what is summarised in between."""
    lease: Lease | None
    known: bool
    unread: bool
    """Whether messages that cannot be read may be among those that are not summarised."""


def action_required(pending: int, threshold: int, skill: str) -> str:
    """The line that asks an agent to summarise, by its SKILL; nothing up to the threshold."""
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
    holder: Holder | None = None,
) -> TranscriptPending:
    """The oldest range that is not summarised, for HOLDER alone until it is closed."""
    check_access(group.acting, group.name, write=True)
    layout = layout_of(group)
    threshold = layout.transcripts.threshold
    # By the name that its messages bear, and before others have to wait for us.
    wanted, tip = chat, tip_of(group)
    last = tip.last if tip else 0
    chat = ask_said(group, tip, lambda connection: said.meant(connection, wanted) if wanted else "")

    def answer(connection: Connection) -> _Found:
        closed = standing(connection).closed
        numbers = pending_numbers(connection, closed, chat)
        lease = read_lease(group.gitdir)
        if lease and not lease.is_open(pending_numbers(connection, closed)):
            lease = None
        # What is handed out again is the same range, whatever came since.
        again = lease.range if lease and lease.range.chat == chat else None
        chosen = [number for number, name in numbers if again is None or again.has(number, name)]
        chosen = up_to_unread(connection, closed, chosen)
        messages = _first(group, connection, chosen, chars)
        given = [each.number for each in messages]
        out = Range(given[0], given[-1], chat) if given else None
        there = said.numbers_in(connection, out) if out else ()
        exact = range_of(given, (number for number, _ in there), chat) if out else None
        known = not chat or bool(said.spans(connection, chat))
        unread = has_open_unread(connection, closed, last)
        return _Found(len(numbers), messages, exact, lease, known, unread)

    with Lock(lock_path(group.gitdir)):  # so that of two who ask one is the first
        found = ask_said(group, tip_of(group), answer)
        pending, messages, lease = found.pending, found.messages, found.lease
        now = group.moment()
        holder = holder or this_process()
        if lease and not take_over:
            _check_free(lease, group, holder, now)
        action = action_required(pending, threshold, f"/{sync_skill(layout.name)}")
        if found.range is None and (pending or found.unread):
            raise Damaged(
                "messages that are not summarised cannot be read, so none can be handed out",
                hint="run `gitmem check --repair`, then ask again",
                pending=pending,
            )
        if found.range is None:
            return TranscriptPending(0, 0, 0, chat, (), "", None, 0, threshold, action, found.known)
        out = Lease(
            new_token(),
            found.range,
            (Hand(group.who.session, group.who.agent),),
            holder,
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
        tuple(SaidRow(*each) for each in messages),
        out.token,
        now + LASTS,
        pending - len(messages),
        threshold,
        action,
    )


def _first(
    group: Group, connection: Connection, numbers: Sequence[int], chars: int
) -> list[Message]:
    """As many of the oldest messages as CHARS allow, and one at least."""
    found: list[Message] = []
    size = 0
    for at in range(0, len(numbers), 200):
        for each in messages_of(group, connection, numbers[at : at + 200]):
            size += len(each.text)
            if found and chars and size > chars:
                return found
            found.append(each)
    return found


def _check_free(lease: Lease, group: Group, holder: Holder, now: datetime) -> None:
    """Raise unless the range may be handed out again."""
    same = lease.belongs_to(group.who.session, holder)
    if same or lease.is_over(now) or not is_alive(lease.holder):
        return
    minutes = int((now - lease.since).total_seconds() // 60)
    until = (lease.since + LASTS).astimezone(UTC)
    raise SyncInFlight(
        f"a sync is in flight: {lease.owner} has the range {lease.range.first}-{lease.range.last} "
        f"since {counted(minutes, 'minute')}",
        hint=f"wait until {until:%H:%M} UTC, or take it: `gitmem transcript pending --take-over`",
        session=lease.session,
        agent=lease.agent,
        begin=lease.range.first,
        end=lease.range.last,
        since=lease.since,
        until=until,
    )
