"""Read what was said: the chats, and the messages of one."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from gitmem.cache import messages as said
from gitmem.cache.database import Connection
from gitmem.cache.messages import Chat
from gitmem.errors import BadInput, Damaged, NotFound
from gitmem.memory.group import Group
from gitmem.memory.transcripts.pending import SaidRow
from gitmem.memory.transcripts.transcripts import ask_said, is_unreadable, messages_of, tip_of
from gitmem.model.transcripts.batches import Message

NEAR_SHOWN = 3


class TranscriptList(NamedTuple):
    """The chats, the one in which something was said last first."""

    commit: str
    chats: tuple[Chat, ...]
    unreadable: bool = False
    """Whether there are messages that cannot be read, of these chats or of others."""


class TranscriptShown(NamedTuple):
    """Messages of one chat, in the order in which they were said."""

    chat: str
    messages: tuple[SaidRow, ...]
    total: int
    """How many messages the chat has."""
    lost: tuple[int, ...] = ()
    """The numbers of those that should be among them and cannot be read."""
    unreadable: bool = False
    """Whether there are messages that cannot be read, of this chat or of others."""


def transcript_list(group: Group) -> TranscriptList:
    """All chats."""
    tip = tip_of(group)
    if tip is None:
        return TranscriptList("", ())
    chats, unreadable = ask_said(
        group, tip, lambda connection: (said.chats(connection), is_unreadable(connection))
    )
    return TranscriptList(tip.commit, tuple(chats), unreadable)


def transcript_show(group: Group, chat: str, *, last: int = 0) -> TranscriptShown:
    """The messages of CHAT, or those that were said LAST."""
    if last < 0:
        raise BadInput("there are no fewer than 0 messages", hint="leave it out for all")
    tip = tip_of(group)

    def answer(connection: Connection) -> tuple[TranscriptShown, list[str]]:
        name = said.meant(connection, chat)
        numbers = said.newest(connection, name, last)
        names = [] if numbers else [each.chat for each in said.chats(connection)]
        total = len(said.newest(connection, name, 0))
        found = sorted(messages_of(group, connection, numbers), key=_when)
        rows = tuple(SaidRow(*each) for each in found)
        lost = tuple(sorted(set(numbers).difference(each.number for each in rows)))
        unreadable = bool(lost) or is_unreadable(connection)
        return TranscriptShown(name, rows, total, lost, unreadable), names

    shown, names = ask_said(group, tip, answer)
    if not shown.total:
        raise _lost(shown.chat) if shown.unreadable else _unknown(shown.chat, names)
    return shown


def _lost(chat: str) -> Damaged:
    return Damaged(
        f"no message of a chat {chat!r} can be read, and some messages of this group cannot",
        hint="run `gitmem check --repair`",
        chat=chat,
    )


def _when(message: Message) -> tuple[datetime, int]:
    return message.at, message.number


def _unknown(chat: str, names: list[str]) -> NotFound:
    from difflib import get_close_matches  # only where something was mistyped

    near = get_close_matches(chat, names, NEAR_SHOWN, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `gitmem transcript list`"
    return NotFound(f"nothing was said in a chat {chat!r}", hint=hint, chat=chat, near=near)
