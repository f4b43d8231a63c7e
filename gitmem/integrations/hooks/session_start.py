"""A session starts: it gets the memory of its group, and what was said since the last checkpoint.

Each part may fail by itself and says so; the others come all the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from gitmem.errors import Busy
from gitmem.integrations.hooks.answer import Asked, Parts, Said, damage_words
from gitmem.integrations.hooks.dialects import sync_skill_in
from gitmem.integrations.hooks.groups import opened, take_in, underway
from gitmem.integrations.hooks.limits import Room, room_of
from gitmem.integrations.hooks.sessions import note_session
from gitmem.integrations.hosts.table import HOSTS, Host
from gitmem.memory.context.inject import LOADED, OVER_BUDGET, inject
from gitmem.memory.layer_files import Unmade
from gitmem.memory.layouts import layout_of, silenced_at
from gitmem.memory.transcripts.live import forget_live
from gitmem.memory.transcripts.sessions import forget_sessions, keep_session, read_session
from gitmem.model.context.escape import NOTHING, ForModel, joined, shown, worded
from gitmem.model.context.pieces import FILE_KINDS
from gitmem.model.context.render import readable
from gitmem.model.transcripts.batches import NONE_NEW

if TYPE_CHECKING:
    from gitmem.integrations.hooks.continuity import Drawn
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
NAMES = 0.1
"""How much of a room the names of what it does not hold may take."""
FOR_UPKEEP = 1.0
"""Seconds that must be left for upkeep; else it waits for the next start, or `gitmem maintain`."""


def started(asked: Asked) -> Said:
    """What a session is shown when it starts, goes on or was compacted."""
    if asked.payload.get("agent_id"):
        return Said()  # a subagent has its task
    with opened(asked) as group:
        work = _Start(asked, group)
        return work.carried_on() if work.carries_on else work.whole()


def subagent_started(asked: Asked) -> Said:
    """What a subagent is shown when it starts: memory, in a part of the room of a session."""
    with opened(asked) as group:
        _, text = memory_within(group, room_of(asked.host).part(ASIDE))
        return Said(text, damage_words(group.damage))


class _Start:
    """One start."""

    def __init__(self, asked: Asked, group: Group) -> None:
        self._asked, self._group = asked, group
        self._known = read_session(group.gitdir, asked.session)
        self.source = str(asked.payload.get("source") or "startup")
        self._parts = Parts()
        self._is_hindered = False
        self._room = room_of(asked.host)
        self._host = HOSTS[asked.host]
        self._by_host = loaded_by_host(group, HOSTS[asked.host], asked.environ, asked.project)

    @property
    def carries_on(self) -> bool:
        """Whether what it was shown still counts: not where its summary stands in memory."""
        is_there = self.source in CARRIED_ON and self._host.replays
        return is_there and not self._known.compacted

    def whole(self) -> Said:
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
        return Said(text, self._parts.notice)

    def carried_on(self) -> Said:
        """What has changed since this very session was shown it."""
        self._caught_up()
        text = self._parts.tried("memory could not be read", self._changes)
        self._keep(nudge=self._known.nudge)
        self._look_back()
        self._parts.tell(self._group.damage)
        return Said(text, self._parts.notice)

    def _caught_up(self) -> ForModel:
        """Keep what happened since; what the model should know of it."""
        room = self._room.part(SHARE)
        edits = self._parts.tried(
            "edits could not be kept",
            lambda: take_in(self._asked, self._group, room, with_held=True),
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
        forget_live(self._asked.store, now)
        if self._asked.session:
            note_session(self._asked)
            known = self._known._replace(nudge=nudge)
            keep_session(self._group.gitdir, self._asked.session, known)

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
            self._parts.trouble.append(f"gitmem: {each.words(name)}")

    def _was_shown(self, found: Injected) -> None:
        self._known = self._known._replace(shown=tuple(found.pins.items()))

    def _said(self) -> Drawn:
        """The end of the conversation so far; that it cannot be read is said to the model, too."""
        from gitmem.integrations.hooks.continuity import continuity

        try:
            layout = layout_of(self._group).name
            skill = sync_skill_in(self._host, layout, self._asked.environ)
            return continuity(self._group, skill)
        except Exception as error:  # noqa: BLE001 - one part never costs another
            self._parts.failed(error, "what was said could not be read")
            return lambda holds: worded(UNREADABLE)

    def _drain(self) -> ForModel:
        from gitmem.integrations.hooks.import_spool import drain

        self._parts.trouble += drain(self._asked, self._group.name)
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
        from gitmem.integrations.hooks.resume import changed_since, drawn, present

        # What a session was shown that is not known here is in its transcript: from now on.
        known = self._known.shown or present(self._group)
        found = changed_since(self._group, known, self._by_host)
        self._known = self._known._replace(shown=found.shown)
        found = found._replace(format=self._host.format or found.format)
        return drawn(found, self._room.holds)


def loaded_by_host(
    group: Group, host: Host, environ: Mapping[str, str], project: str
) -> tuple[str, ...]:
    """The files of GROUP that HOST itself shows to the model in PROJECT, and the layout would."""
    own = host.own_memory
    if own is None:
        return ()
    from gitmem.integrations.host_memory.folders import used_for

    folder = used_for(host, environ, project).folder
    if not folder:
        return ()
    index, root = os.path.join(os.path.realpath(folder), own.page), f"{group.worktree}{os.sep}"
    path = index.removeprefix(root) if index.startswith(root) else ""
    layer = layout_of(group).layer_of(path) if path else None
    return (path,) if layer and layer.load in LOADED else ()


def memory_within(
    group: Group, room: Room, format: str = "", without: tuple[str, ...] = ()
) -> tuple[Injected, ForModel]:
    """What the layout loads as far as ROOM holds it, and the text, which names the rest.

    FORMAT: another one than that of the layout. WITHOUT: files that the host shows itself.
    """
    own = layout_of(group).budget
    room = room._replace(chars=min(own, room.chars)) if own else room
    budget = room.chars
    while True:
        found = inject(
            group,
            budget=budget,
            measure=room.weight,
            format=format,
            without=without,
            count_edits=False,
        )
        text = _with_rest(found, room)
        over = room.weight(text) - room.chars
        if over <= 0 or not budget:
            return found, text
        budget = max(0, min(budget, room.weight(found.text)) - over)


def core_cut(
    group: Group, room: Room, format: str = "", without: tuple[str, ...] = ()
) -> list[str]:
    """The documents of GROUP that ROOM does not hold whole, even where no message is pending."""
    found, _ = memory_within(group, room.without(NONE_NEW), format, without)
    cut = [f"{each.path} ({each.cut})" for each in found.manifest.pieces if each.cut]
    core = {each.name for each in layout_of(group).layers if each.kind in FILE_KINDS}
    gone = (each for each in found.manifest.left_out if each.why == OVER_BUDGET)
    return [*cut, *(f"{each.address} (not shown)" for each in gone if each.layer in core)]


def _with_rest(found: Injected, room: Room) -> ForModel:
    """The text, and what there was no room for: a gap that nobody names looks like all there is."""
    rest = [each for each in found.manifest.left_out if each.why == OVER_BUDGET]
    if not rest:
        return found.text
    # What went last is the most important. Names are as long as people make them.
    named = [readable(each.address, each.group) for each in reversed(rest)]
    names = list(room.part(NAMES).whole_ones(named))
    more = len(rest) - len(names)
    rest_of = worded("{more} more (see `gitmem list`)", more=more) if more else NOTHING
    way = worded(". Read one with `gitmem read PATH`.")
    if not names:
        rest_of = worded("{more} files or entries", more=more)
        way = worded(": see `gitmem list`.")
    listed = joined((joined(names, ", "), rest_of), " and ")
    return joined((found.text, joined((worded("Not shown, for want of room: "), listed, way), "")))


def _migrated(group: str, done: Migrated) -> str:
    from gitmem.model.text.quoting import quoted

    commits = " ".join(each[:10] for each in done.commits)
    return f"gitmem: {done.told} (take it back: `gitmem -g {quoted(group)} undo {commits}`)"


def nudge_of(group: Group) -> ForModel:
    """A word on the diary, where the layout has one."""
    journal = next((each for each in layout_of(group).layers if each.kind == "journal"), None)
    if journal is None:
        return NOTHING
    return worded(
        "A good part of this session is not in the {journal} yet. "
        "The skill `diary` writes down what is worth keeping.",
        journal=journal.name,
    )
