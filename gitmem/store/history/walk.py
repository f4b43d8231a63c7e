"""Read commits and tree changes fast enough for a walk through the whole history.

By hand instead of pygit2's `Repository.walk`: with libgit2's object cache a walk of 20,000 commits
peaked at 587 MB, without it at 62, and it would read commits that may be truncated.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import NamedTuple

from gitmem.model.commit_messages import RUN, parse
from gitmem.store.objects.database import Objects
from gitmem.store.repository import parse_commit

HELD_ROWS = 20_000
"""The number of tree entries in the cache."""
_HEAD = re.compile(
    rb"tree ([0-9a-f]{40})\n((?:parent [0-9a-f]{40}\n)*)"
    rb"author ([^\n<]*) <[^\n>]*> ([0-9]{1,11}) [+-][0-9]{4}\n"
)
_ROW = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL)
_FOLDER = b"40000"
_REGULAR = b"100"
_OP, _AGENT, _SOURCE = b"Gitmem-Op: ", b"Gitmem-Agent: ", b"Gitmem-Source: "
_RUN = RUN.encode() + b": "

Change = tuple[str, str, str]
"""A path, its blob before and its blob now; empty for no file."""


class WalkedCommit(NamedTuple):
    """The parts of a commit that a walk needs."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    seconds: int
    """Its author time."""
    agent: str
    op: str = ""
    source: str = ""
    run: str = ""
    """The run of capture that made it, if any."""


def read_walked(objects: Objects, oid: str) -> WalkedCommit:
    """Read the commit OID."""
    data = objects.read_as("commit", oid)
    head = _HEAD.match(data)
    if head is None:  # an unusual header, not made by git
        commit = parse_commit(oid, data)
        note = parse(commit.message)
        seconds = int(commit.time.timestamp())
        agent = note.agent or commit.author
        words = note.op, note.source, note.get(RUN)
        return WalkedCommit(oid, commit.tree, commit.parents, seconds, agent, *words)
    tree, parents, author, when = head.groups()
    op, agent, source, run = _trailers(data[head.end() :])
    return WalkedCommit(
        oid,
        tree.decode(),
        tuple(each.decode() for each in parents.split()[1::2]),
        int(when),
        agent or author.decode("utf-8", "replace"),
        op,
        source,
        run,
    )


def _trailers(rest: bytes) -> tuple[str, str, str, str]:
    """Operation, agent, source and run in the trailers; REST follows the author line."""
    if _OP not in rest:
        return "", "", "", ""
    block = rest[rest.rfind(b"\n\n") + 2 :]
    lines = block.split(b"\n")
    plain = all(line.startswith(b"Gitmem-") for line in lines[:-1]) and not lines[-1]
    if not plain or b"\\u{" in block:
        note = parse(rest.partition(b"\n\n")[2].decode("utf-8", "replace"))
        return note.op, note.agent, note.source, note.get(RUN)
    return _value(lines, _OP), _value(lines, _AGENT), _value(lines, _SOURCE), _value(lines, _RUN)


def _value(lines: list[bytes], name: bytes) -> str:
    found = next((line for line in lines if line.startswith(name)), b"")
    return found[len(name) :].strip().decode("utf-8", "replace")


class Trees:
    """Compares trees; recent ones are cached."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._held: OrderedDict[str, frozenset[tuple[bytes, bytes, bytes]]] = OrderedDict()
        self._weight = 0

    def changes(self, before: str, after: str, inside: str = "") -> list[Change]:
        """The files that differ, in no order; only regular files count."""
        old, new = self._rows(before), self._rows(after)
        rows = {name: [mode, oid, b"", b""] for mode, name, oid in old - new}
        for mode, name, oid in new - old:
            rows.setdefault(name, [b"", b"", b"", b""])[2:] = mode, oid
        found: list[Change] = []
        for name, (was, a, now, b) in rows.items():
            path = inside + name.decode("utf-8", "surrogateescape")
            if _FOLDER in (was, now):
                one = a.hex() if was == _FOLDER else ""
                found += self.changes(one, b.hex() if now == _FOLDER else "", f"{path}/")
            if was[:3] == _REGULAR or now[:3] == _REGULAR:
                one = a.hex() if was[:3] == _REGULAR else ""
                found.append((path, one, b.hex() if now[:3] == _REGULAR else ""))
        return found

    def _rows(self, oid: str) -> frozenset[tuple[bytes, bytes, bytes]]:
        if not oid:
            return frozenset()
        rows = self._held.get(oid)
        if rows is None:
            rows = frozenset(_ROW.findall(self._objects.read_as("tree", oid)))
            self._held[oid] = rows
            self._weight += len(rows)
            while self._weight > HELD_ROWS and len(self._held) > 1:
                self._weight -= len(self._held.popitem(last=False)[1])
        return rows
