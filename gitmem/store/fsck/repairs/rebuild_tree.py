"""A lost folder put together again from the same folder one commit earlier and one commit later.

A commit changes few names. So a lost folder is mostly its neighbours, and each guess can be proved:
only the right one has the hash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha1
from itertools import product
from pathlib import Path
from typing import NamedTuple

from gitmem.store.fsck.checks.reachable import Lack, loose_names
from gitmem.store.objects import trees
from gitmem.store.objects.database import ObjectDamaged, Objects
from gitmem.store.objects.trees import FILE, FOLDER, Node, Tree
from gitmem.store.repository import BRANCH, Commit, parse_commit

MOST_NAMES = 10
MOST_BYTES = 2_000_000_000
"""How much may be hashed in search of one folder: a few seconds."""


class _Between(NamedTuple):
    """What is known of the folder around the commits that lost it."""

    later: Tree
    earlier: Tree
    named: list[str]
    """Names in the folder that the commits at both ends say they changed."""


def rebuilt_folder(
    objects: Objects, lack: Lack, refs: dict[str, str], known: Callable[[], list[Node]]
) -> bytes | None:
    """The bytes of the lost folder LACK, if its neighbours allow to find them."""
    found = _between(objects, lack, refs.get(BRANCH, ""))
    if found is None:
        return None
    data = _mixed(found, lack.oid)
    if data is None:
        data = _with_one_more(found, lack.oid, known())
    return data


def _between(objects: Objects, lack: Lack, tip: str) -> _Between | None:
    """The folder in the last commit after those that have LACK, and in the first before them."""
    later: Tree | None = None
    met, named, above = False, [], ""
    for commit in _line(objects, tip):
        node = _folder_at(objects, commit, lack.path)
        if node == lack.oid or commit.oid == lack.commit:
            named += _named(commit, lack.path) + ([] if met else _named_in(above, lack.path))
            met = True
            continue
        tree = (_tree(objects, node) if node else None) or {}
        if met:
            return _Between(tree if later is None else later, tree, named)
        later, above = tree, commit.message
    return _Between(later, later, named) if met and later is not None else None


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


def _named(commit: Commit, folder: str) -> list[str]:
    return _named_in(commit.message, folder)


def _named_in(message: str, folder: str) -> list[str]:
    """The name in FOLDER that a subject such as `write(notes/a.md): …` speaks of."""
    found = re.match(r"\w+\(([^()\n]+)\)", message)
    path = found[1] if found else ""
    inside = path.removeprefix(f"{folder}/") if folder else path
    return [inside.partition("/")[0]] if inside and (not folder or inside != path) else []


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
    later, earlier, _ = found
    names = [name for name in sorted({*later, *earlier}) if later.get(name) != earlier.get(name)]
    if len(names) > MOST_NAMES:
        names = []
    for choice in product((later, earlier), repeat=len(names)):
        sides = zip(names, choice, strict=True)
        merged = {**later, **{name: side.get(name) for name, side in sides}}
        data = trees.serialise({name: node for name, node in merged.items() if node is not None})
        if sha1(_head(data) + data).hexdigest() == wanted:
            return data
    return None


def _with_one_more(found: _Between, wanted: str, known: list[Node]) -> bytes | None:
    """One name was changed before and again after: it stood for something that neither has."""
    later, earlier, named = found
    spent = 0
    for name in dict.fromkeys((*named, *sorted({*later, *earlier}))):
        for side, mode in product((later, earlier), (FILE, FOLDER)):
            data = _with_name(side, name, mode, wanted, known)
            spent += len(known) * 40 * (len(side) + 1)
            if data is not None or spent > MOST_BYTES:
                return data
    return None


def _with_name(
    side: Tree, name: str, mode: int, wanted: str, known: Iterable[Node]
) -> bytes | None:
    """SIDE with every known object tried as NAME."""
    mark = "f" * 40
    frame = trees.serialise({**side, name: Node(mode, mark)})
    raw = name.encode("utf-8", "surrogateescape")
    at = frame.index(b"%o %s\x00" % (mode, raw) + bytes.fromhex(mark)) + len(b"%o " % mode)
    at += len(raw) + 1
    begun, rest = sha1(_head(frame) + frame[:at]), frame[at + 20 :]
    for node in known:
        if node.mode == mode:
            digest = begun.copy()
            digest.update(bytes.fromhex(node.oid) + rest)
            if digest.hexdigest() == wanted:
                return frame[:at] + bytes.fromhex(node.oid) + rest
    return None


def _head(data: bytes) -> bytes:
    return b"tree %d\x00" % len(data)


def known_objects(gitdir: Path, objects: Objects) -> Iterator[Node]:
    """Every object that could be a file or a folder."""
    packed = (oid for pack in objects.packs for oid in pack.names())
    for oid in dict.fromkeys((*loose_names(gitdir), *packed)):
        try:
            kind = objects.read(oid)[0]
        except ObjectDamaged:
            continue
        if kind in ("blob", "tree"):
            yield Node(FILE if kind == "blob" else FOLDER, oid)
