"""What the hooks of a session remember of it, and of the group that it works with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.operations.quiet import Asking
from gitmem.operations.sessions import Session, keep_session, read_session

if TYPE_CHECKING:
    from gitmem.hosts.hooks.answering import Asked
    from gitmem.operations.group import Group


def asking(asked: Asked) -> Asking:
    """What decides with which group a session works."""
    return Asking(asked.store, asked.project, asked.group, asked.acting or "")


def met(asked: Asked, known: Session) -> Session:
    """What is KNOWN of a session, with what this event says of it."""
    transcript = asked.payload.get("transcript_path")
    path = transcript if isinstance(transcript, str) else known.transcript
    return known._replace(id=asked.session, host=asked.host, transcript=path)


def note_session(asked: Asked, group: Group) -> None:
    """Let others know that a session works with GROUP, where none of its hooks has done so."""
    known = read_session(group.gitdir, asked.session)
    if asked.session and known != met(asked, known):
        keep_session(group.gitdir, asked.session, met(asked, known))
