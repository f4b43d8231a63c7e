"""Drain the spool: import the transcripts and summaries that ended sessions left.

A host waits for the start of a session, so a start imports only so much; the rest goes on in the
background. A note that fails is put back and stops no other.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

from gitmem.errors import GroupNotFound, GroupRefused
from gitmem.integrations.hooks.answer import DRAIN, in_words
from gitmem.integrations.hooks.protocol import Event
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.transcripts.spool import ClaimedNote, SessionNote, claim, discard, put_back
from gitmem.model.access import MAIN

if TYPE_CHECKING:
    from gitmem.memory.group import Group

AT_ONCE = 4 * 1024 * 1024
"""Bytes of transcripts that one start imports ..."""
SECONDS = 2.0
"""... and the seconds it takes for that."""


def drain(event: Event, group: str = "", *, at_once: bool = True) -> list[str]:
    """Import what ended sessions left; return notices about failures that concern GROUP.

    AT_ONCE: no more than a start has time for.
    """
    work = _Drain(event, group, AT_ONCE if at_once else 0)
    for each in claim(event.store):
        work.do(each)
    if work.left:
        from gitmem.integrations.hooks.deadline import detach

        detach(event, DRAIN)
    return work.trouble


class _Drain:
    """One pass over the notes."""

    def __init__(self, event: Event, group: str, most: int) -> None:
        self._event, self._group = event, group
        self._most, self._until = most, monotonic() + SECONDS
        self.left = False
        self.trouble: list[str] = []

    def do(self, claimed: ClaimedNote) -> None:
        """Process one note; put it back if that fails."""
        try:
            is_done = self._done(claimed.note)
        except GroupRefused:
            is_done = False  # left for a session that may
        except Exception as error:  # noqa: BLE001 - one note never costs another
            is_done = False
            notice = f"{in_words(error)}; a transcript could not be imported"
            if self._concerns(claimed.note, error) and notice not in self.trouble:
                self.trouble.append(notice)
        if is_done:
            discard(claimed)
        else:
            put_back(claimed)

    def _concerns(self, note: SessionNote, error: Exception) -> bool:
        """Whether this session reports ERROR.

        For a group that is gone only a session that sees all groups does, and only for a summary,
        of which there is no other copy.
        """
        if isinstance(error, GroupNotFound):
            return bool(note.summary) and self._event.acting in (None, MAIN)
        return note.group in ("", self._group)

    def _done(self, note: SessionNote) -> bool:
        path = os.path.expanduser(note.transcript)
        if not note.summary and not os.path.isfile(path):
            return True  # the host has removed it
        if self._most and monotonic() > self._until:
            self.left = True
            return False
        from gitmem.integrations.hooks.groups import opened, successor_of

        event = self._event_of(note)
        with opened(event, successor_of(event)) as group:
            if note.summary:
                from gitmem.integrations.hooks.turns import keep_summary

                keep_summary(group, note.summary)
                return True
            return self._imported(group, note.host, path)

    def _event_of(self, note: SessionNote) -> Event:
        return self._event._replace(
            host=note.host,
            group=note.group,
            payload={"session_id": note.session, "cwd": note.folder},
            environ={},
        )

    def _imported(self, group: Group, host: str, path: str) -> bool:
        from gitmem.integrations.hooks.groups import WAIT
        from gitmem.integrations.transcripts.import_files import import_transcripts, unread_bytes
        from gitmem.memory.layouts import layout_of

        records, has_summary = layout_of(group).transcripts.record, not HOSTS[host].says_compacted
        if not records and not has_summary:
            return True
        size = unread_bytes(group, host, path)
        if self._most and size > self._most:
            self.left = True
            return False
        self._most = max(1, self._most - size) if self._most else 0
        if has_summary:
            _keep_summary_in(group, host, path)
        if records:
            import_transcripts(group, host, environ={}, paths=[path], wait=WAIT)
        return True


def _keep_summary_in(group: Group, host: str, path: str) -> None:
    """Store the summary of the last compaction in a transcript, if the layout has a file for it."""
    from gitmem.integrations.hooks.turns import keep_summary, summary_of
    from gitmem.integrations.transcripts.import_files import summary_in
    from gitmem.memory.layouts import layout_of

    text = summary_of(summary_in(host, path, ""))
    if text and layout_of(group).summaries:
        keep_summary(group, text)
