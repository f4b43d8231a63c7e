"""Saving what can be read from a damaged pack, and writing a whole one in its place."""

from __future__ import annotations

import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from pathlib import Path

from gitmem.store.durable import sync_folder
from gitmem.store.fsck.packs import damage_of
from gitmem.store.objects.database import object_id
from gitmem.store.objects.pack_entries import KIND_OF_CODE, PackDamaged, read_entry
from gitmem.store.objects.packs import CHECKSUM, INDEX_MAGIC, Content, Pack, Supply, nothing
from gitmem.store.setup import to_quarantine

_CODE_OF_KIND = {kind: code for code, kind in KIND_OF_CODE.items()}
_HEADER = 12
FRESH = 10.0
"""Seconds in which git gives a new pack its index."""
_FAR = 1 << 31


class Unindexed(Pack):
    """A pack read from its first entry to its last, because its index is missing or damaged."""

    def __init__(self, stem: str, supply: Supply = nothing) -> None:
        self.stem = stem
        self._index = -1
        self._data = os.open(f"{stem}.pack", os.O_RDONLY | os.O_CLOEXEC)
        self._contents, self._weight = OrderedDict(), 0
        self._by_offset = {}
        self.places: dict[str, int] = {}
        """Where each object begins."""
        self.spans: dict[int, int] = {}
        """Where each entry begins and ends."""
        self._scan()
        while self._name_more(supply):
            pass
        self.count = len(self.places)

    def _scan(self) -> None:
        at, end = _HEADER, os.fstat(self._data).st_size - CHECKSUM
        with suppress(PackDamaged):  # what follows the damage has no known beginning
            while at < end:
                self.spans[at] = read_entry(self._data, at).end
                at = self.spans[at]

    def _name_more(self, supply: Supply) -> bool:
        """Name what can be read; what is built on a name that is not known yet comes later."""
        before = len(self.places)
        for at in self.spans:
            if at not in self._by_offset:
                with suppress(PackDamaged):
                    self._by_offset[at] = object_id(*self.read_at(at, supply))
                    self.places[self._by_offset[at]] = at
        return len(self.places) > before

    def offset(self, oid: str) -> int | None:
        """Where OID begins in the pack."""
        return self.places.get(oid)

    def name_at(self, offset: int) -> str:
        """The id of what begins at OFFSET."""
        return self._by_offset.get(offset, "")

    def names(self) -> Iterator[str]:
        """Every object that could be read."""
        return iter(self.places)


def rebuild_index(stem: str) -> int:
    """Write the index of a sound pack anew; tell how many objects it names."""
    pack = Unindexed(stem)
    try:
        with open(f"{stem}.pack", "rb") as file:
            file.seek(-CHECKSUM, os.SEEK_END)
            checksum = file.read(CHECKSUM)
            checks = {}
            for oid, at in pack.places.items():
                file.seek(at)
                checks[oid] = zlib.crc32(file.read(pack.spans[at] - at))
    finally:
        pack.close()
    _replace(Path(f"{stem}.idx"), _index_bytes(pack.places, checks, checksum))
    return len(pack.places)


def mend_pack_indexes(gitdir: Path) -> int:
    """Write the damaged or missing index of each sound pack anew; tell how many.

    Only a pack whose index is wrong is read: a command that met a lost object pays for this.
    """
    made = 0
    for pack in sorted((gitdir / "objects" / "pack").glob("pack-*.pack")):
        index = pack.with_suffix(".idx")
        if _is_wrong(index, pack) and not damage_of(pack, b"PACK"):
            if index.exists():
                to_quarantine(gitdir, index, index.name)
            rebuild_index(str(pack.with_suffix("")))
            made += 1
    return made


def _is_wrong(index: Path, pack: Path) -> bool:
    """True for an index that is damaged, or missing and not just about to come."""
    if index.exists():
        return bool(damage_of(index, INDEX_MAGIC))
    return time.time() - pack.stat().st_mtime > FRESH


def readable(stem: str, supply: Supply) -> tuple[list[Pack], dict[str, Pack]]:
    """Everything a damaged pack still gives, with and without its index; close what you get."""
    packs: list[Pack] = []
    with suppress(PackDamaged, OSError):
        packs.append(Pack(stem))
    with suppress(PackDamaged, OSError):
        packs.append(Unindexed(stem, supply))
    found: dict[str, Pack] = {}
    for pack in packs:
        for oid in pack.names():
            with suppress(PackDamaged, OSError):
                if oid not in found and pack.read(oid, supply):
                    found[oid] = pack
    return packs, found


def write_pack(folder: Path, contents: Mapping[str, Pack], supply: Supply) -> str:
    """Write a pack of whole objects, durably, and return its stem."""
    temp = folder / f"tmp_pack_{os.urandom(6).hex()}"
    places, checks = {}, {}
    with open(temp, "xb") as file:
        head = b"PACK" + _number(2) + _number(len(contents))
        digest = sha1(head, usedforsecurity=False)
        file.write(head)
        for oid, pack in contents.items():
            raw = _entry(*(pack.read(oid, supply) or _gone(oid)))
            places[oid], checks[oid] = file.tell(), zlib.crc32(raw)
            digest.update(raw)
            file.write(raw)
        file.write(digest.digest())
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temp, 0o400)
    stem = folder / f"pack-{digest.hexdigest()}"
    os.rename(temp, f"{stem}.pack")
    _replace(Path(f"{stem}.idx"), _index_bytes(places, checks, digest.digest()))
    return str(stem)


def _gone(oid: str) -> Content:
    raise PackDamaged(f"{oid} could be read a moment ago")


def _entry(kind: str, data: bytes) -> bytes:
    size = len(data)
    head = [_CODE_OF_KIND[kind] << 4 | size & 15]
    size >>= 4
    while size:
        head[-1] |= 128
        head.append(size & 127)
        size >>= 7
    return bytes(head) + zlib.compress(data)


def _index_bytes(places: Mapping[str, int], checks: Mapping[str, int], checksum: bytes) -> bytes:
    names = sorted(places)
    counts = [0] * 256
    for oid in names:
        counts[int(oid[:2], 16)] += 1
    fanout, total = [], 0
    for count in counts:
        total += count
        fanout.append(_number(total))
    far = [places[oid] for oid in names if places[oid] >= _FAR]
    near = [_FAR | far.index(places[oid]) if places[oid] >= _FAR else places[oid] for oid in names]
    body = b"".join(
        [
            INDEX_MAGIC,
            *fanout,
            bytes.fromhex("".join(names)),
            *(_number(checks[oid]) for oid in names),
            *map(_number, near),
            *(offset.to_bytes(8, "big") for offset in far),
            checksum,
        ]
    )
    return body + sha1(body, usedforsecurity=False).digest()


def _number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def _replace(path: Path, data: bytes) -> None:
    temp = path.with_name(f"tmp_idx_{os.urandom(6).hex()}")
    with open(temp, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temp, 0o400)
    os.rename(temp, path)
    sync_folder(path.parent)
