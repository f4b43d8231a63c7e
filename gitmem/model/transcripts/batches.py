"""Transcripts as stored: messages in immutable batches.

A batch is a file of JSON lines. Every message gets a number when it is stored, so that ranges have
names; numbers only grow and are never reused, not even after old messages were pruned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import NamedTuple

from gitmem.model.commit_messages import visible

REF = "refs/gitmem/transcripts"
"""The ref of transcripts: apart from memory, and in no work tree."""
OP = "transcript"
"""The operation in the commits of that ref."""
NUMBERS = "Gitmem-Messages"
"""The trailer with the numbers that a commit added, or the last one ever used."""
BEGAN = "Gitmem-Began"
"""The trailer with the commit of the branch when the first message was stored."""
FORGOTTEN = "forgotten"
"""The file with the keys of pruned messages, which are not stored again."""
_UUID = r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
SUFFIX = ".jsonl"
DIGITS = 10
MOST = 10**18
"""The greatest number of a message."""
NONE_NEW = "No new conversations since last checkpoint."
"""The message for a session when every message is summarised."""
SYNC = "gitmem-memory"
"""The skill that summarises conversations."""
_SYNC_NAMES = {"zylos": "zylos-memory"}
"""Layouts whose users know the skill by another name."""
KEY = 8
"""The size of the key of a message, in bytes."""
DIGEST = 16
"""The length of the digest that replaces a redacted name."""


class Message(NamedTuple):
    """One message."""

    number: int
    id: str
    """Its id at its source; an id of a chat is stored once."""
    chat: str
    sender: str
    """The sender; `from` in JSON."""
    at: datetime
    text: str


def sync_skill(layout: str) -> str:
    """Return the name of the sync skill in a group of LAYOUT."""
    return _SYNC_NAMES.get(layout, SYNC)


def with_sync_skill(text: str, layout: str) -> str:
    """Return TEXT with the name of the sync skill in a group of LAYOUT."""
    return text.replace(f"/{SYNC}", f"/{sync_skill(layout)}")


def redacted(text: str) -> tuple[str, int]:
    """Return TEXT with its credentials redacted, and their number."""
    from gitmem.model.secrets.find import SHORTEST_SECRET, redact  # reading needs no rules

    return redact(text) if len(text) >= SHORTEST_SECRET else (text, 0)


def chat_name(chat: str) -> tuple[str, int]:
    """Return the stored name of CHAT, on one line and redacted, and the number of credentials.

    A digest distinguishes chats whose names differ in credentials only.
    """
    plain, count = redacted(chat)
    return visible(f"{plain} ({_digest(chat)})" if count else chat), count


def plain_id(id: str) -> tuple[str, int]:
    """Return ID as stored, a digest if it has a credential, and the number of credentials."""
    count = redacted(id)[1]
    return (_digest(id) if count else id), count


def _digest(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:DIGEST]


def key_of(chat: str, id: str) -> bytes:
    """Return the key of a message: a digest of its chat and its id, or of a UUID alone.

    Hosts copy messages into the file of a session that continues another one.
    """
    where = "" if re.fullmatch(_UUID, id) else chat
    text = f"{where}\0{id}".encode("utf-8", "surrogatepass")
    return sha1(text, usedforsecurity=False).digest()[:KEY]


def batch_path(came: datetime, first: int) -> str:
    """Return the path of the batch stored at CAME that begins with the message FIRST.

    By day and hour, so that no folder grows for ever and adding to one stays cheap.
    """
    return f"{came.astimezone(UTC):%Y-%m-%d/%H}/{first:0{DIGITS}}{SUFFIX}"


def is_batch(path: str) -> bool:
    """Whether the file at PATH is a batch."""
    return path.endswith(SUFFIX)


def first_in(path: str) -> int:
    """Return the number of the first message in the batch at PATH; 0 for another file."""
    name = path.rpartition("/")[2].removesuffix(SUFFIX)
    return int(name) if is_batch(path) and name.isdecimal() and name.isascii() else 0


def encode(messages: Iterable[Message]) -> bytes:
    """Return MESSAGES as the content of a batch."""
    return b"".join(_line(each) for each in messages)


def decode(data: bytes) -> Iterator[Message]:
    """Yield the messages of a batch; invalid lines are skipped."""
    for line in data.split(b"\n"):
        found = _message(line) if line else None
        if found:
            yield found


def decode_one(data: bytes, number: int) -> Message | None:
    """Return the message NUMBER of a batch, without parsing the others where possible."""
    head = f'{{"n": {number},'.encode()
    start = 0 if data.startswith(head) else data.find(b"\n" + head) + 1
    if start or data.startswith(head):
        found = _message(data[start:].partition(b"\n")[0])
        if found:
            return found
    return next((each for each in decode(data) if each.number == number), None)


def encode_keys(keys: Iterable[bytes]) -> bytes:
    """Return KEYS as the content of the file of pruned messages."""
    return b"".join(each.hex().encode() + b"\n" for each in sorted(set(keys)))


def decode_keys(data: bytes) -> Iterator[bytes]:
    """Yield the keys in a file of pruned messages."""
    for line in data.split(b"\n"):
        try:
            key = bytes.fromhex(line.decode("ascii"))
        except ValueError:
            continue
        if len(key) == KEY:
            yield key


def span(text: str) -> tuple[int, int]:
    """Return the first and last number of `12-45`; 0 and 0 for another text."""
    found = re.fullmatch(r"([0-9]{1,18})-([0-9]{1,18})", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _line(message: Message) -> bytes:
    from json import dumps  # not needed to know whether there are messages

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
