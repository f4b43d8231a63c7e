"""The protocol of hooks: the event a host sends, the object it accepts, and its limits."""

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
"""The events that are answered: their names as arguments of the command, and at hosts."""
TELL = "Tell the user, who does not see this: {notice}"
"""For the model of a host that shows its user no notices."""
Payload = Mapping[str, Any]
"""The JSON object that a host sends."""
LARGEST = 32 * 1024 * 1024
"""Bytes of a payload; it may contain a whole file that was written."""
LONGEST_NAME = 200
BETWEEN = "\n\n"
Line = TypeVar("Line", bound=str)


class Event(Record):
    """An event of a host, with the store, group and agent that it concerns."""

    command: str
    host: str
    payload: Payload
    store: str
    group: str
    """The group that was named; empty where the folder of the project decides."""
    acting: str | None
    agent: str
    """The author of commits; empty for the host."""
    environ: Mapping[str, str]
    now: datetime | None = None
    """A fixed time, for tests; None for the real clock."""

    @property
    def name(self) -> str:
        """The name of the event at hosts; empty for an unknown argument of the command."""
        if self.command:
            return EVENTS.get(self.command, "")
        named = str(self.payload.get("hook_event_name"))
        return HOSTS[self.host].events.get(named, named)

    @property
    def session(self) -> str:
        """The session; for a subagent with an id of its own, the session it works for."""
        payload = self.payload
        return str(payload.get("parent_agent_id") or payload.get("session_id") or "")

    @property
    def transcript(self) -> str:
        """The file in which the host records the session; empty where it names none."""
        named = self.payload.get("transcript_path")
        return named if isinstance(named, str) else ""

    @property
    def turn(self) -> str:
        """The id of the turn."""
        return _name(self.payload.get(HOSTS[self.host].turn))

    @property
    def subagent(self) -> str:
        """The type and id of the subagent; empty for the session itself."""
        kind, name = (_name(self.payload.get(each)) for each in ("agent_type", "agent_id"))
        return f"{kind}/{name}" if name else ""

    @property
    def project(self) -> str:
        """The folder of the project."""
        named = self.environ.get(HOSTS[self.host].project_variable)
        return named or str(self.payload.get("cwd") or "/")


def _name(value: object) -> str:
    """VALUE if it is a name that a commit can hold, else empty."""
    is_name = isinstance(value, str) and len(value) <= LONGEST_NAME and value.isprintable()
    return value if is_name else ""  # type: ignore[return-value]


def read_payload(data: bytes) -> Payload | None:
    """The JSON object in DATA; None for anything else."""
    if len(data) > LARGEST:
        return None
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def sync_skill_in(host: Host, layout: str, environ: Mapping[str, str]) -> str:
    """The name of the sync skill in a group of LAYOUT; in a plugin it has one name."""
    from gitmem.model.transcripts.batches import (  # not for every tool that wrote a file
        SYNC,
        sync_skill,
    )

    if host.plugin and environ.get(host.plugin):
        return f"/gitmem:{SYNC}"
    return f"/{sync_skill(layout)}"


def answer(host: Host, name: str, context: ForModel, notice: str) -> dict[str, object] | None:
    """The one object to print: CONTEXT for the model, NOTICE for the user; None for nothing.

    No other text of a hook reaches a model.
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
    """The prompt without texts that hooks added before it; empty where it is not a string.

    A host with a tag escapes `<` inside it, so the first end tag closes it.
    """
    prompt = payload.get("prompt")
    if not isinstance(prompt, str):
        return ""
    if host.tag and prompt.startswith(f"<{host.tag}>"):
        return prompt.partition(f"</{host.tag}>")[2].lstrip()
    return prompt


def files_written(host: Host, payload: Payload) -> Iterator[str]:
    """The absolute paths of the files that a tool has just written."""
    from os.path import join

    given = payload.get("tool_input")
    if not isinstance(given, dict):
        return
    folder = str(payload.get("cwd") or "/")
    for key in host.paths:
        if isinstance(given.get(key), str) and given[key]:
            yield join(folder, given[key])
    patch = given.get("command")
    if isinstance(patch, list):
        patch = "\n".join(map(str, patch))
    if payload.get("tool_name") == "apply_patch" and isinstance(patch, str):
        yield from (join(folder, each) for each in _patched(patch))


def _patched(patch: str) -> Iterator[str]:
    """The files named in a patch of Codex."""
    heads = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")
    for line in patch.splitlines():
        for head in heads:
            if line.startswith(head):
                yield line[len(head) :].strip()


class Room(Record):
    """The space that a host gives a hook: characters, and about as many tokens."""

    chars: int
    tokens: int

    def holds(self, text: str) -> bool:
        """Whether TEXT fits."""
        return length_of(text) <= self.chars and tokens_in(text) <= self.tokens

    def without(self, text: str) -> Room:
        """The space left beside TEXT."""
        if not text:
            return self
        chars, tokens = length_of(text) + len(BETWEEN), tokens_in(text) + tokens_in(BETWEEN)
        return Room(max(0, self.chars - chars), max(1, self.tokens - tokens))

    def part(self, share: float) -> Room:
        """A share of the space."""
        return Room(int(self.chars * share), int(self.tokens * share))

    def weight(self, text: str) -> int:
        """The characters that TEXT takes, scaled up where its tokens are the tighter limit."""
        return max(length_of(text), -(-tokens_in(text) * self.chars // self.tokens))

    def whole_ones(self, lines: Sequence[Line]) -> Iterator[Line]:
        """The LINES that fit, in order, none of them cut."""
        left = self
        for each in lines:
            if left.holds(each):
                left = left.without(each)
                yield each


def room_of(host: str) -> Room:
    """The whole space that HOST gives."""
    row = HOSTS[host]
    # A character is at most one token, so without a token limit only characters count.
    return Room(row.chars, row.tokens or row.chars)


def tokens_in(text: str) -> int:
    """The estimated tokens of TEXT: one for 4 ASCII characters, or for 1.3 others."""
    plain = sum(char < "\x80" for char in text)
    return -(-(plain * 13 + (len(text) - plain) * 40) // 52)


def length_of(text: str) -> int:
    """The length of TEXT in UTF-16 units, as hosts count."""
    return len(text) + sum(char > "\uffff" for char in text)


def asking(event: Event) -> GroupChoice:
    """The facts that decide which group a session uses."""
    from gitmem.memory.write.last_scan import GroupChoice

    return GroupChoice(event.store, event.project, event.group, event.acting or "")


def note_session(event: Event) -> None:
    """Note that the session works in this store, so that edits can be attributed to it."""
    if event.session and os.path.isdir(event.store):
        from gitmem.memory.transcripts.sessions import LiveSession, note_live

        note_live(event.store, LiveSession(event.session, event.host, event.transcript))
