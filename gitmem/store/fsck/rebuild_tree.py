"""A lost folder put together again from the same folder one commit earlier and one commit later.

A commit changes few names. So a lost folder has each name as it was either before or after, and a
guess can be proved: only the right one has the hash. At most 2 ** MOST_NAMES are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

from gitmem.store.fsck.reachable import Lack
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects, object_id
from gitmem.store.objects.trees import Tree
from gitmem.store.repository import BRANCH, Commit, parse_commit

MOST_NAMES = 10


class _Between(NamedTuple):
    """What is known of the folder around the commits that lost it."""

    later: Tree
    earlier: Tree


def rebuilt_folder(objects: Objects, lack: Lack, refs: dict[str, str]) -> bytes | None:
    """The bytes of the lost folder LACK, if its neighbours allow to find them."""
    found = _between(objects, lack, refs.get(BRANCH, ""))
    return _mixed(found, lack.oid) if found else None


def _between(objects: Objects, lack: Lack, tip: str) -> _Between | None:
    """The folder in the last commit after those that have LACK, and in the first before them."""
    later: Tree | None = None
    met = False
    for commit in _line(objects, tip):
        node = _folder_at(objects, commit, lack.path)
        if node == lack.oid or commit.oid == lack.commit:
            met = True
            continue
        tree = (_tree(objects, node) if node else None) or {}
        if met:
            return _Between(later, tree) if later is not None else None
        later = tree
    return None


def _line(objects: Objects, tip: str) -> Iterator[Commit]:
    """First parents from TIP on, as far as they can be read."""
    oid = tip
    while oid:
        try:
            commit = parse_commit(oid, objects.read_as("commit", oid))
        except ObjectDamaged:
            return
        yield commit
        oid = commit.parents[0] if commit.parents else ""


def _folder_at(objects: Objects, commit: Commit, path: str) -> str | None:
    oid = commit.tree
    for part in path.split("/") if path else ():
        tree = _tree(objects, oid)
        node = tree.get(part) if tree else None
        if node is None or not node.is_folder:
            return None
        oid = node.oid
    return oid


def _tree(objects: Objects, oid: str) -> Tree | None:
    try:
        return trees.parse(objects.read_as("tree", oid))
    except (ObjectDamaged, ValueError):
        return None


def _mixed(found: _Between, wanted: str) -> bytes | None:
    """Each name as it was either before or after."""
    later, earlier = found
    names = [name for name in sorted({*later, *earlier}) if later.get(name) != earlier.get(name)]
    if len(names) > MOST_NAMES:
        names = []
    for choice in product((later, earlier), repeat=len(names)):
        sides = zip(names, choice, strict=True)
        merged = {**later, **{name: side.get(name) for name, side in sides}}
        data = trees.serialise({name: node for name, node in merged.items() if node is not None})
        if object_id("tree", data) == wanted:
            return data
    return None
