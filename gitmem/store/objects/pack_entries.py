"""The entries of a pack: whole objects and differences, read from an open file.

Every number is checked before it is used: a damaged pack can only give PackDamaged.

By hand instead of pygit2: see `packs`.
"""

from __future__ import annotations

import os
import zlib
from typing import NamedTuple

KIND_OF_CODE = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
OFFSET_DELTA, NAME_DELTA = 6, 7
_CHUNK = 4096
_LARGEST = 64 * 1024 * 1024
_SHIFTS = [tuple(8 * bit for bit in range(7) if order & 1 << bit) for order in range(128)]
"""Which bytes of offset and length follow an order to copy: the others are zero."""


class PackDamaged(Exception):
    """A pack or its index does not hold what it should."""


class PackEntry(NamedTuple):
    """One entry of a pack as it is written there."""

    kind: str
    """Empty for a difference."""
    base: int | str
    """What it is a difference from: an offset or an id."""
    data: bytes
    end: int


def read_entry(fd: int, offset: int) -> PackEntry:
    """The entry of an open pack that begins at OFFSET, or PackDamaged."""
    raw = os.pread(fd, _CHUNK, offset) if offset >= 0 else b""
    try:
        code, size, at = _entry_head(raw)
        base: int | str = 0
        if code == OFFSET_DELTA:
            distance, at = _distance(raw, at)
            base = offset - distance
        elif code == NAME_DELTA:
            base, at = raw[at : at + 20].hex(), at + 20
        elif code not in KIND_OF_CODE:
            raise PackDamaged("it holds something that is no object")
    except IndexError:
        raise PackDamaged("it is truncated") from None
    if base == offset or size > _LARGEST:
        raise PackDamaged("it holds numbers that cannot be")
    data, end = _inflate(fd, raw[at:], offset + len(raw), size)
    return PackEntry(KIND_OF_CODE.get(code, ""), base, data, end)


def _entry_head(raw: bytes) -> tuple[int, int, int]:
    """The kind, the size, and where the rest begins."""
    byte, at, shift = raw[0], 1, 4
    code, size = byte >> 4 & 7, byte & 15
    while byte & 128:
        byte = raw[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
    return code, size, at


def _distance(raw: bytes, at: int) -> tuple[int, int]:
    byte = raw[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = raw[at]
        value = (value + 1 << 7) | (byte & 127)
    return value, at + 1


def _inflate(fd: int, feed: bytes, position: int, size: int) -> tuple[bytes, int]:
    """SIZE bytes of content, and where in the file they end; POSITION is the end of FEED."""
    stream, data = zlib.decompressobj(), b""
    try:
        while True:
            data += stream.decompress(feed, size + 1 - len(data))
            if stream.eof or len(data) > size:
                break
            feed = os.pread(fd, max(_CHUNK, size // 2), position)
            position += len(feed)
            if not feed:
                raise PackDamaged("it is truncated")
    except zlib.error:
        raise PackDamaged("it is not readable as compressed data") from None
    if len(data) != size:
        raise PackDamaged("an object has another size than it says")
    return data, position - len(stream.unused_data)


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """BASE with the difference DELTA applied, or PackDamaged."""
    try:
        expected, at = _size(delta, 0)
        final, at = _size(delta, at)
        pieces, end = [], len(delta)
        while at < end:
            order = delta[at]
            at += 1
            if order & 128:
                start, length, at = _copy_order(delta, at, order)
                pieces.append(base[start : start + length])
            else:
                pieces.append(delta[at : at + order])
                at += order
    except IndexError:
        raise PackDamaged("a difference is truncated") from None
    result = b"".join(pieces)
    if len(base) != expected or len(result) != final:
        raise PackDamaged("a difference does not fit")
    return result


def _size(delta: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = delta[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if not byte & 128:
            return value, at


def _copy_order(delta: bytes, at: int, order: int) -> tuple[int, int, int]:
    """Where to copy from, how much, and where the next order begins."""
    numbers = 0
    for place in _SHIFTS[order & 127]:
        numbers |= delta[at] << place
        at += 1
    return numbers & 0xFFFFFFFF, numbers >> 32 or 0x10000, at
