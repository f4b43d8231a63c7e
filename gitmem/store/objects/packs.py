"""Reading git's packs with plain file reads, so that a damaged one can only give an error.

libgit2 believes a pack's index: one flipped bit in it makes the process crash or loop for ever.
Here every number is checked before it is used, and an object counts only when its content has its
name.

By hand instead of pygit2, for that reason alone: `tests/faults/test_bit_flips.py` flips bits of a
pack and of its index, and every one ends in an answer or in an error.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha1

from gitmem.store.objects.pack_entries import PackDamaged, apply_delta, read_entry

Content = tuple[str, bytes]
Supply = Callable[[str], Content | None]

INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
CHECKSUM = 20
_FANOUT = 8
_NAMES = _FANOUT + 256 * 4
_DEEPEST = 5000  # git's own limit is 4095 deltas in a row
_REMEMBERED = 16 * 1024 * 1024  # a walk through the history meets the chains of many files at once
_PATIENCE = 20  # how often packs may be replaced under our eyes by a `git repack`


def nothing(oid: str) -> Content | None:
    """The supply of somebody who has nothing to give."""
    del oid
    return None


class Pack:
    """One pack with its index."""

    def __init__(self, stem: str) -> None:
        self.stem = stem
        self._index = os.open(f"{stem}.idx", os.O_RDONLY | os.O_CLOEXEC)
        self._data = -1
        try:
            self._data = os.open(f"{stem}.pack", os.O_RDONLY | os.O_CLOEXEC)
            self._fanout = self._read_fanout()
        except BaseException:
            self.close()
            raise
        self.count = self._fanout[-1]
        self._names: dict[int, bytes] = {}
        self._by_offset: dict[int, str] = {}
        self._contents: OrderedDict[int, Content] = OrderedDict()
        self._weight = 0

    def close(self) -> None:
        """Give back file handles."""
        for fd in (self._index, self._data):
            if fd >= 0:
                os.close(fd)
        self._index = self._data = -1

    def __del__(self) -> None:
        with suppress(AttributeError, OSError):
            self.close()

    def _read_fanout(self) -> list[int]:
        head = os.pread(self._index, _NAMES, 0)
        if len(head) < _NAMES or head[:_FANOUT] != INDEX_MAGIC:
            raise PackDamaged("its index has no header")
        table = [int.from_bytes(head[at : at + 4], "big") for at in range(_FANOUT, _NAMES, 4)]
        if sorted(table) != table or os.fstat(self._index).st_size < _NAMES + table[-1] * 28 + 40:
            raise PackDamaged("its index contradicts itself")
        return table

    def _bucket(self, first: int) -> tuple[int, bytes]:
        """The names that begin with the byte FIRST, and the number of the first of them."""
        start = self._fanout[first - 1] if first else 0
        if first not in self._names:
            size = (self._fanout[first] - start) * 20
            self._names[first] = os.pread(self._index, size, _NAMES + start * 20)
        return start, self._names[first]

    def offset(self, oid: str) -> int | None:
        """Where OID begins in the pack, None when the index does not know it."""
        name = bytes.fromhex(oid)
        start, names = self._bucket(name[0])
        at = names.find(name)
        while at > 0 and at % 20:
            at = names.find(name, at + 1)
        return None if at < 0 else self._offset_at(start + at // 20)

    def _offset_at(self, number: int) -> int:
        offset = self._number(_NAMES + self.count * 24 + number * 4, 4)
        if offset < 1 << 31:
            return offset
        return self._number(_NAMES + self.count * 28 + (offset & 0x7FFFFFFF) * 8, 8)

    def _number(self, at: int, size: int) -> int:
        raw = os.pread(self._index, size, at)
        if len(raw) < size:
            raise PackDamaged("its index points outside itself")
        return int.from_bytes(raw, "big")

    def names(self) -> Iterator[str]:
        """Every object id in the index."""
        for first in range(256):
            _, names = self._bucket(first)
            yield from (names[at : at + 20].hex() for at in range(0, len(names) - 19, 20))

    def like(self, prefix: str) -> Iterator[str]:
        """Every object id in the index that begins with PREFIX (at least two hex digits)."""
        _, names = self._bucket(int(prefix[:2], 16))
        found = (names[at : at + 20].hex() for at in range(0, len(names) - 19, 20))
        return (oid for oid in found if oid.startswith(prefix))

    def read(self, oid: str, supply: Supply = nothing) -> Content | None:
        """An object, None when the index does not know it, or PackDamaged.

        Where a piece that it is built on is damaged, SUPPLY may give the content of that piece.
        """
        offset = self.offset(oid)
        if offset is None:
            return None
        kind, data = self.read_at(offset, supply)
        if sha1(b"%s %d\x00%s" % (kind.encode(), len(data), data)).hexdigest() != oid:
            self._contents.clear()
            self._weight = 0
            raise PackDamaged("the content has changed")
        return kind, data

    def read_at(self, offset: int, supply: Supply = nothing) -> Content:
        """What begins at OFFSET, with its differences applied."""
        deltas: list[tuple[int, bytes]] = []
        content, at = self._contents.get(offset), offset
        while content is None:
            content, base, delta = self._step(at, supply)
            if content is None:
                deltas.append((at, delta))
                content, at = self._contents.get(base), base
            elif deltas:
                self._remember(at, content)
            if len(deltas) > _DEEPEST:
                raise PackDamaged("its objects are built on each other in a circle")
        for at, delta in reversed(deltas):
            content = content[0], apply_delta(content[1], delta)
            self._remember(at, content)
        return content

    def _step(self, at: int, supply: Supply) -> tuple[Content | None, int, bytes]:
        """A whole content, or a difference and the offset of what it is a difference from."""
        try:
            entry = read_entry(self._data, at)
        except PackDamaged:
            given = supply(self.name_at(at))
            if given is None:
                raise
            return given, 0, b""
        if entry.kind:
            return (entry.kind, entry.data), 0, b""
        if isinstance(entry.base, int):
            return None, entry.base, entry.data
        base = self.offset(entry.base)
        given = supply(entry.base) if base is None else None
        if given:
            return (given[0], apply_delta(given[1], entry.data)), 0, b""
        if base is None:
            raise PackDamaged("what it is built on is missing")
        return None, base, entry.data

    def name_at(self, offset: int) -> str:
        """The id of the object that begins at OFFSET, as the index has it; else nothing."""
        if not self._by_offset:
            with suppress(PackDamaged):
                pairs = ((self._offset_at(number), oid) for number, oid in enumerate(self.names()))
                self._by_offset = dict(pairs)
        return self._by_offset.get(offset, "")

    def _remember(self, at: int, content: Content) -> None:
        """Keep what others may be built on; what was kept first goes first."""
        self._contents[at] = content
        self._weight += len(content[1])
        while self._weight > _REMEMBERED:
            _, (_, oldest) = self._contents.popitem(last=False)
            self._weight -= len(oldest)


class Packs:
    """All packs of a repository; those that come and go while it is open are noticed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._packs: dict[str, Pack] = {}
        self.broken: dict[str, str] = {}
        """Packs that cannot be opened, and why."""
        self._seen: frozenset[str] = frozenset()

    def close(self) -> None:
        """Give back file handles, each as soon as nobody reads from it any more."""
        self._packs, self._seen = {}, frozenset()

    def refresh(self) -> bool:
        """Look at the folder again; False when nothing has come or gone."""
        try:
            names = frozenset(name for name in os.listdir(self.folder) if name.endswith(".idx"))
        except OSError:
            names = frozenset()
        if names == self._seen:
            return False
        for gone in self._packs.keys() - names:
            del self._packs[gone]
        self.broken = {}
        for name in sorted(names - self._packs.keys()):
            self._open(name)
        # Not `names`: a pack that went while we opened it was replaced, so look again.
        self._seen = frozenset({*self._packs, *self.broken})
        return True

    def _open(self, name: str) -> None:
        try:
            self._packs[name] = Pack(os.path.join(self.folder, name[:-4]))
        except FileNotFoundError:
            pass  # gone since, or an index without its pack
        except (PackDamaged, OSError) as error:
            self.broken[name] = str(error)

    def __iter__(self) -> Iterator[Pack]:
        self.refresh()
        return iter(list(self._packs.values()))

    def read(self, oid: str, supply: Supply = nothing) -> Content | None:
        """An object, None when no pack has it, or PackDamaged."""
        found = self._read(oid, supply)
        for _ in range(_PATIENCE):
            if found is not None or not self.refresh():
                break
            found = self._read(oid, supply)
        if found is None and self.broken:
            raise PackDamaged(f"the index of {next(iter(self.broken))[:-4]} is damaged")
        return found

    def _read(self, oid: str, supply: Supply) -> Content | None:
        damage = None
        for pack in list(self._packs.values()):
            try:
                found = pack.read(oid, supply)
            except (PackDamaged, OSError) as error:
                damage = PackDamaged(str(error))
                continue
            if found:
                return found
        if damage:
            raise damage
        return None

    def at_hand(self, oid: str) -> Content | None:
        """An object of a pack that is open already; None also where that is damaged."""
        with suppress(PackDamaged):
            return self._read(oid, nothing) if self._packs else None
        return None

    def like(self, prefix: str) -> Iterator[str]:
        """Every packed object id that begins with PREFIX (at least two hex digits)."""
        for pack in self:
            yield from pack.like(prefix)
