"""Close a range of messages with a summary, once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as cache
from gitmem.cache.database import Connection
from gitmem.errors import BadInput, Conflict, Damaged, GitmemError
from gitmem.memory.group import Group
from gitmem.memory.resolve import resolve
from gitmem.memory.transcripts.pending import TAKE_OVER, Lease, drop_lease, holder_of, read_lease
from gitmem.memory.transcripts.transcripts import (
    AT,
    CHAT,
    CHECKPOINT,
    COUNT,
    COVERS,
    RANGE,
    checkpoint_state,
    is_unreadable,
    pending_numbers,
    query_messages,
    read_checkpoint,
    tip_of,
)
from gitmem.memory.write.capture import capture
from gitmem.memory.write.retries import find_earlier
from gitmem.model.commit_messages import parse, title_of
from gitmem.model.guards import MAX_MESSAGE, check_message_text
from gitmem.model.hints import Hint, Option, call
from gitmem.model.record import Record
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import chat_name, key_of, plain_id, redacted
from gitmem.model.transcripts.intervals import Range, range_of
from gitmem.store.history.log import walk
from gitmem.store.repository import Commit
from gitmem.store.transaction.plan import Plan, Step

AGAIN = Hint("ask for the range again: ", call("transcript pending"))
NO_SUMMARY = "Summarised before it was imported"


class StaleToken(Conflict):
    """The caller no longer holds the range."""

    code = "stale-token"


class TranscriptCheckpointed(Record):
    """A closed range."""

    commit: str
    begin: int
    end: int
    chat: str
    messages: int
    """How many messages were closed."""
    summary: str
    covers: tuple[str, ...]
    """The commits with the summarised content; undoing one of them reopens the range."""
    recognised: bool = False
    """Whether an earlier call with the same token had closed it."""
    snapshot: str = ""
    """The snapshot of today, if memory has changed since the last one."""


def transcript_checkpoint(
    group: Group,
    summary: str,
    *,
    token: str = "",
    covers: Sequence[str] = (),
) -> TranscriptCheckpointed:
    """Close the range of TOKEN, or the one that this agent and session hold.

    Newer messages stay pending. A checkpoint ends a memory sync, so it takes the snapshot of today
    again; the earlier one is kept.
    """
    done = _closed(group, summary, token, covers)
    return done._replace(snapshot=_tagged(group))


def _tagged(group: Group) -> str:
    from gitmem.memory.upkeep.snapshot import snapshot

    with suppress(GitmemError, OSError):  # the range is closed; `status` reports the rest
        done = snapshot(group, force=True)
        return done.name if done.made else ""
    return ""


def _closed(
    group: Group, summary: str, token: str, covers: Sequence[str]
) -> TranscriptCheckpointed:
    if not summary.strip():
        raise BadInput("the summary is empty", hint="summarise the messages in a few lines")
    check_message_text("summary", summary)
    note = group.note(CHECKPOINT, reason=summary.strip())
    named = _named(group, covers)
    with suppress(GitmemError, OSError):  # cover edits made with an editor, if possible
        capture(group)
    query_messages(group, tip_of(group), lambda _: None)  # update the cache before taking the lock
    with group.writing() as writer:
        lease = read_lease(group.gitdir)
        earlier = find_earlier(group.repository, token, CHECKPOINT) if token else None
        if earlier:
            _check_counts(group, earlier)
            return _recognised(group.repository.commit(earlier), summary)
        lease = _checked(lease, group, token)
        count = _open_in(group, lease.range)
        found = named or _since(group, lease)
        where = ((CHAT, lease.range.chat),) if lease.range.chat else ()
        facts = ((RANGE, str(lease.range)), *where, (COUNT, str(count)))
        title = f"{counted(count, 'message')}: {title_of(summary)}"
        extra = (*facts, *((COVERS, each) for each in found))
        done = note._replace(id=lease.token, title=title, extra=extra)
        commit = writer.publish(lambda _: Plan((Step({}, done),), None)).commit
        drop_lease(group.gitdir)
    begin, end, chat, _ = lease.range
    return TranscriptCheckpointed(commit, begin, end, chat, count, summary.strip(), found)


def _named(group: Group, covers: Sequence[str]) -> tuple[str, ...]:
    """The commits named in COVERS; BadInput for one that is not on the branch."""
    found = tuple(resolve(group, each) for each in covers)
    missing = set(found)
    for commit in walk(group.repository, group.repository.tip()) if found else ():
        missing.discard(commit.oid)
        if not missing:
            return found
    if missing:
        strange = min(missing)
        text = f"{strange[:10]} is not on the branch"
        raise BadInput(text, hint=Hint("see ", call("log")), commit=strange)
    return found


def _checked(lease: Lease | None, group: Group, token: str) -> Lease:
    """LEASE, if the caller holds it; StaleToken otherwise."""
    if lease is None:
        raise StaleToken("no range is handed out", hint=AGAIN)
    if token == lease.token or (not token and lease.holder == holder_of(group.who)):
        return lease
    if token:
        text = "unknown token: the range was handed out again or is closed"
        raise StaleToken(text, hint=AGAIN)
    raise StaleToken(
        f"{lease.holder} holds the range {lease.range.first}-{lease.range.last}",
        hint=Hint("repeat with its ", Option("token"), ", or take it over: ", TAKE_OVER),
    )


def _open_in(group: Group, leased: Range) -> int:
    """How many messages of a range are not summarised; raises where there are none."""

    def answer(connection: Connection) -> tuple[int, bool]:
        numbers = pending_numbers(connection, checkpoint_state(connection).closed, leased.chat)
        found = sum(leased.has(number, chat) for number, chat in numbers)
        return found, is_unreadable(connection)

    count, unread = query_messages(group, tip_of(group), answer)
    if not count and unread:
        raise Damaged(
            "the messages of this range cannot be read, so it stays open",
            hint=Hint("run ", call("check", repair=True), ", then repeat"),
        )
    if not count:
        drop_lease(group.gitdir)
        raise StaleToken(
            f"the range {leased.first}-{leased.last} is already summarised",
            hint=Hint("see ", call("log", op="checkpoint")),
        )
    return count


def _since(group: Group, lease: Lease) -> tuple[str, ...]:
    """The commits made for a range since it was handed out, oldest first."""
    found: list[Commit] = []
    for commit in group.repository.history(group.repository.tip()):
        if commit.oid == lease.base:
            break
        note = parse(commit.message)
        if lease.wrote(note.session, note.agent) and note.op not in ("", "undo", CHECKPOINT):
            found.append(commit)
    else:  # the branch was rewritten by hand: compare times
        found = [each for each in found if each.time >= lease.begun.replace(microsecond=0)]
    return tuple(each.oid for each in reversed(found))


def _check_counts(group: Group, commit: str) -> None:
    """Refuse a token whose checkpoint was undone: its range is open again."""
    reopened = query_messages(
        group, tip_of(group), lambda connection: checkpoint_state(connection).reopened
    )
    if any(each.oid == commit for each in reopened):
        raise StaleToken(
            f"the range that this token closed in {commit[:10]} is open again",
            hint=AGAIN,
            commit=commit,
        )


def _recognised(commit: Commit, summary: str) -> TranscriptCheckpointed:
    note = parse(commit.message)
    if note.body.split() != summary.split():
        raise StaleToken(
            f"this token closed its range already, in {commit.oid[:10]}",
            hint=Hint("see its summary: ", call("show", commit.oid[:10])),
            commit=commit.oid,
        )
    found, count = read_checkpoint(commit), note.get(COUNT)
    return TranscriptCheckpointed(
        found.commit,
        found.begin,
        found.end,
        found.chat,
        int(count) if count.isdecimal() else 0,
        found.summary,
        note.all(COVERS),
        recognised=True,
    )


class Summarised(NamedTuple):
    """Messages that another program has summarised."""

    messages: Sequence[tuple[str, str]]
    """The chat and the id of each."""
    summary: str
    at: datetime | None = None
    """When that was, where the program says it."""


def transcript_summarised(group: Group, parts: Sequence[Summarised]) -> int:
    """Close the messages of PARTS that are pending, one checkpoint for each; how many that were.

    What was closed before and opened again by `undo` stays open: somebody meant that.
    """
    if not any(each.messages for each in parts):
        return 0
    with group.writing() as writer:
        tip = tip_of(group)
        found = query_messages(group, tip, lambda connection: list(_ranges(connection, parts)))
        steps = tuple(_step(group, *each) for each in found)
        if steps:
            writer.publish(lambda _: Plan(steps, None))
    return sum(count for _, count, _ in found)


def _ranges(
    connection: Connection, parts: Sequence[Summarised]
) -> Iterator[tuple[Range, int, Summarised]]:
    """What each of PARTS closes that is open: the range, how many messages, and the part."""
    stands = checkpoint_state(connection)
    again = [deed.closes for deed in stands.reopened if deed.closes]
    pending = {
        number
        for number, chat in pending_numbers(connection, stands.closed)
        if not any(each.has(number, chat) for each in again)
    }
    for part in parts:
        keys = [key_of(chat_name(chat)[0], plain_id(id)[0]) for chat, id in part.messages]
        chosen = sorted(pending.intersection(cache.numbers_by_key(connection, keys)))
        if chosen:
            there = cache.numbers_in(connection, Range(chosen[0], chosen[-1]))
            exact = range_of(chosen, (number for number, _ in there))
            pending.difference_update(chosen)
            yield exact, len(chosen), part


def _step(group: Group, closes: Range, count: int, part: Summarised) -> Step:
    text = redacted(part.summary.strip())[0][:MAX_MESSAGE] or NO_SUMMARY
    title = f"{counted(count, 'message')}: {title_of(text)}"
    made = ((AT, part.at.isoformat()),) if part.at else ()
    extra = ((RANGE, str(closes)), (COUNT, str(count)), *made)
    return Step({}, group.note(CHECKPOINT, reason=text)._replace(title=title, extra=extra))
