"""Whose edits are those that a hook finds in a work tree: never signed for a session by guess.

A tool that names its file is committed as it ends. What a shell has edited is found later, when a
turn of some session ends, and other sessions may have edited memory meanwhile. The transcripts of
those that were at work tell which command wrote to which file, and when. An edit is captured in
any case; where nobody can tell whose it is, it is by the host and of no session.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.hosts.hooks.calls import RUNNING, Call, calls_in, session_calls
from gitmem.hosts.table import HOSTS
from gitmem.operations.group import Group, Who
from gitmem.operations.sessions import known_sessions

if TYPE_CHECKING:
    from gitmem.hosts.hooks.answering import Asked
    from gitmem.operations.pending import PendingEdit


class _Candidate(NamedTuple):
    """A session that was at work, and what it did; None where that cannot be known."""

    who: Who
    calls: Sequence[Call] | None
    seen: float
    """When a hook of it was called last, or its transcript written."""

    def may_have(self, moment: float) -> bool:
        """Whether it may have made an edit at MOMENT."""
        if self.calls is None:
            return moment <= self.seen + RUNNING
        return any(each.covers(moment) for each in self.calls)

    def shows(self, path: str, moment: float) -> bool:
        """Whether a command of it that ran at MOMENT writes to PATH."""
        return any(each.covers(moment) and each.writes(path) for each in self.calls or ())


class Signatures:
    """Who signs the edits that a hook of one session finds."""

    def __init__(self, asked: Asked, group: Group) -> None:
        self._asked, self._group = asked, group
        self._own = group.who

    def __call__(self, edits: Sequence[PendingEdit]) -> dict[str, Who]:
        """Who made each of EDITS, by its path."""
        moments = {each.path: _moment(self._group.worktree, each) for each in edits}
        oldest = min(moments.values(), default=0.0)
        others = self._others(oldest)
        is_new = self._asked.name == "SessionStart"
        if not others and not is_new:
            return {path: self._aside(path, at, self._own) for path, at in moments.items()}
        own = _Candidate(self._own, self._calls(), time.time())
        return {
            path: self._signed(path, at, own, others, is_new=is_new) for path, at in moments.items()
        }

    def _signed(
        self, path: str, at: float, own: _Candidate, others: Sequence[_Candidate], *, is_new: bool
    ) -> Who:
        shown = [each.who for each in (own, *others) if each.shows(path, at)]
        if len(shown) == 1:
            return self._aside(path, at, shown[0])
        # A session that starts has written nothing yet, one of two is a guess, and so is the one
        # that ends where no command of it ran at that moment.
        unsure = is_new or shown or not own.may_have(at)
        if unsure or any(each.may_have(at) for each in others):
            return Who(self._asked.agent or self._asked.host, "", self._asked.host)
        return self._own

    def _calls(self) -> list[Call] | None:
        transcript = self._asked.payload.get("transcript_path")
        return session_calls(HOSTS[self._asked.host], str(transcript or ""))

    def _aside(self, path: str, at: float, who: Who) -> Who:
        """WHO, with the subagent that ends just now where its own transcript shows the write."""
        transcript = self._asked.payload.get("agent_transcript_path")
        if who != self._own or not self._asked.subagent or not isinstance(transcript, str):
            return who
        found = calls_in(HOSTS[self._asked.host], transcript) or ()
        is_its = any(each.covers(at) and each.writes(path) for each in found)
        return who._replace(subagent=self._asked.subagent) if is_its else who

    def _others(self, oldest: float) -> list[_Candidate]:
        """The other sessions of the group that were at work since the OLDEST edit."""
        found = []
        for known, seen in known_sessions(self._group.gitdir):
            if known.id == self._asked.session or known.host not in HOSTS:
                continue
            active = max(seen, _modified(known.transcript))
            if active + RUNNING < oldest:
                continue
            calls = session_calls(HOSTS[known.host], known.transcript)
            found.append(_Candidate(Who(known.host, known.id, known.host), calls, active))
        return found


def _modified(transcript: str) -> float:
    with suppress(OSError, ValueError):
        return os.stat(os.path.expanduser(transcript)).st_mtime if transcript else 0.0
    return 0.0


def _moment(worktree: Path, edit: PendingEdit) -> float:
    """When an edit was made: renaming and restored times do not change this."""
    for place in (worktree / edit.path, (worktree / edit.path).parent):
        with suppress(OSError):
            return os.lstat(place).st_ctime
    return time.time()
