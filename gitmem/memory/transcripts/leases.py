"""Who is summarising: a range that was handed out, to whom, and whether that one still lives.

It is kept in the git directory, as long as it lasts. To lose it costs nothing: the range is handed
out again.
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
from gitmem.memory.transcripts.callers import Holder
from gitmem.model.transcripts.intervals import Range, read_range

NAME = "sync"
LASTS = timedelta(minutes=30)
"""After that whoever asks gets the range, though its holder may be alive."""
TOKEN_BYTES = 8


class Hand(NamedTuple):
    """Who writes memory for a range."""

    session: str
    agent: str

    def wrote(self, session: str, agent: str) -> bool:
        """Whether a commit says that it is ours; without a session, only one that has none."""
        return session == self.session and bool(session or agent == self.agent)


class Lease(NamedTuple):
    """A range that was handed out."""

    token: str
    range: Range
    hands: tuple[Hand, ...]
    """Who has it, and before that all who had it and did not close it."""
    holder: Holder
    since: datetime
    base: str
    """The commit of the branch when the first of them got it: what they write comes after it."""
    begun: datetime
    """When that was, for a branch that somebody has rewritten meanwhile."""

    @property
    def session(self) -> str:
        """The session that has it; nothing where it is of none."""
        return self.hands[-1].session

    @property
    def agent(self) -> str:
        """The agent that has it."""
        return self.hands[-1].agent

    @property
    def owner(self) -> str:
        """Who has it, in words."""
        named = f"the session {self.session}" if self.session else ""
        return named or f"{self.agent} (pid {self.holder.pid})"

    def belongs_to(self, session: str, holder: Holder) -> bool:
        """Whether who asks is who has it: by the session, or without any by the process."""
        if self.session or session:
            return self.session == session
        return self.holder.is_asked_by(holder)

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
            _holder(row),
            _moment(row["since"]),
            str(row["base"]),
            _moment(row["begun"]),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _holder(row: dict[str, str]) -> Holder:
    return Holder(int(row["pid"]), str(row["started"]), str(row["place"]), str(row["through"]))


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
        **lease.holder._asdict(),
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
