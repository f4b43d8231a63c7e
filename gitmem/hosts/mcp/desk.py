"""Where a server stands: its store and group, in whose name it acts, and what it may touch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.entry_blocks import split_address
from gitmem.core.layout import FILE, Layer, Layout, is_glob, variables_in
from gitmem.core.messages import check_agent
from gitmem.errors import BadInput, PathRefused, PolicyRefused
from gitmem.operations.aiming import aims, checked_edit
from gitmem.operations.applying import Edit
from gitmem.operations.group import Group, Store, Who
from gitmem.operations.layouts import layout_of
from gitmem.operations.restore_entry import is_address

if TYPE_CHECKING:
    from pathlib import Path

    from gitmem.operations.clock import Clock

SOURCE = "mcp"
NAMELESS = "agent"
KEPT = 4
"""Groups that are open at a time."""

Stamp = tuple[int, ...]


class Desk(NamedTuple):
    """What every call of a tool begins with."""

    kept: Kept
    store: Store
    group: str
    """The group that is meant where a call names none."""
    acting: str
    """The group in whose name we act: `main` may name another one, every other group may not."""
    who: Who = Who("", "", SOURCE)
    """An agent without a name is called as the client calls itself."""
    clock: Clock | None = None


def called(desk: Desk, client: str) -> Desk:
    """The desk when CLIENT sits at it: commits bear its name, unless they have one already."""
    if desk.who.agent:
        return desk
    try:
        name = check_agent(client)
    except BadInput:
        name = NAMELESS
    return desk._replace(who=desk.who._replace(agent=name))


class Kept:
    """Groups that stay open from one call to the next: what is in memory need not be read again.

    Whatever others write is seen all the same, since every operation begins with the branch. A
    group that was removed, renamed or moved meanwhile is noticed and opened anew.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[str, Who], tuple[Stamp | None, Group]] = {}

    def take(self, desk: Desk, name: str) -> Group:
        """The group NAME, opened if it is not."""
        key, stamp = (name, desk.who), _stamp(desk.store.gitdir(name))
        known = self._groups.get(key)
        if known is None or known[0] != stamp:
            self.drop(desk, name)
            opened = Group(desk.store, name, who=desk.who, acting=desk.acting, now=desk.clock)
            known = stamp, opened
        self._groups.pop(key, None)
        self._groups[key] = known  # the last one in order is the last one used
        while len(self._groups) > KEPT:
            self._groups.pop(next(iter(self._groups)))[1].close()
        return known[1]

    def drop(self, desk: Desk, name: str) -> None:
        """Close a group, if it is open."""
        known = self._groups.pop((name, desk.who), None)
        if known:
            known[1].close()

    def close(self) -> None:
        """Give back file handles, all of them."""
        for _, group in self._groups.values():
            group.close()
        self._groups.clear()


def _stamp(gitdir: Path) -> Stamp | None:
    """What tells one repository from another that came to its place; its settings included."""
    try:
        folder, config = os.stat(gitdir), os.stat(gitdir / "config")
    except OSError:
        return None
    return folder.st_dev, folder.st_ino, config.st_ino, config.st_mtime_ns, config.st_size


@contextmanager
def opened(desk: Desk, name: str = "") -> Iterator[Group]:
    """The group called NAME, or the desk's own, for one call."""
    name = name or desk.group
    try:
        yield desk.kept.take(desk, name)
    except BaseException:
        desk.kept.drop(desk, name)  # whatever went wrong, the next call begins afresh
        raise


def file_named(group: Group, path: str) -> str:
    """The file that PATH stands for: itself, or that of the layer called so, if it has just one."""
    layer = _layer_named(group, path)
    if layer is None or is_glob(layer.path) or variables_in(layer.path):
        return path
    return layer.path


def pattern_named(group: Group, path: str) -> str:
    """PATH as a pattern; the name of a layer stands for the files of it."""
    layer = _layer_named(group, path)
    if layer is None:
        return path
    found = layer.path
    for name in variables_in(found):
        found = found.replace(f"{{{name}}}", "*")
    return found


def _layer_named(group: Group, name: str) -> Layer | None:
    if not name or group.repository.snapshot().node(name) is not None:
        return None
    return layout_of(group).layer(name)


def check_read(group: Group, path: str) -> None:
    """Refuse a file, or the file of an entry, that the layout does not name for these tools."""
    _check(layout_of(group), file_part(group, path), "read")


def check_edit(group: Group, edit: Edit) -> None:
    """Refuse to write to a file that the layout does not name for these tools."""
    layout, checked = layout_of(group), checked_edit(group, edit)
    if layout.allow:
        for each in aims([checked], layout, group.repository.snapshot(), group.now()):
            _check(layout, each.edit.path, "written")
    _check_no_layout(checked.path)


def check_restore(group: Group, path: str) -> None:
    """Refuse to bring back what the layout does not name for these tools."""
    file = file_part(group, path)
    _check(layout_of(group), file, "brought back")
    _check_no_layout(file)


def _check_no_layout(path: str) -> None:
    """The layout says what is protected: nothing is, from whoever may change that."""
    if path.replace("\\", "/").removeprefix("./").strip("/").casefold() == FILE:
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


def _check(layout: Layout, path: str, deed: str) -> None:
    plain = path.replace("\\", "/").removeprefix("./")
    if not layout.allows(plain):
        raise PathRefused(
            f"{path or 'the whole group'} is no memory file that may be {deed} here",
            hint=f"there are: {', '.join(layout.allow)}",
            path=path,
            rule="allow",
        )
