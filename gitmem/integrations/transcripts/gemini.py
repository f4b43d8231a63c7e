"""Gemini CLI: where its sessions lie, and what a line of one says.

Sessions are `tmp/<project>/chats/session-<time>-<start of id>.jsonl` in its home; the first line
names the session, and `tmp/<project>/.project_root` the directory. A message that gets tool calls
is written again under its id, so the same id may come twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.errors import BadInput, NotFound
from gitmem.integrations.hosts.table import GEMINI, HOSTS
from gitmem.integrations.transcripts.readers import (
    NO_TEXT,
    NOT_CONVERSATION,
    UNREADABLE,
    files_among,
    folder_named,
    parsed,
    read_lines,
    row_of,
    started_in,
    unknown,
    without,
)
from gitmem.memory.transcripts.import_file import ParsedLine

_SESSIONS = "tmp/*/chats/session-*.jsonl"
_ROOT = ".project_root"
_LONGEST_ROOT = 4096
_SENDERS = {"user": "user", "gemini": "assistant"}
_NOTES = frozenset(("error", "info", "warning"))
_TAG = HOSTS[GEMINI].tag
_HOOKS = re.compile(rf"\A\s*<{_TAG}>.*?(?:</{_TAG}>|\Z)", re.DOTALL)
"""What hooks have added before a prompt: the host escapes `<` inside, so it ends at the first."""
_NOT_THE_USERS = ("<session_context>",)


def read_line(raw: bytes, chat: str) -> ParsedLine:
    """What became of one line of a session; CHAT is that of its file."""
    row = row_of(raw)
    if row is None:
        return UNREADABLE
    if "sessionId" in row or any(each.startswith("$") for each in row):  # its head, or a patch
        return NOT_CONVERSATION
    kind = row.get("type")
    if not isinstance(kind, str):
        return UNREADABLE
    if kind not in _SENDERS:
        return NOT_CONVERSATION if kind in _NOTES else unknown(kind)
    return _message(row, chat, _SENDERS[kind])


def _message(row: Mapping[str, object], chat: str, sender: str) -> ParsedLine:
    texts = _texts(row.get("content"))
    if texts is None:
        return UNREADABLE
    if not texts:
        return NO_TEXT
    if sender == "user":
        texts = without([_HOOKS.sub("", each).lstrip() for each in texts], _NOT_THE_USERS)
    if not texts:
        return NOT_CONVERSATION
    return parsed(row.get("id"), chat, sender, row.get("timestamp"), texts)


def _texts(content: object) -> list[str] | None:
    """The texts of a message, which is a text or a list of parts; None where it is neither."""
    if isinstance(content, str):
        content = [{"text": content}]
    if not isinstance(content, list):
        return None
    found = (each.get("text") for each in content if isinstance(each, dict))
    return [each for each in found if isinstance(each, str) and each.strip()]


def chat_of(path: Path) -> str:
    """The chat for which a file stands: the session in its first line, else its name."""
    own = _head(path).get("sessionId")
    return own if isinstance(own, str) and own else path.stem


def is_aside(path: Path) -> bool:
    """Whether a transcript is of a subagent: it has none."""
    return False


def transcript_files(root: Path) -> Iterator[Path]:
    """All sessions in the home ROOT, oldest first in each project; not those of subagents."""
    for each in files_among(root.glob(_SESSIONS)):
        if _head(each).get("kind") in (None, "main"):
            yield each


def project_files(home: Path, project: Path) -> Iterator[Path]:
    """The sessions that were started in the directory PROJECT, oldest first."""
    return started_in(transcript_files(home), _directory, project)


def _directory(path: Path) -> str:
    """Where a session was started; nothing where that cannot be told."""
    with suppress(OSError, ValueError), open(path.parents[1] / _ROOT, "rb") as file:
        return folder_named(file.read(_LONGEST_ROOT).decode().strip())
    return ""


def _head(path: Path) -> Mapping[str, object]:
    """The first line of a session; nothing where there is no such line."""
    with suppress(BadInput, NotFound):  # gone or closed to us by now
        first, _ = next(read_lines(path, 0), (b"", 0))
        return row_of(first) or {}
    return {}
