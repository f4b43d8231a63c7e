"""Mark entries as still accurate: write today's date into each.

The date is a line of the file, so plain `git blame` shows it, too.
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
from gitmem.memory.write.capture import capture_paths
from gitmem.memory.write.changeset import Changes, Changeset
from gitmem.model.commit_messages import title_of_change
from gitmem.model.entries.blocks import Entry, find, parse
from gitmem.model.entries.edit import put
from gitmem.model.entries.lines import BOM
from gitmem.model.entries.placement import splice_all
from gitmem.model.hints import Hint, call
from gitmem.model.layout.archives import is_archived
from gitmem.model.layout.layout import Layout
from gitmem.model.record import Record
from gitmem.model.text import frontmatter
from gitmem.store.repository import Snapshot
from gitmem.store.transaction.capture import Captured
from gitmem.store.transaction.plan import Plan, Step
from gitmem.store.worktree.held import SetAside

OP = "confirm"
FIELD = "Confirmed"
KINDS = ("entries", "notes")
"""Kinds of layers whose entries can be confirmed."""


class Confirmed(Record):
    """Entries that were marked as still accurate."""

    commit: str
    date: date
    confirmed: tuple[str, ...]
    """Addresses of entries, and paths of files that are entries."""
    already: tuple[str, ...] = ()
    """Those that had today's date before."""
    captured: tuple[Captured, ...] = ()
    pending: bool = False
    set_aside: tuple[SetAside, ...] = ()


class ConfirmedFiles(NamedTuple):
    """The changed files of a commit, with the targets that were confirmed in them."""

    changes: dict[str, bytes | None]
    confirmed: tuple[str, ...]
    already: tuple[str, ...]


def confirm(group: Group, targets: Sequence[str | Target], *, reason: str = "") -> Confirmed:
    """Write today's date into TARGETS, given by address or path, as one commit."""
    if not targets:
        raise BadInput(
            "nothing to confirm",
            hint=Hint("name entries by their addresses: ", call("entries"), " lists them"),
        )
    note, day = group.note(OP, reason=reason), group.now().date()

    def resolved(snapshot: Snapshot) -> list[Target]:
        return resolve_targets(group, snapshot, layout_at(group, snapshot).layout, targets)

    def plan(snapshot: Snapshot) -> Plan[Confirmed]:
        found = resolved(snapshot)
        for each in found:
            if not snapshot.oid(each.path):
                raise missing(group, snapshot, each.path)
        layout = layout_at(group, snapshot).layout
        changes, confirmed, already = confirmed_files(layout, snapshot, found, day)
        result = Confirmed("", day, confirmed, already)
        if not changes:
            return Plan((), result)
        titles = (title_of_change(None, each.encode()) for each in confirmed)
        title = f"still true: {', '.join(titles)}"
        return Plan((Step(changes, note._replace(title=title, paths=tuple(changes))),), result)

    with group.writing() as writer:
        capture_paths(writer, [each.path for each in resolved(writer.repository.snapshot())])
        published = writer.publish(plan)
        return published.result._replace(**published.completion)


def confirmed_files(
    layout: Layout,
    snapshot: Snapshot,
    targets: Sequence[Target],
    day: date,
    changed: Changes | None = None,
) -> ConfirmedFiles:
    """The files of SNAPSHOT after CHANGED, with DAY written into each of TARGETS.

    It publishes nothing, so that another operation can confirm within its own commit.
    """
    draft = Changeset(snapshot, changed)
    names: dict[str, list[str]] = {}
    for target in targets:
        if not draft.is_file(target.path):
            raise PathNotFound(
                f"no file {target.path!r}", hint=Hint(call("list"), " shows the files")
            )
        _check_ages(layout, target)
        names.setdefault(target.path, []).append(target.name)
    confirmed: dict[str, bool] = {}
    for path, named in names.items():
        before, layer = draft.text(path), layout.layer_of(path)
        if named[0]:
            order = layer.fields if layer else ()
            found, after = _dated_entries(path, before, named, order, day)
        else:
            after = _dated_file(before, day)
            found = {path: after != before}
        confirmed |= found
        if after != before:
            draft.put(path, after.encode())
    draft.check_policies(layout)
    return ConfirmedFiles(
        draft.changes,
        tuple(each for each, is_new in confirmed.items() if is_new),
        tuple(each for each, is_new in confirmed.items() if not is_new),
    )


def _dated_file(text: str, day: date) -> str:
    """TEXT of a file that is one entry, with DAY in its frontmatter."""
    known = frontmatter.read(text)
    key = next((each for each in known if each.casefold() == FIELD.casefold()), FIELD.lower())
    same = str(known.get(key, "")) == f"{day}"
    return text if same else frontmatter.set_field(text, key, f"{day}")


def _dated_entries(
    path: str, text: str, names: Sequence[str], order: Sequence[str], day: date
) -> tuple[dict[str, bool], str]:
    """The addresses of the entries NAMES, whether each changed, and TEXT with DAY in them."""
    known = parse(text, order)
    found = list(dict.fromkeys(find(known, name) for name in names))
    dated = {each: _dated(each, order, day) for each in found}
    new = [(each, block) for each, block in dated.items() if block]
    addresses = {f"{path}#{each.slug}": bool(block) for each, block in dated.items()}
    return addresses, splice_all(text, new) if new else text


def _dated(entry: Entry, order: Sequence[str], day: date) -> str:
    """The lines of ENTRY with DAY in them; empty where it has that date already."""
    first, *more = entry.field(FIELD).split("\n")
    if first == f"{day}":
        return ""
    # Parsed on its own, so that no other entry of the same title is changed.
    block = entry.block.removeprefix(BOM)
    (alone,) = parse(block, order)
    value = "\n".join([f"{day}", *more])  # lines indented below may not belong to the date
    return put(block, alone.slug, [(FIELD, value)], None, order).text


def _check_ages(layout: Layout, target: Target) -> None:
    """Refuse a target that does not age, and say why."""
    layer = layout.layer_of(target.path)
    if is_archived(layout, target.path):
        raise _refused(target, "it is in the archive", Hint("bring it back: ", call("restore")))
    if layer is None:
        hint = "entries age in a layer with `ages: true` in gitmem.yaml"
        raise _refused(target, "no layer holds it", hint)
    if layer.kind not in KINDS or not layer.ages:
        why = f"entries of the layer {layer.name} ({layer.kind}) do not age"
        raise _refused(target, why, Hint("to change the text: ", call("write")))
    if not does_age(layer):
        hint = "its entries are not meant to change"
        raise _refused(target, f"the layer {layer.name} is {layer.policy}", hint)
    if (layer.kind == "entries") != bool(target.name):
        raise _not_an_entry(target)


def _not_an_entry(target: Target) -> BadInput:
    if target.name:
        kind, hint = "one note", Hint("name the file: ", call("confirm", target.path))
    else:
        kind = "a file of entries"
        hint = Hint("name one of them: ", call("entries", target.path), " lists them")
    return BadInput(f"{target.path} is {kind}", hint=hint, path=target.path)


def _refused(target: Target, why: str, hint: str) -> DoesNotAge:
    what = f"{target.path}#{target.name}" if target.name else target.path
    return DoesNotAge(f"{what!r} does not age: {why}", hint=hint, path=target.path)
