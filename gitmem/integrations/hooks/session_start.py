"""The start of a session: it gets the memory of its group and the pending messages.

Each part may fail by itself and reports that; the others come all the same.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.errors import Busy
from gitmem.integrations.hooks.answer import Output, Parts, damage_words, notice_of
from gitmem.integrations.hooks.context import (
    Drawn,
    changed_since,
    continuity,
    drawn,
    loaded_by_host,
    memory_within,
    nudge_of,
    present,
)
from gitmem.integrations.hooks.edits import capture_edits
from gitmem.integrations.hooks.groups import opened, underway
from gitmem.integrations.hooks.protocol import Event, Room, note_session, room_of, sync_skill_in
from gitmem.integrations.hosts.table import HOSTS
from gitmem.memory.layer_files import Unmade
from gitmem.memory.layouts import layout_of, silenced_at
from gitmem.memory.transcripts.sessions import (
    forget_live,
    forget_sessions,
    keep_session,
    read_session,
)
from gitmem.model.context.escape import NOTHING, ForModel, joined, shown, worded

if TYPE_CHECKING:
    from gitmem.memory.context.inject import Injected
    from gitmem.memory.curate.migrate import Migrated
    from gitmem.memory.group import Group

CARRIED_ON = ("resume", "fork")
"""Sources of a session that has its earlier context in its own transcript."""
COMPACTED = "compact"
COMPACTED_INTO = "gitmem: this session was compacted into {}: you can start a new one instead"
GO_ON = (
    "This session was compacted into {path}. "
    "For everything before that, use the summary there, not the conversation."
)
SHARE = 0.3
"""The share of the space that texts about edits may take."""
SEE_STATUS = "Some edits need attention: see `gitmem status`."
UNREADABLE = "Earlier messages could not be read: see `gitmem transcript status`."
ASIDE = 1 / 3
"""The share of a session's space that a subagent gets: many may start at once."""
FOR_UPKEEP = 1.0
"""Seconds that upkeep needs; with less left, it waits for the next start or `maintain`."""


def started(event: Event) -> Output:
    """The context of a session that starts, resumes or was compacted."""
    if event.payload.get("agent_id"):
        return Output()  # a subagent has its task
    with opened(event) as group:
        work = _Start(event, group)
        return work.carried_on() if work.carries_on else work.whole()


def subagent_started(event: Event) -> Output:
    """The context of a subagent: memory, in a share of a session's space."""
    with opened(event) as group:
        _, text = memory_within(group, room_of(event.host).part(ASIDE))
        return Output(text, damage_words(group.damage))


