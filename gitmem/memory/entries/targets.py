"""Targets that people name: entries by address, files and folders by path.

Somebody may choose targets long before anything is done to them, and without the lock. Meanwhile an
entry may get another address, or say something else: only in the first case is it still the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitmem.errors import BadInput
from gitmem.memory.entries.entries import address_parts
from gitmem.memory.group import Group
from gitmem.memory.read.read import known_path
from gitmem.memory.write.changeset import Changeset
from gitmem.model.entries.blocks import Entry, file_entry, find, parse, split_address
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.layout.layout import Layer, Layout
from gitmem.store.repository import Snapshot


class Target(NamedTuple):
    """An entry, or a file or folder as a whole, that can be archived or confirmed."""

    path: str
    name: str = ""
    """The slug or title of the entry; empty for the whole."""


def movable_path(group: Group, path: str) -> str:
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


def resolve_targets(
    group: Group, snapshot: Snapshot, layout: Layout, given: Iterable[str | Target]
) -> list[Target]:
    """The target that each of GIVEN names: an entry by its address, else a file or folder."""
    return [x if isinstance(x, Target) else _resolved(group, snapshot, layout, x) for x in given]


def _resolved(group: Group, snapshot: Snapshot, layout: Layout, given: str) -> Target:
    if split_address(given)[1] and snapshot.node(given) is None:
        return Target(*address_parts(group, snapshot, layout, given))
    return Target(movable_path(group, given))


class TargetVersion(NamedTuple):
    """An entry, or a file as a whole, as it was in some commit."""

    address: str
    path: str
    slug: str
    """Empty for a file."""
    key: bytes
    """What it said, white space aside."""


def version_in(snapshot: Snapshot, target: Target) -> TargetVersion | None:
    """TARGET as it is in SNAPSHOT; None without such a file, NotFound without such an entry."""
    data = (
        Changeset(snapshot).read(target.path) if Changeset(snapshot).is_file(target.path) else None
    )
    if data is None:
        return None
    if not target.name:
        return TargetVersion(target.path, target.path, "", key_of_file(data))
    entry = find(_entries(data, ()), target.name)
    return TargetVersion(f"{target.path}#{entry.slug}", target.path, entry.slug, _key(entry))


def find_unchanged(
    draft: Changeset, version: TargetVersion, layer: Layer | None = None
) -> Entry | None:
    """The entry of the same file that says what VERSION says; None where it was changed since."""
    data = draft.read(version.path) if draft.is_file(version.path) else None
    if data is None:
        return None
    if not version.slug:
        return file_entry(version.path, _text(data)) if key_of_file(data) == version.key else None
    same = _by_key(data, layer.fields if layer else ()).get(version.key, ())
    # Of several that say the same, rather the one of that name.
    return next((each for each in same if each.slug == version.slug), next(iter(same), None))


@lru_cache(maxsize=8)
def _entries(data: bytes, known: tuple[str, ...]) -> tuple[Entry, ...]:
    """The entries of a file: many are looked for in the same one."""
    return parse(_text(data), known)


@lru_cache(maxsize=8)
def _by_key(data: bytes, known: tuple[str, ...]) -> Mapping[bytes, Sequence[Entry]]:
    found: dict[bytes, list[Entry]] = {}
    for each in _entries(data, known):
        found.setdefault(_key(each), []).append(each)
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _key(entry: Entry) -> bytes:
    return key_of(entry.block.encode("utf-8", "surrogateescape"))
