"""Move an entry to another file, such as an idea that became a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict
from gitmem.memory.entries.targets import address_parts, file_of, locate_entry
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.apply import decoded
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changeset
from gitmem.model.commit_messages import title_of_change
from gitmem.model.entries.blocks import Entry, parse, same_title, wording
from gitmem.model.entries.edit import put
from gitmem.model.entries.placement import add, take
from gitmem.model.entries.rules import missing_values
from gitmem.model.guards import check_entry, check_message_text, check_secrets
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "move-entry"


class EntryMoved(Record):
    """An entry that was moved to another file."""

    commit: str
    title: str
    source: str
    """The address it had."""
    address: str
    """The address it has."""
    warnings: tuple[str, ...] = ()
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


class EntryMove(NamedTuple):
    """An entry of the file SOURCE that moves to the file TARGET, which belongs to LAYER."""

    source: str
    entry: Entry
    target: str
    layer: Layer | None


class MovedEntry(NamedTuple):
    """The entry in its new file, and its layer's warnings about it."""

    entry: Entry
    warnings: tuple[str, ...]


def move_entry(
    group: Group,
    address: str,
    target: str,
    *,
    fields: Mapping[str, str] | None = None,
    reason: str = "",
    allow_policy: bool = False,
) -> EntryMoved:
    """Move the entry at ADDRESS to the file or layer TARGET, as one commit, line for line.

    FIELDS are set on the way. If TARGET has the same entry word for word, it is only removed from
    its own file; an entry of the same title with another text is a Conflict.
    """
    pairs, note = tuple((fields or {}).items()), group.note(OP, reason=reason)

    def plan(snapshot: Snapshot) -> Plan[EntryMoved]:
        layout, draft = layout_at(group, snapshot).layout, Changeset(snapshot)
        path, entry = locate_entry(group, snapshot, layout, address)
        _, into = _files(group, snapshot, address, target)
        moved = moved_within(draft, EntryMove(path, entry, into, layout.layer_of(into)), pairs)
        if not allow_policy:
            draft.check_policies(layout)
        source = f"{path}#{entry.slug}"
        title = f"{title_of_change(None, moved.entry.block.encode())} -> {into}"
        done = note._replace(title=title, paths=(path,), extra=(("Gitmem-From", source),))
        new = f"{into}#{moved.entry.slug}"
        result = EntryMoved("", entry.title, source, new, moved.warnings)
        return Plan((Step(draft.changes, done),), result)

    with group.writing() as writer:
        # Edits to the two files are part of what moves, and of where it goes.
        capture_paths(writer, _files(group, writer.repository.snapshot(), address, target))
        published = writer.publish(plan)
        return published.result._replace(**published.completion)


def _files(group: Group, snapshot: Snapshot, address: str, target: str) -> tuple[str, str]:
    """The file of the entry at ADDRESS, and the file that TARGET names."""
    layout = layout_at(group, snapshot).layout
    source, name = address_parts(group, snapshot, layout, address)
    into = check_path(file_of(group, snapshot, layout, target))
    check_message_text("path", f"{source}#{name}\n{into}")
    if into == source:
        raise BadInput(
            f"{address!r} is in {into} already",
            hint=Hint("to change it: ", call("write", source, entry=name)),
        )
    return source, into


def moved_within(
    draft: Changeset, move: EntryMove, fields: Sequence[tuple[str, str]] = ()
) -> MovedEntry:
    """Carry out MOVE in DRAFT, with FIELDS set on the way.

    It publishes nothing, so that another operation can move an entry within its own commit.
    """
    here, there = draft.read(move.source) or b"", draft.read(move.target) or b""
    rest, block = take(decoded(move.source, here), move.entry.slug)
    block = _with_fields(block, fields, move.layer)
    known = decoded(move.target, there)
    same = _same_entry(known, block)
    if not same:
        _check_title(move, known)
    after = known if same else add(known, block, move.layer)
    # The text was in the group before, so only what FIELDS add is new.
    check_secrets(move.target, after.encode(), here + b"\n" + there)
    found = same or _same_entry(after, block) or parse(after)[-1]
    draft.put(move.source, rest.encode())
    draft.put(move.target, after.encode())
    return MovedEntry(found, _warnings(found, move.layer))


def _with_fields(block: str, fields: Sequence[tuple[str, str]], layer: Layer | None) -> str:
    if not fields:
        return block
    (entry,) = parse(block)
    return put(block, entry.slug, fields, None, layer.fields if layer else ()).text


def _check_title(move: EntryMove, known: str) -> None:
    twin = next((each for each in parse(known) if same_title(each.title, move.entry.title)), None)
    if twin is not None:
        raise title_taken(move.target, twin)


def title_taken(path: str, entry: Entry) -> Conflict:
    """The refusal of an entry whose title ENTRY of the file at PATH has already."""
    return Conflict(
        f"{path} has an entry {entry.title!r} already",
        hint=Hint(
            "compare them: ",
            call("entries", f"{path}#{entry.slug}"),
            "; change the title of one of them, or add the new text to the other",
        ),
        path=path,
        entry=entry.slug,
    )


def _same_entry(text: str, block: str) -> Entry | None:
    """The entry of TEXT with the wording of BLOCK."""
    words = wording(block)
    return next((each for each in parse(text) if wording(each.block) == words), None)


def _warnings(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    if layer is None or layer.kind != "entries":
        listed = call("entries", "PATH")
        return (Hint("the file belongs to no layer of entries; ", listed, " still lists it"),)
    return (*check_entry(entry, layer), *missing_values(entry, layer))
