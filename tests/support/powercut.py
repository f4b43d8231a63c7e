"""A disk in memory that replays recorded system calls and forgets what was never synced.

It is stricter than ext4 and xfs: a file is kept when it was synced, a name when its folder was.
What a journal keeps beyond that are variants: names without data, as delayed allocation leaves it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

CALLS = (
    *(
        "openat",
        "write",
        "pwrite64",
        "lseek",
        "ftruncate",
        "fsync",
        "fdatasync",
        "mkdir",
        "mkdirat",
    ),
    *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
    *("unlink", "unlinkat", "rmdir"),
)
VARIANTS = ("nothing unsynced", "names without data", "names with zeros")
_ARGUMENT = re.compile(r'"((?:\\x..)*)"|(?:AT_FDCWD|\d+)<((?:\\x..)*)>|([^,<>"]+)')
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)")

State = dict[str, bytes | None]
"""What stands where, relative to the top: None for a folder; a link has its target after `->`, a
second name of a file the first one after `=>`."""


class Node:
    """A file, link or folder: as it is, and as it is on the disk."""

    def __init__(self, *, folder: bool = False, link: bytes = b"") -> None:
        self.folder, self.link = folder, link
        self.data, self.synced = bytearray(), None if not folder else b""
        self.names: dict[str, Node] = {}
        self.synced_names: dict[str, Node] = {}

    def sync(self) -> None:
        self.synced, self.synced_names = bytes(self.data), dict(self.names)

    def after_cut(self, variant: str) -> bytes:
        if self.synced is not None:
            return self.synced
        return bytes(len(self.data)) if variant == VARIANTS[2] else b""


class Op(NamedTuple):
    """One call that succeeded, with paths and data in plain."""

    name: str
    places: tuple[str, ...]
    data: bytes
    numbers: tuple[int, ...]
    flags: str
    result: int


def recorded(log: Path) -> Iterator[Op]:
    """The calls in a log of `strace -y -xx` that changed something."""
    for line in log.read_text("ascii", "replace").splitlines():
        found = _CALL.match(line)
        if found and int(found[3]) >= 0:
            yield _op(found[1], found[2], int(found[3]))


def _op(name: str, text: str, result: int) -> Op:
    places, numbers, flags, base, data = [], [], "", "", b""
    for string, fd, rest in _ARGUMENT.findall(text):
        if fd:
            base = os.fsdecode(_plain(fd))
            if name in ("write", "pwrite64", "lseek", "ftruncate", "fsync", "fdatasync"):
                places.append(base)
        elif string or ('""' in text and not rest.strip()):
            if name in ("write", "pwrite64"):
                data = _plain(string)
            else:
                places.append(os.path.normpath(os.path.join(base, os.fsdecode(_plain(string)))))
        elif rest.strip().lstrip("-").isdigit():
            numbers.append(int(rest))
        else:
            flags += rest.strip()
    return Op(name, tuple(places), data, tuple(numbers), flags, result)


def _plain(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


class Disk:
    """Everything below TOP, which is taken to be synced when it begins."""

    def __init__(self, top: Path) -> None:
        self._top, self._root = str(top), Node(folder=True)
        self._offsets: dict[str, int] = {}
        self._load(top, self._root)

    def _load(self, folder: Path, node: Node) -> None:
        for each in folder.iterdir():
            child = Node(folder=each.is_dir() and not each.is_symlink())
            if each.is_symlink():
                child.link = os.fsencode(os.readlink(each))
            elif each.is_dir():
                self._load(each, child)
            elif each.is_file():
                child.data = bytearray(each.read_bytes())
            node.names[each.name] = child
            child.sync()
        node.sync()

    def _find(self, path: str) -> Node | None:
        node: Node | None = self._root
        for part in self._parts(path):
            node = node.names.get(part) if node else None
        return node

    def _parts(self, path: str) -> list[str]:
        if path != self._top and not path.startswith(f"{self._top}/"):
            raise KeyError(path)
        return path[len(self._top) :].strip("/").split("/") if path != self._top else []

    def _parent(self, path: str) -> tuple[dict[str, Node], str]:
        folder = self._find(os.path.dirname(path))
        self._parts(path)
        assert folder is not None, path
        return folder.names, os.path.basename(path)

    def apply(self, op: Op) -> None:
        """Let it happen; what is elsewhere happens elsewhere."""
        try:
            getattr(self, f"_{op.name}")(op)
        except KeyError:
            return

    def _openat(self, op: Op) -> None:
        path = op.places[0]
        names, name = self._parent(path)
        if "O_CREAT" in op.flags and name not in names:
            names[name] = Node()
        if "O_TRUNC" in op.flags:
            names[name].data = bytearray()
        self._offsets[path] = -1 if "O_APPEND" in op.flags else 0

    def _write(self, op: Op) -> None:
        (path,) = op.places
        node = self._find(path)
        if node is None:
            return
        at = self._offsets.get(path, 0)
        at = len(node.data) if at < 0 else at
        self._put(node, at, op.data[: op.result])
        if self._offsets.get(path, 0) >= 0:
            self._offsets[path] = at + op.result

    def _pwrite64(self, op: Op) -> None:
        node = self._find(op.places[0])
        if node is not None:
            self._put(node, op.numbers[-1], op.data[: op.result])

    def _put(self, node: Node, at: int, data: bytes) -> None:
        node.data.extend(bytes(max(0, at - len(node.data))))
        node.data[at : at + len(data)] = data

    def _lseek(self, op: Op) -> None:
        self._parts(op.places[0])
        if self._offsets.get(op.places[0], 0) >= 0:
            self._offsets[op.places[0]] = op.result

    def _ftruncate(self, op: Op) -> None:
        node = self._find(op.places[0])
        if node is not None:
            size = op.numbers[-1]
            node.data = node.data[:size] + bytes(max(0, size - len(node.data)))

    def _fsync(self, op: Op) -> None:
        node = self._find(op.places[0])
        if node is not None:
            node.sync()

    _fdatasync = _fsync

    def _mkdir(self, op: Op) -> None:
        names, name = self._parent(op.places[0])
        names[name] = Node(folder=True)

    _mkdirat = _mkdir

    def _rename(self, op: Op) -> None:
        (theirs, source), (ours, target) = map(self._parent, op.places)
        if "EXCHANGE" in op.flags:
            theirs[source], ours[target] = ours[target], theirs[source]
        else:
            ours[target] = theirs.pop(source)
        for path in op.places:
            self._offsets.pop(path, None)

    _renameat = _renameat2 = _rename

    def _link(self, op: Op) -> None:
        (theirs, source), (ours, target) = map(self._parent, op.places)
        ours[target] = theirs[source]

    _linkat = _link

    def _symlink(self, op: Op) -> None:
        names, name = self._parent(op.places[-1])
        names[name] = Node(link=os.fsencode(op.places[0]))

    _symlinkat = _symlink

    def _unlink(self, op: Op) -> None:
        names, name = self._parent(op.places[0])
        names.pop(name, None)
        self._offsets.pop(op.places[0], None)

    _unlinkat = _rmdir = _unlink

    def cut(self, variant: str) -> State:
        """What the next start finds."""
        state: State = {}
        first: dict[Node, str] = {}
        for path, node in self._walk(self._root, "", synced=variant == VARIANTS[0]):
            if node.folder:
                state[path] = None
            elif node.link:
                state[path] = b"->" + node.link
            elif node in first:
                state[path] = b"=>" + os.fsencode(first[node])
            else:
                first[node] = path
                state[path] = node.after_cut(variant)
        return state

    def now(self) -> State:
        """What a living system sees: for who doubts this model."""
        state: State = {}
        for path, node in self._walk(self._root, ""):
            state[path] = (
                None if node.folder else b"->" + node.link if node.link else bytes(node.data)
            )
        return state

    def _walk(
        self, node: Node, path: str, *, synced: bool = False, seen: set[Node] | None = None
    ) -> Iterator[tuple[str, Node]]:
        seen = set() if seen is None else seen
        for name, child in sorted((node.synced_names if synced else node.names).items()):
            if child.folder and child in seen:
                continue  # every file system moves a folder at once: it never has two names
            seen.add(child)
            place = f"{path}/{name}" if path else name
            yield place, child
            yield from self._walk(child, place, synced=synced, seen=seen)


def written(top: Path, state: State) -> None:
    """Let STATE stand at TOP."""
    top.mkdir(mode=0o700)
    for path, content in state.items():
        if content is None:
            (top / path).mkdir(mode=0o700)
        elif content.startswith(b"=>"):
            os.link(top / os.fsdecode(content[2:]), top / path)
        elif content.startswith(b"->"):
            os.symlink(content[2:], top / path)
        else:
            with open(os.open(top / path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
                file.write(content)


def replayed(disk: Disk, ops: Iterable[Op], points: set[int]) -> Iterator[tuple[int, str, State]]:
    """The states after a power cut at POINTS, by the number of calls made; each variant once."""
    seen: list[State] = []
    for number, op in enumerate(ops, 1):
        disk.apply(op)
        if number in points:
            for variant in VARIANTS:
                state = disk.cut(variant)
                if state not in seen:
                    seen.append(state)
                    yield number, variant, state
