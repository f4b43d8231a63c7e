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
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.integrations.hooks.signing.tool_calls import (
    ASIDE,
    RUNNING,
    WRITING,
    Call,
    calls_in,
    modified,
    session_calls,
)
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.group import Group, Who
from gitmem.memory.transcripts.live import LiveSession, live_sessions

if TYPE_CHECKING:
    from gitmem.integrations.hooks.answer import Asked
    from gitmem.memory.write.open_edits import PendingEdit

MOST = 24
"""Sessions whose transcripts are read; any other that was at work may have made every edit."""


class _Edit(NamedTuple):
    """An edit, as far as the disk tells of it."""

    path: str
    """Where the file really is."""
    at: float
    exact: bool
    """Whether it was made just AT that time; else then or earlier."""


class _Candidate(NamedTuple):
    """A session that was at work, and what it did; None where that cannot be known."""

    who: Who
    calls: Sequence[Call] | None
    seen: float
    """When a hook of it was called last, or its transcript written."""

    def may_have_made(self, edit: _Edit) -> bool:
        """Whether it may have made EDIT."""
        if self.calls is None:
            return not edit.exact or edit.at <= self.seen + RUNNING
        return any(
            each.covers(edit.at, exact=edit.exact) and each.may_write(edit.path)
            for each in self.calls
        )

    def shown(self, edit: _Edit) -> list[Call]:
        """Its calls that ran when EDIT was made, and say that they write to that file."""
        return [each for each in self.calls or () if each.shows(edit.path, edit.at)]

    def wrote_since(self, edit: _Edit, commit: float) -> bool:
        """Whether it wrote to the same file before, and no COMMIT holds that yet."""
        shell = (each for each in self.calls or () if each.name not in WRITING)
        return any(
            commit <= each.ended and each.begun <= edit.at and each.writes.surely(edit.path)
            for each in shell
        )

    def names(self, edit: _Edit) -> bool:
        """Whether a call that ran when EDIT was made names a file that may be the same."""
        return any(
            each.covers(edit.at, exact=edit.exact) and each.writes.names(edit.path)
            for each in self.calls or ()
        )


class Signatures:
    """Who signs the edits that a hook of one session finds."""

    def __init__(self, asked: Asked, group: Group) -> None:
        self._asked, self._group = asked, group
        self._own = group.who

    def __call__(self, edits: Sequence[PendingEdit]) -> dict[str, Who]:
        """Who made each of EDITS, by its path."""
        found = {each.path: _edit(self._group.worktree, each) for each in edits}
        oldest = min((each.at for each in found.values()), default=0.0)
        others = self._others(oldest)
        is_new = self._asked.name == "SessionStart"
        if not others and not is_new:
            return {path: self._aside(edit, self._own) for path, edit in found.items()}
        own = _Candidate(self._own, self._calls(), time.time())
        return {path: self._signed(edit, own, others, is_new) for path, edit in found.items()}

    def _signed(
        self, edit: _Edit, own: _Candidate, others: Sequence[_Candidate], is_new: bool
    ) -> Who:
        nobody = Who(self._asked.agent or self._asked.host, "", self._asked.host)
        everybody = (own, *others)
        shown = [each for each in everybody if each.shown(edit)]
        if len(shown) == 1 and self._is_sure(shown[0], edit, everybody):
            return self._aside(edit, shown[0].who)
        # A session that starts has written nothing yet, one of two is a guess, and so is the one
        # that ends where no command of it ran at that moment.
        unsure = is_new or shown or not own.may_have_made(edit)
        if unsure or any(each.may_have_made(edit) for each in others):
            return nobody
        return self._own

    def _is_sure(self, one: _Candidate, edit: _Edit, everybody: Sequence[_Candidate]) -> bool:
        """Whether the edit that a command of ONE shows is of nobody else, too.

        A command that has only just begun wrote the file then. Later it may have been another that
        does not say what it writes.
        """
        others = [each for each in everybody if each is not one]
        if any(each.wrote_since(edit, self._committed) for each in others):
            return False
        if edit.exact and any(each.is_at_once(edit.at) for each in one.shown(edit)):
            return not any(each.names(edit) for each in others)
        return not any(each.may_have_made(edit) for each in others)

    @cached_property
    def _committed(self) -> float:
        """When the group got its newest commit; what was written before is captured by then."""
        with suppress(OSError):
            return os.stat(self._group.gitdir / "refs/heads/main").st_mtime
        return 0.0

    def _calls(self) -> list[Call] | None:
        transcript = self._asked.payload.get("transcript_path")
        return session_calls(HOSTS[self._asked.host], str(transcript or ""))

    def _aside(self, edit: _Edit, who: Who) -> Who:
        """WHO, with the subagent that ends just now where its own transcript shows the write."""
        transcript = self._asked.payload.get("agent_transcript_path")
        if who != self._own or not self._asked.subagent or not isinstance(transcript, str):
            return who
        found = calls_in(HOSTS[self._asked.host], transcript) or ()
        is_its = any(each.shows(edit.path, edit.at) for each in found)
        return who._replace(subagent=self._asked.subagent) if is_its else who

    def _others(self, oldest: float) -> list[_Candidate]:
        """The other sessions of the store that were at work since the OLDEST edit."""
        active = {
            known: max(seen, modified(known.transcript))
            for known, seen in live_sessions(self._asked.store)
            if known.id != self._asked.session and known.host in HOSTS
        }
        told = {known.id for known in active if known.transcript}
        found = [
            (known, at)
            for known, at in sorted(active.items(), key=lambda each: -each[1])
            if at + ASIDE >= oldest and (known.transcript or known.id not in told)
        ]
        return [_candidate(known, at, number < MOST) for number, (known, at) in enumerate(found)]


def _candidate(known: LiveSession, seen: float, is_read: bool) -> _Candidate:
    calls = session_calls(HOSTS[known.host], known.transcript) if is_read else None
    return _Candidate(Who(known.host, known.id, known.host), calls, seen)


def _edit(worktree: Path, edit: PendingEdit) -> _Edit:
    """When and where an edit was made: renaming and restored times do not change that.

    Of a file that is gone only its folder tells, and that changes with other files, too.
    """
    place = worktree / edit.path
    path = f"{os.path.realpath(place.parent)}/{place.name}"
    for each in (place, *place.parents):
        with suppress(OSError):
            return _Edit(path, os.lstat(each).st_ctime, each == place)
    return _Edit(path, time.time(), exact=False)
