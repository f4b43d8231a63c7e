"""Whether packs, their indexes and the commit-graph still have the checksum they were written with.

gitmem reads packs by their `.idx`, and maintenance writes the commit-graph. Other files that git
may keep beside a pack (bitmap, rev, mtimes, multi-pack-index) are not ours: `git fsck` checks them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha1
from pathlib import Path
from time import sleep
from typing import NamedTuple

from gitmem.store.objects.packs import CHECKSUM, INDEX_MAGIC

PAUSE = 0.2
_CHUNK = 1 << 20


class PackFault(NamedTuple):
    """One file that is damaged or missing."""

    stem: str
    """The pack's path without its ending; the whole path of a file that belongs to no pack."""
    code: str
    """pack-damaged, pack-missing, pack-index-damaged, pack-index-missing or pack-cache-damaged"""
    path: str
    why: str


def pack_faults(gitdir: Path) -> list[PackFault]:
    """Every file beside the loose objects that is not as it was written.

    `git gc` replaces packs while they are looked at, and a folder is not listed at one moment (an
    index can show without its pack): only what is wrong twice is a fault.
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
    """What is wrong with a file that ends in its own SHA-1; empty when it is sound or not there."""
    digest, tail, first = sha1(usedforsecurity=False), b"", True
    try:
        with open(path, "rb", buffering=0) as file:
            while chunk := file.read(_CHUNK):
                if first and not chunk.startswith(magic):
                    return "not what it should be: its first bytes are wrong"
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
    """An index may be sound and still belong to another pack."""
    try:
        with open(pack, "rb") as one, open(index, "rb") as other:
            one.seek(-CHECKSUM, os.SEEK_END)
            other.seek(-2 * CHECKSUM, os.SEEK_END)
            same = one.read(CHECKSUM) == other.read(CHECKSUM)
    except OSError:
        return ""
    return "" if same else "the index of another pack"
