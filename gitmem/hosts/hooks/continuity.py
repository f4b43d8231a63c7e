"""What was said before: the last checkpoint, and the newest messages that are not summarised.

Each message is one line, so none can pass for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gitmem.core.escaping import ForModel, joined, shown_on_a_line, worded
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


def continuity(group: Group, holds: Callable[[str], bool], skill: str) -> ForModel:
    """What a session should know of the conversations before it, as far as HOLDS says.

    SKILL is what it shall call when too many of them are not summarised.
    """
    if not has_transcripts(group):
        return worded(NONE_NEW)
    from gitmem.operations.transcript_pending import action_required
    from gitmem.operations.transcript_status import transcript_status

    found = transcript_status(group)
    head = [*_checkpoint(found, group), *([worded(UNREADABLE)] if found.unreadable else [])]
    if not found.pending:
        return joined((*head, worded(NONE_NEW)), "\n")
    action = worded("{action}", action=action_required(found.pending, found.threshold, skill))
    title = worded(
        "{messages} since then, not summarised:", messages=counted(found.pending, "message")
    )
    lines: list[ForModel] = []
    for each in reversed(found.newest):
        line = _line(each, group)
        if not holds(joined((*head, title, line, *lines, action), "\n")):
            break
        lines.insert(0, line)
    return joined((*head, title, *lines, action), "\n")


def _checkpoint(found: TranscriptStatus, group: Group) -> list[ForModel]:
    last = found.checkpoint
    if last is None:
        return []
    day = last.time.astimezone(group.zone).date()
    summary = _short(last.summary, LONGEST_SUMMARY)
    return [worded("Last checkpoint, {day}: {summary}", day=day, summary=summary)]


def _line(message: SaidRow, group: Group) -> ForModel:
    at = f"{message.at.astimezone(group.zone):%Y-%m-%d %H:%M}"
    text = _short(message.text, LONGEST)
    return worded("- {at} {who}: {text}", at=at, who=message.from_, text=text)


def _short(text: str, most: int) -> str:
    """TEXT on one line, cut where it has more than MOST characters as they are shown."""
    line = " ".join(text.split())
    while len(line) > most or len(shown_on_a_line(line)) > most:
        keep = most - 1 - (len(shown_on_a_line(line[:most])) - len(line[:most]))
        line = f"{line[: max(keep, 0)].rstrip()}…"
    return line
