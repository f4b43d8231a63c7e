"""Codex: where its rollouts lie, and what a line of one says.

Sessions are `sessions/YYYY/MM/DD/rollout-<time>-<uuid>.jsonl` in its home. Their first line names
the directory in which they were started; a message seldom has an id, so it gets one here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from json import JSONDecoder
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
    read_heads,
    row_of,
    started_in,
    texts_in,
    unknown,
    without,
)
from gitmem.memory.transcripts.import_file import ParsedLine

_INTRODUCED = "Another language model started to solve this problem"
"""How the line begins that Codex puts above the summary of a compaction."""
_STRING = r'"(?:\\.|[^"\\])*+"'
_FIELDS = rf"""\s*\{{(?:\s*(?!"type"|"payload"){_STRING}\s*:\s*(?:{_STRING}|[\w.+-]+)\s*,)*+\s*"""
"""The simple fields of an object before those that matter."""
_KIND = re.compile(rf'{_FIELDS}"type"\s*:\s*"(\w*)"')
_MESSAGE = re.compile(
    rf'{_FIELDS}"type"\s*:\s*"compacted"\s*,\s*"payload"\s*:\s*{{\s*"message"\s*:\s*(?=")'
)
_ROLLOUTS = "sessions/[0-9][0-9][0-9][0-9]/[0-9][0-9]/[0-9][0-9]/rollout-*.jsonl"
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_DIGEST = 16
_SENDERS = ("user", "assistant")
_TEXTS = ("input_text", "output_text")
_NOTES = frozenset(
    (
        *("compacted", "event_msg", "session_meta", "turn_context", "world_state"),
        *("inter_agent_communication", "inter_agent_communication_metadata"),
        *("dynamic_tools_updated", "realtime_item", "security_risk_score", "token_usage_record"),
    )
)
_WORDLESS = frozenset(
    (
        *("additional_tools", "compaction", "compaction_summary", "context_compaction"),
        *("ghost_snapshot", "reasoning"),
    )
)
_TOOLS = ("_call", "_output")
"""How the kind of whatever belongs to a tool ends, also of tools that are yet to come."""
_NOT_THE_USERS = (
    *("<environment_context>", "<user_instructions>", "# AGENTS.md instructions for "),
    # Without a folder where they are the user's own, from Codex's home.
    "# AGENTS.md instructions\n\n<INSTRUCTIONS>",
    *("<skill>", "<subagent_notification>", "<turn_aborted>", "<user_shell_command>"),
)
_USER, _HARNESS = "user", frozenset(("agents_md", "harness", "skills"))
"""Who wrote a block, as the metadata of a message tells since 0.166."""


def read_line(raw: bytes, chat: str) -> ParsedLine:
    """What became of one line of a rollout; CHAT is that of its file."""
    row = row_of(raw)
    kind = row.get("type") if row else None
    if row is None or not isinstance(kind, str):
        return UNREADABLE
    if kind == "response_item":
        return _item(row.get("payload"), chat, row.get("timestamp"))
    return NOT_CONVERSATION if kind in _NOTES else unknown(kind)


def _item(item: object, chat: str, at: object) -> ParsedLine:
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(item, dict) or not isinstance(kind, str):
        return UNREADABLE
    if kind == "message":
        return _message(item, chat, at)
    if kind == "agent_message":  # from one agent to another
        return NOT_CONVERSATION
    return NO_TEXT if kind in _WORDLESS or kind.endswith(_TOOLS) else unknown(kind)


def _message(item: dict[str, object], chat: str, at: object) -> ParsedLine:
    sender = item.get("role")
    if not isinstance(sender, str):
        return UNREADABLE
    if sender not in _SENDERS:
        return NOT_CONVERSATION
    texts = texts_in(item.get("content"), _TEXTS)
    if not texts:
        return UNREADABLE if texts is None else NO_TEXT
    if sender == "user":
        texts = _of_the_user(item)
    if not texts:
        return NOT_CONVERSATION
    own = item.get("id")
    known = own if isinstance(own, str) and own else _id(chat, at, sender, texts)
    return parsed(known, chat, sender, at, texts)


def _of_the_user(item: Mapping[str, object]) -> list[str]:
    """The texts of a message that its user wrote.

    Where the metadata names the writer of each block, that decides; a user may well begin with what
    Codex begins with. A writer that we do not know is judged by the text: what is kept by mistake
    can be removed, what is dropped is gone.
    """
    content = item.get("content")
    blocks = content if isinstance(content, list) else [content]
    found: list[str] = []
    for at, block in enumerate(blocks):
        texts = texts_in([block] if isinstance(block, dict) else block, _TEXTS) or []
        writer = _writer(item, at, len(blocks))
        if writer != _USER:
            texts = [] if writer in _HARNESS else without(texts, _NOT_THE_USERS)
        found += texts
    return found


def _writer(item: Mapping[str, object], at: int, count: int) -> object:
    """Who wrote block AT of COUNT; None where the metadata does not tell."""
    about = item.get("internal_chat_message_metadata_passthrough")
    rows = about.get("content_item_metadata") if isinstance(about, dict) else None
    if not isinstance(rows, list) or len(rows) != count:
        return None
    source = rows[at].get("provenance") if isinstance(rows[at], dict) else None
    named = source.get("type") if isinstance(source, dict) else None
    return named if isinstance(named, str) else None


def _id(chat: str, at: object, sender: str, texts: list[str]) -> str:
    """By what a message without an id is known: the same line always has the same."""
    from hashlib import sha1

    facts = "\n".join((str(at), sender, "\n\n".join(texts))).encode("utf-8", "backslashreplace")
    return f"{chat}:{sha1(facts, usedforsecurity=False).hexdigest()[:_DIGEST]}"


def summary_in(path: Path, turn: str = "") -> str | None:
    """The summary of the last compaction in a rollout, of TURN where the rollout knows that one.

    Empty where there is none: a server that compacts by itself leaves no text. None where it
    cannot be read: the summary of an older compaction is never given instead.
    """
    newest: str | None = ""
    with suppress(BadInput, NotFound):  # gone or closed to us by now
        for head, is_whole in read_heads(path):
            if b'"compacted"' in head or is_whole is False:
                newest = _summary(head, newest, is_whole)
            elif turn and b'"task_started"' in head and turn.encode() in head:
                newest = ""  # what stands before is of another turn
    first, _, rest = (newest or "").partition("\n")
    return newest and (rest if first.startswith(_INTRODUCED) else newest).strip()


def _summary(line: bytes, older: str | None, is_whole: bool | None) -> str | None:
    """The text of a compaction; the OLDER one where LINE is of another kind, None in doubt."""
    if is_whole:
        row = row_of(line) or {}
        about = row.get("payload")
        said = about.get("message") if isinstance(about, dict) else ""
        found = said if isinstance(said, str) else ""
        return found if row.get("type") == "compacted" else older
    head = line.decode("utf-8", "replace")
    kind = _KIND.match(head)
    if kind and kind[1] != "compacted":
        return older
    message = _MESSAGE.match(head)
    with suppress(ValueError):  # the text itself is cut
        return str(JSONDecoder().raw_decode(head, message.end())[0]) if message else None
    return None


def chat_of(path: Path) -> str:
    """The chat for which a rollout stands: the uuid in its name, in its first line, or the name."""
    found = re.search(_UUID, path.stem, re.IGNORECASE)
    if found:
        return found[0]
    own = _meta(path).get("id")
    return own if isinstance(own, str) and re.fullmatch(_UUID, own, re.IGNORECASE) else path.stem


def is_aside(path: Path) -> bool:
    """Whether a rollout is of a subagent, whose user is another agent."""
    meta = _meta(path)
    source = meta.get("source")
    return meta.get("thread_source") == "subagent" or (
        isinstance(source, dict) and "subagent" in source
    )


def transcript_files(root: Path) -> Iterator[Path]:
    """All rollouts in Codex's home ROOT, oldest first; those of subagents are not among them."""
    return (each for each in files_among(root.glob(_ROLLOUTS)) if not is_aside(each))


def project_files(home: Path, project: Path) -> Iterator[Path]:
    """The rollouts that were started in the directory PROJECT, oldest first."""
    return started_in(transcript_files(home), _directory, project)


def _directory(path: Path) -> str:
    """Where a rollout was started; nothing where that cannot be told."""
    return folder_named(_meta(path).get("cwd"))


def _meta(path: Path) -> Mapping[str, object]:
    """What the first line of a rollout tells about it; nothing where there is no such line."""
    return first_row(path, "session_meta", "payload")
