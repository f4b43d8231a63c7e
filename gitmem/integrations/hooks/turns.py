"""A prompt comes, a turn ends, the context was compacted."""

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
"""Characters of memory that a prompt may call for."""
_COMMAND = r"(/[a-zA-Z][\w:-]*)(?:\s|\Z)"
"""What a command of the host looks like."""
TURNS = 100
"""After so many a session is reminded of the diary."""
LONGEST_SUMMARY = 100_000
"""Characters of a summary: one is a few thousand, and a file of memory has an end."""
NO_PLACE = (
    "the summary of this session was not kept: the layout of group {} has no place for it; "
    "add `compact: {{into: FILE}}` to its gitmem.yaml"
)
NO_SUMMARY = "gitmem: no summary of this session was kept: the host's text has none"
UNREAD = "gitmem: no summary of this session was kept: it cannot be read in the host's transcript"
CUT = "[The summary was longer; gitmem has cut it here.]"


def prompted(event: Event) -> Output:
    """The passages of memory that fit a prompt; nothing where none does."""
    host = HOSTS[event.host]
    prompt = prompt_in(host, event.payload)
    if not prompt.strip() or _is_command(prompt):
        return Output()
    if event.payload.get("agent_id"):
        return Output()  # a subagent has its task
    from gitmem.model.language.prompts import query_sentences

    if not query_sentences(prompt):
        return Output()  # nothing that it says could be looked up
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
    """Let a process that nobody waits for bring caches up to date, for the next prompt."""
    from gitmem.integrations.hooks.deadline import detach

    detach(event, READY, group.name)


def _is_command(prompt: str) -> bool:
    """Whether it is for the host, and no question; `/tmp is full` is one."""
    found = re.match(_COMMAND, prompt) if prompt.startswith("/") else None
    return found is not None and not os.path.exists(found[1])


def turned(event: Event) -> Output:
    """Keep edits made through a shell; every so many turns, a word on the diary."""
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
            parts.tried("what was said may be missed", lambda: note_end(event, group.name))
            nudge = parts.tried("the turn does not count", lambda: _remembered(event, group))
        words = parts.tried(
            "edits wait for the next turn", lambda: capture_edits(event, group, room)
        )
        parts.tell(group.damage)
        name = group.name
    own = parts.tried("the host's own memory waits", lambda: capture_own(event, name, room, news))
    # What a hook adds keeps a turn going: not while one does so already.
    is_going = event.payload.get("stop_hook_active")
    told = NOTHING if is_going else joined((words, own, nudge))
    return Output(told, "\n".join(filter(None, (*news, parts.notice))))


def _was_quiet(event: Event, parts: Parts) -> bool:
    """Whether nothing was touched since somebody looked; then the turn is counted, and that is all.

    Nothing of git is opened for it. A compaction is no such turn: its edits are looked for.
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
        return False  # something is to be said
    parts.tried("what was said may be missed", lambda: note_end(event, name))
    note_session(event)
    if event.session:
        keep_session(gitdir, event.session, known._replace(turns=known.turns + 1))
    return True


def _remembered(event: Event, group: Group) -> ForModel:
    """Remember that the session was compacted, or has had one turn more; what is to be said."""
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
    """After so many turns a word on the diary, as soon as that can be said."""
    if known.turns < TURNS or event.payload.get("stop_hook_active"):
        return known, NOTHING
    from gitmem.integrations.hooks.context import nudge_of

    can_say = "Stop" in HOSTS[event.host].adding
    words = nudge_of(group) if can_say else NOTHING
    return known._replace(turns=0, nudge=not can_say), words


def compacted(event: Event) -> Output:
    """Keep the summary that the host made, or tell that the layout has no place for it.

    It is said once and stands nowhere else: what cannot be kept now waits, whatever the reason, and
    also where this very process ends before it is kept.
    """
    from gitmem.integrations.hooks.groups import opened
    from gitmem.memory.layouts import layout_of
    from gitmem.memory.transcripts.spool import leave, withdraw

    told = _told(event)
    if told is None:
        return Output(notice=UNREAD)
    text = summary_of(told)
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


def _told(event: Event) -> object:
    """The summary, as the host says it or has written it into its transcript.

    None where it is in the transcript and cannot be read.
    """
    said, path = event.payload.get("compact_summary") or "", event.payload.get("transcript_path")
    if said or not isinstance(path, str) or not path:
        return said
    from gitmem.integrations.transcripts.import_files import summary_in

    return summary_in(event.host, path, event.turn)


def summary_of(told: object) -> str:
    """The summary as it can be kept: no scratchpad, no credentials, no half characters, an end."""
    if not isinstance(told, str) or not told.strip():
        return ""
    from gitmem.model.secrets.find import redact
    from gitmem.model.transcripts.scratchpads import summary_in

    whole = summary_in(told).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text, _ = redact(whole)
    return text if len(text) <= LONGEST_SUMMARY else f"{text[:LONGEST_SUMMARY]}\n\n{CUT}"


def _left_for_later(event: Event, group: str, text: str, why: str) -> Output:
    """Leave TEXT for who starts next, and tell that."""
    from gitmem.memory.transcripts.spool import leave

    if not leave(event.store, _waiting(event, group, text)):
        return Output()
    return Output(notice=f"{why}; a summary waits to be kept")


def _waiting(event: Event, group: str, text: str) -> SessionNote:
    from gitmem.memory.transcripts.spool import SessionNote

    return SessionNote(event.host, event.session, "", event.project, group, text)


def keep_summary(group: Group, text: str) -> None:
    """Keep the summary of a session, once; where the layout has no place for it, BadInput."""
    from hashlib import sha1

    from gitmem.integrations.hooks.groups import WAIT
    from gitmem.memory.upkeep.compact import compact
    from gitmem.memory.write.write import Allowed
    from gitmem.model.transcripts.scratchpads import summary_in

    text = summary_in(text)  # what an earlier release left in the spool is raw
    if not text:
        return
    facts = f"{group.who.session}\n{text}".encode("utf-8", "surrogatepass")
    compact(
        group,
        text,
        reason="the host's own summary of a session, as it is",
        allowed=Allowed(markers=True),  # it may speak of a merge, and there is nobody to ask
        operation=f"compact-{sha1(facts, usedforsecurity=False).hexdigest()[:16]}",
        goes_on=True,
        wait=WAIT,
    )
