"""What was said, as it is kept: messages in numbered, immutable batches.

A batch is a file of JSON lines. Every message has a number, given when it came in, so that a range
of them can be named; numbers only grow and are never given twice, also after old ones were dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import NamedTuple

from gitmem.model.commit_messages import visible

REF = "refs/gitmem/transcripts"
"""Where transcripts live: apart from memory, and in no work tree."""
OP = "transcript"
"""What commits there say they did."""
NUMBERS = "Gitmem-Messages"
"""The trailer with the numbers that a commit brought, or the last one ever given."""
BEGAN = "Gitmem-Began"
"""The trailer with the commit of the branch at which the first message came in."""
FORGOTTEN = "forgotten"
"""The file with the keys of messages that were dropped: they are not taken in again."""
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
SUFFIX = ".jsonl"
DIGITS = 10
MOST = 10**18
"""No number is greater than this."""
NONE_NEW = "No new conversations since last checkpoint."
"""What a session is told when all that was said is summarised."""
SYNC = "gitmem-memory"
"""The skill that summarises what was said."""
_SYNC_NAMES = {"zylos": "zylos-memory"}
"""Layouts with which the skill is installed under another name, too: the one that is used there."""
KEY = 8
"""The bytes by which a message is known."""
DIGEST = 16
"""The digits by which a name is known that may not be kept."""


class Message(NamedTuple):
    """One thing that somebody said."""

    number: int
    id: str
    """By which it is known where it comes from: no id of a chat is taken in twice."""
    chat: str
    sender: str
    """Who said it; `from` in JSON."""
    at: datetime
    text: str


def sync_skill(layout: str) -> str:
    """The name of the sync skill in a group of LAYOUT."""
    return _SYNC_NAMES.get(layout, SYNC)


def with_sync_skill(text: str, layout: str) -> str:
    """TEXT, which calls the sync skill, with the name that it has in a group of LAYOUT."""
    return text.replace(f"/{SYNC}", f"/{sync_skill(layout)}")


def redacted(text: str) -> tuple[str, int]:
    """TEXT without credentials, and how many of them there were."""
    from gitmem.model.secrets.find import SHORTEST_SECRET, redact  # not for who only reads

    return redact(text) if len(text) >= SHORTEST_SECRET else (text, 0)


def chat_name(chat: str) -> tuple[str, int]:
    """CHAT as it is kept, on one line and without credentials, and how many of them there were.

    A digest tells two chats apart whose names differ only in those.
    """
    plain, count = redacted(chat)
    return visible(f"{plain} ({_digest(chat)})" if count else chat), count


def plain_id(id: str) -> tuple[str, int]:
    """An id as it is kept: one that looks like a credential only by a digest of it."""
    count = redacted(id)[1]
    return (_digest(id) if count else id), count


def _digest(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]


def key_of(chat: str, id: str) -> bytes:
    """What a message is known by: its chat and its id; a UUID is one in whatever chat it comes.

    Hosts copy what was said into the file of a session that goes on from another one.
    """
    where = "" if re.fullmatch(_UUID, id) else chat
    text = f"{where}\0{id}".encode("utf-8", "surrogatepass")
    return sha1(text, usedforsecurity=False).digest()[:KEY]


def batch_path(came: datetime, first: int) -> str:
    """Where the batch lies that came in at CAME and begins with the message FIRST.

    By day and hour, so that no folder grows for ever and adding to it stays cheap.
    """
    return f"{came.astimezone(UTC):%Y-%m-%d/%H}/{first:0{DIGITS}}{SUFFIX}"


def is_batch(path: str) -> bool:
    """Whether the file at PATH holds messages."""
    return path.endswith(SUFFIX)


def first_in(path: str) -> int:
    """The number of the first message in the batch at PATH; 0 for another file."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX)
    return int(name) if is_batch(path) and name.isdecimal() and name.isascii() else 0


def encode(messages: Iterable[Message]) -> bytes:
    """A batch as its file has it."""
    return b"".join(_line(each) for each in messages)


def decode(data: bytes) -> Iterator[Message]:
    """The messages of a batch; a line that is none is passed over."""
    for line in data.split(b"\n"):
        found = _message(line) if line else None
        if found:
            yield found


def decode_one(data: bytes, number: int) -> Message | None:
    """The message NUMBER of a batch; no other is looked at, if it stands there as we write it."""
    head = f'{{"n": {number},'.encode()
    start = 0 if data.startswith(head) else data.find(b"\n" + head) + 1
    if start or data.startswith(head):
        found = _message(data[start:].partition(b"\n")[0])
        if found:
            return found
    return next((each for each in decode(data) if each.number == number), None)


def encode_keys(keys: Iterable[bytes]) -> bytes:
    """The keys of dropped messages as their file has them."""
    return b"".join(each.hex().encode() + b"\n" for each in sorted(set(keys)))


def decode_keys(data: bytes) -> Iterator[bytes]:
    """The keys in a file of dropped messages."""
    for line in data.split(b"\n"):
        try:
            key = bytes.fromhex(line.decode("ascii"))
        except ValueError:
            continue
        if len(key) == KEY:
            yield key


def span(text: str) -> tuple[int, int]:
    """The first and last number that `12-45` names; 0 and 0 where it names none."""
    found = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _line(message: Message) -> bytes:
    from json import dumps  # not for who only wants to know whether anything was said

    row = {
        "n": message.number,
        "id": message.id,
        "chat": message.chat,
        "from": message.sender,
        "at": message.at.isoformat(),
        "text": message.text,
    }
    return dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _message(line: bytes) -> Message | None:
    from json import loads

    try:
        row = loads(line)
        at = datetime.fromisoformat(row["at"])
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        words = (row["id"], row["chat"], row["from"], row["text"])
        is_number = type(row["n"]) is int and 0 < row["n"] <= MOST
        if not is_number or not all(isinstance(each, str) for each in words):
            return None
        return Message(row["n"], row["id"], row["chat"], row["from"], at, row["text"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