class _Start:
    """The start of one session."""

    def __init__(self, event: Event, group: Group) -> None:
        self._event, self._group = event, group
        self._known = read_session(group.gitdir, event.session)
        self.source = str(event.payload.get("source") or "startup")
        self._parts = Parts()
        self._is_hindered = False
        self._room = room_of(event.host)
        self._host = HOSTS[event.host]
        self._by_host = loaded_by_host(group, HOSTS[event.host], event.environ, event.project)

    @property
    def carries_on(self) -> bool:
        """Whether its earlier context still counts: not where its summary is in memory."""
        is_there = self.source in CARRIED_ON and self._host.replays
        return is_there and not self._known.compacted

    def whole(self) -> Output:
        """Everything that the layout loads, and the pending messages."""
        edits = self._caught_up()
        fresh, reminder, pending = self._fresh_start(), self._reminder(), self._pending()
        # Memory comes first and whole; of everything else at least a line is shown.
        least, status = pending(lambda text: False), worded(SEE_STATUS) if edits else NOTHING
        room = self._room.without(joined((least, fresh, status)))
        memory = self._parts.tried("memory could not be read", lambda: self._memory(room))
        left = self._room.without(memory)
        ways = (joined((fresh, edits, reminder)), joined((fresh, edits)))
        spare = left.without(least)
        beside = next((each for each in ways if spare.holds(each)), joined((fresh, status)))
        text = joined((memory, pending(left.without(beside).holds), beside))
        self._keep(nudge=False)
        self._look_back()
        self._parts.tell(self._group.damage)
        return Output(text, self._parts.notice)

    def carried_on(self) -> Output:
        """The changes since this session was last shown memory."""
        self._caught_up()
        text = self._parts.tried("memory could not be read", self._changes)
        self._keep(nudge=self._known.nudge)
        self._look_back()
        self._parts.tell(self._group.damage)
        return Output(text, self._parts.notice)

    def _caught_up(self) -> ForModel:
        """Capture edits and import transcripts; return what the model should know about edits."""
        room = self._room.part(SHARE)
        edits = self._parts.tried(
            "edits could not be captured",
            lambda: capture_edits(self._event, self._group, room, with_held=True),
        )
        if not self._parts.trouble:  # else that error has said it
            self._parts.trouble += underway(self._group)
        self._is_hindered = bool(self._parts.trouble)
        self._parts.tried("transcripts could not be imported", self._drain)
        if self._has_time:  # before memory is read: the model sees the migrated files
            self._parts.tried("old files could not be migrated", self._migrate)
        return edits

    @property
    def _has_time(self) -> bool:
        """Whether upkeep can run: nothing failed, and there is time left for memory."""
        from gitmem.integrations.hooks.deadline import time_left

        return not self._is_hindered and time_left() > FOR_UPKEEP

    def _look_back(self) -> None:
        """Do the upkeep that no model sees, after the context is ready."""
        if self._has_time:
            self._parts.tried("missing snapshots could not be made", self._snapshots)

    def _fresh_start(self) -> ForModel:
        """A note for a session that resumes after a compaction: no hook can start a new one."""
        path = self._known.compacted
        self._known = self._known._replace(compacted="")
        if not path or self.source not in CARRIED_ON:
            return NOTHING
        self._parts.trouble.append(COMPACTED_INTO.format(shown(path)))
        return worded(GO_ON, path=path)

    def _keep(self, *, nudge: bool) -> None:
        now = self._group.moment().timestamp()
        forget_sessions(self._group.gitdir, now)
        forget_live(self._event.store, now)
        if self._event.session:
            note_session(self._event)
            known = self._known._replace(nudge=nudge)
            keep_session(self._group.gitdir, self._event.session, known)

    def _memory(self, room: Room) -> ForModel:
        """Memory that the layout loads, in whole entries, as much as fits."""
        found, text = memory_within(self._group, room, self._host.format, self._by_host)
        self._was_shown(found)
        self._tell_silenced()
        if self._by_host:  # it also tells the model what to write there
            return text
        unmade = Unmade(found.may_create).words
        more = joined((text, unmade))
        return more if unmade != text and room.holds(more) else text

    def _tell_silenced(self) -> None:
        """Report files that no model is shown; nothing else would show that."""
        snapshot, name = self._group.repository.snapshot(), self._group.name
        for each in silenced_at(layout_of(self._group), snapshot):
            self._parts.trouble.append(notice_of(each.words(name)))

    def _was_shown(self, found: Injected) -> None:
        self._known = self._known._replace(shown=tuple(found.pins.items()))

    def _pending(self) -> Drawn:
        """The pending messages; the model is told, too, where they cannot be read."""
        try:
            layout = layout_of(self._group).name
            skill = sync_skill_in(self._host, layout, self._event.environ)
            return continuity(self._group, skill)
        except Exception as error:  # noqa: BLE001 - one part never costs another
            self._parts.failed(error, "messages could not be read")
            return lambda holds: worded(UNREADABLE)

    def _drain(self) -> ForModel:
        from gitmem.integrations.hooks.drain import drain

        self._parts.trouble += drain(self._event, self._group.name)
        return NOTHING

    def _migrate(self) -> ForModel:
        """Migrate old files, as the original systems did when they started."""
        if any(layout_of(self._group).migrate):
            from gitmem.memory.curate.migrate import migrate_due

            with suppress(Busy):  # the next start does it
                done = migrate_due(self._group, wait=0.0)
                if done.changed:
                    self._parts.trouble.append(_migrated(self._group.name, done))
        return NOTHING

    def _snapshots(self) -> ForModel:
        from gitmem.memory.upkeep.missed_snapshots import catch_up

        catch_up(self._group)
        return NOTHING

    def _reminder(self) -> ForModel:
        due = self._known.nudge or self.source == COMPACTED
        return nudge_of(self._group) if due else NOTHING

    def _changes(self) -> ForModel:
        # Without a record, count changes from now on: the rest is in its transcript.
        known = self._known.shown or present(self._group)
        found = changed_since(self._group, known, self._by_host)
        self._known = self._known._replace(shown=found.shown)
        found = found._replace(format=self._host.format or found.format)
        return drawn(found, self._room.holds)


def _migrated(group: str, done: Migrated) -> str:
    from gitmem.model.hints import Hint, call

    undo = call("undo", *(each[:10] for each in done.commits), group=group)
    return notice_of(Hint(done.summary, " (take it back: ", undo, ")"))
