"""What people name when they archive or confirm: entries by address, files and folders by path."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.memory.entries.entries import address_parts
from gitmem.memory.group import Group
from gitmem.memory.read.read import known_path
from gitmem.model.entries.edit import split_address
from gitmem.model.layout.layout import Layout
from gitmem.store.repository import Snapshot


class Thing(NamedTuple):
    """What can be archived or confirmed: an entry, or a file or folder as a whole."""

    path: str
    name: str = ""
    """The slug or title of the entry; empty for the whole."""


def movable(group: Group, path: str) -> str:
    """PATH as the group names it, if it can be moved at all."""
    named = known_path(group, group.repository.snapshot(), path)
    if not named:
        raise BadInput(
            "a group cannot be moved as a whole",
            hint="name a file or a folder; for the group itself see `gitmem groups`",
        )
    if group.is_outside:
        from gitmem.memory.scope import check_writable  # only beside other work

        check_writable(group, [named])
    return named


def all_meant(
    group: Group, snapshot: Snapshot, layout: Layout, given: Iterable[str | Thing]
) -> list[Thing]:
    """What each of GIVEN names: an entry by its address, else a file or folder."""
    return [x if isinstance(x, Thing) else _meant(group, snapshot, layout, x) for x in given]


def _meant(group: Group, snapshot: Snapshot, layout: Layout, given: str) -> Thing:
    if split_address(given)[1] and snapshot.node(given) is None:
        return Thing(*address_parts(group, snapshot, layout, given))
    return Thing(movable(group, given))
