"""Hand out what is not summarised yet, to one at a time."""

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
"""After that anyone who asks gets the range: whether its holder still works is not known."""
TOKEN_BYTES = 8
CHARS = 100_000
"""Characters of a range that is handed out, about: what is left comes next."""
TAKE_OVER = call("transcript pending", take_over=True)
NONE = "No unsummarized conversations."


class Holder(NamedTuple):
    """The holder of a range: the session and the agent that asked for it."""

    session: str
    agent: str

    def __str__(self) -> str:
        return f"{self.agent} (session {self.session})" if self.session else self.agent

    def wrote(self, session: str, agent: str) -> bool:
        """Whether a commit says that it is ours; without a session, only one that has none."""
        return session == self.session and bool(session or agent == self.agent)


class Lease(NamedTuple):
    """A range that was handed out."""

    token: str
    range: Range
    hands: tuple[Holder, ...]
    """The holder last, and before it all who had the range and did not close it."""
    since: datetime
    base: str
    """The commit of the branch when the first of them got it: what they write comes after it."""
    begun: datetime
    """When that was, for a branch that somebody has rewritten meanwhile."""

    @property
    def holder(self) -> Holder:
        """The session and the agent that have the range."""
        return self.hands[-1]

    def following(self, before: Lease) -> Lease:
        """The same, so that what was written for it while BEFORE had it counts as well."""
        earlier = (each for each in before.hands if each not in self.hands)
        return self._replace(hands=(*earlier, *self.hands), base=before.base, begun=before.begun)

    def wrote(self, session: str, agent: str) -> bool:
        """Whether a commit says that it is of one who has or had the range."""
        return any(each.wrote(session, agent) for each in self.hands)

    def is_open(self, pending: Iterable[tuple[int, str]]) -> bool:
        """Whether anything of the range is among what is PENDING."""
        return any(self.range.has(number, chat) for number, chat in pending)

    def is_over(self, now: datetime) -> bool:
        """Whether it has lasted long enough, or was made by a clock that is ahead."""
        return not timedelta() <= now - self.since < LASTS


def holder_of(who: Who) -> Holder:
    """The holder of a range that WHO asks for; without a session, the agent's name alone counts."""
    return Holder(who.session, who.agent)


def new_token() -> str:
    """A token that nobody has."""
    return os.urandom(TOKEN_BYTES).hex()


def read_lease(gitdir: Path) -> Lease | None:
    """The range that is out; None where none is, or nobody can tell."""
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
        raise ValueError("nobody has it")
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
    """Remember that a range is out; StorageFailed where that cannot be."""
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
    if read_lease(gitdir) != lease:  # a token that nobody knows closes nothing
        raise StorageFailed(
            "the range cannot be handed out: the disk does not take the note of it",
            hint="free some space and repeat",
        )


def drop_lease(gitdir: Path) -> None:
    """No range is out any more."""
    with suppress(FileNotFoundError):
        os.unlink(gitdir / "gitmem" / NAME)


class SyncInFlight(Busy):
    """Somebody else is summarising just now."""

    code = "sync-in-flight"


class MessageRow(Record):
    """A message, as it is shown."""

    number: int
    id: str
    chat: str
    from_: str
    at: datetime
    text: str


class TranscriptPending(Record):
    """A range that is not summarised, and was handed out."""

    pending: int
    """How many messages are not summarised, all in all."""
    begin: int
    end: int
    """The range; 0 where nothing is pending."""
    chat: str
    messages: tuple[MessageRow, ...]
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


class _Selection(NamedTuple):
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
) -> TranscriptPending:
    """The oldest range that is not summarised, for this agent and session until it is closed."""
    check_access(group.acting, group.name, write=True)
    layout = layout_of(group)
    threshold = layout.transcripts.threshold
    # By the name that its messages bear, and before others have to wait for us.
    wanted, tip = chat, tip_of(group)
    last = tip.last if tip else 0
    chat = query_messages(
        group, tip, lambda connection: cache.stored_chat(connection, wanted) if wanted else ""
    )

    def answer(connection: Connection) -> _Selection:
        closed = checkpoint_state(connection).closed
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
        there = cache.numbers_in(connection, out) if out else ()
        exact = range_of(given, (number for number, _ in there), chat) if out else None
        known = not chat or bool(cache.spans(connection, chat))
        unread = has_open_unread(connection, closed, last)
        return _Selection(len(numbers), messages, exact, lease, known, unread)

    with Lock(lock_path(group.gitdir)):  # so that of two who ask one is the first
        found = query_messages(group, tip_of(group), answer)
        pending, messages, lease = found.pending, found.messages, found.lease
        now = group.moment()
        asking = holder_of(group.who)
        if lease and not take_over:
            _check_free(lease, asking, now)
        action = action_required(pending, threshold, f"/{sync_skill(layout.name)}")
        if found.range is None and (pending or found.unread):
            raise Damaged(
                "messages that are not summarised cannot be read, so none can be handed out",
                hint=Hint("run ", call("check", repair=True), ", then repeat"),
                pending=pending,
            )
        if found.range is None:
            return TranscriptPending(0, 0, 0, chat, (), "", None, 0, threshold, action, found.known)
        out = Lease(
            new_token(),
            found.range,
            (asking,),
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


def _check_free(lease: Lease, asking: Holder, now: datetime) -> None:
    """Raise unless the range may be handed out again."""
    if lease.holder == asking or lease.is_over(now):
        return
    minutes = int((now - lease.since).total_seconds() // 60)
    until = (lease.since + LASTS).astimezone(UTC)
    raise SyncInFlight(
        f"a sync is in flight: {lease.holder} has the range {lease.range.first}-{lease.range.last} "
        f"since {counted(minutes, 'minute')}",
        hint=Hint(f"wait until {until:%H:%M} UTC, or take it over: ", TAKE_OVER),
        session=lease.holder.session,
        agent=lease.holder.agent,
        begin=lease.range.first,
        end=lease.range.last,
        since=lease.since,
        until=until,
    )
