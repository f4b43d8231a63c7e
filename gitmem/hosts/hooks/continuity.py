"""What was said before: the last checkpoint, and the newest messages that are not summarised.

Each message is one line, so none can pass for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gitmem.core.messages import visible
from gitmem.core.numbers import counted
from gitmem.core.transcripts import NONE_NEW
from gitmem.operations.sources import has_transcripts

if TYPE_CHECKING:
    from gitmem.operations.group import Group
    from gitmem.operations.transcript_pending import SaidRow
    from gitmem.operations.transcript_status import TranscriptStatus

LONGEST = 280
"""Characters of a message that are shown."""
LONGEST_SUMMARY = 1500
UNREADABLE = "Some messages are missing here: they cannot be read; `gitmem check` says which."


def continuity(group: Group, holds: Callable[[str], bool], skill: str) -> str:
    """What a session should know of the conversations before it, as far as HOLDS says.

    SKILL is what it shall call when too many of them are not summarised.
    """
    if not has_transcripts(group):
        return NONE_NEW
    from gitmem.operations.transcript_pending import action_required
    from gitmem.operations.transcript_status import transcript_status

    found = transcript_status(group)
    head = [*_checkpoint(found, group), *([UNREADABLE] if found.unreadable else [])]
    if not found.pending:
        return "\n".join((*head, NONE_NEW))
    action = action_required(found.pending, found.threshold, skill)
    tail = [action] if action else []
    title = f"{counted(found.pending, 'message')} since then, not summarised:"
    lines: list[str] = []
    for each in reversed(found.newest):
        line = _line(each, group)
        if not holds("\n".join((*head, title, line, *lines, *tail))):
            break
        lines.insert(0, line)
    return "\n".join((*head, title, *lines, *tail))


def _checkpoint(found: TranscriptStatus, group: Group) -> list[str]:
    last = found.checkpoint
    if last is None:
        return []
    day = last.time.astimezone(group.zone).date()
    return [f"Last checkpoint, {day}: {_short(last.summary, LONGEST_SUMMARY)}"]


def _line(message: SaidRow, group: Group) -> str:
    at = message.at.astimezone(group.zone)
    return f"- {at:%Y-%m-%d %H:%M} {visible(message.from_)}: {_short(message.text, LONGEST)}"


def _short(text: str, most: int) -> str:
    line = visible(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
