"""What has changed since a session was shown memory: a diff of what it was shown, and no more."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.access import GLOBAL
from gitmem.errors import NotFound
from gitmem.operations.diff import diff
from gitmem.operations.group import Group
from gitmem.operations.layouts import layout_of
from gitmem.operations.masking import Masks
from gitmem.operations.sources import has_shared

if TYPE_CHECKING:
    from gitmem.core.layout import Layer, Layout
    from gitmem.operations.show import FileChange

LOADED = ("always", "recent")
BETWEEN = "\n\n"
HEADING = "What memory holds has changed since this session was last shown it:"
NAMED = 5
"""Files that are named where there is no room for what changed in them."""
ENDING = 300
"""Characters that naming them may take."""


class Block(NamedTuple):
    """What became of one file."""

    path: str
    text: str


class ChangedSince(NamedTuple):
    """What is new to a session, and what it has been shown with that."""

    blocks: tuple[Block, ...]
    shown: tuple[tuple[str, str], ...]


def present(group: Group) -> tuple[tuple[str, str], ...]:
    """The commits that a session would be shown now."""
    own = (group.name, group.repository.tip().commit)
    if not has_shared(group):
        return (own,)
    shared = Group(group.store, GLOBAL, acting=group.acting)
    try:
        return own, (GLOBAL, shared.repository.tip().commit)
    finally:
        shared.close()


def changed_since(group: Group, shown: Sequence[tuple[str, str]]) -> ChangedSince:
    """What differs from the commits that were SHOWN, in files that are loaded."""
    layout = layout_of(group)
    blocks: list[Block] = []
    now: list[tuple[str, str]] = []
    for name, commit in shown:
        try:
            blocks += _in_group(group, layout, name, commit, now)
        except NotFound:  # a group that is gone, or a history that was written anew
            continue
    return ChangedSince(tuple(blocks), tuple(now))


def _in_group(
    group: Group, layout: Layout, name: str, commit: str, now: list[tuple[str, str]]
) -> list[Block]:
    own = name == group.name
    meant = group if own else Group(group.store, name, acting=group.acting, now=group.moment)
    try:
        tip = meant.repository.tip().commit
        now.append((name, tip))
        if tip == commit:
            return []
        found = diff(meant, commit).files
        blocks = [block for each in found for block in _blocks(meant, layout, each, own)]
        masks = Masks({"": meant.repository.snapshot(tip)})
        return [each._replace(text=masks.mixed("", each.text)) for each in blocks]
    finally:
        if not own:
            meant.close()


def _blocks(group: Group, layout: Layout, file: FileChange, own: bool) -> Iterator[Block]:
    """A file that is moved into what is loaded, or out of it, comes, or goes."""
    there, here = (_loaded(layout, path, own) for path in (file.moved_from, file.path))
    where = "" if own else f"{GLOBAL}: "
    if file.moved_from and there and not here:
        yield Block(file.moved_from, f"deleted {where}{file.moved_from}")
    elif here and here.render != "whole":
        yield Block(file.path, f"{file.change} {where}{file.path}")
    elif here and file.moved_from and not there:
        text = (group.repository.snapshot().read(file.path) or b"").decode("utf-8", "replace")
        yield Block(file.path, f"created {where}{file.path}\n{text}".rstrip())
    elif here:
        moved = f" (was {file.moved_from})" if file.moved_from else ""
        yield Block(file.path, f"{file.change} {where}{file.path}{moved}\n{file.diff}".rstrip())


def _loaded(layout: Layout, path: str, own: bool) -> Layer | None:
    """The layer of a file that sessions are shown."""
    layer = layout.layer_of(path) if path else None
    return layer if layer and layer.load in LOADED and (own or layer.shared) else None


def drawn(blocks: Sequence[Block], holds: Callable[[str], bool]) -> str:
    """One below the other, whole ones only, as far as HOLDS says; the others are named."""
    if not blocks:
        return ""
    text, left = HEADING, []
    for each in blocks:
        if holds(f"{text}{BETWEEN}{each.text}{BETWEEN}" + " " * ENDING):
            text += BETWEEN + each.text
        else:
            left.append(each.path)
    if left:
        named = ", ".join(left[:NAMED]) + (", …" if len(left) > NAMED else "")
        text += f"{BETWEEN}Also changed: {named[: ENDING - 80]}. See them with `gitmem read PATH`."
    return text
