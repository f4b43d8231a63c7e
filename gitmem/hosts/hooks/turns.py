"""A prompt comes, a turn ends, the context was compacted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitmem.errors import GitmemError
from gitmem.hosts.hooks.answering import Asked, Said, in_words, note_end
from gitmem.hosts.hooks.dialects import DIALECTS, EVENTS
from gitmem.hosts.hooks.groups import WAIT, opened, take_in

if TYPE_CHECKING:
    from gitmem.operations.group import Group

RECALLED = 1500
"""Characters of memory that a prompt may call for."""
_COMMAND = r"/[a-zA-Z][\w:-]*(?:\s|\Z)"
"""A command of the host."""
TURNS = 100
"""After so many a session is reminded of the diary."""


def prompted(asked: Asked) -> Said:
    """The passages of memory that fit a prompt; nothing where none does."""
    prompt = asked.payload.get("prompt")
    # A command of the host is no question.
    if not isinstance(prompt, str) or not prompt.strip() or re.match(_COMMAND, prompt):
        return Said()
    from gitmem.operations.inject import inject

    with opened(asked) as group:
        return Said(inject(group, prompt=prompt, chars=RECALLED).memory_context)


def turned(asked: Asked) -> Said:
    """Keep edits made through a shell; every so many turns, a word on the diary."""
    event = EVENTS.get(asked.event) or str(asked.payload.get("hook_event_name"))
    with opened(asked) as group:
        nudge = _noted(asked, group, event)
        try:
            words = take_in(group)
        except (GitmemError, OSError) as error:
            return Said(nudge, f"{in_words(error)}; edits wait for the next turn")
    return Said("\n\n".join(filter(None, (words, nudge))))


def _noted(asked: Asked, group: Group, event: str) -> str:
    """Leave word of the turn, before anything that may fail; what is to be said about it."""
    if event == "SubagentStop":
        return ""
    note_end(asked, group.name)
    if event == "PreCompact":
        _remember(asked, group, nudge=True)
        return ""
    return _counted(asked, group)


def _counted(asked: Asked, group: Group) -> str:
    """One turn more; what is to be said about it."""
    from gitmem.operations.sessions import keep_session, read_session

    if not asked.session:
        return ""
    known = read_session(group.gitdir, asked.session)
    known = known._replace(turns=known.turns + 1)
    words = ""
    if known.turns >= TURNS and not asked.payload.get("stop_hook_active"):
        from gitmem.hosts.hooks.start import nudge_of

        can_say = "Stop" in DIALECTS[asked.host].adding
        words = nudge_of(group) if can_say else ""
        known = known._replace(turns=0, nudge=not can_say)
    keep_session(group.gitdir, asked.session, known)
    return words


def _remember(asked: Asked, group: Group, *, nudge: bool = False, notice: str = "") -> None:
    from gitmem.operations.sessions import keep_session, read_session

    if asked.session:
        known = read_session(group.gitdir, asked.session)
        notices = (*known.notices, notice) if notice else known.notices
        known = known._replace(nudge=known.nudge or nudge, notices=notices)
        keep_session(group.gitdir, asked.session, known)


def compacted(asked: Asked) -> Said:
    """Keep the summary that the host made, where the layout has a place for such.

    Nobody reads the answer to this event: what goes wrong is told when the session goes on.
    """
    summary = asked.payload.get("compact_summary")
    if not isinstance(summary, str) or not summary.strip():
        return Said()
    from gitmem.core.secrets import redact

    text, _ = redact(summary)
    with opened(asked) as group:
        try:
            keep_summary(group, text)
        except (GitmemError, OSError) as error:
            note_end(asked._replace(payload={"session_id": asked.session}), group.name, text)
            notice = f"{in_words(error)}; a summary waits to be kept"
            _remember(asked, group, notice=notice)
    return Said()


def keep_summary(group: Group, text: str) -> None:
    """Keep the summary of a session, once, where the layout has a place for it."""
    from hashlib import sha1

    from gitmem.operations.compact import compact
    from gitmem.operations.layouts import layout_of

    place = layout_of(group).compact
    if not (place.daily or place.into):
        return
    facts = f"{group.who.session}\n{text}".encode("utf-8", "surrogatepass")
    compact(
        group,
        text,
        daily=bool(place.daily),
        reason="the host's own summary of a session, as it is",
        operation=f"compact-{sha1(facts, usedforsecurity=False).hexdigest()[:16]}",
        wait=WAIT,
    )
