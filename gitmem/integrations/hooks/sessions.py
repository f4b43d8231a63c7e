"""What the hooks of a session tell other sessions, and what decides which group it uses."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gitmem.memory.transcripts.live import LiveSession, note_live
from gitmem.memory.write.quiet import Asking

if TYPE_CHECKING:
    from gitmem.integrations.hooks.answer import Asked


def asking(asked: Asked) -> Asking:
    """What decides with which group a session works."""
    return Asking(asked.store, asked.project, asked.group, asked.acting or "")


def note_session(asked: Asked) -> None:
    """Let all who find edits in the store know that a session is at work, and where it tells."""
    transcript = asked.payload.get("transcript_path")
    path = transcript if isinstance(transcript, str) else ""
    if asked.session and os.path.isdir(asked.store):
        note_live(asked.store, LiveSession(asked.session, asked.host, path))
