"""The events of a turn: a prompt, its end, and a compaction."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING

from gitmem.integrations.hooks.answer import READY, Output, Parts, damage_words, in_words, note_end
from gitmem.integrations.hooks.protocol import Event, prompt_in
from gitmem.integrations.hosts.table import HOSTS
from gitmem.model.context.escape import NOTHING, ForModel, joined

if TYPE_CHECKING:
    from gitmem.memory.group import Group
    from gitmem.memory.transcripts.sessions import Session
    from gitmem.memory.transcripts.spool import SessionNote

RECALLED = 1500
"""Characters of memory that a prompt retrieves."""
_COMMAND = r"(/[a-zA-Z][\w:-]*)(?:\s|\Z)"
"""A command of the host, such as `/clear`."""
TURNS = 100
"""Turns after which a session is reminded of the diary."""
LONGEST_SUMMARY = 100_000
"""Characters of a summary; the usual one has a few thousand."""
NO_PLACE = (
    "the summary of this session was not stored: the layout of group {} names no file for it; "
    "add `compact: {{into: FILE}}` to its gitmem.yaml"
)
NO_SUMMARY = "gitmem: no summary of this session was stored: the host sent none"
UNREAD = "gitmem: no summary of this session was stored: the host's transcript cannot be read"
CUT = "[gitmem cut the rest of this summary.]"


def prompted(event: Event) -> Output:
    """Retrieve passages of memory for a prompt; nothing where none matches."""
    host = HOSTS[event.host]
    prompt = prompt_in(host, event.payload)
    if not prompt.strip() or _is_command(prompt):
        return Output()
    if event.payload.get("agent_id"):
        return Output()  # a subagent has its task
    from gitmem.model.language.prompts import query_sentences

    if not query_sentences(prompt):
        return Output()  # it has no words to look up
    from gitmem.integrations.hooks.deadline import instead
    from gitmem.integrations.hooks.groups import opened
    from gitmem.memory.context.inject import inject
    from gitmem.memory.context.readiness import is_ready

    with opened(event) as group, instead(lambda: _make_ready(event, group)):
        if is_ready(group):
            found = inject(
                group, prompt=prompt, chars=RECALLED, format=host.format, count_edits=False
            )
            context = found.memory_context
            return Output(context, damage_words(group.damage))
        _make_ready(event, group)
    return Output()


def _make_ready(event: Event, group: Group) -> None:
    """Update the caches in the background, for the next prompt."""
    from gitmem.integrations.hooks.deadline import detach

    detach(event, READY, group.name)


def _is_command(prompt: str) -> bool:
    """Whether PROMPT is a command of the host; `/tmp is full` is not."""
    found = re.match(_COMMAND, prompt) if prompt.startswith("/") else None
    return found is not None and not os.path.exists(found[1])


def turned(event: Event) -> Output:
    """Capture edits made through a shell; after enough turns, remind of the diary."""
    parts, nudge = Parts(), NOTHING
    news: list[str] = []
    if _was_quiet(event, parts):
        return Output(notice=parts.notice)
    from gitmem.integrations.hooks.edits import capture_edits, capture_own
    from gitmem.integrations.hooks.groups import opened
    from gitmem.integrations.hooks.protocol import room_of

    room = room_of(event.host).part(0.5)
    with opened(event) as group:
        if event.name != "SubagentStop" and not event.payload.get("agent_id"):
            parts.tried("messages may be missing", lambda: note_end(event, group.name))
            nudge = parts.tried("the turn is not counted", lambda: _remembered(event, group))
        words = parts.tried(
            "edits wait for the next turn", lambda: capture_edits(event, group, room)
        )
        parts.tell(group.damage)
        name = group.name
    own = parts.tried(
        "the host's own memory is not captured", lambda: capture_own(event, name, room, news)
    )
    # Added context keeps a turn going, so add none while a hook already does.
    is_going = event.payload.get("stop_hook_active")
    context = NOTHING if is_going else joined((words, own, nudge))
    return Output(context, "\n".join(filter(None, (*news, parts.notice))))


def _was_quiet(event: Event, parts: Parts) -> bool:
    """Count the turn and return True if no file changed since the last scan.

    That opens nothing of git. A compaction always scans for edits.
    """
    from gitmem.integrations.hooks.protocol import asking, note_session
    from gitmem.memory.write.last_scan import unchanged_group

    began = time.time()
    name = "" if event.name == "PreCompact" else unchanged_group(asking(event))
    if not name:
        return False
    if HOSTS[event.host].own_memory:
        from gitmem.integrations.hooks.edits import is_own_quiet

        if not is_own_quiet(event, name):
            return False
    from gitmem.memory.transcripts.sessions import keep_session, read_session
    from gitmem.memory.write.last_scan import extend_captured_until

    gitdir = os.path.join(event.store, "repos", f"{name}.git")
    extend_captured_until(gitdir, began)
    if event.name == "SubagentStop":
        return True
    known = read_session(gitdir, event.session)
    if known.turns + 1 >= TURNS:
        return False  # the session is reminded now
    parts.tried("messages may be missing", lambda: note_end(event, name))
    note_session(event)
    if event.session:
        keep_session(gitdir, event.session, known._replace(turns=known.turns + 1))
    return True


def _remembered(event: Event, group: Group) -> ForModel:
    """Record one more turn, or a compaction; return a reminder if one is due."""
    from gitmem.integrations.hooks.protocol import note_session
    from gitmem.memory.transcripts.sessions import keep_session, read_session

    if not event.session:
        return NOTHING
    note_session(event)
    known, words = read_session(group.gitdir, event.session), NOTHING
    if event.name == "PreCompact":
        known = known._replace(nudge=True)
    else:
        known, words = _counted(event, group, known._replace(turns=known.turns + 1))
    keep_session(group.gitdir, event.session, known)
    return words


def _counted(event: Event, group: Group, known: Session) -> tuple[Session, ForModel]:
    """KNOWN with the turn counted, and a reminder after enough turns where the host shows one."""
    if known.turns < TURNS or event.payload.get("stop_hook_active"):
        return known, NOTHING
    from gitmem.integrations.hooks.context import nudge_of

    can_say = "Stop" in HOSTS[event.host].adding
    words = nudge_of(group) if can_say else NOTHING
    return known._replace(turns=0, nudge=not can_say), words


def compacted(event: Event) -> Output:
    """Store the summary that the host made, or report that the layout names no file for it.

    There is no other copy: a summary that cannot be stored now waits in the spool, also if this
    process dies.
    """
    from gitmem.integrations.hooks.groups import opened
    from gitmem.memory.layouts import layout_of
    from gitmem.memory.transcripts.spool import leave, withdraw

    given = _summary(event)
    if given is None:
        return Output(notice=UNREAD)
    text = summary_of(given)
    name = event.group
    if not text:
        return Output(notice=NO_SUMMARY if event.payload.get("compact_summary") else "")
    try:
        with opened(event) as group:
            name = group.name
            if not layout_of(group).summaries:
                return Output(notice=NO_PLACE.format(name))
            waits = _waiting(event, name, text)
            leave(event.store, waits)
            keep_summary(group, text)
            withdraw(event.store, waits)
    except Exception as error:  # noqa: BLE001 - a group may be damaged in any way
        return _left_for_later(event, name, text, in_words(error))
    return Output()


def _summary(event: Event) -> object:
    """The summary from the payload or the transcript; None where the transcript is unreadable."""
    given = event.payload.get("compact_summary") or ""
    if given or not event.transcript:
        return given
    from gitmem.integrations.transcripts.import_files import summary_in

    return summary_in(event.host, event.transcript, event.turn)


def summary_of(given: object) -> str:
    """The summary as it is stored: without scratchpad, credentials and lone surrogates, and cut."""
    if not isinstance(given, str) or not given.strip():
        return ""
    from gitmem.model.secrets.find import redact
    from gitmem.model.transcripts.scratchpads import summary_in

    whole = summary_in(given).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text, _ = redact(whole)
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\n\n{CUT}"


def _left_for_later(event: Event, group: str, text: str, why: str) -> Output:
    """Leave TEXT in the spool for the next start, and report that."""
    from gitmem.memory.transcripts.spool import leave

    if not leave(event.store, _waiting(event, group, text)):
        return Output()
    return Output(notice=f"{why}; the summary is stored later")


def _waiting(event: Event, group: str, text: str) -> SessionNote:
    from gitmem.memory.transcripts.spool import SessionNote

    return SessionNote(event.host, event.session, "", event.project, group, text)


def keep_summary(group: Group, text: str) -> None:
    """Store the summary of a session, once; BadInput where the layout names no file for it."""
    from hashlib import sha1

    from gitmem.integrations.hooks.groups import WAIT
    from gitmem.memory.upkeep.compact import compact
    from gitmem.memory.write.write import Allowed
    from gitmem.model.transcripts.scratchpads import summary_in

    text = summary_in(text)  # earlier releases left raw text in the spool
    if not text:
        return
    facts = f"{group.who.session}\n{text}".encode("utf-8", "surrogatepass")
    compact(
        group,
        text,
        reason="the host's own summary of a session",
        allowed=Allowed(markers=True),  # it may quote a merge, and nobody can be asked
        operation=f"compact-{sha1(facts, usedforsecurity=False).hexdigest()[:16]}",
        goes_on=True,
        wait=WAIT,
    )
