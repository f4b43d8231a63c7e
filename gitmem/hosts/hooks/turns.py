"""A prompt comes, a turn ends, the context was compacted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitmem.hosts.hooks.answering import Asked, Said, in_words, note_end
from gitmem.hosts.hooks.dialects import DIALECTS, EVENTS
from gitmem.hosts.hooks.groups import WAIT, opened, take_in

if TYPE_CHECKING:
    from gitmem.operations.group import Group

RECALLED = 1500
"""Characters of memory that a prompt may call for."""
TURNS = 100
"""After so many a session is reminded of the diary."""


def prompted(asked: Asked) -> Said:
    """The passages of memory that fit a prompt; nothing where none does."""
    prompt = asked.payload.get("prompt")
    # A command of the host is no question.
    if not isinstance(prompt, str) or not prompt.strip() or prompt.startswith("/"):
        return Said()
    from gitmem.operations.inject import inject

    with opened(asked) as group:
        return Said(inject(group, prompt=prompt, chars=RECALLED).memory_context)


def turned(asked: Asked) -> Said:
    """Keep edits made through a shell; every so many turns, a word on the diary."""
    event = EVENTS.get(asked.event) or str(asked.payload.get("hook_event_name"))
    with opened(asked) as group:
        words = [take_in(group)]
        if event == "Stop":
            note_end(asked)
            words.append(_counted(asked, group))
        elif event == "PreCompact":
            note_end(asked)
            _remember(asked, group, nudge=True)
    return Said("\n\n".join(filter(None, words)))


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
    from hashlib import sha1

    from gitmem.core.secrets import redact
    from gitmem.errors import GitmemError
    from gitmem.operations.compact import compact
    from gitmem.operations.layouts import layout_of

    summary = asked.payload.get("compact_summary")
    if not isinstance(summary, str) or not summary.strip():
        return Said()
    with opened(asked) as group:
        try:
            place = layout_of(group).compact
            if place.daily or place.into:
                text, _ = redact(summary)
                facts = f"{asked.session}\n{summary}".encode("utf-8", "surrogatepass")
                id = f"compact-{sha1(facts, usedforsecurity=False).hexdigest()[:16]}"
                reason = "the host's own summary of a session, as it is"
                compact(
                    group,
                    text,
                    daily=bool(place.daily),
                    reason=reason,
                    operation=id,
                    wait=WAIT,
                )
        except (GitmemError, OSError) as error:
            _remember(asked, group, notice=f"{in_words(error)}; a summary was not kept")
    return Said()
