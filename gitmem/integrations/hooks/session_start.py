"""A session starts: it gets the memory of its group, and what was said since the last checkpoint.

Each part may fail by itself and says so; the others come all the same.
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
"""A session that goes on has what it was shown before in its own transcript."""
COMPACTED = "compact"
COMPACTED_INTO = "gitmem: this session was compacted into {}: you can start a new one instead"
GO_ON = (
    "This session was compacted into {path}. "
    "For what was said before that, go by the summary there, not by the conversation."
)
SHARE = 0.3
"""How much of a hook's room words on edits may take."""
SEE_STATUS = "There is something to say on edits and no room for it: see `gitmem status`."
UNREADABLE = "Earlier messages could not be read; `gitmem transcript status` says why."
ASIDE = 1 / 3
"""How much of a session's room a subagent gets: it has its task, and many may start at once."""
FOR_UPKEEP = 1.0
"""Seconds that must be left for upkeep; else it waits for the next start, or `gitmem maintain`."""


def started(event: Event) -> Output:
    """What a session is shown when it starts, goes on or was compacted."""
    if event.payload.get("agent_id"):
        return Output()  # a subagent has its task
    with opened(event) as group:
        work = _Start(event, group)
        return work.carried_on() if work.carries_on else work.whole()


def subagent_started(event: Event) -> Output:
    """What a subagent is shown when it starts: memory, in a part of the room of a session."""
    with opened(event) as group:
        _, text = memory_within(group, room_of(event.host).part(ASIDE))
        return Output(text, damage_words(group.damage))


class _Start:
    """One start."""

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
        """Whether what it was shown still counts: not where its summary stands in memory."""
        is_there = self.source in CARRIED_ON and self._host.replays
        return is_there and not self._known.compacted

    def whole(self) -> Output:
        """All that the layout loads, and what was said."""
        edits = self._caught_up()
        fresh, reminder, said = self._fresh_start(), self._reminder(), self._said()
        # Memory comes first and whole: all else says at least that it is there.
        least, status = said(lambda text: False), worded(SEE_STATUS) if edits else NOTHING
        room = self._room.without(joined((least, fresh, status)))
        memory = self._parts.tried("memory could not be read", lambda: self._memory(room))
        left = self._room.without(memory)
        ways = (joined((fresh, edits, reminder)), joined((fresh, edits)))
        spare = left.without(least)
        beside = next((each for each in ways if spare.holds(each)), joined((fresh, status)))
        text = joined((memory, said(left.without(beside).holds), beside))
        self._keep(nudge=False)
        self._look_back()
        self._parts.tell(self._group.damage)
        return Output(text, self._parts.notice)

    def carried_on(self) -> Output:
        """What has changed since this very session was shown it."""
        self._caught_up()
        text = self._parts.tried("memory could not be read", self._changes)
        self._keep(nudge=self._known.nudge)
        self._look_back()
        self._parts.tell(self._group.damage)
        return Output(text, self._parts.notice)

    def _caught_up(self) -> ForModel:
        """Keep what happened since; what the model should know of it."""
        room = self._room.part(SHARE)
        edits = self._parts.tried(
            "edits could not be kept",
            lambda: capture_edits(self._event, self._group, room, with_held=True),
        )
        if not self._parts.trouble:  # else that has said it already
            self._parts.trouble += underway(self._group)
        self._is_hindered = bool(self._parts.trouble)
        self._parts.tried("what was said could not be kept", self._drain)
        if self._has_time:  # before memory is read: the model sees the files in their new form
            self._parts.tried("old files could not be migrated", self._migrate)
        return edits

    @property
    def _has_time(self) -> bool:
        """Whether upkeep can be done: nothing is in its way, and it costs nobody their memory."""
        from gitmem.integrations.hooks.deadline import time_left

        return not self._is_hindered and time_left() > FOR_UPKEEP

    def _look_back(self) -> None:
        """Upkeep that no model sees: when all that it is shown is ready."""
        if self._has_time:
            self._parts.tried("missing snapshots could not be made", self._snapshots)

    def _fresh_start(self) -> ForModel:
        """A word to a session that goes on though it was compacted: no hook can begin another."""
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
        """What the layout loads, whole entries of it, as far as there is room."""
        found, text = memory_within(self._group, room, self._host.format, self._by_host)
        self._was_shown(found)
        self._tell_silenced()
        if self._by_host:  # it also tells the model what to write there
            return text
        unmade = Unmade(found.may_create).words
        more = joined((text, unmade))
        return more if unmade != text and room.holds(more) else text

    def _tell_silenced(self) -> None:
        """Tell the user of files that no model is shown, which nobody else would notice."""
        snapshot, name = self._group.repository.snapshot(), self._group.name
        for each in silenced_at(layout_of(self._group), snapshot):
            self._parts.trouble.append(notice_of(each.words(name)))

    def _was_shown(self, found: Injected) -> None:
        self._known = self._known._replace(shown=tuple(found.pins.items()))

    def _said(self) -> Drawn:
        """The end of the conversation so far; that it cannot be read is said to the model, too."""
        try:
            layout = layout_of(self._group).name
            skill = sync_skill_in(self._host, layout, self._event.environ)
            return continuity(self._group, skill)
        except Exception as error:  # noqa: BLE001 - one part never costs another
            self._parts.failed(error, "what was said could not be read")
            return lambda holds: worded(UNREADABLE)

    def _drain(self) -> ForModel:
        from gitmem.integrations.hooks.drain import drain

        self._parts.trouble += drain(self._event, self._group.name)
        return NOTHING

    def _migrate(self) -> ForModel:
        """What a system did at its start when it was a program of its own."""
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
        # What a session was shown that is not known here is in its transcript: from now on.
        known = self._known.shown or present(self._group)
        found = changed_since(self._group, known, self._by_host)
        self._known = self._known._replace(shown=found.shown)
        found = found._replace(format=self._host.format or found.format)
        return drawn(found, self._room.holds)


def _migrated(group: str, done: Migrated) -> str:
    from gitmem.model.hints import Hint, call

    undo = call("undo", *(each[:10] for each in done.commits), group=group)
    return notice_of(Hint(done.summary, " (take it back: ", undo, ")"))
