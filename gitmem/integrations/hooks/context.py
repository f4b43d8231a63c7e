"""The texts that a session is shown: memory, messages not yet summarised, and later changes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import NotFound
from gitmem.integrations.hooks.protocol import Room
from gitmem.integrations.hosts.table import Host
from gitmem.memory.context.inject import LOADED, Injected, inject
from gitmem.memory.context.manifest import OVER_BUDGET
from gitmem.memory.context.mask import Masks
from gitmem.memory.context.pins import has_shared, has_transcripts
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at, layout_of, spelled_at
from gitmem.model.access import GLOBAL
from gitmem.model.context.escape import NOTHING, ForModel, joined, shown_on_a_line, worded
from gitmem.model.context.pieces import FILE_KINDS, Piece, text_of, trimmed
from gitmem.model.context.render import ContextPage, readable
from gitmem.model.text.format import counted
from gitmem.model.transcripts.batches import NONE_NEW

if TYPE_CHECKING:
    from gitmem.memory.read.show import FileChange
    from gitmem.memory.transcripts.pending import MessageRow
    from gitmem.memory.transcripts.status import TranscriptStatus
    from gitmem.model.layout.layout import Layer, Layout

BETWEEN = "\n\n"
COMPARED = ("always", "recent")
"""Layers whose changes a resumed session is shown."""
HEADING = "Memory has changed since this session was last shown it:"
SEE = ". See one with `gitmem read PATH`."
NAMES = 0.1
"""The share of the space for the names of files that do not fit."""
ENDING = 300
"""Characters for the names of changed files that do not fit."""
LONGEST_MESSAGE = 280
"""Characters shown of a message."""
LONGEST_SUMMARY = 1500
SOME_UNREADABLE = "Some messages are missing because they cannot be read: see `gitmem check`."
Holds = Callable[[str], bool]
Drawn = Callable[[Holds], ForModel]


class ChangedSince(NamedTuple):
    """The changes that a session has not seen, and the commits it has seen with them."""

    pieces: tuple[Piece, ...]
    """The changed files, each with its change."""
    format: str
    """The format of the layout."""
    shown: tuple[tuple[str, str], ...]


def present(group: Group) -> tuple[tuple[str, str], ...]:
    """The commits of the group and of `global` now."""
    own = (group.name, group.repository.tip())
    if not has_shared(group):
        return (own,)
    shared = group.other(GLOBAL)
    try:
        return own, (GLOBAL, shared.repository.tip())
    finally:
        shared.close()


def changed_since(
    group: Group, shown: Sequence[tuple[str, str]], without: tuple[str, ...] = ()
) -> ChangedSince:
    """The differences to the commits SHOWN, in files that the layout loads.

    WITHOUT: files of the group that the model gets in another way.
    """
    loaded = layout_at(group, group.repository.snapshot())
    pieces: list[Piece] = []
    now: list[tuple[str, str]] = []
    for name, commit in shown:
        try:
            pieces += _in_group(group, loaded.written, name, commit, now)
        except NotFound:  # a removed group, or a rewritten history
            continue
    new = tuple(each for each in pieces if each.group or each.path not in without)
    return ChangedSince(new, loaded.layout.format, tuple(now))


def _in_group(
    group: Group, layout: Layout, name: str, commit: str, now: list[tuple[str, str]]
) -> list[Piece]:
    own = name == group.name
    meant = group if own else group.other(name)
    try:
        tip = meant.repository.tip()
        now.append((name, tip))
        if tip == commit:
            return []
        from gitmem.memory.read.diff import diff  # not for every start

        found = diff(meant, commit).files
        layout = spelled_at(layout, meant.repository.snapshot(tip))
        pieces = [piece for each in found for piece in _pieces(meant, layout, each, own)]
        masks = Masks({"": meant.repository.snapshot(tip)})
        return [
            each._replace(
                text=masks.mixed("", each.text, each.path),
                path=masks.mixed("", each.path),
                change=masks.mixed("", each.change),
            )
            for each in pieces
        ]
    finally:
        if not own:
            meant.close()


def _pieces(group: Group, layout: Layout, file: FileChange, own: bool) -> Iterator[Piece]:
    """The changes of FILE; moved into a loaded layer it is created, moved out deleted."""
    there, here = (_loaded(layout, path, own) for path in (file.moved_from, file.path))
    if file.moved_from and there and not here:
        yield _piece(there, file.moved_from, own, "deleted")
    elif here and here.render != "whole":
        yield _piece(here, file.path, own, file.change)._replace(render="pointer")
    elif here and file.moved_from and not there:
        text = text_of(group.repository.snapshot().read(file.path) or b"")
        yield _piece(here, file.path, own, "created", text)
    elif here:
        change = f"moved from {file.moved_from}" if file.moved_from else file.change
        yield _piece(here, file.path, own, change, trimmed(file.diff))


def _piece(layer: Layer, path: str, own: bool, change: str, text: str = "") -> Piece:
    return Piece(
        layer.name,
        layer.kind,
        text,
        heading=layer.heading,
        group="" if own else GLOBAL,
        path=path,
        change=change,
        lack="missing" if change == "deleted" and not text else "",
    )


def _loaded(layout: Layout, path: str, own: bool) -> Layer | None:
    """The layer of PATH, if sessions are shown it."""
    layer = layout.layer_of(path) if path else None
    return layer if layer and layer.load in COMPARED and (own or layer.shared) else None


def drawn(found: ChangedSince, holds: Callable[[str], bool]) -> ForModel:
    """The changes as text, in whole pieces, as long as HOLDS; the other files are named.

    It is rendered as `inject` renders memory, so no text can leave its block.
    """
    page = ContextPage(found.format, annotate=True)
    taken: list[Piece] = []
    left: list[ForModel] = []
    for each in found.pieces:
        text = joined((worded(HEADING), page.text([*taken, each])))
        if holds(text + BETWEEN + " " * ENDING):
            taken.append(each)
        else:
            left.append(readable(each.path, each.group))
    heading = worded(HEADING) if found.pieces else NOTHING
    return joined((heading, page.text(taken), _also(left)))


def _also(names: Sequence[ForModel]) -> ForModel:
    """A line with the NAMES that fit; the others are counted."""
    if not names:
        return NOTHING
    shown: list[ForModel] = []
    for each in names:
        if len(joined((*shown, each), ", ")) > ENDING - len(SEE) - 40:
            break
        shown.append(each)
    more = len(names) - len(shown)
    rest = worded("{more} more" if shown else "{more} files", more=more) if more else NOTHING
    listed = joined((joined(shown, ", "), rest), " and ")
    return joined((worded("Also changed: "), listed, worded(SEE)), "")


def continuity(group: Group, skill: str) -> Drawn:
    """The last checkpoint and the pending messages, as much as fits.

    SKILL: what the agent should invoke when too many messages are pending.
    """
    if not has_transcripts(group):
        return lambda holds: worded(NONE_NEW)
    from gitmem.memory.transcripts.pending import action_required
    from gitmem.memory.transcripts.status import transcript_status

    found = transcript_status(group)
    before = tuple(_checkpoint(found, group))
    damage = (worded(SOME_UNREADABLE),) if found.unreadable else ()
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
    """The messages since the last checkpoint, as many as fit; the rest is counted."""

    total: int
    damage: tuple[ForModel, ...]
    action: ForModel
    before: tuple[ForModel, ...] = ()
    lines: tuple[ForModel, ...] = ()

    @property
    def text(self) -> ForModel:
        """The whole text; a message takes one line, so none can pass for another."""
        if not self.total:
            return joined((*self.before, *self.damage, worded(NONE_NEW)), "\n")
        return joined((*self.before, *self.damage, self._title(), *self.lines, self.action), "\n")

    def _title(self) -> ForModel:
        messages = counted(self.total, "message")
        if len(self.lines) == self.total:
            return worded("{messages} since then, not summarised:", messages=messages)
        if not self.lines:
            return worded(
                "{messages} since then, not summarised; none shown here "
                "(all: `gitmem transcript show CHAT`).",
                messages=messages,
            )
        return worded(
            "{messages} since then, not summarised; the newest {shown} "
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


def _line(message: MessageRow, group: Group) -> ForModel:
    at = f"{message.at.astimezone(group.zone):%Y-%m-%d %H:%M}"
    text = _short(message.text, LONGEST_MESSAGE)
    return worded("- {at} {who}: {text}", at=at, who=message.from_, text=text)


def _short(text: str, most: int) -> str:
    """TEXT on one line, cut to MOST characters as shown."""
    line = " ".join(text.split())
    while len(line) > most or len(shown_on_a_line(line)) > most:
        keep = most - 1 - (len(shown_on_a_line(line[:most])) - len(line[:most]))
        line = f"{line[: max(keep, 0)].rstrip()}…"
    return line


def loaded_by_host(
    group: Group, host: Host, environ: Mapping[str, str], project: str
) -> tuple[str, ...]:
    """The files of GROUP that the layout loads and HOST itself shows in PROJECT."""
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
    """Memory that the layout loads, as much as ROOM holds, and its text, which names the rest.

    FORMAT: overrides that of the layout. WITHOUT: files that the host shows itself.
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
    """The documents of GROUP that ROOM cannot hold whole, even without pending messages."""
    found, _ = memory_within(group, room.without(NONE_NEW), format, without)
    cut = [f"{each.path} ({each.cut})" for each in found.manifest.pieces if each.cut]
    core = {each.name for each in layout_of(group).layers if each.kind in FILE_KINDS}
    gone = (each for each in found.manifest.left_out if each.why == OVER_BUDGET)
    return [*cut, *(f"{each.address} (not shown)" for each in gone if each.layer in core)]


def _with_rest(found: Injected, room: Room) -> ForModel:
    """The text with the names of what did not fit: an unnamed gap looks complete."""
    rest = [each for each in found.manifest.left_out if each.why == OVER_BUDGET]
    if not rest:
        return found.text
    # The last one dropped is the most important. Names may be long.
    named = [readable(each.address, each.group) for each in reversed(rest)]
    names = list(room.part(NAMES).whole_ones(named))
    more = len(rest) - len(names)
    rest_of = worded("{more} more (see `gitmem list`)", more=more) if more else NOTHING
    way = worded(". Read one with `gitmem read PATH`.")
    if not names:
        rest_of = worded("{more} files or entries", more=more)
        way = worded(": see `gitmem list`.")
    listed = joined((joined(names, ", "), rest_of), " and ")
    return joined((found.text, joined((worded("Not shown for lack of space: "), listed, way), "")))


def nudge_of(group: Group) -> ForModel:
    """A reminder of the diary, where the layout has one."""
    journal = next((each for each in layout_of(group).layers if each.kind == "journal"), None)
    if journal is None:
        return NOTHING
    return worded(
        "Much of this session is not in the {journal} yet. "
        "Use the skill `diary` to write down what is worth keeping.",
        journal=journal.name,
    )
