"""Find the file that a write means: a path as it is given, or the path of a layer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.write.apply import Edit, ResolvedEdit, naming_line, text_bytes
from gitmem.model.entries.blocks import split_address
from gitmem.model.guards import check_message_text
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import (
    Layer,
    Layout,
    filled,
    is_glob,
    lower_name,
    moment_values,
    variables_in,
)
from gitmem.model.paths import check_path, is_path, numbered
from gitmem.store.repository import Snapshot

GLOBS = r"\*+(?:/\*+)*"
HERE = "./"
"""What a path begins with that is no layer, whatever its name."""


def checked_edit(group: Group, edit: Edit) -> Edit:
    """The edit with its path as the group names it; refuses before anything is looked at.

    A path that begins with `./` stays so: it is a file, whatever the layers are called.
    """
    is_file = edit.path[:1] in (".", "/")
    path = group.relative(edit.path) if is_file else edit.path
    check_message_text("path", check_path(path))
    check_message_text("user, date or title", "\n".join((edit.user, edit.date, edit.entry)))
    if edit.if_match and not re.fullmatch(r"[0-9a-fA-F]{4,40}", edit.if_match):
        raise BadInput(
            f"invalid version {edit.if_match!r}",
            hint="give the blob id that `read` or `write` answered, or its first digits",
        )
    return edit._replace(path=f"{HERE}{path}" if is_file else path)


def target_paths(found: ResolvedEdit) -> tuple[str, ...]:
    """Where the file may stand that an edit is meant for, also one that is not committed yet."""
    path, layer, user = found.edit.path, found.layer, found.edit.user
    if not found.by_name or layer is None:
        return (path,)
    by_user = layer.path.replace("{user}", user) if user else path
    others = [by_user, _in_short(path), lower_name(path) or path]
    return (path, *(each for each in others if each != path and is_path(each)))


def _in_short(path: str) -> str:
    """PATH with its date in the short form, as somebody else may have written it."""
    return re.sub(r"\b([0-9]{4})-([0-9]{2})-([0-9]{2})(?=\.[a-z]+$)", r"\1\2\3", path)


def resolve_edits(
    edits: Iterable[Edit], layout: Layout, snapshot: Snapshot, now: datetime
) -> list[ResolvedEdit]:
    """The files that EDITS are meant for; a later edit finds what an earlier one made."""
    found: list[ResolvedEdit] = []
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


def _aim(edit: Edit, layout: Layout, ground: _Ground, now: datetime) -> ResolvedEdit:
    if edit.path.startswith(HERE):
        edit = edit._replace(path=edit.path.removeprefix(HERE))
    elif not ground.has(edit.path):
        layer = layout.layer(edit.path)
        if layer is not None:
            return _at_layer(edit, layer, ground, now)
        _check_name(edit, layout)
    _check_no_address(edit, layout, ground)
    if edit.user or edit.date:
        names = ", ".join(each.name for each in layout.layers if "{" in each.path)
        raise BadInput(
            f"a user or a date goes with a layer, and {edit.path!r} is a file",
            hint=f"name one of the layers {names}" if names else "name the file itself",
        )
    found = layout.layer_of(edit.path)
    if found is not None:
        _check_entry(edit, found)
    is_log = found is not None and found.kind == "log" and found.holds(edit.path)
    return ResolvedEdit(
        edit, found, _begun(found, now) if found and is_log and edit.append else b""
    )


def _check_entry(edit: Edit, layer: Layer) -> None:
    if layer.kind == "entries" and edit.set and not edit.entry:
        raise BadInput(
            f"{layer.path!r} has entries, and the fields do not say of which",
            hint=Hint("name it: ", call("write", layer.name, entry="TITLE")),
        )


def _check_no_address(edit: Edit, layout: Layout, ground: _Ground) -> None:
    """A file that is called like an entry would hide it: nobody could read the entry any more."""
    path, name = split_address(edit.path)
    if name and not ground.has(edit.path) and (ground.has(path) or layout.layer(path)):
        raise BadInput(
            f"{edit.path!r} is an entry, not a file",
            hint=Hint("write to it: ", call("write", path, entry=name)),
        )


def _check_name(edit: Edit, layout: Layout) -> None:
    """A name that is nearly that of a layer was hardly meant as a file."""
    if "/" in edit.path or "." in edit.path or not layout.layers:
        return
    from difflib import get_close_matches  # only for a name that could be one of a layer

    near = get_close_matches(edit.path.lower(), [each.name for each in layout.layers], 1)
    if near:
        raise BadInput(
            f"no layer {edit.path!r} in this group; did you mean {near[0]!r}?",
            hint=f"to write a file of that name, give its path as ./{edit.path}",
        )


def _at_layer(edit: Edit, layer: Layer, ground: _Ground, now: datetime) -> ResolvedEdit:
    if edit.date and not set(variables_in(layer.path)) & set(moment_values(now)):
        raise BadInput(
            f"the layer {layer.name!r} has no file for each day", hint="leave out the date"
        )
    _check_entry(edit, layer)
    if (
        layer.kind in ("journal", "log", "profile")
        and not edit.set
        and not text_bytes(edit).strip()
    ):
        raise BadInput(f"the text for the layer {layer.name!r} is empty", hint="give a text")
    moment = _moment(edit, now) if edit.date else now
    path = _path_of(edit, layer, ground, moment)
    exists = ground.has(path)
    edit = edit._replace(path=path)
    begun = b""
    if layer.kind == "journal":
        edit = _journal(edit, layer, moment, exists=exists)
    elif layer.kind == "log":
        edit, begun = edit._replace(append=True), _begun(layer, now)
    elif layer.kind == "profile" and (edit.append or edit.text is None) and layer.default:
        begun = ground.snapshot.read(layer.default) or b""
    return ResolvedEdit(edit, layer, begun, by_name=True)


def _path_of(edit: Edit, layer: Layer, ground: _Ground, moment: datetime) -> str:
    if is_glob(layer.path):
        raise BadInput(
            f"the layer {layer.name!r} has many files: {layer.path}",
            hint=Hint("name one: ", call("write", re.sub(GLOBS, "NAME", layer.path))),
        )
    needs_user = "user" in variables_in(layer.path)
    if needs_user != bool(edit.user):
        raise BadInput(
            f"the layer {layer.name!r} {'needs a' if needs_user else 'has no'} user",
            hint="name the user, such as telegram:123456" if needs_user else "leave out the user",
        )
    pattern = filled(layer.path, {**moment_values(moment), "user": "{user}"})
    path = _of_user(layer, pattern, edit.user, ground) if needs_user else check_path(pattern)
    if "datetime" in variables_in(layer.path):
        return _unused(ground, path)
    short = _in_short(path)
    return short if ground.has(short) and not ground.has(path) else path


def _of_user(layer: Layer, pattern: str, user: str, ground: _Ground) -> str:
    from gitmem.model.users import user_path

    return user_path(
        pattern, user, ground.names_in, default=layer.default, literal=layer.is_literal
    )


def _begun(layer: Layer, now: datetime) -> bytes:
    from gitmem.model.layout.archives import new_log

    return new_log(layer, now.date())


def _unused(ground: _Ground, path: str) -> str:
    """PATH, or with a number: two files may be made in one second."""
    return next(free for free in numbered(path) if not ground.has(free))


def _moment(edit: Edit, now: datetime) -> datetime:
    from gitmem.model.moments import FORMS, parse_moment

    zone = now.tzinfo
    text = re.sub(r"\A([0-9]{4})([0-9]{2})([0-9]{2})\Z", r"\1-\2-\3", edit.date.strip())
    found = parse_moment(text, now, zone) if zone else None
    if found is None:
        raise BadInput(f"invalid date {edit.date!r}", hint=FORMS)
    return found.start.astimezone(zone)


def _journal(edit: Edit, layer: Layer, moment: datetime, *, exists: bool) -> Edit:
    """A day that has begun is added to, and its fields are set anew."""
    fields = dict(edit.set)
    if "date" in layer.fields and not exists:
        fields.setdefault("date", str(moment.date()))
    order = {name: number for number, name in enumerate(layer.fields)}
    ordered = sorted(fields.items(), key=lambda each: order.get(each[0], len(order)))
    edit = edit._replace(set=tuple(ordered), append=exists)
    if exists and edit.text is not None:
        edit = edit._replace(text=b"\n" + text_bytes(edit).lstrip(b"\n"))
    return edit if exists or edit.text is not None else edit._replace(text="")
