"""Claude Code: where its transcripts lie, and what a line of one says.

Sessions are `projects/<folder>/<session>.jsonl` in its home, where the folder is named after the
directory in which it was started. An answer is spread over several lines, one for each block.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gitmem.integrations.host_memory.folders import LONGEST_NAME, folder_names
from gitmem.integrations.transcripts.readers import (
    NO_TEXT,
    NOT_CONVERSATION,
    UNREADABLE,
    files_among,
    parsed,
    real_name,
    row_of,
    texts_in,
    unknown,
    without,
)
from gitmem.memory.transcripts.import_file import ParsedLine

SUMMARY = "summary"
"""Who speaks where Claude Code has put a summary in the place of what was said before."""
_SUBAGENT = "agent-"
"""How the files of subagents begin; older releases kept them beside the sessions."""
_SENDERS = ("user", "assistant")
_NOTES = frozenset(
    (
        *("ai-title", "content-replacement", "custom-title", "file-history-snapshot"),
        *("last-prompt", "mode", "permission-mode", "queue-operation", "summary", "tag"),
        *("attachment", "progress", "system"),
        # Since 2.1.325: what was sent to the model, and what a session goes on from.
        *("api-request", "api-request-blob", "api-request-shape", "cost-state", "tools-used"),
        *("atis-latch", "isolation-latch", "data-flow-incomplete", "data-flow-records"),
    )
)
_ASIDE = ("isMeta", "isSidechain", "teamName")
_NOT_THE_USERS = (
    *("<command-name>", "<command-message>", "<command-args>"),  # one without words
    *("<local-command-stdout>", "<local-command-stderr>", "<local-command-caveat>"),
    *("<bash-input>", "<bash-stdout>", "<bash-stderr>"),
    *("<session-start-hook>", "<task-notification>"),
    *("<tick>", "<goal>", "<ide_opened_file>", "<ide_selection>"),
    "[Request interrupted by user",
)
_REMINDER = r"(?s)<system-reminder>.*?</system-reminder>\s*"
"""What Claude Code adds to a prompt, wherever in it."""
_COMMAND = re.compile(
    r"(?s)\s*(?:<command-message>[^<>]*</command-message>\s*"
    r"|<command-name>(?P<name>[^<>\n]+)</command-name>\s*)+"
    r"<command-args>(?P<words>.*)</command-args>\s*"
)
"""A slash command with the words that its user gave it."""


def read_line(raw: bytes, chat: str) -> ParsedLine:
    """What became of one line of a session; CHAT is that of its file."""
    row = row_of(raw)
    kind = row.get("type") if row else None
    if row is None or not isinstance(kind, str):
        return UNREADABLE
    if kind in _SENDERS:
        return _message(row, kind, chat)
    return NOT_CONVERSATION if kind in _NOTES else unknown(kind)


def _message(row: dict[str, object], sender: str, chat: str) -> ParsedLine:
    if any(row.get(each) for each in _ASIDE):
        return NOT_CONVERSATION
    message = row.get("message")
    texts = texts_in(message.get("content") if isinstance(message, dict) else None, ("text",))
    if not texts:
        return UNREADABLE if texts is None else NO_TEXT
    if row.get("isCompactSummary"):
        sender = SUMMARY
    if sender == "user":
        # Block by block: an editor puts what is open in front of the question, as one of its own.
        texts = [_as_typed(_without_reminders(each)) for each in texts]
        texts = without(texts, _NOT_THE_USERS)
    if not texts:
        return NOT_CONVERSATION
    session = row.get("sessionId")
    named = session if isinstance(session, str) and session else chat
    return parsed(row.get("uuid"), named, sender, row.get("timestamp"), texts)


def _as_typed(text: str) -> str:
    """A slash command as its user typed it; any other TEXT as it is.

    One without words says nothing that is worth keeping, and is left as the host wrote it.
    """
    found = _COMMAND.fullmatch(text)
    if not found or not found["name"] or not found["words"].strip():
        return text
    return f"/{found['name'].strip().lstrip('/')} {found['words'].strip()}"


def is_aside(path: Path) -> bool:
    """Whether a file is of a subagent, whose user is another agent."""
    return path.name.startswith(_SUBAGENT)


def _without_reminders(text: str) -> str:
    """TEXT without closed reminders: a user may write of the tag itself."""
    end = text.rfind("</system-reminder>") + 1  # behind it no search would find an end
    end = text.find(">", end) + 1 if end else 0
    return re.sub(_REMINDER, "", text[:end]) + text[end:].removeprefix("\n")


def chat_of(path: Path) -> str:
    """The chat for which the file of a session stands."""
    return path.stem


def transcript_files(root: Path) -> Iterator[Path]:
    """All sessions in Claude Code's home ROOT, in order; those of subagents are not among them."""
    yield from _sessions((root / "projects").glob("*/*.jsonl"))


def project_files(home: Path, project: Path) -> Iterator[Path]:
    """The sessions that were started in the directory PROJECT, in order."""
    for folder in project_folders(home, project):
        yield from _sessions(folder.glob("*.jsonl"))


def _sessions(paths: Iterator[Path]) -> Iterator[Path]:
    return (each for each in files_among(paths) if not is_aside(each))


def project_folders(home: Path, project: Path) -> list[Path]:
    """The folders in Claude Code's HOME that may be of the directory PROJECT.

    Mostly one. Different directories can have the same, since its name has only letters, digits
    and `-`, and of a long one no more than the beginning can be compared: a digest follows, which
    not all versions compute alike.
    """
    wanted = [_pattern(each) for each in folder_names(real_name(project))]
    found = (home / "projects").glob("*")
    return sorted(
        each
        for each in found
        if any(re.fullmatch(form, each.name) for form in wanted) and os.path.isdir(each)
    )


def _pattern(name: str) -> str:
    cut = re.escape(name[:LONGEST_NAME])
    return cut if len(name) <= LONGEST_NAME else f"{cut}-[0-9a-z]+"
