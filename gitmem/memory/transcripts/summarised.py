"""Close what another program has summarised before its messages came here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as said
from gitmem.cache.database import Connection
from gitmem.memory.group import Group
from gitmem.memory.transcripts.transcripts import (
    AT,
    CHECKPOINT,
    COUNT,
    RANGE,
    ask_said,
    pending_numbers,
    standing,
    tip_of,
)
from gitmem.model.commit_messages import title_of
from gitmem.model.guards import MAX_MESSAGE
from gitmem.model.text.numbers import counted
from gitmem.model.transcripts.batches import blanked, chat_name, key_of, plain_id
from gitmem.model.transcripts.intervals import Range, range_of
from gitmem.store.transaction.publish import Plan, Step

NO_SUMMARY = "Summarised before it was imported"


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
        found = ask_said(group, tip, lambda connection: list(_ranges(connection, parts)))
        steps = tuple(_step(group, *each) for each in found)
        if steps:
            writer.publish(lambda _: Plan(steps, None))
    return sum(count for _, count, _ in found)


def _ranges(
    connection: Connection, parts: Sequence[Summarised]
) -> Iterator[tuple[Range, int, Summarised]]:
    """What each of PARTS closes that is open: the range, how many messages, and the part."""
    stands = standing(connection)
    again = [deed.closes for deed in stands.reopened if deed.closes]
    pending = {
        number
        for number, chat in pending_numbers(connection, stands.closed)
        if not any(each.has(number, chat) for each in again)
    }
    for part in parts:
        keys = [key_of(chat_name(chat)[0], plain_id(id)[0]) for chat, id in part.messages]
        chosen = sorted(pending.intersection(said.numbers_by_key(connection, keys)))
        if chosen:
            there = said.numbers_in(connection, Range(chosen[0], chosen[-1]))
            exact = range_of(chosen, (number for number, _ in there))
            pending.difference_update(chosen)
            yield exact, len(chosen), part


def _step(group: Group, closes: Range, count: int, part: Summarised) -> Step:
    text = blanked(part.summary.strip())[0][:MAX_MESSAGE] or NO_SUMMARY
    title = f"{counted(count, 'message')}: {title_of(text)}"
    made = ((AT, part.at.isoformat()),) if part.at else ()
    extra = ((RANGE, str(closes)), (COUNT, str(count)), *made)
    return Step({}, group.note(CHECKPOINT, reason=text)._replace(title=title, extra=extra))
