"""What each decision of a plan does to the files: one function for each action.

They change a draft and nothing else; together they are one commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput, Conflict
from gitmem.memory.curate.archive import archive_files
from gitmem.memory.entries.confirm import confirmed_files
from gitmem.memory.entries.entries import file_of
from gitmem.memory.entries.move_entry import EntryAim, moved_within
from gitmem.memory.entries.targets import Thing
from gitmem.memory.group import Group
from gitmem.memory.write.apply import Aim, Edit, applied
from gitmem.memory.write.draft import Draft
from gitmem.model.curate.plan import Decision
from gitmem.model.entries.blocks import same_title, wording
from gitmem.model.entries.edit import Entry, Put, parse, put, settled
from gitmem.model.entries.lines import BOM
from gitmem.model.entries.positions import splice_all
from gitmem.model.layout.layout import Layer, Layout
from gitmem.model.layout.remarks import judged
from gitmem.model.paths import check_path
from gitmem.model.text.frontmatter import set_field


class Standing(NamedTuple):
    """A thing that a decision is about, as it stands in the draft."""

    path: str
    entry: Entry
    """A file as a whole is an entry without a slug."""

    @property
    def address(self) -> str:
        """Where it stands."""
        return f"{self.path}#{self.entry.slug}" if self.entry.slug else self.path

    @property
    def thing(self) -> Thing:
        """How others name it."""
        return Thing(self.path, self.entry.slug)


class Ground(NamedTuple):
    """Where decisions are carried out."""

    group: Group
    layout: Layout
    draft: Draft
    now: datetime

    def target(self, name: str) -> str:
        """The file that a path, or the name of a layer of entries, stands for."""
        return check_path(file_of(self.group, self.draft.snapshot, self.layout, name))

    def take(self, changes: Mapping[str, bytes | None]) -> None:
        """Let CHANGES be all that differs from the commit."""
        self.draft.changes = dict(changes)


class Deed(NamedTuple):
    """What came of a decision."""

    address: str = ""
    """Where it stands now; empty where it stands as before."""
    warnings: tuple[str, ...] = ()


class Asked(NamedTuple):
    """A decision, and the things that it is about."""

    decision: Decision
    things: Sequence[Standing]


Doing = Callable[[Ground, Sequence[Asked]], list[Deed]]


def _keep(ground: Ground, rows: Sequence[Asked]) -> list[Deed]:
    return [Deed() for _ in rows]


def _confirm(ground: Ground, rows: Sequence[Asked]) -> list[Deed]:
    draft, named = ground.draft, [each.thing for row in rows for each in row.things]
    day = ground.now.date()
    ground.take(confirmed_files(ground.layout, draft.snapshot, named, day, draft.changes).changes)
    return [Deed() for _ in rows]


def _archive(ground: Ground, rows: Sequence[Asked]) -> list[Deed]:
    draft, named = ground.draft, [each.thing for row in rows for each in row.things]
    filed = archive_files(ground.layout, draft.snapshot, named, draft.changes)
    ground.take(filed.changes)
    places = {each.source: each.address for each in filed.moves}
    return [Deed(places[row.things[0].address]) for row in rows]


def _update(ground: Ground, rows: Sequence[Asked]) -> list[Deed]:
    """Entries of one file are changed together."""
    deeds: list[Deed] = []
    blocks: dict[str, list[tuple[Entry, str]]] = {}
    for decision, (thing,) in rows:
        layer = ground.layout.layer_of(thing.path)
        if not thing.entry.slug:
            edit = Edit(thing.path, decision.text, fields=decision.fields)
            ground.draft.put(thing.path, applied(Aim(edit), ground.draft.read(thing.path)))
            deeds.append(Deed())
            continue
        changed = _changed(thing.entry, decision, layer)
        blocks.setdefault(thing.path, []).append((thing.entry, changed))
        deeds.append(Deed(warnings=_judged(changed, layer)))
    for path, pairs in blocks.items():
        text = splice_all(ground.draft.text(path), pairs)
        ground.draft.put(path, _settled(text, pairs, ground.layout.layer_of(path)).encode())
    return deeds


def _settled(text: str, blocks: Sequence[tuple[Entry, str]], layer: Layer | None) -> str:
    """TEXT with each of BLOCKS, which were changed, under the heading that fits its status."""
    for before, block in blocks if layer else ():
        entry = next(each for each in parse(text) if wording(each.block) == wording(block))
        text = settled(Put(text, entry.slug, created=False), before, layer).text
    return text


def _changed(entry: Entry, decision: Decision, layer: Layer | None) -> str:
    order = layer.fields if layer else ()
    # By itself, so that no other entry of such a title is meant.
    block = entry.block.removeprefix(BOM)
    (alone,) = parse(block, order)
    return put(block, alone.slug, decision.fields, decision.text, order).text


def _judged(block: str, layer: Layer | None) -> tuple[str, ...]:
    if layer is None or layer.kind != "entries":
        return ()
    return judged(parse(block, layer.fields)[0], layer)


def _move(ground: Ground, row: Asked) -> Deed:
    decision, (thing,) = row
    target, draft = ground.target(decision.target), ground.draft
    if target == thing.path:
        raise BadInput(f"{thing.path} is where it stands already", hint="to change it: update")
    if thing.entry.slug:
        aim = EntryAim(thing.path, thing.entry, target, ground.layout.layer_of(target))
        place = moved_within(draft, aim, decision.fields)
        return Deed(f"{target}#{place.entry.slug}", place.warnings)
    ((_, new),) = draft.move(thing.path, target)
    text = draft.text(new) if decision.fields else ""
    for name, value in decision.fields:
        text = set_field(text, name, value)
    if decision.fields:
        draft.put(new, text.encode())
    return Deed(new)


def _merge(ground: Ground, row: Asked) -> Deed:
    decision, _ = row
    target, draft = ground.target(decision.target), ground.draft
    layer = ground.layout.layer_of(target)
    if layer is not None and layer.kind != "entries":
        raise BadInput(
            f"{target} belongs to {layer.name}, which has no entries",
            hint="merge into a file of entries; a note takes the new text by 'update'",
        )
    _archive(ground, [row])
    known = parse(draft.text(target))
    twin = next((each for each in known if same_title(each.title, decision.title)), None)
    if twin:
        raise Conflict(
            f"{target} has an entry {twin.title!r} already",
            hint=f"name {target}#{twin.slug} among the addresses, or choose another title",
        )
    edit = Edit(target, decision.text, entry=decision.title, fields=decision.fields)
    aim = Aim(edit, layer, day=f"{ground.now.date()}")
    draft.put(target, applied(aim, draft.read(target)))
    entry = next(x for x in parse(draft.text(target)) if same_title(x.title, decision.title))
    return Deed(f"{target}#{entry.slug}", _judged(entry.block, layer))


def _each(doing: Callable[[Ground, Asked], Deed]) -> Doing:
    return lambda ground, rows: [doing(ground, row) for row in rows]


DEEDS: Mapping[str, Doing] = {
    "confirm": _confirm,
    "archive": _archive,
    "update": _update,
    "move": _each(_move),
    "merge-entries": _each(_merge),
    "keep": _keep,
}
TOGETHER = ("confirm", "archive", "update")
"""Actions that many decisions carry out at once: one after the other they read a file each time."""
AWAY = ("archive", "move", "merge-entries")
"""Actions after which a thing no longer stands where it stood."""
SHELVING = ("archive", "merge-entries")
"""Actions that bring things to the archive."""
