"""Read and patch git's index file without rewriting what did not change.

The index is a cache of what was last put into the work tree. A patch replaces the entries of the
paths it names and copies every other byte: one copy and one checksum, however many the files.

By hand instead of pygit2's Index: libgit2 writes all entries anew (5,000 files: a patch takes 0.34
of its time, a whole durable write 1.85 instead of 3.3 times that of bare pygit2), and `Index.add`
obeys a planted `.gitattributes` and changes bytes.
"""

from __future__ import annotations

import stat
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from operator import sub
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from gitmem.store.index.format import (
    FIXED,
    FLAGS,
    FRONTCODED,
    HEADER,
    NAME,
    NO_OID,
    IndexUnreadable,
    check_extensions,
    check_order,
    checked_header,
    expanded,
    lasting_extensions,
    padded,
    root_tree,
    scanned,
    sealed,
)

if TYPE_CHECKING:
    import os

    _Born = Mapping[int, Sequence[tuple[bytes, bytes]]]  # position -> the (path, bytes) put there

_SECONDS_NANOSECONDS = Struct(">II")
_WORD = 0xFFFFFFFF
_SECOND = 1_000_000_000
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o160000})
_FORBIDDEN = frozenset({b"", b".", b"..", b".git"})
_EMPTY_BLOB = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")


def _truncated(nanoseconds: int) -> int:
    seconds, rest = divmod(nanoseconds, _SECOND)
    return (seconds & _WORD) * _SECOND + rest


class Stat(NamedTuple):
    """What the index remembers of a file's stat, each number cut to 32 bits as git cuts it."""

    ctime_ns: int
    mtime_ns: int
    dev: int
    ino: int
    uid: int
    gid: int
    size: int

    @classmethod
    def of(cls, st: os.stat_result) -> Stat:
        """Return what git would store of ST."""
        return cls(
            _truncated(st.st_ctime_ns),
            _truncated(st.st_mtime_ns),
            st.st_dev & _WORD,
            st.st_ino & _WORD,
            st.st_uid & _WORD,
            st.st_gid & _WORD,
            st.st_size & _WORD,
        )


class IndexEntry(NamedTuple):
    """One tracked file: where, which blob, and how it looked on disk when that blob was there."""

    path: bytes
    oid: bytes
    mode: int
    stat: Stat

    def smudged(self) -> IndexEntry:
        """Return this entry in a form nobody, git included, trusts without reading the file."""
        return self._replace(stat=self.stat._replace(size=0))


def is_clean(entry: IndexEntry, st: os.stat_result, index_mtime_ns: int) -> bool:
    """Tell whether a file of stat ST surely holds ENTRY's blob, so that no one has to hash it."""
    then = entry.stat
    return (
        stat.S_ISREG(st.st_mode)
        and stat.S_ISREG(entry.mode)
        and then.size == st.st_size & _WORD
        # A size of 0 is also git's mark for "look at the content".
        and (then.size > 0 or entry.oid == _EMPTY_BLOB)
        and then.ino == st.st_ino & _WORD
        and then.mtime_ns == _truncated(st.st_mtime_ns)
        and then.ctime_ns == _truncated(st.st_ctime_ns)
        # An edit within the clock tick in which the index was written leaves no trace in mtime.
        and then.mtime_ns < _truncated(index_mtime_ns)
    )


