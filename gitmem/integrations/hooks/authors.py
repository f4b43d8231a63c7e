"""Attribute the edits that a hook finds in a work tree to sessions, never by guess.

A tool that names its file is captured as it ends. An edit by a shell is found later, when a turn of
some session ends, and other sessions may have edited memory meanwhile. The transcripts of active
sessions tell which command wrote to which file, and when. An edit is captured in any case; where
its session is unsure, its author is the host and it names no session.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gitmem.integrations.hooks.tool_calls import (
    ASIDE,
    RUNNING,
    SLACK,
    ToolCall,
    calls_in,
    modified,
    session_calls,
)
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.group import Group, Who
from gitmem.memory.transcripts.sessions import LiveSession, live_sessions
from gitmem.memory.write.last_scan import captured_until, is_among

if TYPE_CHECKING:
    from gitmem.integrations.hooks.protocol import Event
    from gitmem.memory.write.open_edits import PendingEdit

MOST = 24
"""Sessions whose transcripts are read; any other active one may have made every edit."""
_FIRST = ("startup", "clear")
"""Sources of a start whose session has no transcript yet."""


class _DatedEdit(NamedTuple):
    """An edit with the times that the disk tells."""

    paths: tuple[str, ...]
    """The real path of the file, and its old one if it has moved."""
    since: float
    """Everything written before is captured; 0 where that is unknown."""
    at: float
    """The last write."""
    exact: bool
    """Whether AT is exact; else the write was then or earlier."""


class _ActiveSession(NamedTuple):
    """An active session with its tool calls; None where they are unknown."""

    who: Who
    calls: Sequence[ToolCall] | None
    active: float
    """When its last hook ran, or its transcript was written."""

    def may_have_written(self, edit: _DatedEdit) -> bool:
        """Whether it may have made any part of EDIT."""
        if self.calls is None:
            return edit.since <= self.active + RUNNING
        return any(each.may_write(edit.paths, edit.since, edit.at) for each in self.calls)

    def was_at_work(self, edit: _DatedEdit) -> bool:
        """Whether a call that may write to the file ran at the time of EDIT."""
        if self.calls is None:
            return not edit.exact or edit.at <= self.active + RUNNING
        found = (each for each in self.calls if each.may_write(edit.paths, edit.since, edit.at))
        return any(not edit.exact or each.runs_at(edit.at) for each in found)

    def shows(self, edit: _DatedEdit) -> bool:
        """Whether a call at the time of EDIT names that file as its target."""
        return any(each.shows(edit.paths[0], edit.at) for each in self.calls or ())


class Authors:
    """The authors of the edits that a hook of one session finds."""

    def __init__(self, event: Event, group: Group) -> None:
        self._event, self._group = event, group
        self._own = group.who

    def __call__(self, edits: Sequence[PendingEdit]) -> dict[str, Who]:
        """The author of each of EDITS, by path."""
        times = _Times(self._group)
        found = {each.path: times.edit(each) for each in edits}
        others = self._others(min((each.since for each in found.values()), default=0.0))
        is_new = self._event.name == "SessionStart"
        if not others and not is_new:
            return {path: self._aside(edit, self._own) for path, edit in found.items()}
        own = _ActiveSession(self._own, self._calls(), time.time())
        return {path: self._signed(edit, own, others, is_new) for path, edit in found.items()}

    def _signed(
        self, edit: _DatedEdit, own: _ActiveSession, others: Sequence[_ActiveSession], is_new: bool
    ) -> Who:
        """The only session that may have made any part of EDIT; else the host."""
        nobody = Who(self._event.agent or self._event.host, "", self._event.host)
        authors = [each for each in (own, *others) if each.may_have_written(edit)]
        if len(authors) != 1:
            return nobody
        if authors[0].shows(edit):
            return self._aside(edit, authors[0].who)
        # No command shows it. A session that starts has written nothing yet, and another one would
        # be a guess: a person may have used an editor.
        is_own = authors[0] is own and not is_new and own.was_at_work(edit)
        return self._own if is_own else nobody

    def _calls(self) -> list[ToolCall] | None:
        payload = self._event.payload
        found = session_calls(HOSTS[self._event.host], str(payload.get("transcript_path") or ""))
        is_first = self._event.name == "SessionStart" and payload.get("source") in _FIRST
        return [] if found is None and is_first else found

    def _aside(self, edit: _DatedEdit, who: Who) -> Who:
        """WHO, with the subagent that ends now if its own transcript shows the write."""
        transcript = self._event.payload.get("agent_transcript_path")
        if who != self._own or not self._event.subagent or not isinstance(transcript, str):
            return who
        found = calls_in(HOSTS[self._event.host], transcript) or ()
        is_its = any(each.shows(edit.paths[0], edit.at) for each in found)
        return who._replace(subagent=self._event.subagent) if is_its else who

    def _others(self, oldest: float) -> list[_ActiveSession]:
        """The other sessions of the store that were active since OLDEST."""
        active = {
            known: max(last, modified(known.transcript))
            for known, last in live_sessions(self._event.store)
            if known.id != self._event.session and known.host in HOSTS
        }
        recorded = {known.id for known in active if known.transcript}
        found = [
            (known, at)
            for known, at in sorted(active.items(), key=lambda each: -each[1])
            if at + ASIDE >= oldest and (known.transcript or known.id not in recorded)
        ]
        return [
            _active_session(known, at, number < MOST) for number, (known, at) in enumerate(found)
        ]


def _active_session(known: LiveSession, active: float, is_read: bool) -> _ActiveSession:
    calls = session_calls(HOSTS[known.host], known.transcript) if is_read else None
    return _ActiveSession(Who(known.host, known.id, known.host), calls, active)


class _Times:
    """The times of edits, by the disk and the last captures."""

    def __init__(self, group: Group) -> None:
        self._group, self._now = group, time.time()
        self._caught_up, self._held = captured_until(group.gitdir, self._now)
        self._snapshot = group.repository.snapshot()
        self._index, _ = group.repository.staging.load()

    def edit(self, edit: PendingEdit) -> _DatedEdit:
        """EDIT with its times, by ctime: a rename or a restored mtime does not change that.

        For a deleted file only its folder tells, which changes with other files, too.
        """
        names = [each for each in (edit.path, edit.moved_from) if each]
        paths = tuple(map(self._real, names))
        since = min(map(self._since, names))
        path = self._group.worktree / edit.path
        for each in (path, *path.parents):
            with suppress(OSError):
                at = os.lstat(each).st_ctime
                if at + SLACK < since:  # it came with a moved folder
                    break
                return _DatedEdit(paths, since, at, each == path)
        return _DatedEdit(paths, 0.0, self._now, exact=False)

    def _since(self, path: str) -> float:
        """When the file surely had the content of HEAD."""
        whole = 0.0 if is_among(path, self._held) else self._caught_up
        raw = path.encode("utf-8", "surrogateescape")
        known = self._index.get(raw) if self._index else None
        node = self._snapshot.node(path)
        if not known or not node or known.oid.hex() != node.oid:
            return whole
        return max(whole, known.stat.ctime_ns / 1e9 - SLACK)  # by the clock of the disk

    def _real(self, path: str) -> str:
        found = self._group.worktree / path
        return f"{os.path.realpath(found.parent)}/{found.name}"
