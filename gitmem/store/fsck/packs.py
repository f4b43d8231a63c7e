"""Check packs, their indexes and the commit-graph by their checksums; salvage damaged packs.

gitmem reads packs by their `.idx`, and maintenance writes the commit-graph. Other files that git
may keep beside a pack (bitmap, rev, mtimes, multi-pack-index) are left to `git fsck`.
"""

from __future__ import annotations

import os
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha1
from pathlib import Path
from time import sleep
from typing import NamedTuple

from gitmem.store.durable import sync_folder
from gitmem.store.objects.database import object_id
from gitmem.store.objects.pack_entries import KIND_OF_CODE, PackDamaged, read_entry
from gitmem.store.objects.packs import CHECKSUM, INDEX_MAGIC, Content, Pack, Supply, nothing
from gitmem.store.setup import to_quarantine

PAUSE = 0.2
_CHUNK = 1 << 20
_CODE_OF_KIND = {kind: code for code, kind in KIND_OF_CODE.items()}
_HEADER = 12
FRESH = 10.0
"""Seconds in which git writes the index of a new pack."""
_FAR = 1 << 31


class PackFault(NamedTuple):
    """A damaged or missing file."""

    stem: str
    """The pack's path without its suffix; the full path of a commit-graph."""
    code: str
    """pack-damaged, pack-missing, pack-index-damaged, pack-index-missing or pack-cache-damaged"""
    path: str
    why: str


def pack_faults(gitdir: Path) -> list[PackFault]:
    """Every pack, index and commit-graph that is damaged or missing.

    `git gc` replaces packs while they are read, and a listing of a folder is not atomic (an index
    can appear without its pack): a fault counts only when a second look finds it, too.
    """
    found = list(_faults(gitdir))
    if not found:
        return []
    sleep(PAUSE)
    again = set(_faults(gitdir))
    return [each for each in found if each in again]


def _faults(gitdir: Path) -> Iterator[PackFault]:
    folder = gitdir / "objects" / "pack"
    names = sorted(os.listdir(folder)) if folder.is_dir() else []
    stems = sorted({name.rpartition(".")[0] for name in names if name.endswith((".pack", ".idx"))})
    for stem in stems:
        yield from _faults_of(str(folder / stem), {n for n in names if n.startswith(f"{stem}.")})
    known = gitdir / "objects" / "info"
    graphs = sorted(known.glob("commit-graphs/*.graph"))
    for path in (known / "commit-graph", *graphs):
        why = damage_of(path)
        if why:
            yield PackFault(str(path), "pack-cache-damaged", str(path), why)


def _faults_of(stem: str, names: set[str]) -> Iterator[PackFault]:
    pack, index = Path(f"{stem}.pack"), Path(f"{stem}.idx")
    if pack.name not in names:
        if index.exists():  # else both were just removed
            yield PackFault(stem, "pack-missing", str(pack), "missing")
        return
    why = damage_of(pack, b"PACK")
    if why:
        yield PackFault(stem, "pack-damaged", str(pack), why)
    if index.name not in names and not index.exists():
        yield PackFault(stem, "pack-index-missing", str(index), "missing")
    else:
        wrong = damage_of(index, INDEX_MAGIC) or ("" if why else _mismatch(pack, index))
        if wrong:
            yield PackFault(stem, "pack-index-damaged", str(index), wrong)


def damage_of(path: Path, magic: bytes = b"") -> str:
    """What is wrong with a file that ends in its own SHA-1; empty for a sound or missing file."""
    digest, tail, first = sha1(usedforsecurity=False), b"", True
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                if first and not chunk.startswith(magic):
                    return "malformed: its first bytes are wrong"
                first = False
                held = tail + chunk
                tail = held[-CHECKSUM:]
                digest.update(held[:-CHECKSUM])
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"not readable ({error.strerror})"
    if first:
        return "an empty file"
    return "" if tail == digest.digest() else "damaged or truncated: its checksum is wrong"


def _mismatch(pack: Path, index: Path) -> str:
    """A sound index may still belong to another pack."""
    try:
        with open(pack, "rb") as one, open(index, "rb") as other:
            one.seek(-CHECKSUM, os.SEEK_END)
            other.seek(-2 * CHECKSUM, os.SEEK_END)
            same = one.read(CHECKSUM) == other.read(CHECKSUM)
    except OSError:
        return ""
    return "" if same else "the index of another pack"


class Unindexed(Pack):
    """A pack that is read without its index, from the first entry to the last."""

    def __init__(self, stem: str, supply: Supply = nothing) -> None:
        self.stem = stem
        self._index = -1
        self._data = os.open(f"{stem}.pack", os.O_RDONLY | os.O_CLOEXEC)
        self._contents, self._weight = OrderedDict(), 0
        self._by_offset = {}
        self.offsets: dict[str, int] = {}
        """The offset of each object."""
        self.spans: dict[int, int] = {}
        """The end of each entry by its start."""
        self._scan()
        while self._name_more(supply):
            pass
        self.count = len(self.offsets)

    def _scan(self) -> None:
        at, end = _HEADER, os.fstat(self._data).st_size - CHECKSUM
        with suppress(PackDamaged):  # entries behind the damage have no known start
            while at < end:
                self.spans[at] = read_entry(self._data, at).end
                at = self.spans[at]

    def _name_more(self, supply: Supply) -> bool:
        """Name the entries that can be read; True when a delta base may have become known."""
        before = len(self.offsets)
        for at in self.spans:
            if at not in self._by_offset:
                with suppress(PackDamaged):
                    self._by_offset[at] = object_id(*self.read_at(at, supply))
                    self.offsets[self._by_offset[at]] = at
        return len(self.offsets) > before

    def offset(self, oid: str) -> int | None:
        """The offset of OID in the pack."""
        return self.offsets.get(oid)

    def name_at(self, offset: int) -> str:
        """The id of the object at OFFSET."""
        return self._by_offset.get(offset, "")

    def names(self) -> Iterator[str]:
        """The id of every object that could be read."""
        return iter(self.offsets)


def rebuild_index(stem: str) -> int:
    """Write the index of a sound pack again; the number of objects in it."""
    pack = Unindexed(stem)
    try:
        with open(f"{stem}.pack", "rb") as file:
            file.seek(-CHECKSUM, os.SEEK_END)
            checksum = file.read(CHECKSUM)
            checks = {}
            for oid, at in pack.offsets.items():
                file.seek(at)
                checks[oid] = zlib.crc32(file.read(pack.spans[at] - at))
    finally:
        pack.close()
    _replace(Path(f"{stem}.idx"), _index_bytes(pack.offsets, checks, checksum))
    return len(pack.offsets)


def mend_pack_indexes(gitdir: Path) -> int:
    """Write the damaged or missing index of each sound pack again; the number of indexes.

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
    """True for a damaged index, and for a missing one that git is not about to write."""
    if index.exists():
        return bool(damage_of(index, INDEX_MAGIC))
    return time.time() - pack.stat().st_mtime > FRESH


def readable(stem: str, supply: Supply) -> tuple[list[Pack], dict[str, Pack]]:
    """The objects that can be read from a damaged pack, with and without its index.

    The caller closes the packs.
    """
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