class IndexFile:
    """An index file as it was read, or as it will be written; it never changes."""

    __slots__ = ("_offsets", "_paths", "data")

    def __init__(self, data: bytes, paths: list[bytes], offsets: list[int]) -> None:
        self.data = data
        self._paths = paths  # in order of bytes; a path in conflict stands here once for each stage
        self._offsets = offsets  # one for each path, and the end of the last entry

    @classmethod
    def parse(cls, data: bytes) -> IndexFile:
        """Return the index that DATA holds, or raise IndexUnreadable; version 4 becomes 2 or 3."""
        version, count = checked_header(data)
        try:
            if version == FRONTCODED:
                return cls.parse(expanded(data, count))
            paths, offsets = scanned(data, version, count)
        except (IndexError, ValueError) as error:
            raise IndexUnreadable(f"the entries of the index are damaged: {error}") from error
        check_extensions(data, offsets[-1])
        check_order(data, paths, offsets)
        return cls(data, paths, offsets)

    def get(self, path: bytes) -> IndexEntry | None:
        """Return the entry of PATH, or None if there is none or it is in conflict."""
        at = bisect_left(self._paths, path)
        return None if self._paths[at : at + 1] != [path] or self._stage(at) else self._entry(at)

    def vouches(self, path: bytes, oid: bytes, st: os.stat_result, index_mtime_ns: int) -> bool:
        """Whether a file of stat ST at PATH surely holds the blob OID: `is_clean`, made quick."""
        at = bisect_left(self._paths, path)
        if self._paths[at : at + 1] != [path] or self._stage(at):
            return False
        known = FIXED.unpack_from(self.data, self._offsets[at])
        return (
            st.st_mtime_ns < index_mtime_ns
            and known[:4] == (*divmod(st.st_ctime_ns, _SECOND), *divmod(st.st_mtime_ns, _SECOND))
            and (known[5], known[9], known[10]) == (st.st_ino & _WORD, st.st_size, oid)
            and stat.S_IFMT(st.st_mode) == stat.S_IFMT(known[6]) == stat.S_IFREG
            and (st.st_size > 0 or oid == _EMPTY_BLOB)
        )

    def entries(self) -> Iterator[IndexEntry]:
        """Give every entry that is not in conflict, in order of path."""
        return (self._entry(at) for at in range(len(self._paths)) if not self._stage(at))

    @property
    def root_tree(self) -> str | None:
        """The tree of which git made this index, by `read-tree`, `reset`, a merge or a revert.

        None: there is no such note. No patch of ours keeps it, and commands for single paths
        (`add`, `rm`, `mv`, `restore`, `checkout REV -- FILE`) do not bring it back. Empty: entries
        were changed since, as `git stash apply` does.
        """
        return root_tree(self.data, self._offsets[-1])

    def is_unmerged(self, path: bytes) -> bool:
        """Whether PATH is in conflict."""
        at = bisect_left(self._paths, path)
        return self._paths[at : at + 1] == [path] and self._stage(at) > 0

    def unmerged(self) -> list[bytes]:
        """Return the paths that are in conflict, in order."""
        stages = (path for at, path in enumerate(self._paths) if self._stage(at))
        return list(dict.fromkeys(stages))

    def rivals(self, path: bytes) -> list[bytes]:
        """Return the paths that cannot stand beside a file at PATH: `a` next to `a/b`."""
        _, *places = self._replaced(path, by_file=True)
        return [each for place in places for each in self._paths[place.start : place.stop]]

    def racy(self, index_mtime_ns: int) -> list[IndexEntry]:
        """Return the entries that an index file written at INDEX_MTIME_NS cannot vouch for.

        Writing the index again moves its mtime on, after which they would look trustworthy. Whoever
        writes a patch therefore compares these with their files first, and smudges what differs.
        """
        data = self.data
        limit = _SECONDS_NANOSECONDS.pack(*divmod(_truncated(index_mtime_ns), _SECOND))
        starts = islice(self._offsets, len(self._paths))
        late = [at for at in starts if data[at + 8 : at + 16] >= limit]
        found = (bisect_left(self._offsets, at) for at in late)
        return [self._entry(at) for at in found if not self._stage(at)]

    def patched(self, changes: Mapping[bytes, IndexEntry | None]) -> IndexFile:
        """Return the index with CHANGES made: an entry is put in, None takes the path out.

        All stages of a named path go, and so does what a new entry cannot live beside: `a` next to
        `a/b`. Where nothing changes the answer is this same object. Extensions are dropped, but for
        the one about resolved conflicts.
        """
        _check_changes(changes)
        gone: set[int] = set()
        born: dict[int, list[tuple[bytes, bytes]]] = {}
        for path, entry in sorted(changes.items()):
            gone.update(*self._replaced(path, by_file=entry is not None))
            if entry is not None:
                at = bisect_left(self._paths, path)
                born.setdefault(at, []).append((path, _encoded(entry)))
        if not (gone or born):
            return self
        return self._spliced(gone, born)

    def _spliced(self, gone: set[int], born: _Born) -> IndexFile:
        view, offsets = memoryview(self.data), self._offsets
        pieces: list[bytes | memoryview] = []
        kept = 0
        for at in sorted(gone.union(born)):
            pieces.append(view[offsets[kept] : offsets[at]])
            pieces += [raw for _, raw in born.get(at, ())]
            kept = at + (at in gone)
        pieces.append(view[offsets[kept] : offsets[-1]])
        pieces.append(lasting_extensions(self.data, offsets[-1]))
        count = len(self._paths) - len(gone) + sum(map(len, born.values()))
        data = sealed(HEADER.unpack_from(self.data)[1], count, pieces)
        if self._keeps_shape(gone, born):
            return IndexFile(data, self._paths, offsets)
        return IndexFile(data, *self._reshaped(gone, born))

    def _keeps_shape(self, gone: set[int], born: _Born) -> bool:
        paths, offsets = self._paths, self._offsets
        return gone == born.keys() and all(
            [(path, len(raw)) for path, raw in new] == [(paths[at], offsets[at + 1] - offsets[at])]
            for at, new in born.items()
        )

    def _reshaped(self, gone: set[int], born: _Born) -> tuple[list[bytes], list[int]]:
        paths = self._paths.copy()
        sizes = list(map(sub, self._offsets[1:], self._offsets))
        for at in sorted(gone.union(born), reverse=True):
            old, new = slice(at, at + (at in gone)), born.get(at, ())
            paths[old] = [path for path, _ in new]
            sizes[old] = [len(raw) for _, raw in new]
        return paths, list(accumulate(sizes, initial=HEADER.size))

    def _replaced(self, path: bytes, *, by_file: bool) -> Iterator[range]:
        paths = self._paths
        yield range(bisect_left(paths, path), bisect_right(paths, path))
        if not by_file:
            return
        for folder in _folders(path):
            yield range(bisect_left(paths, folder), bisect_right(paths, folder))
        # "0" is the byte after "/": between the two lies everything inside the folder.
        yield range(bisect_left(paths, path + b"/"), bisect_left(paths, path + b"0"))

    def _stage(self, at: int) -> int:
        return self.data[self._offsets[at] + FLAGS] >> 4 & 3

    def _entry(self, at: int) -> IndexEntry:
        cs, cn, ms, mn, dev, ino, mode, uid, gid, size, oid, _ = FIXED.unpack_from(
            self.data, self._offsets[at]
        )
        ctime, mtime = cs * _SECOND + cn, ms * _SECOND + mn
        return IndexEntry(self._paths[at], oid, mode, Stat(ctime, mtime, dev, ino, uid, gid, size))


