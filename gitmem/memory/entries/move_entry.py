"""Move an entry to another file: a ripe idea becomes a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict
from gitmem.memory.entries.entries import address_parts, file_of, locate_entry
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.write.apply import decoded
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.entries.blocks import Entry, parse, same_title, wording
from gitmem.model.entries.edit import put
from gitmem.model.entries.placement import add, take
from gitmem.model.entries.rules import missing_values
from gitmem.model.guards import check_entry, check_message_text, check_secrets
from gitmem.model.layout.layout import Layer
from gitmem.model.paths import check_path
from gitmem.model.record import Record
from gitmem.model.text.format import quoted
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "move-entry"


class EntryMoved(Record):
    """An entry that stands in another file now."""

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


class EntryAim(NamedTuple):
    """From where to where, in one snapshot."""

    source: str
    entry: Entry
    target: str
    layer: Layer | None


class EntryPlace(NamedTuple):
    """An entry where it stands now, and what its layer has to say about it."""

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

    FIELDS are set on the way. An entry that stands in TARGET already, word for word, is only taken
    out of the first file; another one of the same title is a Conflict.
    """
    pairs = tuple((fields or {}).items())
    work = _Move(group, address, target, pairs, group.note(OP, reason=reason))
    work.allow_policy = allow_policy
    with group.writing() as writer:
        # What somebody did to the two files is part of what is moved, and of where it goes.
        paths = work.paths(writer.repository.snapshot())
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, paths))
        published = writer.publish(work.plan)
        return work.moved._replace(**published.completion)


class _Move:
    """The move in one snapshot; planned again when the branch moves in between."""

    def __init__(
        self,
        group: Group,
        address: str,
        target: str,
        fields: tuple[tuple[str, str], ...],
        note: Note,
    ) -> None:
        self._group, self._address, self._target = group, address, target
        self._fields = fields
        self._note = note
        self.allow_policy = False
        self.moved = EntryMoved("", "", "", "")

    def paths(self, snapshot: Snapshot) -> list[str]:
        """The two files."""
        layout = layout_at(self._group, snapshot).layout
        source, name = address_parts(self._group, snapshot, layout, self._address)
        target = check_path(file_of(self._group, snapshot, layout, self._target))
        check_message_text("path", f"{source}#{name}\n{target}")
        if target == source:
            raise BadInput(
                f"{self._address} is in {target} already",
                hint="to change it: `gitmem write ... --entry TITLE --set Field=Value`",
            )
        return [source, target]

    def _aimed(self, snapshot: Snapshot) -> EntryAim:
        """What is meant by the address and the target."""
        layout = layout_at(self._group, snapshot).layout
        source, entry = locate_entry(self._group, snapshot, layout, self._address)
        target = self.paths(snapshot)[1]
        return EntryAim(source, entry, target, layout.layer_of(target))

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """Both files as they will be."""
        aim, draft = self._aimed(snapshot), Changeset(snapshot)
        place = moved_within(draft, aim, self._fields)
        if not self.allow_policy:
            draft.check_policies(layout_at(self._group, snapshot).layout)
        source = f"{aim.source}#{aim.entry.slug}"
        self.moved = EntryMoved(
            "", aim.entry.title, source, f"{aim.target}#{place.entry.slug}", place.warnings
        )
        title = f"{title_of_change(None, place.entry.block.encode())} -> {aim.target}"
        extra = (("Gitmem-From", source),)
        note = self._note._replace(title=title, paths=(aim.source,), extra=extra)
        return Plan((Step(draft.changes, note),), None)


def moved_within(
    draft: Changeset, aim: EntryAim, fields: Sequence[tuple[str, str]] = ()
) -> EntryPlace:
    """Let an entry of DRAFT stand in another file of it, with FIELDS set on the way.

    It writes nothing else, so that others can move as a part of a commit of their own.
    """
    here, there = draft.read(aim.source) or b"", draft.read(aim.target) or b""
    rest, block = take(decoded(aim.source, here), aim.entry.slug)
    block = _with_fields(block, fields, aim.layer)
    known = decoded(aim.target, there)
    _check_free(aim, known, block)
    same = _twin(known, block)
    after = known if same else add(known, block, aim.layer)
    # What was there may stay, whatever it is; what is set anew is judged.
    check_secrets(aim.target, after.encode(), here + b"\n" + there)
    found = same or _twin(after, block) or parse(after)[-1]
    warnings = _warnings(found, aim.layer)
    draft.put(aim.source, rest.encode())
    draft.put(aim.target, after.encode())
    return EntryPlace(found, warnings)


def _with_fields(block: str, fields: Sequence[tuple[str, str]], layer: Layer | None) -> str:
    if not fields:
        return block
    (entry,) = parse(block)
    return put(block, entry.slug, fields, None, layer.fields if layer else ()).text


def _check_free(aim: EntryAim, known: str, block: str) -> None:
    twin = next((each for each in parse(known) if same_title(each.title, aim.entry.title)), None)
    if twin is not None and not _twin(known, block):
        raise Conflict(
            f"{aim.target} has an entry {twin.title!r} already",
            hint=f"compare them: `gitmem entries {quoted(f'{aim.target}#{twin.slug}')}`; "
            "give one of them another title, or write what is new into the other",
            path=aim.target,
            entry=twin.slug,
        )


def _twin(text: str, block: str) -> Entry | None:
    """The entry of TEXT that says just what BLOCK says."""
    wanted = wording(block)
    return next((each for each in parse(text) if wording(each.block) == wanted), None)


def _warnings(entry: Entry, layer: Layer | None) -> tuple[str, ...]:
    if layer is None or layer.kind != "entries":
        return ("no layer of entries holds it now: `gitmem entries PATH` still lists it",)
    return (*check_entry(entry, layer), *missing_values(entry, layer))
