"""Entries as somebody saw them, found again after others have written.

Who thinks about an entry, or makes a list of many, does so without the lock. Later the entry may
have another address, or say something else: only in the first case is it still the one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitmem.memory.entries.targets import Thing
from gitmem.memory.write.draft import Draft
from gitmem.model.entries.blocks import Entry, find, parse
from gitmem.model.entries.file_entries import file_entry
from gitmem.model.entries.freshness import key_of, key_of_file
from gitmem.model.layout.layout import Layer
from gitmem.store.repository import Snapshot


class Seen(NamedTuple):
    """An entry, or a file as a whole, as it was in some commit."""

    address: str
    path: str
    slug: str
    """Empty for a file."""
    key: bytes
    """What it said, white space aside."""


def seen_in(snapshot: Snapshot, thing: Thing) -> Seen | None:
    """THING as it is in SNAPSHOT; None where there is no such file, NotFound for no such entry."""
    data = Draft(snapshot).read(thing.path) if Draft(snapshot).is_file(thing.path) else None
    if data is None:
        return None
    if not thing.name:
        return Seen(thing.path, thing.path, "", key_of_file(data))
    entry = find(_entries(data, ()), thing.name)
    return Seen(f"{thing.path}#{entry.slug}", thing.path, entry.slug, _key(entry))


def still_there(draft: Draft, seen: Seen, layer: Layer | None = None) -> Entry | None:
    """The entry that says what SEEN said, in the same file; None where it was changed since."""
    data = draft.read(seen.path) if draft.is_file(seen.path) else None
    if data is None:
        return None
    if not seen.slug:
        return file_entry(seen.path, _text(data)) if key_of_file(data) == seen.key else None
    same = _by_key(data, layer.fields if layer else ()).get(seen.key, ())
    # Of several that say the same, rather the one of that name.
    return next((each for each in same if each.slug == seen.slug), next(iter(same), None))


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