def build(entries: Iterable[IndexEntry]) -> IndexFile:
    """Return a new index that holds ENTRIES, given in any order."""
    changes: dict[bytes, IndexEntry | None] = {}
    for entry in entries:
        if entry.path in changes:
            raise ValueError(f"two entries for {entry.path!r}")
        changes[entry.path] = entry
    empty = IndexFile(sealed(2, 0, []), [], [HEADER.size])
    return empty.patched(changes)


def _folders(path: bytes) -> Iterator[bytes]:
    slash = path.find(b"/")
    while slash >= 0:
        yield path[:slash]
        slash = path.find(b"/", slash + 1)


def _check_changes(changes: Mapping[bytes, IndexEntry | None]) -> None:
    for path, entry in changes.items():
        if entry is None:
            continue
        if path != entry.path:
            raise ValueError(f"the entry of {entry.path!r} is given for {path!r}")
        if any(changes.get(folder) is not None for folder in _folders(path)):
            raise ValueError(f"a folder of {path!r} is to be a file at the same time")


def _encoded(entry: IndexEntry) -> bytes:
    path, oid, mode, st = entry
    if b"\0" in path or not _FORBIDDEN.isdisjoint(path.lower().split(b"/")):
        raise ValueError(f"git does not track a path like {path!r}")
    if len(oid) != len(NO_OID) or oid == NO_OID or mode not in _MODES:
        raise ValueError(f"{path!r} has no such blob or mode in git: {oid.hex()} {mode:o}")
    cs, cn = divmod(st.ctime_ns, _SECOND)
    ms, mn = divmod(st.mtime_ns, _SECOND)
    owner = st.uid & _WORD, st.gid & _WORD, st.size & _WORD
    place = st.dev & _WORD, st.ino & _WORD
    times = cs & _WORD, cn, ms & _WORD, mn
    return padded(FIXED.pack(*times, *place, mode, *owner, oid, min(len(path), NAME)) + path)
