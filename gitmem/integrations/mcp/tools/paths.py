"""What a call may touch: paths as a model names them, and what a layout keeps from it."""

from __future__ import annotations

from typing import Any

from gitmem.errors import PathNotFound, PathRefused, PolicyRefused
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_of
from gitmem.memory.read.read import known_path
from gitmem.memory.recover.restore_entry import is_address
from gitmem.memory.recover.versions import command
from gitmem.memory.write.apply import Edit
from gitmem.memory.write.target import aims, checked_edit
from gitmem.model.entries.blocks import split_address
from gitmem.model.layout.archives import is_archived
from gitmem.model.layout.layout import FILE, Layout, is_glob, variables_in
from gitmem.model.paths import check_path, fold


def local(path: str) -> str:
    """PATH, unless it is absolute: what a model names begins at the root of the group.

    A person may name a file by its place on disk. A model is not to know that place, and what is
    checked here would have a second name by it.
    """
    return check_path(path) if path.startswith(("/", "\\")) else path


def file_named(group: Group, path: str) -> str:
    """The file that PATH stands for: itself, or that of the layer called so, if it has just one.

    As with a write, a folder of that name does not stand in the way.
    """
    is_file = not path or group.repository.snapshot().oid(path) is not None
    layer = None if is_file else layout_of(group).layer(path)
    if layer is None or is_glob(layer.path) or variables_in(layer.path):
        return path
    return layer.path


def pattern_named(group: Group, path: str) -> str:
    """PATH as a pattern; the name of a layer stands for the files of it, unless it is a folder."""
    is_there = not path or group.repository.snapshot().node(path) is not None
    layer = None if is_there else layout_of(group).layer(path)
    if layer is None:
        return path
    found = layer.path
    for name in variables_in(found):
        found = found.replace(f"{{{name}}}", "*")
    return found


def check_read(group: Group, path: str) -> None:
    """Refuse a file, or the file of an entry, that the layout does not name for these tools."""
    _check(layout_of(group), file_part(group, path), "reading")


def check_entries(group: Group, path: str) -> None:
    """Refuse the address of an entry in such a file: who mistypes one is told of the others."""
    file, name = split_address(path)
    if name and not layout_of(group).allows(path):
        _check(layout_of(group), file_named(group, file), "reading")


def check_edit(group: Group, edit: Edit) -> None:
    """Refuse to write to a file that is not for these tools, whichever way it is named."""
    layout, checked = layout_of(group), checked_edit(group, edit)
    for each in aims([checked], layout, group.repository.snapshot(), group.now()):
        path = each.edit.path
        _check(layout, path, "writing")
        _check_no_layout(path)
        _check_in_use(layout, path)


def check_restore(group: Group, path: str, *, older: bool) -> None:
    """Refuse to bring back what is not for these tools; OLDER: as it was before."""
    layout = layout_of(group)
    file = known_path(group, group.repository.snapshot(), file_part(group, path))
    _check(layout, file, "restoring")
    _check_no_layout(file)
    if older and not is_address(group, path):
        _check_in_use(layout, file)


def _check_in_use(layout: Layout, path: str) -> None:
    if is_archived(layout, path):
        raise PathRefused(
            f"{path} is in the archive, where nothing is changed",
            hint=f"bring it back first: `{command('restore', path)}`",
            path=path,
            rule="archive",
        )


def _check_no_layout(path: str) -> None:
    """The layout says what is protected: nothing is, from whoever may change that."""
    if fold(path) == FILE:
        raise PolicyRefused(
            f"{FILE} says how memory is written, and only a person may change it",
            hint=f"tell whoever you work for: `gitmem edit {FILE}`",
            path=FILE,
        )


def file_part(group: Group, path: str) -> str:
    """PATH, or of an entry's address the file it stands in."""
    if path and is_address(group, path):
        return file_named(group, split_address(path)[0])
    return path


def hush(group: Group, error: PathNotFound) -> None:
    """Let ERROR name no file that these tools may not touch."""
    facts: dict[str, Any] = error.facts
    named = [*facts.get("near", ()), facts.get("moved_to", "")]
    if not all(layout_of(group).allows(each) for each in named if each):
        error.message = f"there is no {facts['path']} in this group"
        error.hint = "see what there is with `gitmem list`"


def _check(layout: Layout, path: str, deed: str) -> None:
    plain = path.replace("\\", "/").removeprefix("./")
    if not layout.allows(plain):
        raise PathRefused(
            f"the layout does not allow {deed} {path or 'the whole group'!r} here",
            hint=f"allowed: {', '.join(layout.allow)}",
            path=path,
            rule="allow",
        )
