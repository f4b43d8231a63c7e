"""What agent hosts say to their hooks, and the one object that answers them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gitmem.integrations.hosts.table import Host
from gitmem.model.context.escape import ForModel, joined, worded

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


def sync_skill_in(host: Host, layout: str, environ: Mapping[str, str]) -> str:
    """How an agent calls the sync in a group of LAYOUT; a plugin brings no other names."""
    from gitmem.model.transcripts.batches import (  # not for every tool that wrote a file
        SYNC,
        sync_skill,
    )

    if host.plugin and environ.get(host.plugin):
        return f"/gitmem:{SYNC}"
    return f"/{sync_skill(layout)}"


def answer(host: Host, event: str, context: ForModel, notice: str) -> dict[str, object] | None:
    """The one object to print: what the model gets, and what its user does; None for nothing.

    Nothing else that hooks say reaches a model.
    """
    found: dict[str, object] = {}
    if notice:
        found["systemMessage"] = notice
    if notice and not host.shows_notices:
        context = joined((context, worded(TELL, notice=notice)))
    if context and event in host.adding:
        inner = {"additionalContext": context}
        named = {"hookEventName": host.named(event)} | inner
        found |= inner if host.answers_flat else {"hookSpecificOutput": named}
    return found or None


def prompt_in(host: Host, payload: Payload) -> str:
    """What the person has asked, without what hooks added before it; nothing where that is no text.

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
