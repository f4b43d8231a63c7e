"""What was said, as it is kept: messages in numbered, immutable batches.

A batch is a file of JSON lines. Every message has a number, given when it came in, so that a range
of them can be named; numbers only grow and are never given twice, also after old ones were dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

REF = "refs/gitmem/transcripts"
"""Where transcripts live: apart from memory, and in no work tree."""
SUFFIX = ".jsonl"
DIGITS = 10


class Message(NamedTuple):
    """One thing that somebody said."""

    number: int
    id: str
    """By which it is known where it comes from: no id is taken in twice."""
    chat: str
    sender: str
    """Who said it; `from` in JSON."""
    at: datetime
    text: str


def batch_path(came: datetime, first: int) -> str:
    """Where the batch lies that came in at CAME and begins with the message FIRST.

    By day and hour, so that no folder grows for ever and adding to it stays cheap.
    """
    return f"{came.astimezone(UTC):%Y-%m-%d/%H}/{first:0{DIGITS}}{SUFFIX}"


def first_number(path: str) -> int:
    """The number of the first message in the batch at PATH; 0 for what is no batch."""
    name = path.rpartition("/")[2]
    digits = name.removesuffix(SUFFIX)
    return int(digits) if name.endswith(SUFFIX) and digits.isascii() and digits.isdigit() else 0


def encode(messages: Iterable[Message]) -> bytes:
    """A batch as its file has it."""
    return b"".join(_line(each) for each in messages)


def decode(data: bytes) -> Iterator[Message]:
    """The messages of a batch; a line that is none is passed over."""
    for line in data.split(b"\n"):
        found = _message(line) if line else None
        if found:
            yield found


def _line(message: Message) -> bytes:
    row = {
        "n": message.number,
        "id": message.id,
        "chat": message.chat,
        "from": message.sender,
        "at": message.at.isoformat(),
        "text": message.text,
    }
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _message(line: bytes) -> Message | None:
    try:
        row = json.loads(line)
        at = datetime.fromisoformat(row["at"])
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        words = (row["id"], row["chat"], row["from"], row["text"])
        if not all(isinstance(each, str) for each in words):
            return None
        return Message(int(row["n"]), row["id"], row["chat"], row["from"], at, row["text"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
