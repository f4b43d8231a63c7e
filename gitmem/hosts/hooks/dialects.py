"""What each agent host says to its hooks, and what it takes from them: names, limits, one answer.

A host is a row of the table here. All else about hooks is the same for every one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gitmem.core.escaping import ForModel

EVENTS = {
    "session-start": "SessionStart",
    "user-prompt-submit": "UserPromptSubmit",
    "post-tool-use": "PostToolUse",
    "pre-compact": "PreCompact",
    "post-compact": "PostCompact",
    "stop": "Stop",
    "subagent-stop": "SubagentStop",
    "session-end": "SessionEnd",
}
"""The events that are answered: as a command names them, and as hosts do."""

Payload = Mapping[str, Any]
"""What a host said, a JSON object."""


class Dialect(NamedTuple):
    """How one host is spoken to."""

    name: str
    chars: int
    """Characters that a hook may add to a conversation."""
    tokens: int
    """Tokens, as an estimate; 0 where the host counts only characters."""
    adding: frozenset[str]
    """Events whose answer may add to the conversation."""
    deaf: frozenset[str]
    """Events whose answer nobody reads: what went wrong is said on standard error."""
    plugin: str = ""
    """The variable by which a hook knows that a plugin brought it."""

    def sync_skill(self, layout: str, environ: Mapping[str, str]) -> str:
        """How an agent calls the sync in a group of LAYOUT; a plugin brings no other names."""
        from gitmem.core.transcripts import SYNC, sync_skill  # not for every tool that wrote a file

        if self.plugin and environ.get(self.plugin):
            return f"/gitmem:{SYNC}"
        return f"/{sync_skill(layout)}"


DIALECTS = {
    each.name: each
    for each in (
        Dialect(
            "claude-code",
            # Above 10,000 UTF-16 units in one string the model gets a file name and a preview. The
            # three core files at their budgets are 10 KB: a larger reserve would cost them lines.
            chars=9980,
            tokens=0,
            # A subagent that ends could be told something, too; but it has its task.
            adding=frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")),
            deaf=frozenset(("PreCompact", "PostCompact", "SessionEnd")),
            plugin="CLAUDE_PLUGIN_ROOT",
        ),
        Dialect(
            "codex",
            chars=9980,
            tokens=2200,  # above a measured 2,469 the middle is left out
            # What a turn that ends may answer there is a closed list, and this is not on it.
            adding=frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse")),
            deaf=frozenset(("PreCompact", "PostCompact", "SessionEnd")),
        ),
    )
}
DEFAULT = "claude-code"


def answer(
    dialect: Dialect, event: str, context: ForModel, notice: str
) -> dict[str, object] | None:
    """The one object to print: what the model gets, and what its user does; None for nothing.

    Nothing else that hooks say reaches a model.
    """
    found: dict[str, object] = {}
    if notice:
        found["systemMessage"] = notice
    if context and event in dialect.adding:
        found["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": context}
    return found or None


def files_written(payload: Payload) -> Iterator[str]:
    """The files that a tool has just written, by absolute paths."""
    from os.path import join

    said = payload.get("tool_input")
    if not isinstance(said, dict):
        return
    folder = str(payload.get("cwd") or "/")
    for key in ("file_path", "notebook_path"):
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
