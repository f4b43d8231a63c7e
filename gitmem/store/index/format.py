"""The bytes of git's index: a header, entries in order, extensions, a checksum.

By hand instead of pygit2: see `file`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from operator import lt
from struct import Struct

HEADER = Struct(">4sII")
FIXED = Struct(">10I20sH")
_SIGNATURE = b"DIRC"
_WITH_EXTENDED_FLAGS = 3  # the first version that may have them
FRONTCODED = 4  # the version whose paths are written as differences
_CHECKSUM = 20
FLAGS = 60  # where in an entry the flags begin
_EXTENDED = 0x40  # in the first byte of the flags: two more bytes of flags follow
_KNOWN_EXTENDED = 0x60  # in the first of those: skip-worktree and intent-to-add
NAME = 0xFFF  # the length of the path, where it is shorter than this
NO_OID = bytes(20)
_RESOLVED = b"REUC"
_TREES = b"TREE"


class IndexUnreadable(ValueError):
    """The bytes are no index we can patch safely; the index is a cache, so build a new one."""


def padded(raw: bytes) -> bytes:
    """An entry with the NULs that end it."""
    return raw.ljust(len(raw) + 8 & ~7, b"\0")


def sealed(version: int, count: int, pieces: Sequence[bytes | memoryview]) -> bytes:
    """A whole index of COUNT entries, with its checksum."""
    header = HEADER.pack(_SIGNATURE, version, count)
    digest = hashlib.sha1(header, usedforsecurity=False)
    for piece in pieces:
        digest.update(piece)
    return b"".join((header, *pieces, digest.digest()))


def checked_header(data: bytes) -> tuple[int, int]:
    """Version and number of entries; refuses what is no index, or not whole."""
    if len(data) < HEADER.size + _CHECKSUM:
        raise IndexUnreadable("the index is too short")
    signature, version, count = HEADER.unpack_from(data)
    if signature != _SIGNATURE or version not in (2, 3, FRONTCODED):
        raise IndexUnreadable(f"not an index of version 2, 3 or 4: {data[:8]!r}")
    checksum = data[-_CHECKSUM:]
    # All zeros is what git writes where index.skipHash is set.
    if checksum != NO_OID:
        found = hashlib.sha1(memoryview(data)[:-_CHECKSUM], usedforsecurity=False)
        if found.digest() != checksum:
            raise IndexUnreadable("the checksum of the index is wrong")
    return version, count


def scanned(data: bytes, version: int, count: int) -> tuple[list[bytes], list[int]]:
    """Each path, and where its entry begins; last the place behind them."""
    paths: list[bytes] = []
    offsets: list[int] = []
    at = HEADER.size
    for _ in range(count):
        offsets.append(at)
        # Nearly always the first byte of the flags is 0 and the second is the path's length.
        if data[at + 60]:
            start, end = _unusual(data, at, version)
        else:
            start = at + 62
            end = start + data[at + 61]
        paths.append(data[start:end])
        if data[end]:
            raise IndexUnreadable("a path of the index is longer than its entry says")
        at = (end + 4 | 7) - 3  # one to eight NULs, up to a multiple of eight from the header on
    offsets.append(at)
    if b"\0" in b"/".join(paths):
        raise IndexUnreadable("a path of the index is shorter than its entry says")
    return paths, offsets


def _unusual(data: bytes, at: int, version: int) -> tuple[int, int]:
    """Return where the path begins and ends in an entry that is flagged, staged or long."""
    start = _path_start(data, at, version)
    length = (data[at + FLAGS] << 8 | data[at + FLAGS + 1]) & NAME
    end = data.index(b"\0", start + length) if length == NAME else start + length
    return start, end


def _path_start(data: bytes, at: int, version: int) -> int:
    start = at + FIXED.size
    if not data[at + FLAGS] & _EXTENDED:
        return start
    if version < _WITH_EXTENDED_FLAGS:
        raise IndexUnreadable(f"an index of version {version} has extended flags")
    if data[start] & ~_KNOWN_EXTENDED or data[start + 1]:
        raise IndexUnreadable("an entry of the index has flags git does not know")
    return start + 2


def check_extensions(data: bytes, at: int) -> None:
    """Refuse an extension that must be understood, and what runs past the end."""
    end = len(data) - _CHECKSUM
    while at < end:
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "big")
        if not name[:1].isupper():
            raise IndexUnreadable(f"the index needs the extension {name!r}")
        at += 8 + size
    if at != end:
        raise IndexUnreadable("the entries or the extensions of the index run past its end")


def lasting_extensions(data: bytes, at: int) -> bytes:
    """The extensions that stay true whatever else changes: how resolved conflicts looked.

    From these `git checkout --merge PATH` makes a conflict again that was resolved wrongly.
    """
    return b"".join(raw for raw in _extensions(data, at) if raw.startswith(_RESOLVED))


def root_tree(data: bytes, at: int) -> str | None:
    """The tree that git has noted for all entries; empty where it has one for some folders only."""
    noted = next((raw[8:] for raw in _extensions(data, at) if raw.startswith(_TREES)), None)
    if noted is None:
        return None
    count, _, rest = noted.removeprefix(b"\0").partition(b"\n")
    return "" if count.startswith(b"-") else rest[: len(NO_OID)].hex()


def _extensions(data: bytes, at: int) -> Iterator[bytes]:
    end = len(data) - _CHECKSUM
    while at < end:
        size = 8 + int.from_bytes(data[at + 4 : at + 8], "big")
        yield data[at : at + size]
        at += size


def check_order(data: bytes, paths: Sequence[bytes], offsets: Sequence[int]) -> None:
    """Refuse entries that git would not find."""
    if paths and not paths[0]:
        raise IndexUnreadable("the index has an entry without a path")
    if all(map(lt, paths, islice(paths, 1, None))):
        return
    stages = (data[at + FLAGS] >> 4 & 3 for at in offsets[:-1])
    for before, after in pairwise(zip(paths, stages, strict=True)):
        if before >= after or (before[0] == after[0] and before[1] == 0):
            raise IndexUnreadable(f"the index is not in order at {after[0]!r}")


def expanded(data: bytes, count: int) -> bytes:
    """Write out the paths of a version 4 index, where each is a difference from the one before."""
    raws: list[bytes] = []
    path, at, extended = b"", HEADER.size, False
    for _ in range(count):
        start = _path_start(data, at, FRONTCODED)
        cut, tail = _varint(data, start)
        end = data.index(b"\0", tail)
        if cut > len(path):
            raise IndexUnreadable("a path of the index is cut by more than there is")
        path = path[: len(path) - cut] + data[tail:end]
        extended = extended or start > at + FIXED.size
        raws.append(padded(data[at:start] + path))
        at = end + 1
    check_extensions(data, at)
    return sealed(_WITH_EXTENDED_FLAGS if extended else 2, count, raws)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = (value + 1 << 7) + (byte & 127)
        if value > len(data):  # or a damaged file could make it grow, and us slow, without end
            raise IndexUnreadable("a path of the index is cut by more than there is")
    return value, at + 1
