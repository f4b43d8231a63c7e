"""What agent hosts say to their hooks, and the one object that answers them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.model.context.escape import ForModel, joined, worded
from gitmem.model.record import Record

if TYPE_CHECKING:
    from datetime import datetime

    from gitmem.memory.write.last_scan import GroupChoice

EVENTS = {
    "session-start": "SessionStart",
    "subagent-start": "SubagentStart",
    "user-prompt-submit": "UserPromptSubmit",
    "post-tool-use": "PostToolUse",
    "pre-compact": "PreCompact",
    "post-compact": "PostCompact",
    "stop": "Stop",
    "subagent-stop": "SubagentStop",
    "session-end": "SessionEnd",
}
"""The events that are answered: as a command names them, and as hosts do."""
TELL = "Tell the user, whom this host does not show it: {notice}"
"""What the model of a host gets that shows its user no notice."""
Payload = Mapping[str, Any]
"""What a host said, a JSON object."""
LARGEST = 32 * 1024 * 1024
"""Bytes that a host may say; a file that was written stands in them, too."""
LONGEST_NAME = 200
BETWEEN = "\n\n"
Line = TypeVar("Line", bound=str)


class Event(Record):
    """What a host asks, and for whom."""

    command: str
    host: str
    payload: Payload
    store: str
    group: str
    """The group that was named; nothing where the project's folder says."""
    acting: str | None
    agent: str
    """Who the commits are by; nothing for the host."""
    environ: Mapping[str, str]
    now: datetime | None = None
    """Where the clock stands still; None when it runs."""

    @property
    def name(self) -> str:
        """The event, as hosts call it; nothing for one that the command names and we do not."""
        if self.command:
            return EVENTS.get(self.command, "")
        said = str(self.payload.get("hook_event_name"))
        return HOSTS[self.host].events.get(said, said)

    @property
    def session(self) -> str:
        """The session that asks; for a subagent that has an id of its own, the one it works for."""
        payload = self.payload
        return str(payload.get("parent_agent_id") or payload.get("session_id") or "")

    @property
    def transcript(self) -> str:
        """The file in which the host records the session; nothing where it names none."""
        named = self.payload.get("transcript_path")
        return named if isinstance(named, str) else ""

    @property
    def turn(self) -> str:
        """The turn of the session, as its host names it."""
        return _name(self.payload.get(HOSTS[self.host].turn))

    @property
    def subagent(self) -> str:
        """The type and the id of the subagent that asks; nothing for the session itself."""
        kind, name = (_name(self.payload.get(each)) for each in ("agent_type", "agent_id"))
        return f"{kind}/{name}" if name else ""

    @property
    def project(self) -> str:
        """The folder that the session works in."""
        named = self.environ.get(HOSTS[self.host].project_variable)
        return named or str(self.payload.get("cwd") or "/")


def _name(value: object) -> str:
    """A name that a host gives; nothing for what cannot stand in a commit."""
    is_name = isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()
    return value if is_name else ""  # type: ignore[return-value]


def read_payload(data: bytes) -> Payload | None:
    """The JSON object that a host said; None for anything else."""
    if len(data) > LARGEST:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sync_skill_in(host: Host, layout: str, environ: Mapping[str, str]) -> str:
    """How an agent calls the sync in a group of LAYOUT; a plugin brings no other names."""
    from gitmem.model.transcripts.batches import (  # not for every tool that wrote a file
        SYNC,
        sync_skill,
    )

    if host.plugin and environ.get(host.plugin):
        return f"/gitmem:{SYNC}"
    return f"/{sync_skill(layout)}"


def answer(host: Host, name: str, context: ForModel, notice: str) -> dict[str, object] | None:
    """The one object to print: what the model gets, and what its user does; None for nothing.

    Nothing else that hooks say reaches a model.
    """
    found: dict[str, object] = {}
    if notice:
        found["systemMessage"] = notice
    if notice and not host.shows_notices:
        context = joined((context, worded(TELL, notice=notice)))
    if context and name in host.adding:
        inner = {"additionalContext": context}
        named = {"hookEventName": host.named(name)} | inner
        found |= inner if host.answers_flat else {"hookSpecificOutput": named}
    return found or None


def prompt_in(host: Host, payload: Payload) -> str:
    """The prompt without what hooks added before it; nothing where it is no text.

    A host with a tag escapes `<` inside it, so that the first end tag is the one.
    """
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        return ""
    if host.tag and prompt.startswith(f"<{host.tag}>"):
        return prompt.partition(f"</{host.tag}>")[2].lstrip()
    return prompt


def files_written(host: Host, payload: Payload) -> Iterator[str]:
    """The files that a tool has just written, by absolute paths."""
    from os.path import join

    said = payload.get("tool_input")
    if not isinstance(said, dict):
        return
    folder = str(payload.get("cwd") or "/")
    for key in host.paths:
        if isinstance(said.get(key), str) and said[key]:
            yield join(folder, said[key])
    patch = said.get("command")
    if isinstance(patch, list):
        patch = "\n".join(map(str, patch))
    if payload.get("tool_name") == "apply_patch" and isinstance(patch, str):
        yield from (join(folder, each) for each in _patched(patch))


def _patched(patch: str) -> Iterator[str]:
    """The files that a patch in Codex's form names."""
    heads = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    for line in patch.splitlines():
        for head in heads:
            if line.startswith(head):
                yield line[len(head) :].strip()


class Room(Record):
    """So many characters, and about so many tokens."""

    chars: int
    tokens: int

    def holds(self, text: str) -> bool:
        """Whether TEXT fits."""
        return length_of(text) <= self.chars and tokens_in(text) <= self.tokens

    def without(self, text: str) -> Room:
        """What is left beside TEXT."""
        if not text:
            return self
        chars, tokens = length_of(text) + len(BETWEEN), tokens_in(text) + tokens_in(BETWEEN)
        return Room(max(0, self.chars - chars), max(1, self.tokens - tokens))

    def part(self, share: float) -> Room:
        """A part of it."""
        return Room(int(self.chars * share), int(self.tokens * share))

    def weight(self, text: str) -> int:
        """How much of the characters TEXT takes, also where its tokens are what is short."""
        return max(length_of(text), -(-tokens_in(text) * self.chars // self.tokens))

    def whole_ones(self, lines: Sequence[Line]) -> Iterator[Line]:
        """Those of LINES that fit, in order, none of them cut."""
        left = self
        for each in lines:
            if left.holds(each):
                left = left.without(each)
                yield each


def room_of(host: str) -> Room:
    """All that HOST takes."""
    row = HOSTS[host]
    # No character is more than one token, so that without a limit on tokens characters count.
    return Room(row.chars, row.tokens or row.chars)


def tokens_in(text: str) -> int:
    """About how many tokens TEXT is: one for 4 characters of ASCII, or for 1.3 of any other."""
    plain = sum(char < "\x80" for char in text)
    return -(-(plain * 13 + (len(text) - plain) * 40) // 52)


def length_of(text: str) -> int:
    """How long TEXT is to a host: a character beyond the first 65,536 counts as two there."""
    return len(text) + sum(char > "\uffff" for char in text)


def asking(event: Event) -> GroupChoice:
    """What decides with which group a session works."""
    from gitmem.memory.write.last_scan import GroupChoice

    return GroupChoice(event.store, event.project, event.group, event.acting or "")


def note_session(event: Event) -> None:
    """Let all who find edits in the store know that a session is at work, and where it tells."""
    if event.session and os.path.isdir(event.store):
        from gitmem.memory.transcripts.sessions import LiveSession, note_live

        note_live(event.store, LiveSession(event.session, event.host, event.transcript))
