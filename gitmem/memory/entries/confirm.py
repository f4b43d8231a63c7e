"""Say of entries that they are still true: the day is written into each, and so they are fresh.

It is a line of the file, so plain `git blame` knows it, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from gitmem.errors import BadInput, DoesNotAge, PathNotFound
from gitmem.memory.entries.dates import does_age
from gitmem.memory.entries.targets import Target, resolve_targets
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import missing
from gitmem.memory.write.capture import capture_edits
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.memory.write.open_edits import scan_edits
from gitmem.model.commit_messages import Note, title_of_change
from gitmem.model.entries.blocks import Entry, find, parse
from gitmem.model.entries.edit import put
from gitmem.model.entries.lines import BOM
from gitmem.model.entries.placement import splice_all
from gitmem.model.layout.archives import is_archived
from gitmem.model.layout.layout import Layout
from gitmem.model.record import Record
from gitmem.model.text import frontmatter
from gitmem.model.text.format import quoted
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "confirm"
FIELD = "Confirmed"
KINDS = ("entries", "notes")
"""Kinds of layers of whose targets somebody can say that they are still true."""


class Confirmed(Record):
    """Entries that are known to be still true."""

    commit: str
    date: date
    confirmed: tuple[str, ...]
    """Addresses of entries, and paths of files that are entries."""
    already: tuple[str, ...] = ()
    """Those that were confirmed today before."""
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


class Signed(NamedTuple):
    """The files of a commit after something was confirmed, and what that was."""

    changes: dict[str, bytes | None]
    confirmed: tuple[str, ...]
    already: tuple[str, ...]


def confirm(group: Group, targets: Sequence[str | Target], *, reason: str = "") -> Confirmed:
    """Write into each of TARGETS, addresses and paths, that it is true today, as one commit."""
    if not targets:
        raise BadInput(
            "there is nothing to confirm",
            hint="name entries by their addresses: `gitmem entries` lists them",
        )
    work = _Work(group, targets, group.note(OP, reason=reason))
    with group.writing() as writer:
        places = work.places(writer.repository.snapshot())
        capture_edits(writer, scan_edits(writer.repository, writer.worktree, places))
        published = writer.publish(work.plan)
        return work.done._replace(**published.completion)


def confirmed_files(
    layout: Layout,
    snapshot: Snapshot,
    targets: Sequence[Target],
    day: date,
    changed: Changes | None = None,
) -> Signed:
    """The files of SNAPSHOT, of which CHANGED are different already, with TARGETS confirmed on DAY.

    It writes nothing, so that others can confirm as a part of a commit of their own.
    """
    draft = Changeset(snapshot, changed)
    names: dict[str, list[str]] = {}
    for target in targets:
        if not draft.is_file(target.path):
            raise PathNotFound(f"there is no {target.path}", hint="see `gitmem list`")
        _check_ages(layout, target)
        names.setdefault(target.path, []).append(target.name)
    confirmed: dict[str, bool] = {}
    for path, named in names.items():
        before, layer = draft.text(path), layout.layer_of(path)
        order = layer.fields if layer else ()
        if named[0]:
            found, after = _signed_entries(path, before, named, order, day)
        else:
            after = _signed_file(before, day)
            found = {path: after != before}
        confirmed |= found
        if after != before:
            draft.put(path, after.encode())
    draft.check_policies(layout)
    return Signed(
        draft.changes,
        tuple(each for each, is_new in confirmed.items() if is_new),
        tuple(each for each, is_new in confirmed.items() if not is_new),
    )


def _signed_file(text: str, day: date) -> str:
    """A file that is an entry, with the day in it."""
    known = frontmatter.read(text)
    key = next((each for each in known if each.casefold() == FIELD.casefold()), FIELD.lower())
    same = str(known.get(key, "")) == f"{day}"
    return text if same else frontmatter.set_field(text, key, f"{day}")


def _signed_entries(
    path: str, text: str, names: Sequence[str], order: Sequence[str], day: date
) -> tuple[dict[str, bool], str]:
    """The addresses of entries of one file, whether each is new to it, and the file with DAY."""
    known = parse(text, order)
    found = list(dict.fromkeys(find(known, name) for name in names))
    signed = {each: _signed(each, order, day) for each in found}
    new = [(each, block) for each, block in signed.items() if block]
    addresses = {f"{path}#{each.slug}": bool(block) for each, block in signed.items()}
    return addresses, splice_all(text, new) if new else text


def _signed(entry: Entry, order: Sequence[str], day: date) -> str:
    """The lines of ENTRY with the day in them; nothing where it has it already."""
    first, *more = entry.field(FIELD).split("\n")
    if first == f"{day}":
        return ""
    # By itself, so that no other entry of such a title is meant.
    block = entry.block.removeprefix(BOM)
    (alone,) = parse(block, order)
    value = "\n".join([f"{day}", *more])  # what stands indented below may be no part of it
    return put(block, alone.slug, [(FIELD, value)], None, order).text


def _check_ages(layout: Layout, target: Target) -> None:
    """Refuse a target that cannot grow stale, and say why."""
    layer = layout.layer_of(target.path)
    if is_archived(layout, target.path):
        raise _refused(target, "it is in the archive", "bring it back with `gitmem restore`")
    if layer is None:
        hint = "things age that belong to a layer with `ages: true` in gitmem.yaml"
        raise _refused(target, "no layer of memory holds it", hint)
    if layer.kind not in KINDS or not layer.ages:
        why = f"the layer {layer.name} ({layer.kind}) does not"
        raise _refused(target, why, "to change what it says: `gitmem write`")
    if not does_age(layer):
        raise _refused(target, f"the layer {layer.name} is {layer.policy}", "it stays as it is")
    if (layer.kind == "entries") != bool(target.name):
        kind = "one note, as a whole" if target.name else "a file of entries"
        raise BadInput(
            f"{target.path} is {kind}",
            hint=f"name one of them: `gitmem entries {quoted(target.path)}`"
            if not target.name
            else f"name the file: `gitmem confirm {quoted(target.path)}`",
            path=target.path,
        )


def _refused(target: Target, why: str, hint: str) -> DoesNotAge:
    what = f"{target.path}#{target.name}" if target.name else target.path
    return DoesNotAge(f"{what} does not grow stale: {why}", hint=hint, path=target.path)


class _Work:
    """What shall be confirmed, in one snapshot; planned again when the branch moves in between."""

    def __init__(self, group: Group, targets: Sequence[str | Target], note: Note) -> None:
        self._group, self._given, self._note = group, targets, note
        self._day = group.now().date()
        self.done = Confirmed("", self._day, ())

    def places(self, snapshot: Snapshot) -> list[str]:
        """The files that may change."""
        layout = layout_at(self._group, snapshot).layout
        return [each.path for each in resolve_targets(self._group, snapshot, layout, self._given)]

    def plan(self, snapshot: Snapshot) -> Plan[None]:
        """The files with the day in them; nothing where all have it."""
        layout = layout_at(self._group, snapshot).layout
        targets = resolve_targets(self._group, snapshot, layout, self._given)
        for each in targets:
            if not snapshot.oid(each.path):
                raise missing(self._group, snapshot, each.path)
        signed = confirmed_files(layout, snapshot, targets, self._day)
        self.done = Confirmed("", self._day, signed.confirmed, signed.already)
        if not signed.changes:
            return Plan((), None)
        titles = (title_of_change(None, each.encode()) for each in signed.confirmed)
        paths = tuple(signed.changes)
        note = self._note._replace(title=f"still true: {', '.join(titles)}", paths=paths)
        return Plan((Step(signed.changes, note),), None)
