"""The lease of a range of messages that an agent is summarising.

It is a file in the git directory and disposable: without it the range is handed out again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from gitmem.cache.files import put
from gitmem.errors import StorageFailed
from gitmem.memory.group import Who
from gitmem.model.transcripts.intervals import Range, read_range

NAME = "sync"
LASTS = timedelta(minutes=30)
"""After that anyone who asks gets the range: whether its holder still works is not known."""
TOKEN_BYTES = 8


class Hand(NamedTuple):
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
    hands: tuple[Hand, ...]
    """The holder last, and before it all who had the range and did not close it."""
    since: datetime
    base: str
    """The commit of the branch when the first of them got it: what they write comes after it."""
    begun: datetime
    """When that was, for a branch that somebody has rewritten meanwhile."""

    @property
    def holder(self) -> Hand:
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


def hand_of(who: Who) -> Hand:
    """The holder of a range that WHO asks for; without a session, the agent's name alone counts."""
    return Hand(who.session, who.agent)


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


def _hands(rows: list[tuple[object, object]]) -> tuple[Hand, ...]:
    found = tuple(Hand(str(session), str(agent)) for session, agent in rows)
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
