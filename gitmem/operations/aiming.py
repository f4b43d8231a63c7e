"""Where a write goes: a path is taken as it is, a layer knows its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from gitmem.core.guards import check_message_text
from gitmem.core.layout import Layer, Layout, filled, is_glob, moment_values, variables_in
from gitmem.core.paths import check_path
from gitmem.errors import BadInput
from gitmem.git.repository import Snapshot
from gitmem.operations.applying import Aim, Edit, naming_line, text_bytes
from gitmem.operations.group import Group


def checked_edit(group: Group, edit: Edit) -> Edit:
    """The edit with its path as the group names it; refuses before anything is looked at."""
    path = group.relative(edit.path) if edit.path[:1] in "./" else edit.path
    check_message_text("path", check_path(path))
    check_message_text("user, date or title", "\n".join((edit.user, edit.date, edit.entry)))
    if edit.if_match and not re.fullmatch(r"[0-9a-fA-F]{4,40}", edit.if_match):
        raise BadInput(
            f"{edit.if_match!r} is no version of a file",
            hint="give the blob id that `read` or `write` answered, or its first digits",
        )
    return edit._replace(path=path)


def aims(edits: Iterable[Edit], layout: Layout, snapshot: Snapshot, now: datetime) -> list[Aim]:
    """The files that EDITS are meant for; a later edit finds what an earlier one made."""
    found: list[Aim] = []
    for edit in edits:
        made = {each.edit.path for each in found}
        with naming_line(edit):
            aimed = _aim(edit, layout, _Ground(snapshot, made), now)
            found.append(aimed._replace(day=str(now.date())))
    return found


class _Ground(NamedTuple):
    """What there is: files of a commit, and those made since."""

    snapshot: Snapshot
    made: set[str]

    def has(self, path: str) -> bool:
        return path in self.made or self.snapshot.oid(path) is not None

    def names_in(self, folder: str) -> Iterator[str]:
        yield from self.snapshot.folder(folder)
        start = f"{folder}/" if folder else ""
        for path in self.made:
            if path.startswith(start):
                yield path.removeprefix(start).partition("/")[0]


def _aim(edit: Edit, layout: Layout, ground: _Ground, now: datetime) -> Aim:
    layer = None if ground.has(edit.path) else layout.layer(edit.path)
    if layer is not None:
        return _at_layer(edit, layer, ground, now)
    if edit.user or edit.date:
        names = ", ".join(each.name for each in layout.layers if "{" in each.path)
        raise BadInput(
            f"--user and --date go with a layer, and {edit.path} is a file",
            hint=f"name one of the layers {names}" if names else "name the file itself",
        )
    found = layout.layer_of(edit.path)
    is_log = found is not None and found.kind == "log" and found.holds(edit.path)
    return Aim(edit, found, _begun(found, now) if found and is_log and edit.append else b"")


def _at_layer(edit: Edit, layer: Layer, ground: _Ground, now: datetime) -> Aim:
    moment = _moment(edit, now) if edit.date else now
    path = _place(edit, layer, ground, moment)
    exists = ground.has(path)
    edit = edit._replace(path=path)
    begun = b""
    if layer.kind == "journal":
        edit = _journal(edit, layer, moment, exists=exists)
    elif layer.kind == "log":
        edit, begun = edit._replace(append=True), _begun(layer, now)
    elif layer.kind == "profile" and (edit.append or edit.text is None) and layer.default:
        begun = ground.snapshot.read(layer.default) or b""
    return Aim(edit, layer, begun, by_name=True)


def _place(edit: Edit, layer: Layer, ground: _Ground, moment: datetime) -> str:
    if is_glob(layer.path):
        raise BadInput(
            f"{layer.name} has many files: {layer.path}",
            hint=f"name one: `gitmem write {layer.path.replace('*', 'NAME')} ...`",
        )
    needs_user = "user" in variables_in(layer.path)
    if needs_user != bool(edit.user):
        raise BadInput(
            f"{layer.name} is {'for' if needs_user else 'not of'} one user",
            hint="say whose it is: --user telegram:123456" if needs_user else "leave out --user",
        )
    pattern = filled(layer.path, {**moment_values(moment), "user": "{user}"})
    path = _of_user(pattern, edit.user, ground) if needs_user else check_path(pattern)
    return _unused(ground, path) if "datetime" in variables_in(layer.path) else path


def _of_user(pattern: str, user: str, ground: _Ground) -> str:
    from gitmem.core.users import user_path

    return user_path(pattern, user, ground.names_in)


def _begun(layer: Layer, now: datetime) -> bytes:
    from gitmem.core.daylog import fresh

    return fresh(layer, now.date())


def _unused(ground: _Ground, path: str) -> str:
    """PATH, or with a number: two things may happen in one second."""
    stem, _, ending = path.rpartition(".")
    number, free = 0, path
    while ground.has(free):
        number += 1
        free = f"{stem}-{number}.{ending}"
    return free


def _moment(edit: Edit, now: datetime) -> datetime:
    from gitmem.core.moments import FORMS, parse_moment

    zone = now.tzinfo
    found = parse_moment(edit.date, now, zone) if zone else None
    if found is None:
        raise BadInput(f"{edit.date!r} is no date", hint=FORMS)
    return found.start.astimezone(zone)


def _journal(edit: Edit, layer: Layer, moment: datetime, *, exists: bool) -> Edit:
    """A day that has begun is added to, and its fields are set anew."""
    fields = dict(edit.fields)
    if "date" in layer.fields and not exists:
        fields.setdefault("date", str(moment.date()))
    order = {name: place for place, name in enumerate(layer.fields)}
    ordered = sorted(fields.items(), key=lambda each: order.get(each[0], len(order)))
    edit = edit._replace(fields=tuple(ordered), append=exists)
    if exists and edit.text is not None:
        edit = edit._replace(text=b"\n" + text_bytes(edit).lstrip(b"\n"))
    return edit if exists or edit.text is not None else edit._replace(text="")
