"""What a verb acts on: a file or folder by its path, an entry by its address.

A target may be chosen long before the lock is taken. By then its entry may have another address,
or another text: only in the first case is it still the same target.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from gitmem.errors import BadInput
from gitmem.memory.group import Group
from gitmem.memory.layouts import layout_at
from gitmem.memory.read.read import known_path, missing
from gitmem.model.entries.blocks import Entry, file_entry, find, parse, split_address
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.hints import Hint, call
from gitmem.model.layout.layout import Layer, Layout
from gitmem.store.objects.trees import SUBMODULE
from gitmem.store.repository import Snapshot

if TYPE_CHECKING:
    from gitmem.memory.write.changeset import Changeset

KIND = "entries"
"""The kind of a layer whose one file holds entries."""


class Target(NamedTuple):
    """An entry, or a file or folder as a whole, that can be archived or confirmed."""

    path: str
    name: str = ""
    """The slug or title of the entry; empty for the whole."""


def is_file(snapshot: Snapshot, path: str) -> bool:
    """Whether SNAPSHOT has a file at PATH, and not a folder or a submodule."""
    node = snapshot.node(path)
    return node is not None and not node.is_folder and node.mode != SUBMODULE


def is_address(group: Group, given: str) -> bool:
    """Whether GIVEN names an entry, and not a file with a `#` in its name."""
    path, name = split_address(given)
    if not name:
        return False
    snapshot = group.repository.snapshot()
    if snapshot.node(given):
        return False
    layout = layout_at(group, snapshot).layout
    return ".md#" in given or bool(layout.layer(path)) or bool(snapshot.oid(path))


def file_of(group: Group, snapshot: Snapshot, layout: Layout, name: str) -> str:
    """The path that NAME stands for: itself, or the file of the layer of entries called so."""
    layer = layout.layer(name)
    if layer is not None and layer.kind == KIND and snapshot.node(name) is None:
        return layer.path
    return known_path(group, snapshot, name)


def address_parts(
    group: Group, snapshot: Snapshot, layout: Layout, address: str
) -> tuple[str, str]:
    """The path and the slug or title in `path#slug`; the path may be the name of a layer."""
    named, name = split_address(address)
    if not name:
        raise BadInput(
            f"{address!r} is not the address of an entry",
            hint=Hint(
                "add its slug: ",
                call("entries"),
                " lists addresses such as reference/ideas.md#try-it",
            ),
        )
    return file_of(group, snapshot, layout, named), name


def locate_entry(
    group: Group, snapshot: Snapshot, layout: Layout, address: str
) -> tuple[str, Entry]:
    """The path and the entry that ADDRESS names; raises PathNotFound or NotFound."""
    path, name = address_parts(group, snapshot, layout, address)
    if not is_file(snapshot, path):
        raise missing(group, snapshot, path)
    return path, find(entries_in(snapshot, path, layout.layer_of(path)), name)


def entries_in(snapshot: Snapshot, path: str, layer: Layer | None) -> tuple[Entry, ...]:
    """The entries of the file at PATH; bytes that are not UTF-8 are replaced."""
    text = (snapshot.read(path) or b"").decode("utf-8", "replace")
    return parse(text, layer.fields if layer else ())


def movable_path(group: Group, path: str) -> str:
    """PATH relative to the group; refuses the group itself, and paths outside its memory."""
    named = known_path(group, group.repository.snapshot(), path)
    if not named:
        raise BadInput(
            "a group cannot be moved as a whole",
            hint=Hint("name a file or a folder; to rename the group: ", call("groups")),
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
    """An entry, or a file as a whole, as one commit has it."""

    address: str
    path: str
    slug: str
    """Empty for a file."""
    key: bytes
    """The digest of its text without white space."""


def version_in(snapshot: Snapshot, target: Target) -> TargetVersion | None:
    """TARGET in SNAPSHOT; None if the file does not exist. Raises NotFound for an entry."""
    if not is_file(snapshot, target.path):
        return None
    data = snapshot.read(target.path) or b""
    if not target.name:
        return TargetVersion(target.path, target.path, "", key_of_file(data))
    entry = find(_entries(data, ()), target.name)
    return TargetVersion(f"{target.path}#{entry.slug}", target.path, entry.slug, _key(entry))


def find_unchanged(
    draft: Changeset, version: TargetVersion, layer: Layer | None = None
) -> Entry | None:
    """The entry of the same file with the text of VERSION; None if it changed since."""
    data = draft.read(version.path) if draft.is_file(version.path) else None
    if data is None:
        return None
    if not version.slug:
        return file_entry(version.path, _text(data)) if key_of_file(data) == version.key else None
    same = _by_key(data, layer.fields if layer else ()).get(version.key, ())
    # Of several with the same text, preferably the one of that slug.
    return next((each for each in same if each.slug == version.slug), next(iter(same), None))


@lru_cache(maxsize=8)
def _entries(data: bytes, known: tuple[str, ...]) -> tuple[Entry, ...]:
    """The entries of a file; cached, because a plan looks for many in the same one."""
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
