"""What was said before: the last checkpoint, and the newest messages that are not summarised.

Each message is one line, so none can pass for something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gitmem.memory.context.sources import has_transcripts
from gitmem.model.context.escape import ForModel, joined, shown_on_a_line, worded
from gitmem.model.text.numbers import counted
from gitmem.model.transcripts.batches import NONE_NEW

if TYPE_CHECKING:
    from gitmem.memory.group import Group
    from gitmem.memory.transcripts.pending import SaidRow
    from gitmem.memory.transcripts.status import TranscriptStatus

LONGEST = 280
"""Characters of a message that are shown."""
LONGEST_SUMMARY = 1500
UNREADABLE = "Some messages are missing here: they cannot be read; `gitmem check` says which."


Holds = Callable[[str], bool]
Drawn = Callable[[Holds], ForModel]


def continuity(group: Group, skill: str) -> Drawn:
    """What a session should know of the conversations before it: as much as some room holds.

    SKILL is what it shall call when too many of them are not summarised.
    """
    if not has_transcripts(group):
        return lambda holds: worded(NONE_NEW)
    from gitmem.memory.transcripts.pending import action_required
    from gitmem.memory.transcripts.status import transcript_status

    found = transcript_status(group)
    before = tuple(_checkpoint(found, group))
    damage = (worded(UNREADABLE),) if found.unreadable else ()
    action = worded("{action}", action=action_required(found.pending, found.threshold, skill))
    newest = [_line(each, group) for each in reversed(found.newest)]

    def drawn(holds: Holds) -> ForModel:
        page = _Pending(found.pending, damage, action)
        whole = page._replace(before=before)
        page = whole if holds(whole.text) else page
        for line in newest:
            longer = page._replace(lines=(line, *page.lines))
            if not holds(longer.text):
                break
            page = longer
        return page.text

    return drawn


class _Pending(NamedTuple):
    """What was said since the last checkpoint, as far as there is room; the rest is counted."""

    total: int
    damage: tuple[ForModel, ...]
    action: ForModel
    before: tuple[ForModel, ...] = ()
    lines: tuple[ForModel, ...] = ()

    @property
    def text(self) -> ForModel:
        """All of it, one thing on each line."""
        if not self.total:
            return joined((*self.before, *self.damage, worded(NONE_NEW)), "\n")
        return joined((*self.before, *self.damage, self._title(), *self.lines, self.action), "\n")

    def _title(self) -> ForModel:
        messages = counted(self.total, "message")
        if len(self.lines) == self.total:
            return worded("{messages} since then, not summarised:", messages=messages)
        if not self.lines:
            return worded(
                "{messages} since then, not summarised; none of them shown here "
                "(all: `gitmem transcript show CHAT`).",
                messages=messages,
            )
        return worded(
            "{messages} since then, not summarised; the newest {shown} of them "
            "(all: `gitmem transcript show CHAT`):",
            messages=messages,
            shown=len(self.lines),
        )


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
