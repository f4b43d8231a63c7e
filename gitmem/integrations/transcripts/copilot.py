"""Copilot CLI: where its sessions lie, and what a line of one says.

A session is `session-state/<id>/events.jsonl` in its home. Its first event names the directory.
What subagents do stands in the same file, with their id in `agentId`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.errors import BadInput, NotFound
from gitmem.integrations.transcripts.readers import (
    NO_TEXT,
    NOT_CONVERSATION,
    UNREADABLE,
    files_among,
    first_row,
    folder_named,
    parsed,
    read_lines,
    row_of,
    started_in,
    unknown,
)
from gitmem.memory.transcripts.import_file import ParsedLine

_EVENTS = "session-state/*/events.jsonl"
_SENDERS = {"user.message": "user", "assistant.message": "assistant"}
_NOTES = (
    *("assistant.", "hook.", "model.", "permission.", "session.", "subagent.", "system."),
    "tool.",
)
_FROM_AGENT = "agent-"
_COMPACTED = "session.compaction_complete"


def read_line(raw: bytes, chat: str) -> ParsedLine:
    """What became of one event of a session; CHAT is that of its file."""
    row = row_of(raw)
    kind = row.get("type") if row else None
    if row is None or not isinstance(kind, str):
        return UNREADABLE
    if kind not in _SENDERS:
        return NOT_CONVERSATION if kind.startswith(_NOTES) else unknown(kind)
    data = row.get("data")
    # `content` is what the person typed; `transformedContent` has what hooks added.
    text = data.get("content") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(text, str):
        return UNREADABLE
    if row.get("agentId") or str(data.get("source") or "").startswith(_FROM_AGENT):
        return NOT_CONVERSATION
    if not text.strip():
        return NO_TEXT
    return parsed(row.get("id"), chat, _SENDERS[kind], row.get("timestamp"), [text])


def summary_in(path: Path, _turn: str = "") -> str:
    """The summary of the last compaction in a session; empty where none can be read."""
    newest: object = ""
    with suppress(BadInput, NotFound):  # gone or closed to us by now
        for raw, _ in read_lines(path, 0):
            row = row_of(raw) if _COMPACTED.encode() in raw else None
            data = row.get("data") if row and row.get("type") == _COMPACTED else None
            if isinstance(data, dict) and data.get("success"):
                newest = data.get("summaryContent")
    return newest.strip() if isinstance(newest, str) else ""


def chat_of(path: Path) -> str:
    """The chat for which a file stands: the session in its first event, else its folder or name."""
    own = _begin(path).get("sessionId")
    if isinstance(own, str) and own:
        return own
    return path.parent.name if path.stem == "events" else path.stem


def is_aside(path: Path) -> bool:
    """Whether a transcript is of a subagent: theirs stand in the transcript of the session."""
    return False


def transcript_files(root: Path) -> Iterator[Path]:
    """All sessions in the home ROOT."""
    yield from files_among(root.glob(_EVENTS))


def project_files(home: Path, project: Path) -> Iterator[Path]:
    """The sessions that were started in the directory PROJECT."""
    return started_in(transcript_files(home), _directory, project)


def _directory(path: Path) -> str:
    """Where a session was started; nothing where that cannot be told."""
    context = _begin(path).get("context")
    return folder_named(context.get("cwd") if isinstance(context, dict) else None)


def _begin(path: Path) -> Mapping[str, object]:
    """What the first event of a session says; nothing where there is no such event."""
    return first_row(path, "session.start", "data")
